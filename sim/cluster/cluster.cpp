#include "cluster/cluster.hpp"

#include "base/fields.hpp"

namespace syncopate {

namespace {

constexpr int most_nodes = 65536;

Link read_link(const Field& field) {
  Object fields(field);
  const Link link = {fields.at("bandwidth").bandwidth(), fields.at("latency").latency()};
  fields.finish();
  return link;
}

Fit read_fit(const Field& field) {
  Object fields(field);
  Fit fit;
  fit.line = {fields.at("a_s").seconds(), fields.at("b_s_per_B").seconds_per_byte()};
  fit.ranks = static_cast<int>(fields.at("nodes").integer(2, most_nodes));
  fit.algorithm = &read_collective(fields.at("algorithm"));
  fields.finish();
  return fit;
}

}  // namespace

Cluster read_cluster(const Document& document, const std::string& pointer) {
  Object fields(Field(document, pointer, document.root().at(JsonPointer(pointer))));
  Cluster cluster;
  fields.format("cluster/1", pointer.empty());
  fields.not_built_yet("regions", "clusters of regions are");
  fields.not_built_yet("wan", "links between regions are");
  fields.not_built_yet("gpus_per_node", "nodes with several GPUs are", 1);
  fields.not_built_yet("intra_node", "links inside a node are");
  fields.not_built_yet("nics", "several network interfaces per node are", 1);
  fields.not_built_yet("placement", "other placements are", "linear");

  const auto name = fields.find("name");
  cluster.name = name ? name->text() : "cluster";
  if (const auto source = fields.find("source")) cluster.source = source->text();
  cluster.nodes = static_cast<int>(fields.at("nodes").integer(1, most_nodes));
  cluster.link = read_link(fields.at("link"));
  if (const auto reduce = fields.find("reduce_s_per_B")) cluster.reduce = reduce->seconds_per_byte();
  const auto topology = fields.find("topology");
  cluster.topology = topology ? &read_topology(*topology) : &topologies().front();
  if (const auto fit = fields.find("fit")) cluster.fit = read_fit(*fit);
  fields.finish();
  return cluster;
}

bool can_carry_fit(const Cluster& cluster, const Collective& algorithm) {
  if (!cluster.fit || cluster.fit->algorithm == &algorithm) return true;
  const Fit& fit = *cluster.fit;
  return implied_link(fit.algorithm->cost, fit.line, fit.ranks, cluster.reduce).beta >= SecondsPerByte(0);
}

CostLine all_reduce_cost(const Cluster& cluster, const Collective& algorithm, int ranks) {
  if (!cluster.fit) return cost_line(algorithm.cost, ranks, {cluster.link.latency, inverse(cluster.link.bandwidth), cluster.reduce});
  const Fit& fit = *cluster.fit;
  if (fit.algorithm == &algorithm) return carry(algorithm.cost, fit.line, fit.ranks, ranks);
  return cost_line(algorithm.cost, ranks, implied_link(fit.algorithm->cost, fit.line, fit.ranks, cluster.reduce));
}

}  // namespace syncopate
