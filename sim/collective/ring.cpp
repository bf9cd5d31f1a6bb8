#include "collective/ring.hpp"

#include <algorithm>
#include <vector>

namespace syncopate {

Seconds ring_time(std::span<const Hop> hops, int messages, Bytes chunk, int reduced, SecondsPerByte gamma) {
  const std::size_t links = hops.size();
  std::vector<Seconds> free(links);
  std::vector<Seconds> arrived(links);  ///< over each link, the message before
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

}  // namespace syncopate
