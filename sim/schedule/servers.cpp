#include "schedule/servers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace syncopate {

void ServerParameters::declare_places(Parameters& parameters) {
  static constexpr Integers numbers = {1, 1'000'000};
  parameters.declare({.name = "servers",
                      .meaning = R"(number of parameter servers, each with an equal share of every tensor; at most as many as nodes. )"
                                 R"("nodes": one per node; {"share": 0.25}: one per four nodes; on regions also {"count", "region"})",
                      .kind = ParameterInfo::Kind::integer,
                      .low = static_cast<double>(numbers.low),
                      .high = static_cast<double>(numbers.high),
                      .default_value = "1"},
                     [this](const Field& field) { read_number(field, numbers); });
  parameters.optional("colocated", colocated, "server s is on node s and shares its link; else servers have nodes of their own");
  parameters.optional("server_s_per_B", work, "a server's time for each byte of its share of a push");
}

void ServerParameters::read_number(const Field& field, Integers numbers) {
  if (field.is_text()) {
    if (field.text() != "nodes") field.fail(R"(an integer >= 1, "nodes", or an object such as {"share": 0.25})");
    share = 1.0;
    return;
  }
  if (!field.is_object()) {
    servers = static_cast<int>(field.integer(numbers.low, numbers.high));
    return;
  }
  Object fields(field);
  const bool has_share = field.json().contains("share");
  if (has_share) {
    share = fields.at("share").positive(1.0);
    if (const auto count = fields.find("count")) count->fail_because(R"(the number is the "share" of the nodes; leave one of them out)");
  } else {
    servers = static_cast<int>(fields.at("count").integer(numbers.low, numbers.high));
  }
  const auto where = has_share ? fields.find("region") : fields.at("region");
  if (where) region = where->text();
  fields.finish();
}

void ServerParameters::place(const Cluster& cluster) {
  if (share) servers = std::max(1, static_cast<int>(std::lround(*share * cluster.nodes)));
}

void ServerParameters::declare(Parameters& parameters) {
  declare_places(parameters);
  parameters.optional("duplex", duplex, "a client's pushes and pulls move at the same time");
  parameters.optional("pulls", on_request, {{"sent", false}, {"requested", true}},
                      "sent: servers send a pull as soon as it is possible; requested: they acknowledge the push, and the client asks");
  parameters.optional("in_flight", overlaps, {{"serial", false}, {"pipelined", true}},
                      "serial: a client's message waits for the arrival of the one before it; pipelined: only its bytes wait");
  parameters.optional("service", service, {{"shared", Service::shared}, {"queued", Service::queued}, {"fifo", Service::fifo}},
                      "shared: messages share the servers' links; queued: pushed bytes wait in a queue; fifo: messages take turns");
  parameters.optional(
      "within_node", pipelined, {{"pipelined", true}, {"serial", false}},
      "pipelined: a node of several GPUs reduces and spreads messages while its channels move others; serial: in turn with them");
  compression.declare(parameters, true);
}

void ServerParameters::check(Object& fields, const Cluster& cluster) const {
  const bool plain_link = cluster.link.window == Bytes(0) && !cluster.link.jitter.varies() && cluster.link_changes.empty();
  if (service != Service::shared && (colocated || !cluster.is_star() || !plain_link)) {
    fields.at("service").fail_because(fmt::format(R"("{}" needs {}; use "shared")", service == Service::fifo ? "fifo" : "queued",
                                                  colocated ? "servers on nodes of their own"
                                                  : cluster.is_star()
                                                      ? R"(links without "tcp_window", "latency_jitter" and "bandwidth_profile")"
                                                      : "a star"));
  }
  if (!overlaps) return;
  if (!duplex)
    fields.at("in_flight").fail_because(R"("pipelined" messages do not take turns on one channel; leave "duplex" out, or use "serial")");
  if (cluster.gpus_per_node > 1 && !pipelined) {
    fields.at("in_flight")
        .fail_because(R"("pipelined" messages do not wait for their nodes in turns; leave "within_node" out, or use "serial")");
  }
}

Traffic ServerParameters::traffic(bool asynchronous, const ServerRule& rule) const {
  ServerSetup setup;
  setup.servers = servers;
  setup.colocated = colocated;
  setup.duplex = duplex;
  setup.on_request = on_request;
  setup.overlaps = overlaps;
  setup.service = service;
  setup.work = work;
  setup.decode = compression.decode;
  if (compression.pulls) setup.encode = compression.encode;
  setup.asynchronous = asynchronous;
  setup.pipelined = pipelined;
  setup.rule = rule;
  return {.ranks = RankKind::node, .servers = setup, .servers_region = region};
}

CostLine ServerParameters::cost(const ScheduleInput& input) const {
  const PushPullCost& exchange = input.push_pull;
  const auto compressed = [&](const CostLine& line) {
    const Bytes none = compression.sent(Bytes(0), input.value);
    const Bytes million = compression.sent(Bytes(1e6), input.value) - none;
    return CostLine{line(none), million / Bytes(1e6) * line.b};
  };
  CostLine cost = compressed(exchange.push) + (compression.pulls ? compressed(exchange.pull) : exchange.pull) + exchange.within_node;
  cost.b += compression.encode + exchange.clients_per_server * compression.decode;
  if (compression.pulls) cost.b += exchange.answers_per_server * compression.encode + compression.decode;
  return cost;
}

ServerPost::ServerPost(const ServerParameters& servers, const SharedPayload& whole, Bytes value)
    : whole_(whole),
      as_pushed_(servers.compression.as_message(whole, value)),
      as_pulled_(servers.compression.pulls ? as_pushed_ : whole),
      encode_(servers.compression.encode_time(whole->bytes)),
      decode_(servers.compression.pulls ? servers.compression.decode * whole->bytes : Seconds(0)) {}

Exchange ServerPost::push(Worker& worker, int round, Answer answer, PushOptions options) const {
  worker.spend(encode_);
  options.as_pushed = as_pushed_;
  options.as_pulled = as_pulled_;
  return worker.servers().push(whole_, round, answer, options);
}

Exchange ServerPost::join(Worker& worker, int round, const Values& value) const {
  return worker.servers().join(whole_, round, {.as_pushed = as_pushed_, .as_pulled = as_pulled_, .value = value});
}

void ServerPost::contribute(Worker& worker, Exchange joined, double share, const Values& value) const {
  worker.spend(encode_);
  worker.servers().contribute(joined, share, {.as_pushed = as_pushed_, .as_pulled = as_pulled_, .value = value});
}

void begin_with(Worker& worker, const ServerPost& model) {
  const Exchange pull = model.pull(worker, worker.step());
  worker.servers().wait(pull);
  worker.spend(model.decode());
  worker.dataflow().replica().become(worker.servers().pulled_by(pull));
}

Seconds decode_time(const std::vector<GroupPush>& pushes) {
  Seconds all;
  for (const GroupPush& push : pushes) all += push.message.decode();
  return all;
}

void ServerGrouping::declare(Parameters& parameters) {
  parameters.declare({.name = "grouping",
                      .meaning = "how gradients are merged: the name of a synchronous schedule, or an object with its parameters",
                      .kind = ParameterInfo::Kind::grouping,
                      .default_value = "wfbp"},
                     [this](const Field& field) { group = read_grouping(field); });
  parameters.declare({.name = "partition",
                      .meaning = "size of a part of a group; each part is pushed, handled and pulled by itself",
                      .kind = ParameterInfo::Kind::bytes,
                      .default_value = "none"},
                     [this](const Field& field) { partition = field.bytes(); });
}

double ServerGrouping::posts(const StepProfile& profile) const {
  const Grouping groups = group(profile, CostCurve());
  double count = 0.0;
  for (const GradientGroup& one : groups) count += partition ? count_parts(bytes_of(one, profile), *partition) : 1.0;
  return count;
}

std::vector<GroupPost> ServerGrouping::messages(const ServerParameters& servers, const ScheduleInput& input) const {
  std::vector<GroupPost> groups = group_posts(group(input.profile, servers.cost(input)), input.profile);
  if (!partition) return groups;
  double count = 0.0;
  for (const GroupPost& one : groups) count += count_parts(one.payload->bytes, *partition);
  check_parts(count, *partition);
  std::vector<GroupPost> parts;
  for (const GroupPost& one : groups) {
    for (SharedPayload& part : cut(one.payload, *partition)) parts.push_back({one.post_at, std::move(part)});
  }
  return parts;
}

std::vector<GroupPush> ServerGrouping::pushes(const ServerParameters& servers, const ScheduleInput& input) const {
  std::vector<GroupPush> pushes;
  for (const GroupPost& message : messages(servers, input)) {
    pushes.push_back({message.post_at, ServerPost(servers, message.payload, input.value)});
  }
  return pushes;
}

std::vector<ModelPart> ServerGrouping::parts(const ServerParameters& servers, const ScheduleInput& input, bool by_message) const {
  if (!by_message) return parts_of(group_sync_easgd(input.profile, CostCurve()), input.profile);
  std::vector<ModelPart> parts;
  for (const GroupPost& message : messages(servers, input)) parts.push_back({message.payload->label, message.payload->bytes});
  return parts;
}

void Learner::declare(Parameters& parameters) {
  servers.declare(parameters);
  parameters.required("interval", interval, step_range, "local steps between exchanges with the servers", 50);  // as in SASGD, Sec. IV
}

Program Learner::program(const ScheduleInput& input, ExchangeModel exchange) const {
  return [model = ServerPost(servers, whole_model(input.profile), input.value), interval = interval, compression = servers.compression,
          exchange = std::move(exchange)](Worker& worker) {
    Sender send(compression, 1);
    GradientSum learned(worker);
    while (worker.next_step()) {
      if (worker.has_joined()) {
        learned.clear();
        begin_with(worker, model);
      }
      worker.forward();
      worker.backward();
      worker.update();
      worker.dataflow().replica().step(worker.dataflow().gradient());
      learned();
      if (worker.step() % interval != interval - 1) continue;
      exchange(worker, model, send, learned());
      learned.clear();
    }
  };
}

ServerSetup place_servers(ServerSetup setup, const Cluster& cluster) {
  setup.bandwidth = cluster.link.bandwidth;
  setup.latency = cluster.link.latency;
  setup.per_message = cluster.host.per_message;
  const int gpus = cluster.gpus_per_node;
  if (gpus == 1) return setup;
  const Hop inside = cluster.intra_node.hop();
  const double share = (gpus - 1.0) / gpus;
  setup.gather_latency = setup.spread_latency = (gpus - 1) * inside.latency;
  setup.gather = share * (inside.beta + cluster.reduce);
  setup.spread = share * inside.beta;
  return setup;
}

namespace {

/// The cost without the links.
PushPullCost cost_of_work(const ServerSetup& setup, int clients) {
  const double clients_per_server = static_cast<double>(clients) / setup.servers;
  return {.push = {clients * setup.per_message, clients_per_server * setup.work},
          .pull = {clients * setup.per_message, SecondsPerByte(0)},
          .within_node = {setup.gather_latency + setup.spread_latency, setup.gather + setup.spread},
          .clients_per_server = clients_per_server,
          .answers_per_server = setup.asynchronous ? clients_per_server : 1.0 / setup.servers};
}

/// How many latencies a message occupies its channel in each direction.
double latencies_in_channel(const ServerSetup& setup) {
  if (setup.overlaps) return 0.0;
  return setup.on_request && !setup.duplex ? 2.0 : 1.0;
}

}  // namespace

PushPullCost push_pull_cost(const ServerSetup& setup, int clients) {
  PushPullCost cost = cost_of_work(setup, clients);
  const CostLine wire = {latencies_in_channel(setup) * setup.latency, std::max(1.0, cost.clients_per_server) * inverse(setup.bandwidth)};
  cost.push = cost.push + wire;
  cost.pull = cost.pull + wire;
  return cost;
}

PushPullCost push_pull_cost(const ServerSetup& setup, int clients, Network& network) {
  const double part = 1.0 / setup.servers;
  PushPullCost cost = cost_of_work(setup, clients);
  for (const bool push : {true, false}) {
    Seconds latency;
    SecondsPerByte slowest;
    std::vector<double> loads;  // by link: bytes that cross it for each byte of a message
    for (int client = 0; client < clients; ++client) {
      for (const int server : network.server_ranks()) {
        if (server == client) continue;
        const Path path = push ? network.find_path(client, server) : network.find_path(server, client);
        latency = std::max(latency, path.latency);
        slowest = std::max(slowest, part * inverse(path.storage ? path.rate : path.limit));
        loads.resize(std::max(loads.size(), network.count_links()));
        for (const std::size_t link : path.links) loads[link] += part;
      }
    }
    for (std::size_t link = 0; link < loads.size(); ++link) slowest = std::max(slowest, loads[link] * inverse(network.bandwidth(link)));
    CostLine& way = push ? cost.push : cost.pull;
    way = way + CostLine{latencies_in_channel(setup) * latency, slowest};
  }
  return cost;
}

}  // namespace syncopate
