#include "engine/network/server_links.hpp"

#include <algorithm>

#include "cluster/network.hpp"

namespace syncopate {

Moment arrive(const Moment& start, Seconds end, Seconds alone, int client) {
  const Why moving = {.kind = PathClass::transfer, .worker = client, .link = Network::of_nodes};
  return until(after(start, std::min(alone, end - start.time), moving), end, {.kind = PathClass::queue, .worker = client});
}

Moment pass_latency(const Moment& start, Seconds latency, int client) {
  return after(start, latency, {.kind = PathClass::latency, .worker = client, .link = Network::of_nodes});
}

}  // namespace syncopate
