#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/units.hpp"

namespace syncopate {

/// What several runs, on one machine or on many that share a folder, share out among them: what one of them has claimed, the others leave
/// to it, unless it has not been heard of for long. A claim is a file that holds the name of its run; its time of change is the last sign
/// of life.
class Claims {
 public:
  /// In `folder`, which there is. `stale`: after so long without a sign of life a claim is nobody's.
  Claims(std::filesystem::path folder, Seconds stale);

  /// Whether the claim on `key` is this run's, now or before; processes forked from the run's are of it. Throws OutputError.
  bool take(const std::string& key) const;
  /// Whether it is another run's that is alive.
  bool is_others(const std::string& key) const;
  /// A sign of life, at most as often as needed.
  void refresh(const std::string& key);
  void release(const std::string& key) const;
  /// Whatever this run has claimed.
  void release_all() const;

 private:
  std::filesystem::path file(const std::string& key) const;
  bool is_stale(const std::filesystem::path& claim) const;
  bool is_own(const std::filesystem::path& claim) const;
  /// Makes a stale claim this run's, unless another one is faster.
  bool take_over(const std::filesystem::path& claim) const;

  std::filesystem::path folder_;
  Seconds stale_;
  std::string run_;  ///< its name, that no other one has
  std::map<std::string, std::filesystem::file_time_type> refreshed_;
};

}  // namespace syncopate
