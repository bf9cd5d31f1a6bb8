#include "support/random_point.hpp"

namespace syncopate::testing {

namespace {

double between(std::mt19937& random, double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); }
bool chance(std::mt19937& random, double probability) { return between(random, 0.0, 1.0) < probability; }

}  // namespace

Trace random_trace(std::mt19937& random, int most_layers) {
  Trace trace;
  trace.provenance.kind = "synthetic";
  trace.model = "random";
  trace.batch = 8;
  const int layers = std::uniform_int_distribution<int>(1, most_layers)(random);
  for (int i = 0; i < layers; ++i) {
    const auto time = [&] { return Seconds(chance(random, 0.1) ? 0.0 : between(random, 1e-5, 5e-3)); };
    trace.layers.push_back({"l" + std::to_string(i), "unknown", time() + Seconds(1e-6), time(), {}, {}});
  }
  Seconds ready;
  const bool recorded = chance(random, 0.5);
  for (int i = layers; i-- > 0;) {
    const int tensors = std::uniform_int_distribution<int>(i == 0 ? 1 : 0, 2)(random);
    for (int t = 0; t < tensors; ++t) {
      ready += Seconds(between(random, 0.0, 3e-3));
      Gradient gradient;
      gradient.name = "l" + std::to_string(i) + "." + std::to_string(t);
      gradient.layer = static_cast<std::size_t>(i);
      gradient.bytes = Bytes(std::floor(std::pow(10.0, between(random, 1.0, 8.0))));
      if (recorded) gradient.ready = ready;
      trace.gradients.push_back(gradient);
    }
  }
  if (chance(random, 0.3)) trace.forward_span = Seconds(between(random, 1e-4, 1e-1));
  if (recorded && chance(random, 0.3)) trace.backward_span = ready + Seconds(between(random, 0.0, 1e-2));
  if (chance(random, 0.5)) trace.update = Seconds(between(random, 0.0, 2e-3));
  return trace;
}

Cluster random_cluster(std::mt19937& random, int nodes) {
  Cluster cluster;
  cluster.name = "random";
  cluster.nodes = nodes;
  cluster.link = {Rate(std::pow(10.0, between(random, 7.0, 11.0))), Seconds(std::pow(10.0, between(random, -6.0, -3.0)))};
  cluster.reduce = SecondsPerByte(chance(random, 0.5) ? 0.0 : between(random, 0.0, 3e-9));
  cluster.topology = default_topology();
  return cluster;
}

const std::vector<Json> one_of_each = {
    {{"name", "s-sgd"}},
    {{"name", "wfbp"}},
    {{"name", "sync-easgd"}},
    {{"name", "mg-wfbp"}},
    {{"name", "mg-wfbp-optimal"}},
    {{"name", "fusion"}, {"bucket", "1MB"}},
    {{"name", "ps-sgd"}, {"servers", 2}},
    {{"name", "ps-sgd"}, {"servers", 2}, {"duplex", false}, {"grouping", "mg-wfbp"}},
    {{"name", "ssd-sgd"}, {"servers", 2}, {"delay", 3}},
    {{"name", "ssd-sgd"}, {"delay", 2}, {"warmup_iterations", 2}, {"duplex", false}},
    {{"name", "asgd"}, {"servers", 2}},
    {{"name", "downpour"}, {"servers", 2}, {"interval", 3}, {"pulls", "requested"}},
    {{"name", "eamsgd"}, {"servers", 2}, {"interval", 2}},
    {{"name", "dts"}, {"delay", 3}, {"period", 2}},
    {{"name", "dts"}, {"delay", 2}, {"in_flight", "serial"}, {"compression", 0.1}},
    {{"name", "sasgd"}, {"interval", 4}},
    {{"name", "local-sgd"}, {"interval", 2}},
    {{"name", "lasgd"}, {"tau_max", 3}},
    {{"name", "lasgd"}, {"tau_max", 4}, {"worker", "gpu"}},
    {{"name", "lasgd"}, {"tau_max", 3}, {"participants", 0.6}},
    {{"name", "sgp"}},
};

Point make_point(const Trace& trace, const Cluster& cluster, const Json& schedule, const std::string& all_reduce) {
  Point point;
  Scenario& scenario = point.scenario;
  scenario.trace = std::make_shared<const Trace>(trace);
  scenario.cluster = cluster;
  const Document name(all_reduce, "all_reduce");
  scenario.all_reduce = read_all_reduce(Field(name));
  scenario.fidelity = Fidelity::alpha_beta;
  const Document parameters(schedule.is_string() ? Json{{"name", schedule}} : schedule, "schedule");
  scenario.schedule = read_schedule(Field(parameters), scenario.cluster);
  scenario.warmup = 1;
  scenario.measured = 3;
  return point;
}

}  // namespace syncopate::testing
