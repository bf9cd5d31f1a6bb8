#pragma once

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

[[noreturn]] inline void fail_for_endless_outage(const Field& profile) {
  profile.fail_because("the last bandwidth is 0, so that what is on its way never arrives; add the time at which the outage ends");
}

}  // namespace syncopate
