#include "cluster/known_links.hpp"

namespace syncopate {

std::size_t KnownLinks::number_of(const KnownLink& link) {
  if (link.has_two_ends()) {
    const auto key = (std::uint64_t{link.number} << 32U) | (std::uint64_t{link.upper} << 1U) | (link.forward ? 1U : 0U);
    const auto [entry, is_new] = others_.try_emplace(key, links_.size());
    if (is_new) links_.push_back(link);
    return entry->second;
  }
  std::vector<std::uint32_t>& numbers = own_[static_cast<std::size_t>(link.kind)];
  const std::size_t index = 2 * std::size_t{link.number} + (link.forward ? 0 : 1);
  if (index >= numbers.size()) numbers.resize(index + 1, none);
  if (numbers[index] == none) {
    numbers[index] = static_cast<std::uint32_t>(links_.size());
    links_.push_back(link);
  }
  return numbers[index];
}

}  // namespace syncopate
