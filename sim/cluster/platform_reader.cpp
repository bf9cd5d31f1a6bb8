// A program: reads a SimGrid platform, and says what is in it and which links a message crosses. Its name is in platform.cpp, which starts
// it. SimGrid ends the program that gives it a wrong file, and holds one platform per process.
//
//   platform_reader FILE
//     h SPEED NAME                        each host, in the order of the file
//     l BANDWIDTH LATENCY SHARED NAME     each link; SHARED: 1 or, where every message has all of the bandwidth, 0
//     end
//   then, for each line "FROM TO" with numbers of hosts on stdin:
//     LATENCY LINK LINK ...               the numbers of the links in the order of crossing
//   or, at any time, "error TEXT".

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <set>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

namespace s4u = simgrid::s4u;

namespace {

void add_hosts(const s4u::NetZone* zone, std::vector<const s4u::Host*>& hosts, std::set<const s4u::Host*>& known) {
  std::vector<s4u::Host*> own = zone->get_all_hosts();
  std::sort(own.begin(), own.end(), [](const auto* a, const auto* b) { return a->get_netpoint()->id() < b->get_netpoint()->id(); });
  for (const s4u::Host* host : own) {
    if (known.insert(host).second) hosts.push_back(host);
  }
  for (const s4u::NetZone* child : zone->get_children()) add_hosts(child, hosts, known);
}

void serve(int argc, char** argv) {
  s4u::Engine engine(&argc, argv);
  if (argc < 2) throw std::invalid_argument("no file");
  engine.load_platform(argv[1]);
  engine.get_netzone_root()->seal();

  std::vector<const s4u::Host*> hosts;
  std::set<const s4u::Host*> known;
  add_hosts(engine.get_netzone_root(), hosts, known);
  std::map<const s4u::Link*, std::size_t> numbers;
  for (const s4u::Host* host : hosts) std::printf("h %.17g %s\n", host->get_speed(), host->get_cname());
  for (const s4u::Link* link : engine.get_all_links()) {
    numbers.emplace(link, numbers.size());
    std::printf("l %.17g %.17g %d %s\n", link->get_bandwidth(), link->get_latency(),
                link->get_sharing_policy() == s4u::Link::SharingPolicy::FATPIPE ? 0 : 1, link->get_cname());
  }
  std::puts("end");
  std::fflush(stdout);

  std::size_t from = 0;
  std::size_t to = 0;
  while (std::cin >> from >> to) {
    std::vector<s4u::Link*> links;
    double latency = 0.0;
    hosts.at(from)->route_to(hosts.at(to), links, &latency);
    std::printf("%.17g", latency);
    for (const s4u::Link* link : links) std::printf(" %zu", numbers.at(link));
    std::puts("");
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    serve(argc, argv);
  } catch (const std::exception& error) {
    std::printf("error %s\n", error.what());
  }
  return 0;
}
