#include "cluster/platform_profiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <cmath>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>

#include "base/text.hpp"
#include "cluster/platform.hpp"
#include "cluster/read_changes.hpp"

namespace syncopate {

namespace {

using PlatformTree = boost::property_tree::ptree;

/// What a profile is of.
struct ProfileKind {
  const char* attribute;  ///< of a link that has such a profile
  const char* traced;     ///< `kind` of a trace_connect
  const char* line;       ///< for people
};
constexpr ProfileKind of_bandwidths = {"bandwidth_file", "BANDWIDTH", "a bandwidth in bytes per second, such as \"1.5 1e9\""};
constexpr ProfileKind of_latencies = {"latency_file", "LATENCY", "a latency in seconds, such as \"1.5 2e-5\""};
constexpr std::array<ProfileKind, 2> profile_kinds = {of_bandwidths, of_latencies};

std::string attribute(const PlatformTree& element, const char* name) {
  return element.get<std::string>(fmt::format("<xmlattr>.{}", name), "");
}

/// Calls visit(tag, element) for all elements, the outer ones first.
void for_each_element(const PlatformTree& tree, const std::function<void(const std::string&, const PlatformTree&)>& visit) {
  for (const auto& [tag, element] : tree) {
    if (tag.starts_with('<')) continue;  // attributes and comments
    visit(tag, element);
    for_each_element(element, visit);
  }
}

/// Without elements where there are no profiles, or where it is no XML: SimGrid says why.
PlatformTree parse(const std::string& xml) {
  const auto has = [&](const char* word) { return xml.find(word) != std::string::npos; };
  if (!has(of_bandwidths.attribute) && !has(of_latencies.attribute) && !has("<trace")) return {};
  PlatformTree tree;
  std::istringstream stream(xml);
  try {
    boost::property_tree::read_xml(stream, tree);
  } catch (const boost::property_tree::xml_parser_error&) {
    return {};
  }
  return tree;
}

/// Replaces what stands between two places by spaces, but for ends of lines.
void blank(std::string& text, std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < std::min(to, text.size()); ++i) {
    if (text[i] != '\n') text[i] = ' ';
  }
}

/// The end of the element that begins at `begin`.
std::size_t end_of_element(const std::string& xml, std::size_t begin, const std::string& tag) {
  std::size_t close = begin;
  for (char quote = 0; close < xml.size() && (quote != 0 || xml[close] != '>'); ++close) {
    if (quote == 0 && (xml[close] == '"' || xml[close] == '\'')) {
      quote = xml[close];
    } else if (xml[close] == quote) {
      quote = 0;
    }
  }
  if (close == xml.size()) return close;
  if (xml[close - 1] == '/') return close + 1;
  const std::string closing = fmt::format("</{}>", tag);
  const std::size_t end = xml.find(closing, close);
  return end == std::string::npos ? xml.size() : end + closing.size();
}

/// Blanks the attribute of this name wherever it is.
void blank_attribute(std::string& xml, const std::string& name) {
  for (std::size_t begin = 0; (begin = xml.find(name, begin)) != std::string::npos;) {
    const std::size_t equals = xml.find_first_not_of(" \t\r\n", begin + name.size());
    const std::size_t quote = equals == std::string::npos ? equals : xml.find_first_not_of(" \t\r\n", equals + 1);
    if (quote == std::string::npos || xml[equals] != '=') {
      begin += name.size();
      continue;
    }
    const std::size_t end = xml.find(xml[quote], quote + 1);
    blank(xml, begin, end == std::string::npos ? end : end + 1);
  }
}

/// Blanks comments, traces and the links' attributes.
std::string without_profiles(std::string xml) {
  xml = without_comments(std::move(xml));
  for (const std::string tag : {"trace_connect", "trace"}) {
    for (std::size_t begin = 0; (begin = xml.find("<" + tag, begin)) != std::string::npos;) {
      const std::size_t after = begin + tag.size() + 1;
      if (after < xml.size() && (std::isalnum(static_cast<unsigned char>(xml[after])) != 0 || xml[after] == '_')) {
        begin = after;
      } else {
        blank(xml, begin, end_of_element(xml, begin, tag));
      }
    }
  }
  for (const ProfileKind& kind : profile_kinds) blank_attribute(xml, kind.attribute);
  return xml;
}

/// The dates of a profile, and its values. `where`: the file, or the element, that has the text.
std::vector<std::pair<Seconds, double>> read_lines(const std::string& text, const ProfileKind& kind, const std::string& where) {
  std::vector<std::pair<Seconds, double>> changes;
  int number = 0;
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  std::istringstream lines(text.starts_with(byte_order_mark) ? text.substr(byte_order_mark.size()) : text);
  const auto fail = [&](const std::string& why) { throw PlatformError(fmt::format("{}:{}: {}", where, number, why)); };
  for (std::string line; std::getline(lines, line);) {
    ++number;
    line = line.substr(0, line.find('#'));
    std::istringstream words(line);
    std::string first;
    std::string second;
    std::string rest;
    if (!(words >> first)) continue;
    if (first == "PERIODICITY" || first == "LOOPAFTER")
      fail(fmt::format("\"{}\": a profile that repeats is not taken; list its changes, and leave this line out", first));
    const bool has_more = static_cast<bool>(words >> second) && static_cast<bool>(words >> rest);
    const auto date = to_number(first);
    const auto value = to_number(second);
    if (!date || !value || has_more || *date < 0.0 || *value < 0.0 || !std::isfinite(*date) || !std::isfinite(*value))
      fail(fmt::format("expected a date in seconds and {}, got \"{}\"", kind.line, line));
    if (!changes.empty() && changes.back().first >= Seconds(*date))
      fail(fmt::format("expected a date after that of the line before ({} s), got {}", changes.back().first.value, first));
    changes.emplace_back(*date, *value);
  }
  if (changes.empty()) fail(fmt::format("expected lines of a date and {}", kind.line));
  if (kind.attribute == of_bandwidths.attribute && changes.back().second == 0.0)
    fail("the last bandwidth is 0, so that what is on its way never arrives; add the date at which the outage ends");
  return changes;
}

/// Adds the profile of a link to those of its kind.
void add_profile(const std::string& link, const std::string& text, const ProfileKind& kind, const std::string& where,
                 PlatformProfiles& profiles) {
  const auto lines = read_lines(text, kind, where);
  if (kind.attribute == of_latencies.attribute) {
    LinkChanges::Latencies& latencies = profiles.latencies.emplace_back(link, LinkChanges::Latencies()).second;
    for (const auto& [date, latency] : lines) latencies.push_back({date, Seconds(latency)});
  } else {
    LinkChanges::Changes& bandwidths = profiles.bandwidths.emplace_back(link, LinkChanges::Changes()).second;
    for (const auto& [date, bandwidth] : lines) bandwidths.push_back({date, bandwidth == 0.0 ? outage : Rate(bandwidth)});
  }
}

}  // namespace

std::string without_comments(std::string xml) {
  for (std::size_t begin = 0; (begin = xml.find("<!--", begin)) != std::string::npos;) {
    const std::size_t end = xml.find("-->", begin);
    blank(xml, begin, end == std::string::npos ? end : end + 3);
  }
  return xml;
}

std::vector<std::string> profile_files(const std::string& xml) {
  std::vector<std::string> files;
  const auto add = [&](const std::string& file) {
    if (!file.empty() && std::find(files.begin(), files.end(), file) == files.end()) files.push_back(file);
  };
  for_each_element(parse(xml), [&](const std::string& tag, const PlatformTree& element) {
    if (tag == "trace") add(attribute(element, "file"));
    for (const ProfileKind& kind : profile_kinds) add(attribute(element, kind.attribute));
  });
  return files;
}

PlatformProfiles take_profiles(const std::string& xml, const std::string& name,
                               const std::function<std::string(const std::string&)>& read) {
  PlatformProfiles profiles = {without_profiles(xml)};
  struct Trace {
    std::string text;
    std::string where;
  };
  std::map<std::string, Trace> traces;  // by `id`
  for_each_element(parse(xml), [&](const std::string& tag, const PlatformTree& element) {
    const auto fail = [&](const std::string& why) { throw PlatformError(fmt::format("{}: {}: {}", name, tag, why)); };
    const std::string id = attribute(element, "id");
    for (const ProfileKind& kind : profile_kinds) {
      const std::string file = attribute(element, kind.attribute);
      if (file.empty()) continue;
      if (tag != "link") fail(fmt::format("\"{}\" has a {}, which only a link may have; leave it out", id, kind.attribute));
      add_profile(id, read(file), kind, file, profiles);
    }
    if (tag == "trace") {
      const auto period = to_number(attribute(element, "periodicity")).value_or(-1.0);
      if (period > 0.0) fail(fmt::format("\"{}\" repeats, which is not taken; list its changes, and leave \"periodicity\" out", id));
      const std::string file = attribute(element, "file");
      traces[id] = file.empty() ? Trace{element.data(), fmt::format("{}: trace \"{}\"", name, id)} : Trace{read(file), file};
    }
    if (tag != "trace_connect") return;
    const std::string its = attribute(element, "kind");
    const std::string link = attribute(element, "element");
    const auto kind = std::find_if(profile_kinds.begin(), profile_kinds.end(), [&](const ProfileKind& one) { return its == one.traced; });
    if (kind == profile_kinds.end())
      fail(fmt::format("a profile of kind {} of \"{}\" is not taken, only BANDWIDTH and LATENCY are; leave it out",
                       its.empty() ? "HOST_AVAIL" : its, link));
    const auto trace = traces.find(attribute(element, "trace"));
    if (trace == traces.end()) fail(fmt::format("\"{}\" is the id of no trace before it; use one that is", attribute(element, "trace")));
    add_profile(link, trace->second.text, *kind, trace->second.where, profiles);
  });
  return profiles;
}

}  // namespace syncopate
