#include "run/point_result.hpp"

#include <string_view>

#include "base/errors.hpp"
#include "output/figures.hpp"

namespace syncopate {

namespace {

Json as_binary(const std::string& bytes) { return Json::binary({bytes.begin(), bytes.end()}); }

std::string read_binary(const Json& json) {
  const auto& bytes = json.get_binary();
  return {bytes.begin(), bytes.end()};
}

}  // namespace

void PointResult::require_finite() const {
  syncopate::require_finite(*this);
  for (const JobFigures& job : jobs) syncopate::require_finite(job);
}

std::string PointResult::pack() const {
  Json json = to_json();
  json["timeline"] = as_binary(timeline);
  json["dataflow"] = as_binary(dataflow);
  json["is_kept"] = is_kept;
  std::string bytes;
  Json::to_cbor(json, bytes);
  return bytes;
}

PointResult PointResult::unpack(const std::string& bytes) {
  const Json json = Json::from_cbor(bytes, true, false);
  if (json.is_discarded()) throw SimulationError("its process sent an incomplete result");
  PointResult result = from_json(json);
  result.timeline = read_binary(json.at("timeline"));
  result.dataflow = read_binary(json.at("dataflow"));
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
