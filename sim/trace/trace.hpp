#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/document.hpp"
#include "base/units.hpp"

namespace syncopate {

/// First and third quartile of repeated measurements.
using Quartiles = std::array<Seconds, 2>;

/// Times of one layer (operator) for one batch, undisturbed.
struct Layer {
  std::string name;
  std::string type;  ///< the framework's word for the operator, or "unknown"
  Seconds forward;
  Seconds backward;
  std::optional<Quartiles> forward_quartiles;
  std::optional<Quartiles> backward_quartiles;
};

/// One parameter tensor's gradient, as backward makes it.
struct Gradient {
  std::string name;
  std::size_t layer = 0;  ///< index into Trace::layers
  Bytes bytes;
  std::vector<std::int64_t> shape;  ///< empty when the trace does not say
  std::optional<Seconds> ready;     ///< since backward began; on all gradients of a trace or on none
};

/// Where a trace's numbers come from: "measured", "imported" or "synthetic".
struct Provenance {
  std::string kind;
  std::string source;
  std::string utc;
  std::string command;
  std::string note;

  bool synthetic() const { return kind == "synthetic"; }
};

/// The file format trace/1: seconds per layer of one training iteration on one device.
struct Trace {
  std::string file;
  Provenance provenance;
  std::string model;
  std::int64_t batch = 0;  ///< samples per worker and iteration
  std::string dtype;
  std::vector<std::int64_t> input;       ///< of a sample, where it is not the model file's; else empty
  std::string device_kind;               ///< "gpu", "cpu" or empty
  std::string device;                    ///< the device's name or empty
  Json software = Json::object();        ///< free-form: versions
  Json timing = Json::object();          ///< free-form: how it was measured
  Seconds update;                        ///< the optimiser's step at the end of an iteration
  std::optional<Seconds> forward_span;   ///< measured span of all forward work, launch gaps included
  std::optional<Seconds> backward_span;  ///< likewise backward
  std::vector<Layer> layers;             ///< in forward order
  std::vector<Gradient> gradients;       ///< in the order in which backward makes them ready
};

/// Reads and validates a trace/1 document. Throws InputError.
Trace read_trace(const Document& document, const std::string& pointer = "");

/// The JSON object of a provenance, without what is empty.
Json provenance_json(const Provenance& provenance);

/// The trace/1 text of a trace, times with nine significant digits.
std::string write_trace(const Trace& trace);

/// Writes a trace to a file, once it has proved that it reads back. Throws InputError, which blames `cause`, and OutputError.
void write_trace_file(const std::filesystem::path& out, const Trace& trace, const std::string& cause);

}  // namespace syncopate
