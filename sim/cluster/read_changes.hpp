#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>

#include "base/fields.hpp"
#include "cluster/link.hpp"

namespace syncopate {

/// In an outage so little moves that it does not count: a byte in thirty years.
constexpr Rate outage(1e-9);

/// Reads a profile. Calls add(time, field of the new value) for every entry.
template <class Function>
void read_changes(const Field& field, const std::string& value, Function&& add) {
  std::optional<Seconds> before;
  for (const Field& entry : field.list()) {
    Object fields(entry);
    const Field at = fields.at("at_s");
    const Seconds time = at.seconds();
    if (before && *before >= time) at.fail(fmt::format("a time after the previous change ({} s)", before->value));
    add(time, fields.at(value));
    fields.finish();
    before = time;
  }
}

/// Reads a profile of bandwidths, of which 0 is an outage. Calls add(time, field of the bandwidth, or null in an outage) for every entry.
template <class Function>
void read_bandwidth_changes(const Field& profile, Function&& add) {
  bool is_down = false;
  read_changes(profile, "bandwidth", [&](Seconds time, const Field& value) {
    is_down = value.json() == 0;
    add(time, is_down ? nullptr : &value);
  });
  if (is_down)
    profile.fail_because("the last bandwidth is 0, so that what is on its way never arrives; add the time at which the outage ends");
}

}  // namespace syncopate
