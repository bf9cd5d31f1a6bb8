#include "cluster/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/choice.hpp"
#include "base/document.hpp"
#include "base/fields.hpp"
#include "base/text.hpp"
#include "cluster/link_kinds.hpp"
#include "cluster/platform_topology.hpp"
#include "cluster/read_changes.hpp"

namespace syncopate {

namespace {

constexpr int most_nodes = 1 << 20;

/// A link, and what it was made of.
struct ReadLink {
  Link link;
  double efficiency = 1.0;
  std::optional<LinkKind> kind{};  ///< if that tells the efficiency
};

/// The link over `nics` interfaces: their bandwidths add up.
ReadLink read_link(const Field& field, int nics = 1) {
  Object fields(field);
  const Rate nominal = fields.at("bandwidth").bandwidth();
  ReadLink read = {.link = {nics * nominal, fields.at("latency").latency()}};
  Link& link = read.link;
  if (const auto window = fields.find("tcp_window")) link.window = nics * window->bytes();
  if (const auto connections = fields.find("connections")) link.connections = read_connections(*connections);
  if (const auto jitter = fields.find("latency_jitter")) link.jitter = read_jitter(*jitter);
  if (const auto kind = fields.find("kind")) read.kind = read_link_kind(*kind, nominal);
  if (read.kind) read.efficiency = read.kind->median;
  if (const auto efficiency = fields.find("efficiency")) {
    read.efficiency = read_efficiency(*efficiency, read.kind ? &*read.kind : nullptr);
    if (!efficiency->json().is_string()) read.kind.reset();
  }
  link.bandwidth = read.efficiency * link.bandwidth;
  fields.finish();
  return read;
}

/// Reads the link between nodes.
void read_node_link(const Field& field, Cluster& cluster) {
  const ReadLink read = read_link(field, cluster.nics);
  cluster.link = read.link;
  cluster.link_efficiency = read.efficiency;
  cluster.link_kind = read.kind;
}

/// Pairs of bytes and seconds. Bytes must increase, seconds must not decrease.
std::vector<MeasuredTime> read_points(const Field& field) {
  std::vector<MeasuredTime> points;
  for (const Field& entry : field.list()) {
    const std::vector<Field> pair = entry.list();
    if (pair.size() != 2) entry.fail("two numbers, bytes and seconds");
    const MeasuredTime point = {pair[0].bytes(), pair[1].seconds()};
    if (point.time == Seconds(0)) pair[1].fail("a number > 0");
    if (!points.empty() && point.bytes <= points.back().bytes) {
      pair[0].fail(fmt::format("more bytes than in the point before ({})", points.back().bytes.value));
    }
    if (!points.empty() && point.time < points.back().time) {
      pair[1].fail(fmt::format("at least the time of the point before ({} s): more bytes do not take less time", points.back().time.value));
    }
    points.push_back(point);
  }
  if (points.size() < 2) field.fail("at least two points");
  return points;
}

Fit read_fit(Object& fields) {
  Fit fit;
  if (const auto points = fields.find("points")) {
    fit.points = read_points(*points);
    fit.line = line_through(fit.points);
    if (const auto queued = fields.find("queued")) fit.queued = read_points(*queued);
    if (const auto two = fields.find("two_at_once")) fit.two_at_once = read_points(*two);
  } else {
    fit.line = {fields.at("a_s").seconds(), fields.at("b_s_per_B").seconds_per_byte()};
  }
  fit.ranks = static_cast<int>(fields.at("nodes").integer(2, most_nodes));
  fit.algorithm = &choose(fields.at("algorithm"), algorithms());
  return fit;
}

struct FitRow {
  std::string_view name;
  Operation operation;
};
constexpr std::array fit_rows = {FitRow{"all-reduce", Operation::all_reduce}, FitRow{"reduce-scatter", Operation::reduce_scatter},
                                 FitRow{"all-gather", Operation::all_gather}, FitRow{"broadcast", Operation::broadcast}};

void scale_fit(Fit& fit, double latency, double bandwidth) {
  const Seconds a = fit.line.a;
  for (std::vector<MeasuredTime>* points : {&fit.points, &fit.queued, &fit.two_at_once}) {
    for (MeasuredTime& point : *points) {
      const Seconds latency_part = std::min(a, point.time);
      point.time = latency * latency_part + (point.time - latency_part) / bandwidth;
    }
  }
  fit.line = {latency * a, fit.line.b / bandwidth};
}

/// Scales a fit from the link that it was measured at to the cluster's. Returns the factor of the bandwidth.
double carry_to_link(const Field& measured_at, const Cluster& cluster, Fit& fit) {
  const Link& link = cluster.link;
  Object fields(measured_at);
  constexpr int most_nics = 1024;
  const auto interfaces = fields.find("nics");
  const auto nics = static_cast<double>(interfaces ? interfaces->integer(1, most_nics) : cluster.nics);
  double bandwidth = 1.0;
  double latency = 1.0;
  if (const auto measured = fields.find("bandwidth")) {
    const auto efficiency = fields.find("efficiency");
    bandwidth = link.bandwidth / (nics * (efficiency ? read_efficiency(*efficiency) : cluster.link_efficiency) * measured->bandwidth());
  }
  if (const auto measured = fields.find("latency"); measured && measured->latency() != link.latency) {
    if (measured->latency() == Seconds(0)) measured->fail("a latency > 0, since the cluster's link has one");
    latency = link.latency / measured->latency();
  }
  fields.finish();
  if (std::abs(bandwidth - 1.0) < rounding) bandwidth = 1.0;
  fit.carried = bandwidth != 1.0 || latency != 1.0;
  scale_fit(fit, latency, bandwidth);
  return bandwidth;
}

/// Reads one fit, or a list with fits of different operations or numbers of ranks.
void read_fits(const Field& field, Cluster& cluster) {
  std::map<Operation, double> faster;
  for (const Field& entry : field.is_list() ? field.list() : std::vector{field}) {
    Object fields(entry);
    const auto operation = fields.find("operation");
    const FitRow& row = operation ? choose<FitRow>(*operation, fit_rows) : fit_rows.front();
    Fit fit = read_fit(fields);
    std::vector<Fit>& fits = cluster.fits[row.operation];
    const auto after = std::find_if(fits.begin(), fits.end(), [&fit](const Fit& other) { return other.ranks >= fit.ranks; });
    if (after != fits.end() && after->ranks == fit.ranks) {
      const Field place = operation ? *operation : entry;
      place.fail_because(fmt::format("the list already has a fit of {}s over {} ranks; keep one", row.name, fit.ranks));
    }
    if (const auto measured_at = fields.find("measured_at")) {
      if (!cluster.has_link) measured_at->fail_because("the cluster has no \"link\" to which the fit could be carried; leave it out");
      faster[row.operation] = carry_to_link(*measured_at, cluster, fit);
    }
    fits.insert(after, std::move(fit));
    fields.finish();
  }
  // The line's b contains the reduction.
  const auto first = cluster.fits.empty() ? faster.end() : faster.find(cluster.fits.begin()->first);
  if (first != faster.end()) cluster.reduce = cluster.reduce / first->second;
  if (!cluster.is_fitted()) field.fail("a fit, or a list of fits of different operations");
}

int read_gpus(Object& fields, Cluster& cluster) {
  constexpr int most_gpus = 1024;
  constexpr int most_workers = 8 * most_nodes;
  const auto field = fields.find("gpus_per_node");
  const auto link = fields.find("intra_node");
  if (link) {
    const ReadLink read = read_link(*link);
    cluster.intra_node = read.link;
    cluster.intra_kind = read.kind;
    cluster.intra_efficiency = read.efficiency;
  }
  if (!field) return 1;
  const int gpus = static_cast<int>(field->integer(1, most_gpus));
  if (std::int64_t{gpus} * cluster.nodes > most_workers) {
    field->fail_because(fmt::format("{} nodes of {} GPUs are more than {} workers; use fewer", cluster.nodes, gpus, most_workers));
  }
  if (gpus > 1 && !link) {
    field->fail_because(
        R"(nodes with several GPUs need a link between the GPUs; add "intra_node": {"bandwidth": "12GBps", "latency": "5us"})");
  }
  return gpus;
}

/// The link between nodes, or regions and the links between them.
void read_links(Object& fields, Cluster& cluster) {
  const auto regions = fields.find("regions");
  const auto wan = fields.find("wan");
  if (cluster.platform) {
    for (const std::string_view key : {"link", "regions", "wan", "topology", "nics", "fit"}) {
      if (const auto field = fields.find(std::string(key)))
        field->fail_because(R"(the platform has the network; leave this or "platform" out)");
    }
    return;
  }
  if (!regions) {
    if (wan) wan->fail_because(R"(links between regions need "regions": [{"name": ..., "nodes": ...}, ...])");
    read_node_link(fields.at("link"), cluster);
    return;
  }
  if (!wan) {
    regions->fail_because(
        R"(regions need a link between every two of them; add "wan": [{"between": [..., ...], "rtt": "49ms", "bandwidth": "1Gbps"}])");
  }
  cluster.regions = read_regions(*regions, *wan, cluster.nodes);
  if (cluster.regions->nodes() != cluster.nodes) {
    regions->fail_because(fmt::format(
        R"(the regions have {} nodes in total, but the cluster has {}; leave out the regions' "nodes" to spread them evenly, or )"
        R"(give each a "share")",
        cluster.regions->nodes(), cluster.nodes));
  }
  constexpr int most_nodes_in_ring = 4096;
  if (cluster.nodes > most_nodes_in_ring) {
    regions->fail_because(fmt::format("a ring through {} nodes takes too long to compute; use at most {}, or nodes of several GPUs",
                                      cluster.nodes, most_nodes_in_ring));
  }
  const bool alone = cluster.nodes == static_cast<int>(cluster.regions->list.size());
  const auto link = fields.find("link");
  if (link) {
    read_node_link(*link, cluster);
  } else if (alone) {
    cluster.link = cluster.regions->wan[0][1];  // unused: every region has one node
    cluster.has_link = false;
  } else {
    regions->fail_because(R"(a region with several nodes needs a "link" between its nodes; add it to the cluster)");
  }
}

struct PlacementRow {
  std::string_view name;
  Placement::Kind kind;
};
constexpr std::array placements = {PlacementRow{"linear", Placement::Kind::linear}, PlacementRow{"by-region", Placement::Kind::by_region},
                                   PlacementRow{"nearest", Placement::Kind::nearest}, PlacementRow{"random", Placement::Kind::random}};

Placement read_placement(const Field& field, const Cluster& cluster) {
  Placement placement;
  if (field.is_object()) {
    Object fields(field);
    placement.kind = choose<PlacementRow>(fields.at("name"), placements).kind;
    constexpr std::int64_t largest_seed = std::int64_t{1} << 53;
    if (const auto seed = fields.find("seed")) placement.seed = static_cast<std::uint64_t>(seed->integer(0, largest_seed));
    fields.finish();
  } else {
    placement.kind = choose<PlacementRow>(field, placements).kind;
  }
  if (placement.kind == Placement::Kind::by_region && !cluster.regions) {
    field.fail_because("\"by-region\" needs regions, which the cluster does not have; use \"linear\" or \"random\"");
  }
  if (placement.kind == Placement::Kind::nearest && !cluster.platform) {
    field.fail_because(R"("nearest" needs a "platform", which the cluster does not have; use "linear" or "random")");
  }
  return placement;
}

Host read_host(const Field& field) {
  Object fields(field);
  Host host;
  if (const auto time = fields.find("per_message_s")) host.per_message = time->seconds();
  if (const auto time = fields.find("per_collective_s")) host.collective.per_collective = time->seconds();
  if (const auto time = fields.find("per_rank_s")) host.collective.per_rank = time->seconds();
  if (const auto time = fields.find("per_tensor_s")) host.collective.per_tensor = time->seconds();
  fields.finish();
  return host;
}

Protocol read_protocol(const Field& field) {
  Object fields(field);
  Protocol protocol;
  constexpr int most_segments = 64;
  if (const auto rendezvous = fields.find("rendezvous")) protocol.rendezvous = rendezvous->boolean();
  if (const auto segments = fields.find("segments")) protocol.segments = static_cast<int>(segments->integer(1, most_segments));
  fields.finish();
  return protocol;
}

LinkCost link_of(const Fit& fit, Operation operation, const Cluster& cluster) {
  return implied_link(fit.algorithm->form(operation), fit.line, fit.ranks, cluster.reduce);
}

/// Points of a fit: `points`, or others that it may have.
using PointsOf = std::vector<MeasuredTime> Fit::*;

/// Of one fit. `of`: the operation that it measures. `points_of`: what is asked for; without such points it is one collective alone.
CostCurve carried_cost(const Fit& fit, Operation of, const Cluster& cluster, Operation operation, const Algorithm& algorithm, int ranks,
                       PointsOf points_of) {
  const ClosedForm& form = algorithm.form(operation);
  if (of != operation || fit.algorithm != &algorithm) return cost_line(form, ranks, link_of(fit, of, cluster));
  const std::vector<MeasuredTime>& points = (fit.*points_of).empty() ? fit.points : fit.*points_of;
  if (!points.empty() && ranks > 1) return curve_through(carry(form, points, fit.ranks, ranks));
  return carry(form, fit.line, fit.ranks, ranks);
}

CostCurve between(CostCurve lower, CostCurve upper, double weight) {
  return CostCurve([lower = std::move(lower), upper = std::move(upper), weight](Bytes bytes) {
    const CostLine low = lower.tangent(bytes);
    const CostLine high = upper.tangent(bytes);
    return CostLine{(1.0 - weight) * low.a + weight * high.a, (1.0 - weight) * low.b + weight * high.b};
  });
}

CostCurve cost_of(const Cluster& cluster, Operation operation, const Algorithm& algorithm, int ranks, PointsOf points_of) {
  if (!cluster.is_fitted())
    return cost_line(algorithm.form(operation), ranks, {cluster.link.hop().latency, cluster.link.hop().beta, cluster.reduce});
  const auto own = cluster.fits.find(operation);
  const auto& [of, fits] = own == cluster.fits.end() ? *cluster.fits.begin() : *own;
  const auto carried = [&, of = of](const Fit& fit) { return carried_cost(fit, of, cluster, operation, algorithm, ranks, points_of); };
  const auto upper = std::find_if(fits.begin(), fits.end(), [ranks](const Fit& fit) { return fit.ranks >= ranks; });
  if (upper == fits.end()) return carried(fits.back());
  if (upper == fits.begin() || upper->ranks == ranks) return carried(*upper);
  const Fit& lower = *std::prev(upper);
  const auto log_over_lower = [&lower](int count) { return std::log(static_cast<double>(count) / lower.ranks); };
  return between(carried(lower), carried(*upper), log_over_lower(ranks) / log_over_lower(upper->ranks));
}

}  // namespace

Cluster read_cluster(const Document& document, const std::string& pointer) {
  Object fields(Field(document, pointer, document.root().at(JsonPointer(pointer))));
  Cluster cluster;
  fields.format("cluster/1", pointer.empty());

  const auto name = fields.find("name");
  cluster.name = name ? name->name() : "cluster";
  if (const auto source = fields.find("source")) cluster.source = source->text();
  const PlatformKeys keys = {fields.find("nodes"), fields.find("hosts"), fields.find("host_speeds")};
  if (const auto platform = fields.find("platform")) {
    place_on_platform(*platform, keys, cluster);
  } else {
    for (const auto& key : {keys.hosts, keys.speeds}) {
      if (key) key->fail_because(R"(hosts are those of a "platform", which the cluster does not have; leave it out)");
    }
    cluster.nodes = static_cast<int>(fields.at("nodes").integer(1, most_nodes));
  }
  cluster.gpus_per_node = read_gpus(fields, cluster);
  constexpr int most_nics = 64;
  if (const auto nics = fields.find("nics")) cluster.nics = static_cast<int>(nics->integer(1, most_nics));
  read_links(fields, cluster);
  if (const auto reduce = fields.find("reduce_s_per_B")) cluster.reduce = reduce->seconds_per_byte();
  if (const auto copy = fields.find("copy_s_per_B")) cluster.copy = copy->seconds_per_byte();
  if (const auto host = fields.find("host")) cluster.host = read_host(*host);
  const auto topology = fields.find("topology");
  if (!cluster.topology) cluster.topology = topology ? read_topology(*topology, cluster.nodes) : default_topology();
  if (topology && cluster.regions && cluster.topology->name() != default_topology()->name()) {
    topology->fail_because(fmt::format("a cluster with regions has no topology (the nodes of each region form a star); leave out \"{}\"",
                                       cluster.topology->name()));
  }
  const auto placement = fields.find("placement");
  if (cluster.regions) cluster.placement.kind = Placement::Kind::by_region;
  if (placement) cluster.placement = read_placement(*placement, cluster);
  if (cluster.placement.kind == Placement::Kind::nearest) order_by_distance(*placement, cluster);
  if (const auto fit = fields.find("fit")) read_fits(*fit, cluster);
  if (const auto protocol = fields.find("protocol")) {
    cluster.protocol = read_protocol(*protocol);
    if (cluster.is_fitted())
      protocol->fail_because("a \"protocol\" describes single messages, but a \"fit\" measures whole collectives; leave one of them out");
  }
  using Read = std::pair<const char*, void (*)(const Field&, Cluster&)>;
  for (const auto& [key, read] : {Read("node_links", read_node_links), Read("link_profiles", read_link_profiles)}) {
    const auto links = fields.find(key);
    if (!links || links->json() == Json::array()) continue;
    if (cluster.is_fitted()) links->fail_because("a \"fit\" measures whole collectives, but links change for bytes; leave one of them out");
    read(*links, cluster);
  }
  constexpr double widest = 100.0;
  constexpr double most_money = 1e12;
  if (const auto price = fields.find("price_per_node_hour")) cluster.price = price->number(0.0, most_money);
  if (const auto cv = fields.find("latency_cv")) cluster.latency_cv = cv->number(0.0, widest);
  fields.finish();
  return cluster;
}

void scale_fits(Cluster& cluster, double latency, double bandwidth) {
  if (cluster.is_fitted()) cluster.reduce = cluster.reduce / bandwidth;
  for (auto& [operation, fits] : cluster.fits) {
    for (Fit& fit : fits) scale_fit(fit, latency, bandwidth);
  }
}

bool implies_link(const Cluster& cluster) {
  if (!cluster.is_fitted()) return true;
  const auto& [operation, fits] = *cluster.fits.begin();
  return std::all_of(fits.begin(), fits.end(),
                     [&, of = operation](const Fit& fit) { return link_of(fit, of, cluster).beta >= SecondsPerByte(0); });
}

namespace {

bool is_usual(const std::optional<LinkKind>& kind, double efficiency) {
  return kind && efficiency == kind->median && kind->low < kind->high;
}

}  // namespace

bool has_usual_share(const Cluster& cluster) {
  return !cluster.is_fitted() && ((cluster.nodes > 1 && is_usual(cluster.link_kind, cluster.link_efficiency)) ||
                                  (cluster.gpus_per_node > 1 && is_usual(cluster.intra_kind, cluster.intra_efficiency)));
}

Cluster with_share(const Cluster& cluster, double LinkKind::*share) {
  Cluster other = cluster;
  if (is_usual(cluster.link_kind, cluster.link_efficiency)) {
    other.link_efficiency = (*cluster.link_kind).*share;
    const double factor = other.link_efficiency / cluster.link_efficiency;
    other.link.bandwidth = factor * other.link.bandwidth;
    other.link_changes.scale(factor);
  }
  if (is_usual(cluster.intra_kind, cluster.intra_efficiency)) {
    other.intra_efficiency = (*cluster.intra_kind).*share;
    other.intra_node.bandwidth = other.intra_efficiency / cluster.intra_efficiency * other.intra_node.bandwidth;
  }
  return other;
}

bool draws_latencies(const Cluster& cluster) {
  const auto varies = [](const Link& link) { return link.jitter.varies(); };
  if (cluster.latency_cv > 0.0 || varies(cluster.link)) return true;
  if (cluster.gpus_per_node > 1 && varies(cluster.intra_node)) return true;
  if (!cluster.regions) return false;
  const auto& wan = cluster.regions->wan;
  return std::any_of(wan.begin(), wan.end(), [&](const std::vector<Link>& row) { return std::any_of(row.begin(), row.end(), varies); });
}

bool can_carry_fit(const Cluster& cluster, const Algorithm& algorithm) {
  const auto own = cluster.fits.find(Operation::all_reduce);
  if (own == cluster.fits.end()) return implies_link(cluster);
  const bool is_own = std::all_of(own->second.begin(), own->second.end(), [&](const Fit& fit) { return fit.algorithm == &algorithm; });
  return is_own || implies_link(cluster);
}

bool knows_cost(const Cluster& cluster, Operation operation) { return implies_link(cluster) || cluster.fits.contains(operation); }

CostCurve collective_cost(const Cluster& cluster, Operation operation, const Algorithm& algorithm, int ranks) {
  return cost_of(cluster, operation, algorithm, ranks, &Fit::points);
}

CostCurve queued_cost(const Cluster& cluster, Operation operation, const Algorithm& algorithm, int ranks) {
  return cost_of(cluster, operation, algorithm, ranks, &Fit::queued);
}

std::optional<CostCurve> two_at_once_cost(const Cluster& cluster, Operation operation, const Algorithm& algorithm, int ranks) {
  const auto own = cluster.fits.find(operation);
  if (own == cluster.fits.end()) return std::nullopt;
  const auto measures_it = [&](const Fit& fit) { return !fit.two_at_once.empty() && fit.algorithm == &algorithm; };
  if (!std::all_of(own->second.begin(), own->second.end(), measures_it)) return std::nullopt;
  return cost_of(cluster, operation, algorithm, ranks, &Fit::two_at_once);
}

}  // namespace syncopate
