#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/errors.hpp"
#include "base/indexed.hpp"
#include "cluster/platform.hpp"
#include "export/writers.hpp"

namespace syncopate {

namespace {

using Role = Lane::Role;
using Kind = Operand::Kind;

constexpr std::array role_names = {"compute", "host",          "send",     "receive", "send-inside", "receive-inside",
                                   "reduce",  "reduce-inside", "arrivals", "barrier", "notices"};
constexpr double host_speed = 1e9;   // flop/s
constexpr double envelope = 16.0;    // bytes that SMPI adds to every message
constexpr double least_bytes = 2.0;  // shorter messages are eager
constexpr int most_ranks = 1024;     // the platform has a table of all pairs of hosts

/// latency + bytes/bandwidth, equal shares of links; a message of one byte leaves at once, others when their receiver is there.
constexpr const char* smpi_settings =
    "network/model:CM02 network/crosstraffic:0 network/TCP-gamma:1e15 surf/precision:1e-12 maxmin/precision:1e-12 "
    "smpi/async-small-thresh:2 smpi/send-is-detached-thresh:2 smpi/simulate-computation:yes smpi/host-speed:1Gf "
    "smpi/os:0:0:0 smpi/or:0:0:0 smpi/ois:0:0:0";

/// A host of the export's platform.
struct Place {
  int rank = 0;
  bool receives = false;

  auto operator<=>(const Place&) const = default;
  std::string name() const { return fmt::format("rank-{}{}", rank, receives ? "-in" : ""); }
};

Place place_of(const Lane& lane) {
  return {lane.rank, lane.role == Role::receive || lane.role == Role::receive_inside || lane.role == Role::barrier};
}

class PlatformWriter {
 public:
  explicit PlatformWriter(Network& network) : network_(network) {}

  std::string xml(const std::set<Place>& places, const std::set<std::pair<Place, Place>>& pairs) {
    std::string hosts;
    for (const Place& place : places) hosts += fmt::format("    <host id=\"{}\" speed=\"{}f\" core=\"64\"/>\n", place.name(), host_speed);
    std::string routes;
    for (const auto& [from, to] : pairs) {
      routes += fmt::format("    <route src=\"{}\" dst=\"{}\" symmetrical=\"NO\">", from.name(), to.name());
      for (const std::string& link : links_between(from, to)) routes += fmt::format("<link_ctn id=\"{}\"/>", link);
      routes += "</route>\n";
    }
    return fmt::format(
        "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\">\n"
        "  <zone id=\"network\" routing=\"Full\">\n{}{}{}  </zone>\n</platform>\n",
        hosts, links_, routes);
  }

 private:
  std::vector<std::string> links_between(const Place& from, const Place& to) {
    if (from.rank == to.rank || from.receives) return {way(Seconds(0), unlimited_bandwidth)};
    const Path path = network_.find_path(from.rank, to.rank);
    require_plain(path);
    if (!to.receives) return {way(path.latency, unlimited_bandwidth)};
    std::vector<std::string> links;
    for (const std::size_t number : path.links) {
      const NetworkLink link = network_.link(number);
      links.push_back(fmt::format("{}{}", link.cable, link.forward ? "_UP" : "_DOWN"));
      if (known_.insert(number).second) add(links.back(), std::min(link.bandwidth, unlimited_bandwidth), Seconds(0), "SHARED");
    }
    if (path.limit < unlimited_bandwidth) links.push_back(way(Seconds(0), path.limit));
    return links;
  }

  void require_plain(const Path& path) const {
    const bool has_link = path.over != nullptr;
    const bool changes = std::any_of(path.links.begin(), path.links.end(), [this](std::size_t link) { return network_.changes(link); });
    const char* what = path.storage                                                                        ? "object storage"
                       : path.connections() > 1                                                            ? "several connections"
                       : changes || path.latency_changes() || (has_link && path.over->changes_with_time()) ? "a link that changes with time"
                       : has_link && path.over->jitter.varies()                                            ? "a latency that varies"
                                                                                                           : nullptr;
    if (what != nullptr) throw SimulationError(fmt::format("a platform cannot say {} of the cluster; leave it out", what));
  }

  /// A link that gives a route its latency, or its messages a largest rate.
  std::string way(Seconds latency, Rate limit) {
    const auto [entry, is_new] = ways_.try_emplace({latency, limit}, ways_.size());
    const std::string id = fmt::format("way-{}", entry->second);
    if (is_new) add(id, limit, latency, "FATPIPE");
    return id;
  }

  void add(const std::string& id, Rate bandwidth, Seconds latency, const char* policy) {
    links_ += fmt::format("    <link id=\"{}\" bandwidth=\"{}Bps\" latency=\"{}s\" sharing_policy=\"{}\"/>\n", id, bandwidth.value,
                          latency.value, policy);
  }

  Network& network_;
  std::string links_;
  std::set<std::size_t> known_;
  std::map<std::pair<Seconds, Rate>, std::size_t> ways_;
};

/// What processes tell each other: by operand, the lanes that are told when it has happened, and those that have to tell before it begins.
struct Notices {
  std::vector<std::vector<std::uint32_t>> told;
  std::vector<std::vector<std::uint32_t>> heard;

  explicit Notices(const Messages& messages) : told(messages.operands.size()), heard(messages.operands.size()) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known;  // by lanes: the first position not told of yet
    for (const Lane& lane : messages.lanes) {
      for (const std::size_t id : lane.operands) {
        for (const std::size_t before : messages.operands[id].after) {
          // The sender tells of an arrival: its transfer ends at the same time.
          const std::size_t source = messages.operands[before].kind == Kind::receive ? messages.operands[before].partner : before;
          const Operand& teller = messages.operands[source];
          const std::uint32_t hearer = messages.operands[id].lane;
          if (teller.lane == hearer) continue;
          std::uint32_t& next = known[{teller.lane, hearer}];
          if (teller.position < next) continue;
          next = teller.position + 1;
          told[source].push_back(hearer);
          heard[id].push_back(teller.lane);
        }
      }
    }
  }
};

}  // namespace

void write_smpi(const Messages& messages, Network& network, Seconds end, const WriteFile& write) {
  if (messages.ranks > most_ranks)
    throw SimulationError(
        fmt::format("SMPI's platform would have two hosts for each of {} ranks; export at most {}", messages.ranks, most_ranks));
  const std::vector<Lane>& lanes = messages.lanes;
  std::vector<std::uint32_t> order(lanes.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return lanes[a].rank < lanes[b].rank; });
  std::vector<std::size_t> process(lanes.size());
  for (std::size_t i = 0; i < order.size(); ++i) process[order[i]] = i;

  const Notices notices(messages);
  std::set<Place> places;
  std::set<std::pair<Place, Place>> pairs;
  std::string index;
  std::string hosts;
  for (std::size_t number = 0; number < order.size(); ++number) {
    const Lane& lane = lanes[order[number]];
    const Place place = place_of(lane);
    places.insert(place);
    std::string text = fmt::format("{} init\n", number);
    const auto line = [&](const char* what, std::uint32_t other, int tag, double bytes) {
      fmt::format_to(std::back_inserter(text), "{} {} {} {} {:.0f}\n", number, what, process[other], tag, bytes);
    };
    for (const std::size_t id : lane.operands) {
      const Operand& operand = messages.operands[id];
      for (const std::uint32_t teller : notices.heard[id]) line("recv", teller, 0, 1.0);
      if (operand.kind == Kind::compute)
        fmt::format_to(std::back_inserter(text), "{} compute {}\n", number, operand.length.value * host_speed);
      if (constexpr double most_bytes = 2147483647.0; operand.bytes.value > most_bytes) {
        throw SimulationError(
            fmt::format("a message of {:.0f} bytes is over the 2^31 - 1 that SMPI counts; use more nodes or smaller buckets, "
                        "or export with --to goal",
                        operand.bytes.value));
      }
      if (operand.kind == Kind::send || operand.kind == Kind::receive) {
        const std::uint32_t other = messages.operands[operand.partner].lane;
        line(operand.kind == Kind::send ? "send" : "recv", other, 1, std::max(least_bytes, std::round(operand.bytes.value) - envelope));
        if (operand.kind == Kind::send) pairs.insert({place, place_of(lanes[other])});
      }
      for (const std::uint32_t hearer : notices.told[id]) {
        line("send", hearer, 0, 1.0);
        pairs.insert({place, place_of(lanes[hearer])});
      }
    }
    text += fmt::format("{} finalize\n", number);
    const std::string name = fmt::format("traces/{}-rank-{}-{}.txt", number, lane.rank, role_names[static_cast<std::size_t>(lane.role)]);
    index += name + "\n";
    hosts += place.name() + "\n";
    write(name, text);
  }
  write("traces.txt", index);
  write("hosts", hosts);
  write("platform.xml", PlatformWriter(network).xml(places, pairs));
  write("replay.sh", fmt::format("#!/bin/sh\n# simctl's time: {} s\ncd \"$(dirname \"$0\")\" || exit\nexec smpirun -np {} -platform "
                                 "platform.xml -hostfile hosts -replay traces.txt --cfg=\"{}\" \"$@\"\n",
                                 end.value, order.size(), smpi_settings));
}

}  // namespace syncopate
