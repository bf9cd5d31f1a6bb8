#include <fmt/format.h>

#include <algorithm>

#include "cluster/topologies.hpp"

namespace syncopate {

namespace {

constexpr int most_places = 1 << 20;
constexpr int most_levels = 20;

/// A tree of switches. Every switch has `arity` switches or places below it, and one link to the switch above. All links are equally fast.
class Tree : public Topology {
 public:
  Tree(int arity, int levels) : arity_(arity), levels_(levels) {
    for (int level = 1; level < levels_; ++level) first_leaf_ = first_leaf_ * arity_ + 1;
  }

  std::string_view name() const override { return "tree"; }
  int places() const override { return places(arity_, levels_); }
  std::optional<int> switch_of(int place) const override { return place / arity_; }
  std::string advice(int nodes) const override {
    const int levels = smallest_levels(nodes, arity_);
    const bool is_possible = levels <= most_levels && places(arity_, levels) <= most_places;
    return is_possible ? fmt::format(R"("levels": {})", levels) : "fewer nodes";
  }

  /// Clamped to the range of int.
  static int places(int arity, int levels) {
    long places = 1;
    for (int level = 0; level < levels && places <= most_places; ++level) places *= arity;
    return static_cast<int>(std::min<long>(places, most_places + 1));
  }
  static int smallest_levels(int nodes, int arity) {
    int levels = 1;
    while (places(arity, levels) < nodes) ++levels;
    return levels;
  }

  /// Level 1 is the lowest level of switches.
  std::string level(const InnerLink& link) const override {
    int level = levels_;
    for (int number = link.upper; number > 0; number = above(number)) --level;
    return fmt::format("level {}-{}", level - 1, level);
  }

  std::vector<InnerLink> route(int from, int to) const override {
    std::vector<InnerLink> ups;
    std::vector<InnerLink> downs;
    for (int source = first_leaf_ + from / arity_, target = first_leaf_ + to / arity_; source != target;
         source = above(source), target = above(target)) {
      ups.push_back({source, above(source), true});
      downs.push_back({target, above(target), false});
    }
    ups.insert(ups.end(), downs.rbegin(), downs.rend());
    return ups;
  }

 private:
  // The root is switch 0. Switches are numbered level by level.
  int above(int number) const { return (number - 1) / arity_; }

  int arity_;
  int levels_;
  int first_leaf_ = 0;
};

}  // namespace

std::shared_ptr<const Topology> read_tree(Object& fields, int nodes) {
  constexpr int largest_arity = 1024;
  const auto arity_field = fields.find("arity");
  const int arity = arity_field ? static_cast<int>(arity_field->integer(2, largest_arity)) : 2;
  const auto levels_field = fields.find("levels");
  const int levels = levels_field ? static_cast<int>(levels_field->integer(1, most_levels)) : Tree::smallest_levels(nodes, arity);
  if (Tree::places(arity, levels) > most_places) {
    (levels_field ? *levels_field : fields.field())
        .fail_because(fmt::format("a tree with {} levels of arity {} has more than {} places, the most that can be simulated; use fewer",
                                  levels, arity, most_places));
  }
  return std::make_shared<Tree>(arity, levels);
}

}  // namespace syncopate
