#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace syncopate {

/// A link, known by numbers, so that a million of them take no names.
struct KnownLink {
  enum class Kind : std::uint8_t { node, gpu, inner, wan };
  Kind kind = Kind::node;
  bool forward = true;       ///< away from a node or GPU; from the lower to the upper end of others
  std::uint32_t number = 0;  ///< of the node or the GPU; of the lower end, a switch or a region
  std::uint32_t upper = 0;   ///< end
};

/// The links that have been crossed so far, numbered in that order.
class KnownLinks {
 public:
  std::size_t size() const { return links_.size(); }
  const KnownLink& operator[](std::size_t number) const { return links_[number]; }

  /// Its number, a new one where it has none yet.
  std::size_t number_of(const KnownLink& link);

 private:
  static constexpr std::uint32_t none = 0xffffffff;

  std::vector<KnownLink> links_;
  std::vector<std::uint32_t> node_links_;                  ///< numbers of links, by node and direction; none: not crossed yet
  std::vector<std::uint32_t> gpu_links_;                   ///< likewise by GPU
  std::unordered_map<std::uint64_t, std::size_t> others_;  ///< numbers of links, by their ends
};

}  // namespace syncopate
