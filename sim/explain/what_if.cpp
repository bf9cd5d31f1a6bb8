#include "explain/what_if.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>

namespace syncopate {

namespace {

constexpr std::size_t most_layers = 10;
constexpr std::size_t most_gradients = 10;
constexpr std::size_t most_slow_workers = 10;
constexpr double nothing = 1e-12;  ///< stands for 0, because some factors divide
constexpr Rate free_bandwidth(1e30);

/// Gives the scenario its own copy of the trace, which other points share.
Trace& own_trace(Scenario& scenario) {
  const auto trace = std::make_shared<Trace>(*scenario.trace);
  scenario.trace = trace;
  return *trace;
}

/// Changes the traces of all workers.
template <class Change>
void change_traces(Scenario& scenario, const Change& change) {
  change(own_trace(scenario));
  std::map<const Trace*, std::shared_ptr<Trace>> changed;  // one for all workers with the same trace
  for (std::shared_ptr<const Trace>& trace : scenario.speed.traces) {
    if (!trace) continue;
    std::shared_ptr<Trace>& copy = changed[trace.get()];
    if (!copy) change(*(copy = std::make_shared<Trace>(*trace)));
    trace = copy;
  }
}

// Compute

void scale_forward(Trace& trace, std::size_t layer, double factor) {
  const StepProfile profile = step_profile(trace, Granularity::tensor);
  if (trace.forward_span) *trace.forward_span -= (1.0 - factor) * profile.layers[layer].forward;
  trace.layers[layer].forward = factor * trace.layers[layer].forward;
}

/// Scales a layer's backward. Gradients that are ready during or after the layer are ready earlier.
void scale_backward(Trace& trace, std::size_t layer, double factor) {
  const StepProfile profile = step_profile(trace, Granularity::tensor);
  Seconds begin;
  for (std::size_t i = trace.layers.size(); i-- > layer + 1;) begin += profile.layers[i].backward;
  const Seconds length = profile.layers[layer].backward;
  const auto shifted = [&](Seconds time) { return time - (1.0 - factor) * std::clamp(time - begin, Seconds(0), length); };
  if (trace.backward_span) *trace.backward_span = shifted(*trace.backward_span);
  for (Gradient& gradient : trace.gradients) {
    if (gradient.ready) *gradient.ready = shifted(*gradient.ready);
  }
  trace.layers[layer].backward = factor * trace.layers[layer].backward;
}

void scale_compute(Trace& trace, double factor) {
  for (std::optional<Seconds>* span : {&trace.forward_span, &trace.backward_span}) {
    if (*span) **span = factor * **span;
  }
  for (Layer& layer : trace.layers) {
    layer.forward = factor * layer.forward;
    layer.backward = factor * layer.backward;
  }
  for (Gradient& gradient : trace.gradients) {
    if (gradient.ready) *gradient.ready = factor * *gradient.ready;
  }
  trace.update = factor * trace.update;
}

// Links

void scale_bandwidth(Link& link, double factor) {
  link.bandwidth = factor * link.bandwidth;
  if (link.download) link.download = factor * *link.download;
  for (Change<Rate>& change : link.bandwidth_changes) change.value = factor * change.value;
}

void scale_latency(Link& link, double factor) {
  link.latency = factor * link.latency;
  for (Change<Seconds>& change : link.latency_changes) change.value = factor * change.value;
}

/// The links between nodes, outside regions.
void scale_links(Cluster& cluster, double bandwidth, double latency) {
  scale_bandwidth(cluster.link, bandwidth);
  scale_latency(cluster.link, latency);
  if (auto scaled = cluster.topology->scaled(bandwidth, latency)) cluster.topology = std::move(scaled);
}

void scale(Uplink& uplink, double factor) { uplink = {factor * uplink.up, factor * uplink.down}; }

void steady_latencies(Cluster& cluster) {
  cluster.latency_cv = 0.0;
  cluster.link.jitter = cluster.intra_node.jitter = {};
  if (!cluster.regions) return;
  for (std::vector<Link>& row : cluster.regions->wan) {
    for (Link& link : row) link.jitter = {};
  }
}

void free_network(Cluster& cluster) {
  const Link free = {.bandwidth = free_bandwidth, .latency = Seconds(0)};
  if (auto scaled = cluster.topology->scaled(1.0 / nothing, 0.0)) cluster.topology = std::move(scaled);
  cluster.link = cluster.intra_node = free;
  cluster.link_changes = {};
  if (cluster.regions) {
    for (std::vector<Link>& row : cluster.regions->wan) row.assign(row.size(), free);
    for (Region& region : cluster.regions->list) region.uplink = region.node_uplink = {};
  }
  cluster.latency_cv = 0.0;
  scale_fits(cluster, 0.0, 1.0 / nothing);
}

/// The factors of a scenario.
class Factors {
 public:
  Factors(const Scenario& scenario, const std::vector<PathShare>& path) : scenario_(scenario), path_(path) {}

  std::vector<Factor> all() {
    add_links();
    add_others();
    add_compute();
    add_gradients();
    add_workers();
    add_limits();
    return std::move(factors_);
  }

 private:
  using Apply = std::function<void(Scenario&, double)>;

  void add(std::string name, Factor::Kind kind, Apply apply) { factors_.push_back({std::move(name), kind, std::move(apply)}); }
  void add_limit(std::string name, std::string limit, const std::function<void(Scenario&)>& apply) {
    factors_.push_back(
        {std::move(name), Factor::Kind::limit, [apply](Scenario& scenario, double /*factor*/) { apply(scenario); }, 1.0, std::move(limit)});
  }
  void add_quantity(std::string name, bool is_there, Apply apply) {
    if (is_there) add(std::move(name), Factor::Kind::quantity, std::move(apply));
  }

  /// Whether any message leaves a node.
  bool uses_links() const {
    const std::optional<ServerSetup>& servers = scenario_.schedule.traffic.servers;
    return scenario_.cluster.nodes > 1 || (servers && !servers->colocated);
  }

  void add_links() {
    const Cluster& cluster = scenario_.cluster;
    if (uses_links() && (cluster.has_link || cluster.is_fitted())) {
      add("link.bandwidth", Factor::Kind::speed, [](Scenario& scenario, double factor) {
        scale_links(scenario.cluster, factor, 1.0);
        scenario.cluster.link_changes.scale(factor);
        scale_fits(scenario.cluster, 1.0, factor);
      });
      add("link.latency", Factor::Kind::quantity, [](Scenario& scenario, double factor) {
        scale_links(scenario.cluster, 1.0, factor);
        scale_fits(scenario.cluster, factor, 1.0);
      });
    }
    if (cluster.gpus_per_node > 1) {
      add("intra_node.bandwidth", Factor::Kind::speed,
          [](Scenario& scenario, double factor) { scale_bandwidth(scenario.cluster.intra_node, factor); });
      add("intra_node.latency", Factor::Kind::quantity,
          [](Scenario& scenario, double factor) { scale_latency(scenario.cluster.intra_node, factor); });
    }
    if (!cluster.regions) return;
    const std::vector<Region>& regions = cluster.regions->list;
    for (std::size_t a = 0; a < regions.size(); ++a) {
      for (std::size_t b = a + 1; b < regions.size(); ++b) {
        const std::string name = fmt::format("wan {} - {}", regions[a].name, regions[b].name);
        const auto both = [a, b](void (*change)(Link&, double)) {
          return [=](Scenario& scenario, double factor) {
            change(scenario.cluster.regions->wan[a][b], factor);
            change(scenario.cluster.regions->wan[b][a], factor);
          };
        };
        if (cluster.regions->are_linked(a, b)) add(name + ".bandwidth", Factor::Kind::speed, both(scale_bandwidth));
        add(name + ".latency", Factor::Kind::quantity, both(scale_latency));
      }
      for (const auto& [key, uplink] : {std::pair("uplink", &Region::uplink), std::pair("node_uplink", &Region::node_uplink)}) {
        if (!(regions[a].*uplink).is_there()) continue;
        add(fmt::format("{} {}.bandwidth", key, regions[a].name), Factor::Kind::speed,
            [a, member = uplink](Scenario& scenario, double factor) { scale(scenario.cluster.regions->list[a].*member, factor); });
      }
    }
  }

  void add_others() {
    const Cluster& cluster = scenario_.cluster;
    add_quantity("reduce_s_per_B", cluster.reduce > SecondsPerByte(0) && !cluster.is_fitted(),
                 [](Scenario& scenario, double factor) { scenario.cluster.reduce = factor * scenario.cluster.reduce; });
    add_quantity("copy_s_per_B", cluster.copy > SecondsPerByte(0),
                 [](Scenario& scenario, double factor) { scenario.cluster.copy = factor * scenario.cluster.copy; });
    add_quantity(
        "host", cluster.host.per_message > Seconds(0) || !cluster.host.collective.is_zero(), [](Scenario& scenario, double factor) {
          Host& host = scenario.cluster.host;
          for (Seconds* time : {&host.per_message, &host.collective.per_collective, &host.collective.per_rank, &host.collective.per_tensor})
            *time = factor * *time;
        });
    const std::optional<ServerSetup>& servers = scenario_.schedule.traffic.servers;
    if (!servers || std::max({servers->work, servers->decode, servers->encode}) == SecondsPerByte(0)) return;
    add("servers", Factor::Kind::speed, [](Scenario& scenario, double factor) {
      ServerSetup& setup = *scenario.schedule.traffic.servers;
      for (SecondsPerByte* work : {&setup.work, &setup.decode, &setup.encode}) *work = *work / factor;
    });
  }

  void add_compute() {
    add("compute", Factor::Kind::speed,
        [](Scenario& scenario, double factor) { change_traces(scenario, [factor](Trace& trace) { scale_compute(trace, 1.0 / factor); }); });
    add_quantity("update", scenario_.trace->update > Seconds(0), [](Scenario& scenario, double factor) {
      change_traces(scenario, [factor](Trace& trace) { trace.update = factor * trace.update; });
    });
    const std::vector<Layer>& layers = scenario_.trace->layers;
    std::size_t found = 0;
    for (const PathShare& share : path_) {
      if (share.kind != "compute" || found == most_layers) continue;
      for (std::size_t layer = 0; layer < layers.size(); ++layer) {
        for (const auto& [pass, scale] : {std::pair("forward", &scale_forward), std::pair("backward", &scale_backward)}) {
          if (share.what != fmt::format("layers.{}.{}", layers[layer].name, pass)) continue;
          ++found;
          add(share.what, Factor::Kind::quantity, [layer, change = scale](Scenario& scenario, double factor) {
            change_traces(scenario, [=](Trace& trace) { change(trace, layer, factor); });
          });
        }
      }
    }
  }

  void add_gradients() {
    const std::vector<StepProfile::GradientReady> gradients = step_profile(*scenario_.trace, scenario_.granularity).gradients;
    std::vector<std::size_t> order(gradients.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return gradients[a].bytes > gradients[b].bytes; });
    order.resize(std::min(order.size(), most_gradients));
    const bool by_layer = scenario_.granularity == Granularity::layer;
    for (const std::size_t index : order) {
      const std::size_t layer = gradients[index].layer;
      add(fmt::format("gradients.{}.bytes", gradients[index].name), Factor::Kind::quantity, [=](Scenario& scenario, double factor) {
        Trace& trace = own_trace(scenario);
        for (std::size_t i = 0; i < trace.gradients.size(); ++i) {
          Gradient& gradient = trace.gradients[i];
          if (by_layer ? gradient.layer == layer : i == index) gradient.bytes = std::max(factor, nothing) * gradient.bytes;
        }
      });
    }
    const auto scale_all = [](Scenario& scenario, double factor) {
      for (Gradient& gradient : own_trace(scenario).gradients) gradient.bytes = factor * gradient.bytes;
    };
    constexpr double half = 0.5;
    factors_.push_back({"bytes", Factor::Kind::given, scale_all, half});
  }

  void add_workers() {
    const Speed& speed = scenario_.speed;
    if (speed.jitter.varies()) add_limit("workers.jitter", "off", [](Scenario& scenario) { scenario.speed.jitter = {}; });
    if (draws_latencies(scenario_.cluster))
      add_limit("latency_jitter", "off", [](Scenario& scenario) { steady_latencies(scenario.cluster); });
    std::vector<std::size_t> slow;
    for (std::size_t worker = 0; worker < speed.slow.size(); ++worker) {
      if (speed.slow[worker] > 1.0) slow.push_back(worker);
    }
    std::stable_sort(slow.begin(), slow.end(), [&](std::size_t a, std::size_t b) { return speed.slow[a] > speed.slow[b]; });
    slow.resize(std::min(slow.size(), most_slow_workers));
    for (const std::size_t worker : slow) {
      add_limit(fmt::format("workers.slow.{}", worker), "off", [worker](Scenario& scenario) { scenario.speed.slow[worker] = 1.0; });
    }
    const auto is_lasting = [](const SlowSpell& spell) { return spell.is_lasting(); };
    if (std::any_of(speed.spells.begin(), speed.spells.end(), is_lasting)) {
      add_limit("workers.slow.passes", "off", [is_lasting](Scenario& scenario) { std::erase_if(scenario.speed.spells, is_lasting); });
    }
    if (!speed.traces.empty()) add_limit("workers.traces", "off", [](Scenario& scenario) { scenario.speed.traces.clear(); });
    const LinkChanges& changes = scenario_.cluster.link_changes;
    if (!changes.of_nodes.empty())
      add_limit("node_links", "steady", [](Scenario& scenario) { scenario.cluster.link_changes.of_nodes.clear(); });
    if (!changes.of_names.empty() || !changes.latencies.empty()) {
      add_limit("link_profiles", "steady", [](Scenario& scenario) {
        scenario.cluster.link_changes.of_names.clear();
        scenario.cluster.link_changes.latencies.clear();
      });
    }
    if (speed.has_events()) add_limit("workers.events", "off", [](Scenario& scenario) { scenario.speed.clear_events(); });
    if (speed.overlap_slowdown > 0.0)
      add_limit("workers.overlap_slowdown", "off", [](Scenario& scenario) { scenario.speed.overlap_slowdown = 0.0; });
  }

  /// Whether every worker waits for something besides compute. Without that, steps would take no time if compute took none, and a run would
  /// not end.
  bool all_wait() const {
    const auto& [peers, servers] = std::tie(scenario_.schedule.traffic.peers, scenario_.schedule.traffic.servers);
    if (peers && peers->drawn) return false;
    const bool own_moves_nothing =
        servers && servers->asynchronous && (!scenario_.cluster.has_link || (servers->colocated && servers->servers == 1));
    return !own_moves_nothing && (scenario_.cluster.workers() > 1 || uses_links());
  }

  void add_limits() {
    if (uses_links() || scenario_.cluster.workers() > 1)
      add_limit("network", "free", [](Scenario& scenario) { free_network(scenario.cluster); });
    if (all_wait())
      add_limit("compute", "free",
                [](Scenario& scenario) { change_traces(scenario, [](Trace& trace) { scale_compute(trace, nothing); }); });
    const Speed& speed = scenario_.speed;
    const bool has_slow = !speed.spells.empty() || !speed.traces.empty() ||
                          std::any_of(speed.slow.begin(), speed.slow.end(), [](double factor) { return factor != 1.0; });
    if (!has_slow && !speed.jitter.varies() && !speed.has_events()) return;
    add_limit("workers", "equal", [](Scenario& scenario) {
      scenario.speed.jitter = {};
      scenario.speed.slow.clear();
      scenario.speed.spells.clear();
      scenario.speed.traces.clear();
      scenario.speed.clear_events();
    });
  }

  const Scenario& scenario_;
  const std::vector<PathShare>& path_;
  std::vector<Factor> factors_;
};

}  // namespace

double Factor::factor(double by) const {
  switch (kind) {
    case Kind::speed: return 1.0 + by;
    case Kind::quantity: return 1.0 - by;
    case Kind::given: return given;
    case Kind::limit: break;
  }
  return 1.0;
}

void scale_network_bandwidth(Cluster& cluster, double factor) {
  scale_links(cluster, factor, 1.0);
  scale_fits(cluster, 1.0, factor);
  if (!cluster.regions) return;
  for (std::vector<Link>& row : cluster.regions->wan) {
    for (Link& link : row) scale_bandwidth(link, factor);
  }
  for (Region& region : cluster.regions->list) {
    scale(region.uplink, factor);
    scale(region.node_uplink, factor);
  }
}

std::vector<Factor> factors_of(const Scenario& scenario, const std::vector<PathShare>& path) { return Factors(scenario, path).all(); }

}  // namespace syncopate
