#include <fmt/format.h>

#include "cluster/topologies.hpp"

namespace syncopate {

namespace {

constexpr int most_ports = 64;  // 65536 places

/// Three levels of switches with k ports: k pods of k/2 edge switches with k/2 nodes each. An edge switch has 1/oversubscription as many
/// uplinks as nodes. The destination determines the route (D-mod-k).
/// M. Al-Fares et al., "A scalable, commodity data center network architecture", SIGCOMM'08.
class FatTree : public Topology {
 public:
  FatTree(int ports, int oversubscription) : half_(ports / 2), uplinks_(ports / 2 / oversubscription) {}

  std::string_view name() const override { return "fat-tree"; }
  int places() const override { return 2 * half_ * half_ * half_; }
  std::optional<int> switch_of(int place) const override { return place / half_; }
  std::string advice(int nodes) const override {
    const int oversubscription = half_ / uplinks_;
    return fmt::format(R"("k": {})", smallest_ports(nodes, oversubscription));
  }

  static int smallest_ports(int nodes, int oversubscription) {
    int ports = 2 * oversubscription;
    while (ports * ports / 4 * ports < nodes) ports += 2 * oversubscription;
    return ports;
  }

  std::string level(const InnerLink& link) const override {
    return link.lower > first_switch() - edges() ? "edge-aggregation" : "aggregation-core";
  }

  std::vector<InnerLink> route(int from, int to) const override {
    // D-mod-k: the digits of the destination's number choose the uplinks.
    const int below = first_switch() - edges();
    const auto edge = [&](int place) { return first_switch() - place / half_; };
    const auto middle = [&](int place) { return below - (to % uplinks_ + uplinks_ * (place / (half_ * half_))); };
    const int top = below - 2 * half_ * uplinks_ - (to % uplinks_ + uplinks_ * (to / uplinks_ % half_));
    if (edge(from) == edge(to)) return {};
    if (middle(from) == middle(to)) return {{edge(from), middle(from), true}, {edge(to), middle(to), false}};
    return {{edge(from), middle(from), true}, {middle(from), top, true}, {middle(to), top, false}, {edge(to), middle(to), false}};
  }

 private:
  // Switches are numbered level by level downwards: edge, aggregation, core.
  int first_switch() const { return 2 * places() - 1; }
  int edges() const { return 2 * half_ * half_; }

  int half_;
  int uplinks_;
};

}  // namespace

std::shared_ptr<const Topology> read_fat_tree(Object& fields, int nodes) {
  constexpr int most_oversubscription = most_ports / 2;
  const auto ratio = fields.find("oversubscription");
  const int oversubscription = ratio ? static_cast<int>(ratio->integer(1, most_oversubscription)) : 1;
  const auto ports = fields.find("k");
  if (!ports) {
    const int smallest = FatTree::smallest_ports(nodes, oversubscription);
    if (smallest > most_ports)
      fields.field().fail_because(fmt::format("no fat-tree with k <= {} has {} places; use fewer nodes", most_ports, nodes));
    return std::make_shared<FatTree>(smallest, oversubscription);
  }
  const int k = static_cast<int>(ports->integer(2, most_ports));
  if (k % 2 != 0) ports->fail_because(fmt::format("half of a switch's ports go up, so k must be even; use {} or {}", k - 1, k + 1));
  if (k / 2 % oversubscription != 0) {
    ports->fail_because(
        fmt::format("an edge switch of {} ports has {} nodes, which is not a multiple of \"oversubscription\" {}; use \"k\": {}", k, k / 2,
                    oversubscription, (k / 2 / oversubscription + 1) * 2 * oversubscription));
  }
  return std::make_shared<FatTree>(k, oversubscription);
}

}  // namespace syncopate
