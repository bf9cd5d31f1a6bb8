#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <string>

#include "timeline/timeline.hpp"

namespace syncopate {

/// Events of the Chrome trace-event format, as the text of a JSON list; a document in memory would be ten times as large. Workers are its
/// processes, their tracks its threads. Times are whole nanoseconds: rounding both ends of every slice keeps nested slices nested.
class TraceEvents {
 public:
  /// Of a worker ("process_name"; its track is 0) or of a track of it ("thread_name").
  void name(const char* what, int worker, int track, const std::string& name);

  /// `args`: members of an object, such as `"bytes":4`. What is shorter than half a nanosecond is left out.
  void slice(const std::string& name, const char* category, int worker, int track, const Interval& time, const std::string& args);

  /// An arrow called "gradient" from just before the end of one slice, at most from `time`, to the beginning of another one, at `time`.
  void arrow(int worker, int from_track, const Interval& from, int to_track, Seconds time);

  /// An arrow called "critical" from what one track of a worker shows at `time` to what another worker's does then.
  void arrow(int from_worker, int from_track, int to_worker, int to_track, Seconds time);

  /// An arrow called "message" from just before the end of a slice of one worker to the beginning of another one's, at `time`.
  void arrow(int from_worker, int from_track, const Interval& from, int to_worker, int to_track, Seconds time);

  /// The value of a counter of a worker from a time on: a number as text, and what it counts.
  void counter(const std::string& name, int worker, Seconds time, const std::string& unit, const std::string& value);

  const std::string& text() const { return text_; }

 private:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    text_ += text_.empty() ? "\n" : ",\n";
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
  }

  void add_arrow(const char* name, int from_worker, int from_track, std::int64_t from, int to_worker, int to_track, std::int64_t to);

  std::string text_;
  std::int64_t arrows_ = 0;
};

}  // namespace syncopate
