#include "capture/node/report.hpp"

#include <fmt/format.h>

#include "base/table.hpp"
#include "base/text.hpp"
#include "capture/json_lines.hpp"

namespace syncopate::capture {

namespace {

double rounded(double value) { return capture::rounded(value, 9); }

Json measurement_json(const Measurement& measured) {
  Json json = {{"name", measured.operation.name}, {"dtype", measured.dtype}, {"bytes", measured.bytes}};
  if (measured.operation.many) json["tensors"] = measured.tensors;
  if (measured.operation.share > 0) json["share"] = measured.operation.share;
  json["seconds"] = rounded(measured.seconds.median.value);
  json["quartiles_s"] = {rounded(measured.seconds.first.value), rounded(measured.seconds.third.value)};
  json["s_per_byte"] = rounded(measured.per_byte().value);
  json["bandwidth_bytes_per_s"] = rounded(measured.bandwidth().value);
  json["counts"] = measured.operation.counts;
  return json;
}

Json overlap_json(const MeasuredOverlap& measured) {
  Json json = {{"compute", measured.overlap.compute}, {"beside", measured.overlap.beside}};
  if (measured.overlap.blocks) {
    json["blocks"] = *measured.overlap.blocks;
    json["share"] = rounded(measured.overlap.share);
  }
  json["alone_s"] = rounded(measured.alone.median.value);
  json["beside_s"] = rounded(measured.beside.median.value);
  json["slowdown"] = rounded(measured.slowdown());
  return json;
}

}  // namespace

std::string write_node(const Json& provenance, const DeviceDescription& device, const NodeOptions& options, const NodeMeasurements& found) {
  Json timing = {{"method", fmt::format("medians of {} repetitions after {} of warm-up", options.repetitions, options.warmup)},
                 {"clock", device.clock},
                 {"warmup", options.warmup},
                 {"repetitions", options.repetitions}};
  if (!device.clocks.empty()) timing["clocks"] = device.clocks;
  const Json head = {{"format", "node/1"},
                     {"provenance", provenance},
                     {"device", {{"kind", device.kind}, {"name", device.name}}},
                     {"software", device.software},
                     {"timing", timing}};
  std::string text = "{\n";
  for (const auto& [key, value] : head.items()) text += fmt::format("{}: {},\n", Json(key).dump(), value.dump());
  text += fmt::format("\"measurements\": {},\n", lines(found.operations, measurement_json));
  text += fmt::format("\"overlap\": {},\n", lines(found.overlaps, overlap_json));
  const auto failure_json = [](const Failure& failure) { return Json{{"name", failure.name}, {"reason", failure.reason}}; };
  return text + fmt::format("\"failed\": {}\n}}\n", lines(found.failed, failure_json));
}

std::string format_node(const DeviceDescription& device, const NodeMeasurements& found) {
  std::string text = device.name + "\n";
  if (!found.operations.empty()) {
    std::vector<std::vector<std::string>> rows = {
        {"operation", "dtype", "gradients", "median", "quartiles", "ns/kB", "bandwidth", "counts"}};
    for (const Measurement& measured : found.operations) {
      rows.push_back({std::string(measured.operation.name), measured.dtype, format_bytes(Bytes(static_cast<double>(measured.bytes))),
                      format_seconds(measured.seconds.median),
                      fmt::format("{} to {}", format_seconds(measured.seconds.first), format_seconds(measured.seconds.third)),
                      fmt::format("{:.4g}", 1e12 * measured.per_byte().value), format_bytes(Bytes(measured.bandwidth().value)) + "/s",
                      std::string(measured.operation.counts)});
    }
    text += "\n" + format_table(rows);
  }
  if (!found.overlaps.empty()) {
    std::vector<std::vector<std::string>> rows = {{"compute", "beside", "share", "alone", "together", "slowdown"}};
    for (const MeasuredOverlap& measured : found.overlaps) {
      rows.push_back({measured.overlap.compute, measured.overlap.beside,
                      measured.overlap.blocks ? fmt::format("{:.1f}%", 1e2 * measured.overlap.share) : "",
                      format_seconds(measured.alone.median), format_seconds(measured.beside.median),
                      fmt::format("{:.3f}", measured.slowdown())});
    }
    text += "\n" + format_table(rows);
  }
  return text;
}

}  // namespace syncopate::capture
