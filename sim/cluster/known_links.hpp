#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace syncopate {

/// A link, identified by numbers. Names would cost memory: there may be a million links.
struct KnownLink {
  enum class Kind : std::uint8_t { node, gpu, inner, wan, storage, uplink, node_uplink };
  static constexpr std::size_t kinds = 7;
  Kind kind = Kind::node;
  bool forward = true;       ///< away from a node, GPU or region (for uplinks and storage); for links with two ends: lower to upper
  std::uint32_t number = 0;  ///< of the node, GPU or region; for links with two ends: the lower end (a switch or region)
  std::uint32_t upper = 0;   ///< upper end; for storage: the other region

  bool has_two_ends() const { return kind == Kind::inner || kind == Kind::wan || kind == Kind::storage; }
};

/// The links crossed so far, numbered in the order of first use.
class KnownLinks {
 public:
  std::size_t size() const { return links_.size(); }
  const KnownLink& operator[](std::size_t number) const { return links_[number]; }

  /// The link's number. Assigns the next number to a new link.
  std::size_t number_of(const KnownLink& link);

 private:
  static constexpr std::uint32_t none = 0xffffffff;

  std::vector<KnownLink> links_;
  /// Numbers of links with one end: by kind, then by 2 x the end's number + direction. `none`: not crossed yet.
  std::array<std::vector<std::uint32_t>, KnownLink::kinds> own_;
  std::unordered_map<std::uint64_t, std::size_t> others_;  ///< numbers of links with two ends, by both ends
};

}  // namespace syncopate
