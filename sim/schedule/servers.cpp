#include "schedule/servers.hpp"

#include <algorithm>
#include <utility>

#include "schedule/posts.hpp"

namespace syncopate {

void ServerParameters::declare(Parameters& parameters) {
  constexpr Integers numbers = {1, 1'000'000};
  parameters.optional("servers", servers, numbers, "parameter servers, each with as much of every tensor; at most as many as nodes");
  parameters.optional("colocated", colocated, "server s is on node s and shares its link; else servers have nodes of their own");
  parameters.optional("server_s_per_B", work, "a server's time for each byte of its share of a push");
  parameters.optional("duplex", duplex, "a client's pushes and pulls move at the same time");
}

Traffic ServerParameters::traffic(bool asynchronous) const {
  ServerSetup setup;
  setup.servers = servers;
  setup.colocated = colocated;
  setup.duplex = duplex;
  setup.work = work;
  setup.asynchronous = asynchronous;
  return {.ranks = RankKind::node, .servers = setup};
}

void ServerGrouping::declare(Parameters& parameters) {
  parameters.declare({.name = "grouping",
                      .meaning = "how gradients are merged: the name of a synchronous schedule, or an object with its parameters",
                      .kind = ParameterInfo::Kind::grouping,
                      .default_value = "wfbp"},
                     [this](const Field& field) { group = read_grouping(field); });
}

void Learner::declare(Parameters& parameters) {
  servers.declare(parameters);
  parameters.required("interval", interval, step_range, "local steps between exchanges with the servers");
}

Program Learner::program(const ScheduleInput& input, std::function<void(Worker&, const SharedPayload&)> exchange) const {
  return [model = whole_model(input.profile), interval = interval, exchange = std::move(exchange)](Worker& worker) {
    while (worker.next_step()) {
      worker.forward();
      worker.backward();
      worker.update();
      if (worker.step() % interval == interval - 1) exchange(worker, model);
    }
  };
}

ServerSetup place_servers(ServerSetup setup, const Cluster& cluster) {
  setup.bandwidth = cluster.link.bandwidth;
  setup.latency = cluster.link.latency;
  const int gpus = cluster.gpus_per_node;
  if (gpus == 1) return setup;
  const Hop inside = cluster.intra_node.hop();
  const double share = (gpus - 1.0) / gpus;
  setup.gather_latency = setup.spread_latency = (gpus - 1) * inside.latency;
  setup.gather = share * (inside.beta + cluster.reduce);
  setup.spread = share * inside.beta;
  return setup;
}

CostLine push_pull_cost(const ServerSetup& setup, int clients) {
  const double clients_per_server = static_cast<double>(clients) / setup.servers;
  const SecondsPerByte wire = std::max(1.0, clients_per_server) * inverse(setup.bandwidth);
  return {2.0 * setup.latency + setup.gather_latency + setup.spread_latency,
          2.0 * wire + clients_per_server * setup.work + setup.gather + setup.spread};
}

}  // namespace syncopate
