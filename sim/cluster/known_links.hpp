#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace syncopate {

/// A link, known by numbers, so that a million of them take no names.
struct KnownLink {
  enum class Kind : std::uint8_t { node, gpu, inner, wan, storage, uplink, node_uplink };
  static constexpr std::size_t kinds = 7;
  Kind kind = Kind::node;
  bool forward = true;       ///< away from a node, a GPU or, to storage and over an uplink, a region; to the upper end of others
  std::uint32_t number = 0;  ///< of the node, the GPU or the region; of the lower end, a switch or a region
  std::uint32_t upper = 0;   ///< end; of what is stored, the other region

  bool has_two_ends() const { return kind == Kind::inner || kind == Kind::wan || kind == Kind::storage; }
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
  /// Numbers of the links that a node, a GPU or a region has, by their kind, then by its number and the direction; none: not crossed yet.
  std::array<std::vector<std::uint32_t>, KnownLink::kinds> own_;
  std::unordered_map<std::uint64_t, std::size_t> others_;  ///< numbers of links, by their ends
};

}  // namespace syncopate
