#include "capture/net/probe.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <ctime>
#include <future>
#include <set>

#include "base/table.hpp"
#include "base/text.hpp"
#include "capture/device.hpp"
#include "capture/json_lines.hpp"

namespace syncopate::capture {

namespace {

constexpr int fewest_repetitions = 3;
constexpr int most_repetitions = 50;
constexpr int in_a_row = 4;              // back-to-back all-reduces in one repetition
constexpr int most_ranks_in_pairs = 16;  // the N(N-1) pairs of more ranks would take minutes
constexpr double noise = 0.05;           // a transfer below this share of a round trip cannot be told from scatter of the latency
constexpr unsigned there = 0;
constexpr unsigned back = 1;
constexpr unsigned pushed = 2;
constexpr unsigned pulled = 3;

Seconds now() { return Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count()); }

template <class Work>
Seconds time_of(Work work) {
  const Seconds start = now();
  work();
  return now() - start;
}

Seconds processor_time() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return Seconds(static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec));
}

/// All-reduces the time in microseconds as a float, so the result has a relative error of about 1e-7.
Seconds mean_over_ranks(Peers& peers, Seconds mine) {
  std::array<float, 1> sum = {static_cast<float>(1e6 * mine.value)};
  peers.all_reduce(sum);
  return Seconds(1e-6 * sum[0] / peers.size());
}

Seconds slowest_of_ranks(Peers& peers, Seconds mine) {
  const std::array<float, 1> own = {static_cast<float>(1e6 * mine.value)};
  std::vector<float> all(static_cast<std::size_t>(peers.size()));
  peers.all_gather(own, all);
  return Seconds(1e-6 * *std::max_element(all.begin(), all.end()));
}

/// How often to repeat work that takes `each`. All ranks get the same number.
int repetitions_for(Seconds each, const NetworkOptions& options) {
  return static_cast<int>(
      std::clamp(options.budget / each, static_cast<double>(fewest_repetitions), static_cast<double>(most_repetitions)));
}

std::size_t count_of(std::int64_t bytes) { return static_cast<std::size_t>(bytes) / sizeof(float); }

/// Times `work`, which consists of `parts` operations. Runs it once to warm up, then repetitions_for() times, each after a barrier.
/// `of_ranks`: makes one time of those of all ranks.
template <class Work>
TimedSize repeat(Peers& peers, std::int64_t bytes, int parts, const NetworkOptions& options, Work work,
                 Seconds (*of_ranks)(Peers&, Seconds) = mean_over_ranks) {
  std::vector<Seconds> times;
  int repetitions = 1;
  for (int i = -1; i < repetitions; ++i) {
    peers.barrier();
    const Seconds each = of_ranks(peers, time_of(work)) / parts;
    if (i < 0) {
      repetitions = repetitions_for(each * parts, options);
    } else {
      times.push_back(each);
    }
  }
  return {bytes, spread(std::move(times)), repetitions};
}

/// Durations of `rounds` round trips: rank `first` sends `values`, rank `second` sends back `answer`.
std::vector<Seconds> ping_pong(Peers& peers, int first, int second, std::span<float> values, std::span<float> answer, int rounds) {
  const bool starts = peers.rank() == first;
  const int other = starts ? second : first;
  const std::span<float> incoming = starts ? answer : values;
  const std::span<float> outgoing = starts ? values : answer;
  std::vector<Seconds> times;
  std::unique_ptr<Pending> expected = peers.receive(other, starts ? back : there, incoming);
  for (int i = 0; i < rounds; ++i) {
    const Seconds start = now();
    if (starts) peers.send(other, there, outgoing)->wait();
    expected->wait();
    times.push_back(now() - start);
    if (i + 1 < rounds) expected = peers.receive(other, starts ? back : there, incoming);
    if (!starts) peers.send(other, back, outgoing)->wait();
  }
  return times;
}

/// Broadcasts the value of rank `from`.
Seconds told_by(Peers& peers, int from, Seconds value) {
  return mean_over_ranks(peers, peers.rank() == from ? static_cast<double>(peers.size()) * value : Seconds(0));
}

TimedPair time_pair(Peers& peers, int from, int to, std::vector<float>& values, const NetworkOptions& options, NetworkMeasurements& found) {
  const bool takes_part = peers.rank() == from || peers.rank() == to;
  std::array<float, 1> small = {1.0F};
  std::array<float, 1> answer = {1.0F};
  const auto round_trips = [&](std::span<float> sent, int rounds) {
    peers.barrier();
    std::vector<Seconds> times;
    const Seconds before = processor_time();
    if (takes_part) times = ping_pong(peers, from, to, sent, answer, rounds);
    if (takes_part && sent.size() == 1) found.host_per_message = (processor_time() - before) / (2.0 * rounds);
    Spread seen = times.empty() ? Spread{} : spread(std::move(times));
    for (Seconds* part : {&seen.first, &seen.median, &seen.third}) *part = told_by(peers, from, *part);
    return seen;
  };
  const Seconds each = round_trips(small, fewest_repetitions).median;
  const Spread latency = round_trips(small, repetitions_for(each, options));
  Rate bandwidth;
  const auto most = static_cast<std::int64_t>(values.size() * sizeof(float));
  for (std::int64_t bytes = std::min<std::int64_t>(1 << 20, most);; bytes = std::min(4 * bytes, most)) {
    const Seconds whole = round_trips(std::span(values).first(count_of(bytes)), fewest_repetitions).median;
    const Seconds time = whole - latency.median;
    bandwidth = Rate(static_cast<double>(bytes) / (time > noise * whole ? time : whole).value);
    if (bytes == most || time > options.budget / fewest_repetitions) break;
  }
  return {from, to, {latency.median / 2, latency.first / 2, latency.third / 2}, bandwidth};
}

std::vector<std::pair<int, int>> pairs_of(int ranks) {
  std::vector<std::pair<int, int>> pairs;
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      const bool neighbours = (to - from + ranks) % ranks == 1;
      if (from != to && (ranks <= most_ranks_in_pairs || neighbours)) pairs.emplace_back(from, to);
    }
  }
  return pairs;
}

std::vector<std::string> hosts_of(Peers& peers) {
  constexpr std::size_t length = 64;
  std::array<char, length + 1> name{};
  gethostname(name.data(), length);
  std::array<float, length> mine{};
  for (std::size_t i = 0; i < length; ++i) mine[i] = static_cast<float>(name[i]);
  std::vector<float> all(length * static_cast<std::size_t>(peers.size()));
  peers.all_gather(mine, all);
  std::vector<std::string> hosts(static_cast<std::size_t>(peers.size()));
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] != 0.0F) hosts[i / length] += static_cast<char>(all[i]);
  }
  return hosts;
}

SecondsPerByte time_to_add(std::vector<float>& values) {
  const std::size_t half = values.size() / 2;
  std::vector<Seconds> times(most_repetitions);
  for (Seconds& time : times) {
    time = time_of([&] {
      for (std::size_t k = 0; k < half; ++k) values[k] += values[half + k];
    });
  }
  return SecondsPerByte(spread(std::move(times)).median.value / static_cast<double>(half * sizeof(float)));
}

/// Calls measure(bytes) for growing sizes, until one takes options.longest.
template <class Measure>
void for_each_size(const NetworkOptions& options, Measure measure) {
  for (std::int64_t bytes = options.smallest; bytes <= options.largest; bytes *= 2) {
    if (measure(bytes) >= options.longest) return;
  }
}

/// What a rank sends to servers or clients, receives from them and adds up, in parts of `part` floats.
struct ServedValues {
  std::span<float> sent;
  std::span<float> received;
  std::span<float> sum;
  std::size_t part = 0;
};

/// Each of the first `clients` pushes a part to every server, which adds it up; pulls a part from every server; or does both at a time.
void serve(Peers& peers, int servers, int clients, bool push, bool pull, const ServedValues& values) {
  const bool is_server = peers.rank() < servers;
  if (peers.rank() >= servers + clients) return;
  const int first = is_server ? servers : 0;  // of those on the other side
  const int others = is_server ? clients : servers;
  const auto part_of = [&](std::span<float> all, int other) {
    return all.subspan(static_cast<std::size_t>(other) * values.part, values.part);
  };
  std::vector<std::unique_ptr<Pending>> incoming;
  std::vector<std::unique_ptr<Pending>> outgoing;
  for (int other = 0; other < others; ++other) {
    if (is_server ? push : pull)
      incoming.push_back(peers.receive(first + other, is_server ? pushed : pulled, part_of(values.received, other)));
    if (is_server ? pull : push)
      outgoing.push_back(peers.send(first + other, is_server ? pulled : pushed, is_server ? values.sent : part_of(values.sent, other)));
  }
  for (std::size_t other = 0; other < incoming.size(); ++other) {
    incoming[other]->wait();
    if (!is_server) continue;
    const std::span<float> part = part_of(values.received, static_cast<int>(other));
    for (std::size_t k = 0; k < values.part; ++k) values.sum[k] += part[k];
  }
  for (const std::unique_ptr<Pending>& message : outgoing) message->wait();
}

TimedServers time_servers(Peers& peers, std::vector<float>& values, std::vector<float>& more, const NetworkOptions& options) {
  TimedServers found = {.count = options.servers};
  const auto servers = static_cast<std::size_t>(options.servers);
  const int clients = peers.size() - options.servers;
  const auto most = std::max(servers, static_cast<std::size_t>(clients));
  std::vector<float> sums;
  for_each_size(options, [&](std::int64_t bytes) {
    const std::size_t part = count_of(bytes) / servers;
    if (part == 0) return Seconds(0);
    if (most * part > more.size()) return options.longest;
    const auto moved = static_cast<std::int64_t>(servers * part * sizeof(float));
    options.progress(fmt::format("pushes and pulls of {}", format_bytes(Bytes(static_cast<double>(moved)))));
    sums.resize(part);
    const ServedValues own = {.sent = std::span(values).first(peers.rank() < options.servers ? part : servers * part),
                              .received = std::span(more).first(most * part),
                              .sum = sums,
                              .part = part};
    const auto timed = [&](int of_clients, bool push, bool pull) {
      return repeat(
          peers, moved, 1, options, [&] { serve(peers, options.servers, of_clients, push, pull, own); }, slowest_of_ranks);
    };
    if (clients > 1 && found.push.empty()) {
      found.push_of_one.push_back(timed(1, true, false));
      found.pull_of_one.push_back(timed(1, false, true));
    }
    found.push.push_back(timed(clients, true, false));
    found.pull.push_back(timed(clients, false, true));
    found.both.push_back(timed(clients, true, true));
    return found.both.back().seconds.median;
  });
  return found;
}

double rounded(double value) { return capture::rounded(value, 6); }

Json quartiles(const Spread& spread) { return {rounded(spread.first.value), rounded(spread.median.value), rounded(spread.third.value)}; }

Json size_json(const TimedSize& timed) {
  return {{"bytes", timed.bytes}, {"quartiles_s", quartiles(timed.seconds)}, {"repetitions", timed.repetitions}};
}

Json pair_json(const TimedPair& pair) {
  return {{"from", pair.from}, {"to", pair.to}, {"latency_s", quartiles(pair.latency)}, {"bandwidth_Bps", rounded(pair.bandwidth.value)}};
}

}  // namespace

NetworkMeasurements measure_network(Peers& peers, const NetworkOptions& options) {
  NetworkMeasurements found;
  found.hosts = hosts_of(peers);
  const std::unique_ptr<Peers> second = peers.another_channel();
  std::vector<float> values(count_of(options.largest));
  std::vector<float> more(count_of(options.largest));
  found.add = time_to_add(more);

  for (const auto& [from, to] : pairs_of(peers.size())) {
    options.progress(fmt::format("messages from rank {} to {}", from, to));
    found.pairs.push_back(time_pair(peers, from, to, values, options, found));
  }
  for_each_size(options, [&](std::int64_t bytes) {
    options.progress(fmt::format("all-reduces of {}", format_bytes(Bytes(static_cast<double>(bytes)))));
    const std::span<float> own = std::span(values).first(count_of(bytes));
    const std::span<float> other = std::span(more).first(count_of(bytes));
    found.all_reduce.push_back(repeat(peers, bytes, 1, options, [&] { peers.all_reduce(own); }));
    found.queued.push_back(repeat(peers, bytes, in_a_row, options, [&] {
      for (int i = 0; i < in_a_row; ++i) peers.all_reduce(own);
    }));
    found.two_at_once.push_back(repeat(peers, bytes, 1, options, [&] {
      std::future<void> beside = std::async(std::launch::async, [&] { second->all_reduce(other); });
      peers.all_reduce(own);
      beside.get();
    }));
    return found.all_reduce.back().seconds.median;
  });
  for_each_size(options, [&](std::int64_t bytes) {
    const auto ranks = static_cast<std::size_t>(peers.size());
    if (ranks * count_of(bytes) > more.size()) return options.longest;
    options.progress(fmt::format("all-gathers of {} from each", format_bytes(Bytes(static_cast<double>(bytes)))));
    const std::span<float> own = std::span(values).first(count_of(bytes));
    const std::span<float> all = std::span(more).first(ranks * count_of(bytes));
    found.all_gather.push_back(repeat(peers, bytes, 1, options, [&] { peers.all_gather(own, all); }));
    return found.all_gather.back().seconds.median;
  });
  if (options.servers > 0) found.servers = time_servers(peers, values, more, options);
  return found;
}

std::string write_network(const Json& provenance, const std::string& library, const NetworkOptions& options,
                          const NetworkMeasurements& found) {
  const std::set<std::string> nodes(found.hosts.begin(), found.hosts.end());
  const Json head = {
      {"format", "network-probe/1"},
      {"provenance", provenance},
      {"library", library},
      {"ranks", found.hosts.size()},
      {"nodes", nodes.size()},
      {"hosts", found.hosts},
      {"timing", {{"clock", "wall"}, {"of", "means over the ranks, each begun after a barrier"}, {"budget_s", options.budget.value}}},
      {"host_s_per_message", rounded(found.host_per_message.value)},
      {"add_s_per_B", rounded(found.add.value)}};
  std::string text = "{\n";
  for (const auto& [key, value] : head.items()) text += fmt::format("{}: {},\n", Json(key).dump(), value.dump());
  text += fmt::format("\"all_reduce\": {},\n", lines(found.all_reduce, size_json));
  text += fmt::format("\"queued\": {},\n", lines(found.queued, size_json));
  text += fmt::format("\"two_at_once\": {},\n", lines(found.two_at_once, size_json));
  text += fmt::format("\"all_gather\": {},\n", lines(found.all_gather, size_json));
  if (!found.servers.push.empty()) {
    const TimedServers& servers = found.servers;
    text += fmt::format("\"servers\": {{\"count\": {}", servers.count);
    for (const auto& [key, sizes] : {std::pair("push", &servers.push), std::pair("pull", &servers.pull), std::pair("both", &servers.both),
                                     std::pair("push_of_one", &servers.push_of_one), std::pair("pull_of_one", &servers.pull_of_one)}) {
      if (!sizes->empty()) text += fmt::format(",\n\"{}\": {}", key, lines(*sizes, size_json));
    }
    text += "},\n";
  }
  return text + fmt::format("\"pairs\": {}\n}}\n", lines(found.pairs, pair_json));
}

std::string format_network(const NetworkMeasurements& found) {
  std::vector<std::vector<std::string>> rows = {{"bytes", "all-reduce", "quartiles", "queued", "two at once", "all-gather"}};
  for (std::size_t i = 0; i < found.all_reduce.size(); ++i) {
    const Spread& alone = found.all_reduce[i].seconds;
    rows.push_back({std::to_string(found.all_reduce[i].bytes), format_seconds(alone.median),
                    fmt::format("{} to {}", format_seconds(alone.first), format_seconds(alone.third)),
                    format_seconds(found.queued[i].seconds.median), format_seconds(found.two_at_once[i].seconds.median),
                    i < found.all_gather.size() ? format_seconds(found.all_gather[i].seconds.median) : ""});
  }
  std::vector<std::vector<std::string>> pairs = {{"from", "to", "latency", "Gb/s"}};
  for (const TimedPair& pair : found.pairs) {
    pairs.push_back({std::to_string(pair.from), std::to_string(pair.to), format_seconds(pair.latency.median),
                     fmt::format("{:.4g}", 8e-9 * pair.bandwidth.value)});
  }
  std::string text = fmt::format("{}\n{}", format_table(rows), format_table(pairs));
  if (found.servers.push.empty()) return text;
  std::vector<std::vector<std::string>> served = {{"bytes", "push", "pull", "both"}};
  for (std::size_t i = 0; i < found.servers.push.size(); ++i) {
    served.push_back({std::to_string(found.servers.push[i].bytes), format_seconds(found.servers.push[i].seconds.median),
                      format_seconds(found.servers.pull[i].seconds.median), format_seconds(found.servers.both[i].seconds.median)});
  }
  return text + fmt::format("\n{} of {} ranks serve\n{}", found.servers.count, found.hosts.size(), format_table(served));
}

}  // namespace syncopate::capture
