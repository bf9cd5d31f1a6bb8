#include <fmt/format.h>

#include <numeric>

#include "base/indexed.hpp"
#include "cluster/topologies.hpp"

namespace syncopate {

namespace {

using Dimensions = std::vector<unsigned long>;

constexpr unsigned long smallest_side = 2;

long product(const Dimensions& dimensions) { return std::accumulate(dimensions.begin(), dimensions.end(), 1L, std::multiplies<>()); }

/// The sides of the smallest grid, as nearly square as possible, with places for `nodes` nodes.
Dimensions nearest(int nodes, std::size_t count) {
  Dimensions sides(count, smallest_side);
  for (std::size_t side = count - 1; product(sides) < nodes; side = (side + count - 1) % count) ++sides[side];
  return sides;
}

/// A grid of two or three dimensions that wraps around. Nodes are linked to their neighbours. Routes go dimension by dimension.
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

  std::string_view switch_name() const override { return "place"; }

  std::string level(const InnerLink& link) const override {
    // The two ends of a link differ in one coordinate.
    int dimension = 1;
    int stride = static_cast<int>(dimensions_.front());
    for (; link.lower / stride != link.upper / stride; ++dimension) stride *= static_cast<int>(dimensions_[at(dimension)]);
    return fmt::format("dimension {}", dimension);
  }

  std::vector<InnerLink> route(int from, int to) const override {
    std::vector<InnerLink> links;
    int here = from;
    int stride = 1;  // difference between the numbers of neighbours in this dimension
    for (const unsigned long dimension : dimensions_) {
      const int side = static_cast<int>(dimension);
      const int first = from / stride % side;
      const int last = to / stride % side;
      const int ahead = (last - first + side) % side;
      // The shorter way. If both are equally long, up, except from the middle to 0: as in SimGrid.
      const bool up = 2 * ahead <= side && !(2 * first == side && last == 0);
      for (int left = up ? ahead : side - ahead; left > 0; --left) {
        const int position = here / stride % side;
        const int next = here + stride * ((up ? position + 1 : position + side - 1) % side - position);
        links.push_back(up ? InnerLink{here, next, true} : InnerLink{next, here, false});
        here = next;
      }
      stride *= side;
    }
    return links;
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
