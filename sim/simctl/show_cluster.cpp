#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/document.hpp"
#include "base/fields.hpp"
#include "base/files.hpp"
#include "base/table.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cluster/alpha_beta.hpp"
#include "cluster/picture.hpp"
#include "cluster/planned.hpp"
#include "cluster/write_platform.hpp"
#include "simctl/commands.hpp"

namespace syncopate {

namespace {

std::string describe(Rate bandwidth) {
  return std::isinf(bandwidth.value) ? "by uplinks alone" : fmt::format("{:.4g} Gb/s", bandwidth.value * 8 / 1e9);
}

std::string describe_link(const Link& link) {
  return fmt::format("{}, {} end to end{}", describe(link.bandwidth), format_seconds(link.latency),
                     link.window > Bytes(0) ? fmt::format(", a TCP window of {}", format_bytes(link.window)) : "") +
         (link.download ? fmt::format(", by way of object storage, from which {}", describe(*link.download)) : "") +
         (link.connections > 1 ? fmt::format(", {} connections", link.connections) : "") +
         (link.jitter.varies() ? ", latencies that vary" : "") + (link.changes_with_time() ? ", changing with time" : "");
}

std::string describe_kind(const std::optional<LinkKind>& kind) { return !kind ? "" : fmt::format("; {}", describe(*kind)); }

void show_uplink(std::string_view name, const Uplink& uplink) {
  if (!uplink.is_there()) return;
  display("  {}: {}{}\n", name, describe(uplink.up), uplink.up == uplink.down ? "" : fmt::format(" up, {} down", describe(uplink.down)));
}

void show_regions(const Regions& regions) {
  for (std::size_t a = 0; a < regions.list.size(); ++a) {
    const Region& region = regions.list[a];
    display("region {}: {} node{}\n", region.name, region.nodes, region.nodes == 1 ? "" : "s");
    show_uplink("uplink", region.uplink);
    show_uplink("each node's own uplink", region.node_uplink);
    for (std::size_t b = a + 1; b < regions.list.size(); ++b) {
      const Link& there = regions.wan[a][b];
      const Link& back = regions.wan[b][a];
      display("  to {}: {}{}\n", regions.list[b].name, describe_link(there),
              there.bandwidth == back.bandwidth ? "" : fmt::format("; {} back", describe(back.bandwidth)));
    }
  }
}

/// Times of a cluster's all-reduces in per-message fidelity.
class MessageTimes {
 public:
  MessageTimes(const Cluster& cluster, Bytes bytes, const std::vector<std::size_t>& region_order)
      : cluster_(cluster), bytes_(bytes), network_(cluster, cluster.gpus_per_node, {}, region_order) {}

  Seconds of(const AllReduce& all_reduce) {
    PlannedCollectives planned(cluster_, all_reduce, network_, cluster_.gpus_per_node);
    return planned(Operation::all_reduce, Communicator(cluster_.workers()), bytes_).times().from_equal_starts(bytes_);
  }

 private:
  const Cluster& cluster_;
  Bytes bytes_;
  Network network_;
};

/// All algorithms, the ring across all GPUs where that differs from the ring across nodes, and sums in switches where there can be any.
std::vector<AllReduce> all_reduces(const Cluster& cluster) {
  std::vector<AllReduce> list;
  for (const Algorithm& algorithm : algorithms()) {
    list.push_back({.algorithm = &algorithm, .name = std::string(algorithm.name)});
    if (&algorithm == &ring() && cluster.gpus_per_node > 1 && !cluster.is_fitted() && cluster.protocol == Protocol())
      list.push_back(ring_across_gpus());
  }
  if (!cluster.is_fitted() && !cluster.regions && !cluster.platform && cluster.protocol == Protocol())
    list.push_back(in_network_all_reduce());
  return list;
}

std::string describe_fit(const Fit& fit) {
  return fmt::format("{}{:.4g} s + {:.4g} s/B over {} ranks, {}",
                     fit.points.empty() ? "" : fmt::format("{} points, about ", fit.points.size()), fit.line.a.value, fit.line.b.value,
                     fit.ranks, fit.algorithm->name) +
         (fit.queued.empty() ? "" : fmt::format("; {} points back to back", fit.queued.size()));
}

void print_cluster(const Document& document) {
  const Cluster cluster = read_cluster(document);
  display("cluster {}: {} nodes, {}\n", cluster.name, cluster.nodes, cluster.topology->name());
  if (cluster.gpus_per_node > 1) {
    display("nodes: {} GPUs each, joined by {}{}\n", cluster.gpus_per_node, describe_link(cluster.intra_node),
            describe_kind(cluster.intra_kind));
  }
  if (cluster.regions) {
    show_regions(*cluster.regions);
  } else if (cluster.platform) {
    display("platform: {}, {} hosts, {} links; between neighbours at worst {}\n", cluster.platform->name(),
            cluster.platform->hosts().size(), cluster.platform->links().size(), describe_link(cluster.link));
  } else {
    display("link: {}{}\n", describe_link(cluster.link), describe_kind(cluster.link_kind));
  }
  display("reduction: {:.4g} s/B\n", cluster.reduce.value);
  if (cluster.protocol != Protocol()) {
    display("protocol: {}{} segment{}; not in alpha-beta fidelity\n", cluster.protocol.rendezvous ? "rendezvous, " : "",
            cluster.protocol.segments, cluster.protocol.segments == 1 ? "" : "s");
  }
  for (const auto& [operation, fits] : cluster.fits) {
    for (const Fit& fit : fits) display("fit of {}s: {}\n", to_string(operation), describe_fit(fit));
  }
  if (!cluster.source.empty()) display("source: {}\n", cluster.source);
  constexpr std::array sizes = {Bytes(1e3), Bytes(1e6), Bytes(100e6)};
  Cells header = {"all-reduce", "latency"};
  for (const Bytes size : sizes) header.emplace_back(format_bytes(size));
  constexpr int most_planned = 4096;
  const bool planned = !cluster.is_fitted() && cluster.workers() <= most_planned && cluster.workers() > 1;
  const std::vector<std::size_t> order = fastest_region_order(cluster, sizes.back());
  MessageTimes messages(cluster, sizes.back(), order);
  if (planned) header.emplace_back(fmt::format("{} per message", format_bytes(sizes.back())));
  std::vector<Cells> table = {header};
  for (const AllReduce& all_reduce : all_reduces(cluster)) {
    const bool possible = !cluster.regions || cluster.is_fitted() || all_reduce.algorithm == &ring();
    if (!possible || !can_carry_fit(cluster, *all_reduce.algorithm)) continue;
    const CollectiveCosts costs(cluster, all_reduce, Communicator(cluster.workers()), cluster.gpus_per_node, order);
    Cells row = {all_reduce.name, costs.curve(Operation::all_reduce, sizes.back()).tangent(sizes.front()).a};
    for (const Bytes size : sizes) row.emplace_back(costs(Operation::all_reduce, size).total());
    if (planned) row.emplace_back(all_reduce.in_network ? Cell("-") : Cell(messages.of(all_reduce)));
    table.push_back(row);
  }
  display("\nall-reduce over {} workers, alpha-beta{}:\n{}", cluster.workers(),
          cluster.platform ? ", as if every link were the slowest" : "", format_table(table));
  const std::vector<std::string> names = region_names(cluster, order);
  if (!names.empty()) display("order of the regions, for {}: {}\n", format_bytes(sizes.back()), fmt::join(names, ", "));
}

void draw_cluster(const Document& document) {
  const Cluster cluster = read_cluster(document);
  if (cluster.nodes > most_nodes_in_picture) {
    const Field nodes(document, "/nodes", document.root()["nodes"]);
    nodes.fail_because(fmt::format("a picture of {} nodes cannot be read; draw a smaller cluster of the same shape, of at most {}",
                                   cluster.nodes, most_nodes_in_picture));
  }
  print_data(draw_network(cluster));
}

void write_cluster_as_platform(const Document& document, const std::string& file) {
  const WrittenPlatform written = write_platform(document, file);
  write_file(file, written.xml);
  print_data(pretty(written.cluster));
}

}  // namespace

const ClusterView& cluster_view() {
  static constexpr ClusterView view = {print_cluster, draw_cluster, write_cluster_as_platform, print_schedule};
  return view;
}

}  // namespace syncopate
