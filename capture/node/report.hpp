#pragma once

#include <string>

#include "base/document.hpp"
#include "capture/node/measure.hpp"

namespace syncopate::capture {

/// Text of a node/1 file, one measurement per line for readable diffs. `provenance` is as in trace/1.
std::string write_node(const Json& provenance, const DeviceDescription& device, const NodeOptions& options, const NodeMeasurements& found);

/// The measurements as tables for people.
std::string format_node(const DeviceDescription& device, const NodeMeasurements& found);

}  // namespace syncopate::capture
