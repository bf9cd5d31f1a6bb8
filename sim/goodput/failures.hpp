#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "base/units.hpp"

namespace syncopate {

/// When something that will not happen happens.
constexpr Seconds never(std::numeric_limits<double>::infinity());

/// Components of one kind, each of which fails by itself: a renewal process with Weibull times from when it is new to its failure.
struct FailureKind {
  Seconds mean;        ///< time to failure of one component
  double shape = 1.0;  ///< of the Weibull distribution; 1 is exponential
  /// Components in each node, which they take with them when they fail and which are new when it is. 0: those are `groups` of nodes,
  /// each new when it has failed.
  int per_node = 1;
  std::vector<std::vector<int>> groups{};

  std::int64_t components(int nodes) const { return per_node > 0 ? std::int64_t{per_node} * nodes : std::ssize(groups); }
};

/// Mean time between the failures of all components together; infinite where nothing fails. For shapes other than 1, in the long run.
Seconds time_between_failures(const std::vector<FailureKind>& kinds, int nodes);

/// Failures of one kind, in the order of their times; components that are not new again do not fail again.
class FailureProcess {
 public:
  FailureProcess() = default;
  FailureProcess(const FailureProcess&) = delete;
  FailureProcess& operator=(const FailureProcess&) = delete;
  virtual ~FailureProcess() = default;

  virtual Seconds time() const = 0;             ///< of the next one
  virtual std::uint32_t component() const = 0;  ///< that fails then
  virtual void pass() = 0;                      ///< the next one has been
  virtual void renew(int node, Seconds now) = 0;
};

/// All failures of a run, in the order of their times, as one seed draws them. Whether a node is in the job does not matter: who asks
/// leaves out what it is not hit by. Exponential kinds fail at the same times whatever is done about it.
class Failures {
 public:
  /// Keeps a reference to `kinds`.
  Failures(const std::vector<FailureKind>& kinds, int nodes, std::uint64_t seed);

  Seconds time() const;                ///< of the next one; infinite where there is none
  std::span<const int> nodes() const;  ///< that it hits
  void pass();                         ///< the next one has been
  void renew(int node, Seconds now);   ///< another one has taken its place, or it has been repaired

 private:
  void find_next();

  const std::vector<FailureKind>& kinds_;
  std::vector<std::unique_ptr<FailureProcess>> processes_;  ///< of the kinds
  std::size_t next_ = 0;                                    ///< process
  int own_node_ = 0;                                        ///< of the next failure, where it hits one
};

}  // namespace syncopate
