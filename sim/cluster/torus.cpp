#include <fmt/format.h>

#include <numeric>

#include "cluster/simgrid.hpp"
#include "cluster/topologies.hpp"
#include "cluster/zones.hpp"

namespace syncopate {

namespace {

namespace s4u = simgrid::s4u;

using Dimensions = std::vector<unsigned long>;

constexpr unsigned long smallest_side = 2;

long product(const Dimensions& dimensions) { return std::accumulate(dimensions.begin(), dimensions.end(), 1L, std::multiplies<>()); }

/// Sides as equal as possible with room for so many nodes.
Dimensions nearest(int nodes, std::size_t count) {
  Dimensions sides(count, smallest_side);
  for (std::size_t side = count - 1; product(sides) < nodes; side = (side + count - 1) % count) ++sides[side];
  return sides;
}

/// Nodes in a grid of two or three dimensions whose ends meet, with a link to each neighbour. Routes go dimension by dimension.
class Torus : public Topology {
 public:
  explicit Torus(Dimensions dimensions) : dimensions_(std::move(dimensions)) {}

  std::string_view name() const override { return "torus"; }
  int places() const override { return static_cast<int>(product(dimensions_)); }
  std::string advice(int nodes) const override {
    return fmt::format(R"("dimensions": [{}])", fmt::join(nearest(nodes, dimensions_.size()), ", "));
  }
  int nearest_links() const override { return 1; }
  bool has_node_links() const override { return false; }

  std::vector<s4u::Host*> build(int /*needed*/, double bandwidth) const override {
    std::vector<s4u::Host*> hosts;
    s4u::create_torus_zone("torus", simgrid_world(), dimensions_, hosts_into(hosts), bandwidth, 0.0, s4u::Link::SharingPolicy::SPLITDUPLEX)
        ->seal();
    return hosts;
  }

  std::string link_name(const std::string& simgrid_name) const override {
    // <zone>_link_from_<place>_to_<place>
    const std::size_t from = simgrid_name.find("from_") + 5;
    const std::size_t to = simgrid_name.find("_to_", from);
    return fmt::format("place {} - place {}", simgrid_name.substr(from, to - from), simgrid_name.substr(to + 4));
  }

 private:
  Dimensions dimensions_;
};

}  // namespace

std::shared_ptr<const Topology> read_torus(Object& fields, int nodes) {
  const auto field = fields.find("dimensions");
  if (!field) return std::make_shared<Torus>(nearest(nodes, 2));
  constexpr int largest_side = 65536;
  Dimensions dimensions;
  for (const Field& side : field->list()) {
    dimensions.push_back(static_cast<unsigned long>(side.integer(smallest_side, largest_side)));
  }
  if (dimensions.size() < 2 || dimensions.size() > 3) field->fail("two or three dimensions, such as [4, 4]");
  constexpr long most_places = 65536;
  if (product(dimensions) > most_places) {
    field->fail_because(fmt::format("a torus of {} has {} places; at most {} can be simulated", fmt::join(dimensions, " x "),
                                    product(dimensions), most_places));
  }
  return std::make_shared<Torus>(dimensions);
}

}  // namespace syncopate
