#include "output/trace_events.hpp"

#include <algorithm>
#include <cmath>

#include "base/document.hpp"

namespace syncopate {

namespace {

std::int64_t nanoseconds(Seconds time) { return std::llround(time.value * 1e9); }

std::string microseconds(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

/// Perfetto gives process 0 a meaning of its own.
int process(int worker) { return worker + 1; }

/// As JSON. Nearly all names are plain, and need no document.
std::string quoted(const std::string& text) {
  const auto is_plain = [](char one) { return one >= ' ' && one <= '~' && one != '"' && one != '\\'; };
  if (std::all_of(text.begin(), text.end(), is_plain)) return '"' + text + '"';
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

void TraceEvents::name(const char* what, int worker, int track, const std::string& name) {
  add(R"({{"name":"{}","ph":"M","pid":{},"tid":{},"args":{{"name":{}}}}})", what, process(worker), track, quoted(name));
}

void TraceEvents::slice(const std::string& name, const char* category, int worker, int track, const Interval& time,
                        const std::string& args) {
  const std::int64_t from = nanoseconds(time.start);
  const std::int64_t to = nanoseconds(time.end);
  if (to <= from) return;
  add(R"({{"name":{},"cat":"{}","ph":"X","ts":{},"dur":{},"pid":{},"tid":{},"args":{{{}}}}})", quoted(name), category, microseconds(from),
      microseconds(to - from), process(worker), track, args);
}

void TraceEvents::arrow(int worker, int from_track, const Interval& from, int to_track, Seconds time) {
  const std::int64_t last = std::min(nanoseconds(from.end), nanoseconds(time)) - 1;  // at its end a slice is over
  if (last < nanoseconds(from.start)) return;
  add_arrow("gradient", worker, from_track, last, worker, to_track, nanoseconds(time));
}

void TraceEvents::arrow(int from_worker, int from_track, int to_worker, int to_track, Seconds time) {
  add_arrow("critical", from_worker, from_track, nanoseconds(time), to_worker, to_track, nanoseconds(time));
}

void TraceEvents::arrow(int from_worker, int from_track, const Interval& from, int to_worker, int to_track, Seconds time) {
  const std::int64_t last = nanoseconds(from.end) - 1;
  if (last < nanoseconds(from.start)) return;
  add_arrow("message", from_worker, from_track, last, to_worker, to_track, nanoseconds(time));
}

void TraceEvents::add_arrow(const char* name, int from_worker, int from_track, std::int64_t from, int to_worker, int to_track,
                            std::int64_t to) {
  ++arrows_;
  add(R"({{"name":"{}","cat":"{}","ph":"s","id":{},"ts":{},"pid":{},"tid":{}}})", name, name, arrows_, microseconds(from),
      process(from_worker), from_track);
  add(R"({{"name":"{}","cat":"{}","ph":"f","bp":"e","id":{},"ts":{},"pid":{},"tid":{}}})", name, name, arrows_, microseconds(to),
      process(to_worker), to_track);
}

void TraceEvents::counter(const std::string& name, int worker, Seconds time, const std::string& unit, const std::string& value) {
  add(R"({{"name":{},"ph":"C","ts":{},"pid":{},"tid":0,"args":{{{}:{}}}}})", quoted(name), microseconds(nanoseconds(time)), process(worker),
      quoted(unit), value);
}

}  // namespace syncopate
