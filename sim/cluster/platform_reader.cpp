// A program: reads a SimGrid platform, and says what is in it and which links a message crosses. Its name is in platform.cpp, which starts
// it. SimGrid ends the program that gives it a wrong file, and holds one platform per process.
//
//   platform_reader FILE
//     h SPEED NAME                        each host, in the order of the file
//     l BANDWIDTH LATENCY KIND NAME       each link; KIND: s SHARED, f FATPIPE, d one direction of a SPLITDUPLEX
//     end
//   then, for each line "FROM TO" with numbers of hosts on stdin:
//     LATENCY LINK LINK ...               the numbers of the links, as SimGrid orders them: not always in the order of crossing
//   or, at any time, "error TEXT".
//
//   platform_reader --settings NAME:VALUE ...
//     "trying NAME" before each setting, "using" before the message; then "taken", or "refused NAME REASON". The last line tells where
//     SimGrid has ended the program.

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

/// Whether it is one of the two that SimGrid makes of a SPLITDUPLEX link.
bool is_direction(const s4u::Engine& engine, const std::string& name) {
  if (!name.ends_with("_UP") && !name.ends_with("_DOWN")) return false;
  try {
    return engine.split_duplex_link_by_name(name.substr(0, name.rfind('_'))) != nullptr;
  } catch (const std::exception&) {
    return false;
  }
}

char kind_of(const s4u::Engine& engine, const s4u::Link& link) {
  if (link.get_sharing_policy() == s4u::Link::SharingPolicy::FATPIPE) return 'f';
  return is_direction(engine, link.get_name()) ? 'd' : 's';
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
    if (link->get_name() == "__loopback__") continue;
    if (link->get_sharing_policy() == s4u::Link::SharingPolicy::WIFI) {
      throw std::invalid_argument("link \"" + link->get_name() + "\" is a Wi-Fi zone's, whose rates change; use a zone of links");
    }
    numbers.emplace(link, numbers.size());
    std::printf("l %.17g %.17g %c %s\n", link->get_bandwidth(), link->get_latency(), kind_of(engine, *link), link->get_cname());
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

/// Takes the settings and sends a message with them.
void try_settings(int argc, char** argv) {
  const std::vector<std::string> settings(argv + 2, argv + argc);
  int none = 1;
  s4u::Engine engine(&none, argv);
  for (const std::string& setting : settings) {
    const std::string name = setting.substr(0, setting.find(':'));
    std::printf("trying %s\n", name.c_str());
    std::fflush(stdout);
    try {
      s4u::Engine::set_config(setting);
    } catch (const std::exception& error) {
      const std::string reason = error.what();
      std::printf("refused %s %s\n", name.c_str(), reason.substr(0, reason.find('\n')).c_str());
      return;
    }
  }
  std::puts("using");
  std::fflush(stdout);
  s4u::NetZone* zone = s4u::create_full_zone("zone");
  s4u::Host* from = zone->create_host("from", 1.0)->seal();
  s4u::Host* to = zone->create_host("to", 1.0)->seal();
  const s4u::LinkInRoute link(zone->create_link("link", 1e9)->set_latency(1e-3)->seal());
  zone->add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr, {link});
  zone->seal();
  s4u::Actor::create("sender", from, [&] { s4u::Comm::sendto(from, to, 1'000'000); });
  engine.run();
  std::puts("taken");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc > 1 && std::string(argv[1]) == "--settings") {
      try_settings(argc, argv);
    } else {
      serve(argc, argv);
    }
  } catch (const std::exception& error) {
    std::printf("error %s\n", error.what());
  }
  return 0;
}
