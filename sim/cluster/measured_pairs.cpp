#include "cluster/measured_pairs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/document.hpp"
#include "base/errors.hpp"
#include "base/fields.hpp"
#include "base/files.hpp"
#include "base/text.hpp"

namespace syncopate {

namespace {

using Names = std::pair<std::string, std::string>;

Names swapped(const Names& names) { return {names.second, names.first}; }
Names ordered(const Names& names) { return std::min(names, swapped(names)); }

struct RoundTrip {
  Seconds mean;
  double cv = 0.0;
};

/// Measurements by pair of places, in the order of the file's name.
struct Found {
  std::map<Names, Rate> bandwidths;
  std::map<Names, int> connections;        ///< of the transfers that were measured, by names in alphabetical order
  std::map<Names, RoundTrip> round_trips;  ///< by names in alphabetical order
};

Names names_of(const std::filesystem::path& file) {
  const std::string stem = file.stem().string();
  if (printable(stem) != stem)
    throw InputError(
        fmt::format("{}: the file's name must have no control characters, because places are named after it; rename it", file.string()));
  std::string_view separator = "--";
  std::size_t position = stem.find(separator);
  if (position == std::string::npos) position = stem.find(separator = "-");
  Names names = position == std::string::npos ? Names() : Names(stem.substr(0, position), stem.substr(position + separator.size()));
  const bool is_clear = !names.first.empty() && !names.second.empty() && names.second.find(separator) == std::string::npos;
  if (!is_clear) {
    throw InputError(
        fmt::format("{}: the file's name must consist of two places, such as oregon-tokyo.json, or us-west--us-east.json if places contain "
                    "\"-\"; rename it, or move it out of the folder",
                    file.string()));
  }
  if (names.first == names.second)
    throw InputError(fmt::format("{}: the file's name must consist of two different places; rename it", file.string()));
  return names;
}

void add(std::map<Names, Rate>& bandwidths, const Names& direction, Rate rate, const std::filesystem::path& file) {
  if (bandwidths.emplace(direction, rate).second) return;
  throw InputError(fmt::format("{}: another file already has the bandwidth from {} to {}; keep one of them", file.string(), direction.first,
                               direction.second));
}

/// The output of iperf3 --json; of --json-stream, whose lines {"event": "start", "data": {...}} and {"event": "end", "data": {...}} are the
/// parts of the same.
Document read_iperf_output(const std::filesystem::path& file) {
  const std::string text = read_file(file);
  const std::string name = file.string();
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin != std::string::npos && text[begin] != '{')
    throw InputError(fmt::format("{}: not the output of iperf3 --json, which begins with {{; run iperf3 again with --json", name));
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  constexpr std::string_view first_event = R"({"event":)";
  if (!line.starts_with(first_event)) return {parse_json(text, name), name};
  Json whole = Json::object();
  int number = 0;
  do {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    Json event = parse_json(line, fmt::format("{}:{}", name, number));
    if (event.is_object() && event.contains("event") && event["event"].is_string() && event.contains("data"))
      whole[event["event"].get<std::string>()] = std::move(event["data"]);
  } while (std::getline(lines, line));
  return {std::move(whole), name};
}

void read_iperf(const std::filesystem::path& file, Found& found) {
  const Document document = read_iperf_output(file);
  const Json& root = document.root();
  const Field run(document);
  if (!root.is_object() || (!root.contains("end") && !root.contains("error"))) {
    run.fail_because("has no \"end\": it is not the output of iperf3 --json, or was cut off; run iperf3 again");
  }
  if (root.contains("error")) run.fail_because(fmt::format("iperf3 says \"{}\"; run it again", Object(run).at("error").text()));
  Object test(Object(Object(run).at("start")).at("test_start"));
  if (test.at("protocol").text() != "TCP") test.at("protocol").fail_because("gradients move over TCP; leave -u out");
  const bool reversed = test.find("reverse") && test.at("reverse").integer(0, 1) == 1;
  constexpr double most_bits_per_second = 1e15;
  constexpr double bits = 8.0;
  const auto rate = [&](const char* sum) {
    return Rate(Object(Object(Object(run).at("end")).at(sum)).at("bits_per_second").positive(most_bits_per_second) / bits);
  };
  const Names names = names_of(file);
  add(found.bandwidths, reversed ? swapped(names) : names, rate("sum_received"), file);
  if (root["end"].contains("sum_received_bidir_reverse")) {
    add(found.bandwidths, reversed ? names : swapped(names), rate("sum_received_bidir_reverse"), file);
  }
  constexpr int most_streams = 1000;
  if (const auto streams = test.find("num_streams")) {
    int& connections = found.connections[ordered(names)];
    connections = std::max(connections, static_cast<int>(streams->integer(1, most_streams)));
  }
}

/// The numbers of ping's last line, "rtt min/avg/max/mdev = 0.045/0.055/0.061/0.008 ms". Others begin with "round-trip", and call the
/// deviation stddev or std-dev. BusyBox has none, which is then 0. Nullopt if the line is missing.
std::optional<std::array<double, 4>> summary_of(const std::string& text) {
  constexpr std::string_view head = "min/avg/max";
  const std::size_t position = text.find(head);
  if (position == std::string::npos) return std::nullopt;
  const std::size_t begin = text.find(" = ", position);
  if (begin == std::string::npos || text.substr(position, begin - position).find('\n') != std::string::npos) return std::nullopt;
  const std::size_t numbers = text[position + head.size()] == '/' ? 4 : 3;
  std::array<double, 4> values{};
  const char* next = text.data() + begin + 3;
  const char* end = text.data() + text.size();
  for (std::size_t i = 0; i < numbers; ++i) {
    const auto [behind, error] = std::from_chars(next, end, values[i], std::chars_format::fixed);
    if (error != std::errc() || behind == end || *behind != (i + 1 == numbers ? ' ' : '/')) return std::nullopt;
    next = behind + 1;
  }
  return std::string_view(next, static_cast<std::size_t>(end - next)).starts_with("ms") ? std::optional(values) : std::nullopt;
}

void read_ping(const std::filesystem::path& file, Found& found) {
  const auto summary = summary_of(read_file(file));
  if (!summary) {
    throw InputError(fmt::format(
        "{}: no line \"rtt min/avg/max/mdev = ... ms\": ping was cut off or got no answer; run it again, such as ping -c 20 HOST",
        file.string()));
  }
  constexpr double milliseconds = 1e-3;
  constexpr double longest = 86'400'000;
  constexpr double widest = 100.0;
  const double mean = (*summary)[1];
  const double deviation = (*summary)[3];
  if (!(mean > 0.0 && mean <= longest && deviation >= 0.0 && deviation <= widest * mean)) {
    throw InputError(
        fmt::format("{}: a round trip with mean {} ms and deviation {} ms, expected a mean above 0 and up to a day, and a deviation up to "
                    "{} times the mean; ping the other place again",
                    file.string(), mean, deviation, widest));
  }
  const Names names = ordered(names_of(file));
  if (!found.round_trips.emplace(names, RoundTrip{Seconds(milliseconds * mean), deviation / mean}).second) {
    throw InputError(fmt::format("{}: another file already has the round trip between {} and {}; keep one of them", file.string(),
                                 names.first, names.second));
  }
}

Found read_files(const std::filesystem::path& folder) {
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.insert(entry.path());
  Found found;
  for (const std::filesystem::path& file : files) {
    if (file.extension() == ".json") {
      read_iperf(file, found);
    } else if (file.extension() == ".txt") {
      read_ping(file, found);
    } else {
      throw InputError(fmt::format("{}: expected .json (iperf3) or .txt (ping); move other files out of the folder", file.string()));
    }
  }
  return found;
}

std::optional<Rate> bandwidth(const Found& found, const Names& direction) {
  const auto rate = found.bandwidths.find(direction);
  if (rate != found.bandwidths.end()) return rate->second;
  const auto back = found.bandwidths.find(swapped(direction));
  return back == found.bandwidths.end() ? std::nullopt : std::optional(back->second);
}

}  // namespace

MeasuredPlaces read_measured_pairs(const std::filesystem::path& folder) {
  const Found found = read_files(folder);
  std::set<std::string> names;
  for (const auto& [both, rate] : found.bandwidths) names.insert({both.first, both.second});
  for (const auto& [both, trip] : found.round_trips) names.insert({both.first, both.second});
  if (names.empty())
    throw InputError(
        fmt::format("{}: the folder has no files of iperf3 or ping, such as oregon-tokyo.json and oregon-tokyo.txt", folder.string()));
  MeasuredPlaces places = {{names.begin(), names.end()}, {}};
  std::vector<std::string> missing;
  for (auto a = names.begin(); a != names.end(); ++a) {
    for (auto b = std::next(a); b != names.end(); ++b) {
      const std::string_view separator = (*a + *b).find('-') == std::string::npos ? "-" : "--";
      const auto up = bandwidth(found, {*a, *b});
      const auto trip = found.round_trips.find({*a, *b});
      if (!up) missing.push_back(fmt::format("{}{}{}.json", *a, separator, *b));
      if (trip == found.round_trips.end()) missing.push_back(fmt::format("{}{}{}.txt", *a, separator, *b));
      if (!up || trip == found.round_trips.end()) continue;
      const auto connections = found.connections.find({*a, *b});
      places.pairs.push_back({*a, *b, *up, *bandwidth(found, {*b, *a}), trip->second.mean, trip->second.cv,
                              connections == found.connections.end() ? 1 : connections->second});
    }
  }
  if (!missing.empty()) {
    throw InputError(fmt::format("{}: all pairs of the {} places must be measured, but {} files are missing: {}", folder.string(),
                                 names.size(), missing.size(), fmt::join(missing, ", ")));
  }
  return places;
}

}  // namespace syncopate
