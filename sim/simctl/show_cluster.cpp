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

constexpr std::array shown_sizes = {Bytes(1e3), Bytes(1e6), Bytes(100e6)};

/// How long all-reduces over all workers take.
struct AllReduceTimes {
  struct Row {
    std::string name;
    Seconds latency;
    std::vector<Seconds> closed_form{};   ///< of shown_sizes
    std::optional<Seconds> by_message{};  ///< of the largest of shown_sizes, in per-message fidelity
  };
  std::vector<Row> rows{};
  bool has_messages = false;           ///< whether by_message was asked for
  std::vector<std::string> regions{};  ///< in the order that makes the largest of shown_sizes fastest
};

AllReduceTimes all_reduce_times(const Cluster& cluster) {
  constexpr int most_planned = 4096;
  const std::vector<std::size_t> order = fastest_region_order(cluster, shown_sizes.back());
  AllReduceTimes times = {.has_messages = !cluster.is_fitted() && cluster.workers() <= most_planned && cluster.workers() > 1,
                          .regions = region_names(cluster, order)};
  MessageTimes messages(cluster, shown_sizes.back(), order);
  for (const AllReduce& all_reduce : all_reduces(cluster)) {
    const bool possible = !cluster.regions || cluster.is_fitted() || all_reduce.algorithm == &ring();
    if (!possible || !can_carry_fit(cluster, *all_reduce.algorithm)) continue;
    const CollectiveCosts costs(cluster, all_reduce, Communicator(cluster.workers()), cluster.gpus_per_node, order);
    AllReduceTimes::Row row = {all_reduce.name, costs.curve(Operation::all_reduce, shown_sizes.back()).tangent(shown_sizes.front()).a};
    for (const Bytes size : shown_sizes) row.closed_form.push_back(costs(Operation::all_reduce, size).total());
    if (times.has_messages && !all_reduce.in_network) row.by_message = messages.of(all_reduce);
    times.rows.push_back(row);
  }
  return times;
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
  const AllReduceTimes times = all_reduce_times(cluster);
  Cells header = {"all-reduce", "latency"};
  for (const Bytes size : shown_sizes) header.emplace_back(format_bytes(size));
  if (times.has_messages) header.emplace_back(fmt::format("{} per message", format_bytes(shown_sizes.back())));
  std::vector<Cells> table = {header};
  for (const AllReduceTimes::Row& one : times.rows) {
    Cells row = {one.name, one.latency};
    row.insert(row.end(), one.closed_form.begin(), one.closed_form.end());
    if (times.has_messages) row.push_back(one.by_message ? Cell(*one.by_message) : Cell("-"));
    table.push_back(row);
  }
  display("\nall-reduce over {} workers, alpha-beta{}:\n{}", cluster.workers(),
          cluster.platform ? ", as if every link were the slowest" : "", format_table(table));
  if (!times.regions.empty())
    display("order of the regions, for {}: {}\n", format_bytes(shown_sizes.back()), fmt::join(times.regions, ", "));
}

Json rate_json(Rate rate) { return std::isinf(rate.value) ? Json() : Json(rate.value); }

Json link_json(const Link& link) {
  Json json = {{"bandwidth_Bps", rate_json(link.bandwidth)}, {"latency_s", link.latency.value}};
  if (link.window > Bytes(0)) json["window_bytes"] = link.window.value;
  if (link.download) json["download_Bps"] = rate_json(*link.download);
  if (link.connections > 1) json["connections"] = link.connections;
  if (link.jitter.varies()) json["latency_varies"] = true;
  if (link.changes_with_time()) json["changes_with_time"] = true;
  return json;
}

Json link_json(const Link& link, const std::optional<LinkKind>& kind) {
  Json json = link_json(link);
  if (kind) json["nominal"] = describe(*kind);
  return json;
}

Json uplink_json(const Uplink& uplink) {
  return uplink.is_there() ? Json{{"up_Bps", rate_json(uplink.up)}, {"down_Bps", rate_json(uplink.down)}} : Json();
}

Json regions_json(const Regions& regions) {
  Json json = Json::array();
  for (std::size_t a = 0; a < regions.list.size(); ++a) {
    const Region& region = regions.list[a];
    Json to = Json::object();
    for (std::size_t b = 0; b < regions.list.size(); ++b) {
      if (a != b) to[regions.list[b].name] = link_json(regions.wan[a][b]);
    }
    json.push_back({{"name", region.name},
                    {"nodes", region.nodes},
                    {"uplink", uplink_json(region.uplink)},
                    {"node_uplink", uplink_json(region.node_uplink)},
                    {"to", to}});
  }
  return json;
}

Json fit_json(Operation operation, const Fit& fit) {
  return {{"operation", to_string(operation)}, {"ranks", fit.ranks},          {"algorithm", fit.algorithm->name}, {"a_s", fit.line.a.value},
          {"b_s_per_B", fit.line.b.value},     {"points", fit.points.size()}, {"queued", fit.queued.size()}};
}

Json all_reduces_json(const AllReduceTimes& times) {
  Json json = Json::array();
  for (const AllReduceTimes::Row& row : times.rows) {
    Json alpha_beta = Json::array();
    for (std::size_t i = 0; i < shown_sizes.size(); ++i)
      alpha_beta.push_back({{"bytes", shown_sizes[i].value}, {"s", row.closed_form[i].value}});
    Json one = {{"name", row.name}, {"latency_s", row.latency.value}, {"alpha_beta", alpha_beta}, {"per_message", nullptr}};
    if (row.by_message) one["per_message"] = {{"bytes", shown_sizes.back().value}, {"s", row.by_message->value}};
    json.push_back(one);
  }
  return json;
}

Json cluster_json(const Document& document) {
  const Cluster cluster = read_cluster(document);
  const AllReduceTimes times = all_reduce_times(cluster);
  Json json = {{"format", "show/1"},
               {"kind", "cluster"},
               {"file", document.file()},
               {"name", cluster.name},
               {"source", cluster.source},
               {"nodes", cluster.nodes},
               {"gpus_per_node", cluster.gpus_per_node},
               {"workers", cluster.workers()},
               {"topology", cluster.topology->name()},
               {"link", cluster.regions ? Json() : link_json(cluster.link, cluster.link_kind)},
               {"intra_node", cluster.gpus_per_node > 1 ? link_json(cluster.intra_node, cluster.intra_kind) : Json()},
               {"regions", cluster.regions ? regions_json(*cluster.regions) : Json::array()},
               {"region_order", times.regions},
               {"platform", nullptr},
               {"reduction_s_per_B", cluster.reduce.value},
               {"protocol", nullptr},
               {"fits", Json::array()},
               {"all_reduces", all_reduces_json(times)}};
  if (cluster.platform) {
    json["platform"] = {
        {"name", cluster.platform->name()}, {"hosts", cluster.platform->hosts().size()}, {"links", cluster.platform->links().size()}};
  }
  if (cluster.protocol != Protocol())
    json["protocol"] = {{"rendezvous", cluster.protocol.rendezvous}, {"segments", cluster.protocol.segments}};
  for (const auto& [operation, fits] : cluster.fits) {
    for (const Fit& fit : fits) json["fits"].push_back(fit_json(operation, fit));
  }
  return json;
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
  static constexpr ClusterView view = {print_cluster,  draw_cluster, write_cluster_as_platform, cluster_json, find_schedule,
                                       print_schedule, schedule_json};
  return view;
}

}  // namespace syncopate
