#include "run/point_result.hpp"

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/errors.hpp"
#include "output/figures.hpp"

namespace syncopate {

namespace {

constexpr const char* incomplete = "its process sent an incomplete result";

/// The bytes of a packed result: the length of the figures, the figures as CBOR, the timeline, the dataflow.
using Length = std::uint64_t;

}  // namespace

void PointResult::require_finite() const {
  syncopate::require_finite(*this);
  for (const JobFigures& job : jobs) syncopate::require_finite(job);
}

std::string PointResult::pack() const {
  Json json = to_json();
  json["timeline_bytes"] = timeline.size();
  json["dataflow_bytes"] = dataflow.size();
  json["is_kept"] = is_kept;
  std::string bytes(sizeof(Length), '\0');
  Json::to_cbor(json, bytes);
  const Length length = bytes.size() - sizeof(Length);
  std::memcpy(bytes.data(), &length, sizeof(Length));
  return bytes + timeline + dataflow;
}

PointResult PointResult::unpack(const std::string& bytes) {
  Length length = 0;
  if (bytes.size() < sizeof(Length)) throw SimulationError(incomplete);
  std::memcpy(&length, bytes.data(), sizeof(Length));
  std::string_view rest = std::string_view(bytes).substr(sizeof(Length));
  if (rest.size() < length) throw SimulationError(incomplete);
  const Json json = Json::from_cbor(rest.substr(0, length), true, false);
  if (json.is_discarded()) throw SimulationError(incomplete);
  rest.remove_prefix(length);
  const auto timeline_bytes = json.at("timeline_bytes").get<std::size_t>();
  if (rest.size() != timeline_bytes + json.at("dataflow_bytes").get<std::size_t>()) throw SimulationError(incomplete);
  PointResult result = from_json(json);
  result.timeline = rest.substr(0, timeline_bytes);
  result.dataflow = rest.substr(timeline_bytes);
  result.is_kept = json.at("is_kept").get<bool>();
  return result;
}

Json PointResult::to_json() const {
  Json json = syncopate::to_json(*this);
  Json& list = json["jobs"] = Json::array();
  for (const JobFigures& job : jobs) list.push_back(syncopate::to_json(job));
  return json;
}

PointResult PointResult::from_json(const Json& json) {
  PointResult result = {read_point_figures(json)};
  for (const Json& job : json.at("jobs")) result.jobs.push_back(read_job_figures(job));
  return result;
}

}  // namespace syncopate
