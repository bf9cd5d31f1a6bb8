// Training over a star as a user of SimGrid would write it by hand: actors that sleep, put and get. Prints when each worker's steps end.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

namespace s4u = simgrid::s4u;

namespace {

using Comms = std::vector<s4u::CommPtr>;
int workers, steps, connections, token;
std::uint64_t bytes;  // of a message
int* received;

s4u::Mailbox* box(int from, int to) { return s4u::Mailbox::by_name(std::to_string(from) + " to " + std::to_string(to)); }

Comms put(int from, int to, std::uint64_t size = bytes) {
  Comms comms;
  for (int i = 0; i < connections; ++i) comms.push_back(box(from, to)->put_async(&token, size / static_cast<std::uint64_t>(connections)));
  return comms;
}

Comms get(int from, int to) {
  Comms comms;
  for (int i = 0; i < connections; ++i) comms.push_back(box(from, to)->get_async<int>(&received));
  return comms;
}

void ring(int rank) {
  for (int message = 0; message < 2 * (workers - 1); ++message) {
    const Comms sent = put(rank, (rank + 1) % workers);
    s4u::Comm::wait_all(get((rank + workers - 1) % workers, rank));
    s4u::Comm::wait_all(sent);
  }
}

void binary_tree(int rank) {
  int reach = 1;  // up to which the rank adds up what its children have, the nearest first
  for (; reach < workers && rank % (2 * reach) == 0; reach *= 2)
    if (rank + reach < workers) s4u::Comm::wait_all(get(rank + reach, rank));
  if (rank != 0) {
    s4u::Comm::wait_all(put(rank, rank - reach));
    s4u::Comm::wait_all(get(rank - reach, rank));
  }
  while ((reach /= 2) != 0)  // the farthest first, as it has the most below it
    if (rank + reach < workers) s4u::Comm::wait_all(put(rank, rank + reach));
}

/// A worker's part of a step over the server, which is host `workers`.
void push_and_pull(int rank, bool asks) {
  s4u::Comm::wait_all(put(rank, workers));
  if (asks) {
    s4u::Comm::wait_all(get(workers, rank));
    s4u::Comm::wait_all(put(rank, workers, 0));
  }
  s4u::Comm::wait_all(get(workers, rank));
}

/// The server's thread for one worker.
void serve(int rank, bool asks, const s4u::BarrierPtr& all_pushed) {
  while (true) {
    s4u::Comm::wait_all(get(rank, workers));
    if (all_pushed) all_pushed->wait();
    if (asks) {
      s4u::Comm::wait_all(put(workers, rank, 0));
      s4u::Comm::wait_all(get(rank, workers));
    }
    s4u::Comm::wait_all(put(workers, rank));
  }
}

void run(const std::string& what, double bandwidth, double latency, double compute, double stagger, double window) {
  s4u::NetZone* star = s4u::create_full_zone("star");
  std::vector<s4u::Host*> hosts;
  std::vector<const s4u::Link*> up;
  std::vector<const s4u::Link*> down;
  for (int i = 0; i <= workers; ++i) {
    const std::string name = std::to_string(i);
    hosts.push_back(star->create_host(name, 1e9));
    up.push_back(star->create_link("up " + name, bandwidth)->set_latency(latency / 2)->seal());
    down.push_back(star->create_link("down " + name, bandwidth)->set_latency(latency / 2)->seal());
  }
  const s4u::Link* limit = nullptr;  // of each connection
  if (window > 0)
    limit = star->create_link("window", window / (2 * latency))->set_sharing_policy(s4u::Link::SharingPolicy::FATPIPE)->seal();
  for (std::size_t from = 0; from < hosts.size(); ++from)
    for (std::size_t to = 0; to < hosts.size(); ++to) {
      if (from == to) continue;
      std::vector<s4u::LinkInRoute> route = {s4u::LinkInRoute(up[from]), s4u::LinkInRoute(down[to])};
      if (limit != nullptr) route.emplace_back(limit);
      star->add_route(hosts[from]->get_netpoint(), hosts[to]->get_netpoint(), nullptr, nullptr, route, false);
    }
  star->seal();

  const bool asks = what == "ps-sgd requested";
  const bool on_server = asks || what == "ps-sgd" || what == "asgd";
  bool done = false;        // a worker has done its steps
  int under_way = workers;  // in steps that began before
  const s4u::BarrierPtr all_pushed = what == "asgd" ? nullptr : s4u::Barrier::create(static_cast<unsigned>(workers));
  std::vector<std::vector<double>> ends(static_cast<std::size_t>(workers));
  for (int rank = 0; rank < workers; ++rank) {
    s4u::Actor::create("worker", hosts[static_cast<std::size_t>(rank)], [&, rank] {
      std::vector<double>& its = ends[static_cast<std::size_t>(rank)];
      bool last = false;
      while (what == "asgd" ? under_way > 0 : its.size() < static_cast<std::size_t>(steps)) {
        s4u::this_actor::sleep_for(compute * (1 + stagger * rank));
        if (what == "ring") ring(rank);
        if (what == "binary-tree") binary_tree(rank);
        if (on_server) push_and_pull(rank, asks);
        its.push_back(s4u::Engine::get_clock());
        done = done || its.size() == static_cast<std::size_t>(steps);
        if (done && !last) --under_way;
        last = done;
      }
    });
    if (on_server) s4u::Actor::create("thread", hosts.back(), [&, rank] { serve(rank, asks, all_pushed); })->daemonize();
  }
  s4u::Engine::on_deadlock_cb([] { std::terminate(); });
  s4u::Engine::get_instance()->run();
  for (const std::vector<double>& its : ends) {
    for (const double end : its) std::printf("%.17g ", end);
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  s4u::Engine engine(&argc, argv);  // takes its --cfg out of the arguments
  if (argc != 11) return std::fprintf(stderr, "what workers bytes bandwidth latency compute stagger steps window connections\n"), 2;
  workers = std::stoi(argv[2]);
  bytes = std::stoull(argv[3]);
  steps = std::stoi(argv[8]);
  connections = std::stoi(argv[10]);
  run(argv[1], std::stod(argv[4]), std::stod(argv[5]), std::stod(argv[6]), std::stod(argv[7]), std::stod(argv[9]));
}
