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

/// Times of one layer (operator) for one batch, without communication.
struct Layer {
  std::string name;
  std::string type;  ///< the framework's name of the operator, or "unknown"
  Seconds forward;
  Seconds backward;
  std::optional<Quartiles> forward_quartiles;
  std::optional<Quartiles> backward_quartiles;
};

/// The gradient of one parameter tensor.
struct Gradient {
  std::string name;
  std::size_t layer = 0;  ///< index into Trace::layers
  Bytes bytes;
  std::vector<std::int64_t> shape;  ///< empty if unknown
  std::optional<Seconds> ready;     ///< time since backward began; all gradients of a trace have it, or none
};

/// What `simctl trace import` knows an earlier result of its own by: SHA-256 digests.
struct ImportDigests {
  std::string profiles;  ///< of the resolved paths of the profiles
  std::string workers;   ///< of the file that --workers wrote, or empty
  std::string trace;     ///< of the trace's content but for this digest
};

/// The origin of a trace. `kind` is "measured", "imported" or "synthetic".
struct Provenance {
  std::string kind;
  std::string source;
  std::string utc;
  std::string command;
  std::string note;
  std::optional<ImportDigests> import{};  ///< only in files of traces: results do not repeat it

  bool synthetic() const { return kind == "synthetic"; }
};

/// The file format trace/1: seconds per layer of one training iteration on one device.
struct Trace {
  std::string file;
  Provenance provenance;
  std::string model;
  std::int64_t batch = 0;  ///< samples per worker and iteration
  std::string dtype;
  std::vector<std::int64_t> input;       ///< shape of a sample if it differs from the model file's; else empty
  std::string device_kind;               ///< "gpu", "cpu" or empty
  std::string device;                    ///< name, or empty
  Json software = Json::object();        ///< free-form: versions
  Json timing = Json::object();          ///< free-form: how it was measured
  double factor = 1.0;                   ///< by which the times were multiplied; not in the file
  Seconds update;                        ///< the optimiser's step
  std::optional<Seconds> forward_span;   ///< measured span of forward; with launch gaps, unless it is a CUDA graph's
  std::optional<Seconds> backward_span;  ///< likewise of backward
  std::vector<Layer> layers;             ///< in forward order
  std::vector<Gradient> gradients;       ///< in the order in which they become ready
};

/// Reads and validates a trace/1 document. Throws InputError.
Trace read_trace(const Document& document, const std::string& pointer = "");

/// The same trace with all times multiplied by `factor`, which its provenance then says.
Trace scaled(const Trace& trace, double factor);

/// The JSON object of a provenance, without empty fields and digests.
Json provenance_json(const Provenance& provenance);

/// The trace/1 text of a trace. Times have nine significant digits.
std::string write_trace(const Trace& trace);

/// Writes a trace to a file, after checking that it can be read back. Throws InputError that begins with `cause`, and OutputError.
void write_trace_file(const std::filesystem::path& out, const Trace& trace, const std::string& cause);

}  // namespace syncopate
