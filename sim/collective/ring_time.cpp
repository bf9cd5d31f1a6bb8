#include "collective/ring_time.hpp"

#include <algorithm>
#include <vector>

#include "base/indexed.hpp"

namespace syncopate {

Seconds ring_time(std::span<const Hop> hops, int messages, Bytes chunk, int reduced, SecondsPerByte gamma) {
  const std::size_t links = hops.size();
  std::vector<Seconds> free(links);
  std::vector<Seconds> arrived(links);  ///< by link: when the previous message has arrived
  std::vector<Seconds> arrives(links);
  for (int message = 0; message < messages; ++message) {
    const Seconds reduction = message < reduced ? gamma * chunk : Seconds(0);
    for (std::size_t i = 0; i < links; ++i) {
      const Seconds start = std::max(free[i], arrived[(i + links - 1) % links]);
      free[i] = start + hops[i].beta * chunk;
      arrives[i] = free[i] + hops[i].latency + reduction;
    }
    arrived.swap(arrives);
  }
  return links == 0 ? Seconds(0) : *std::max_element(arrived.begin(), arrived.end());
}

Seconds chain_time(std::span<const Hop> hops, int messages, Bytes chunk) {
  std::vector<Seconds> arrived(at(messages));
  for (const Hop& hop : hops) {
    Seconds free;
    for (Seconds& message : arrived) {
      free = std::max(free, message) + hop.beta * chunk;
      message = free + hop.latency;
    }
  }
  return arrived.back();
}

}  // namespace syncopate
