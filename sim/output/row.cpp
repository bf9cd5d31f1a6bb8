#include "output/row.hpp"

#include <algorithm>

#include "metrics/fairness.hpp"
#include "output/figures.hpp"

namespace syncopate {

namespace {

Json to_json(const JobRow& job) {
  Json json = Json::object();
  for (const JobFigure& figure : job_figures()) json[std::string(figure.name)] = figure.value(job);
  return json;
}

}  // namespace

double Row::largest_slowdown() const {
  double largest = 0.0;
  for (const JobRow& job : jobs) largest = std::max(largest, job.slowdown());
  return largest;
}

double Row::jain() const {
  std::vector<double> shares;
  for (const JobRow& job : jobs) shares.push_back(1.0 / job.slowdown());
  return jain_index(shares);
}

std::set<Row::MissedEvent> Row::missed_events() const {
  std::set<MissedEvent> missed;
  for (const Json& event : details.value("events_outside_window", Json::array()))
    missed.emplace(event["what"].get<std::string>(), event["at_s"].get<double>(), event["count"].get<int>());
  return missed;
}

double Row::widest_half() const {
  double widest = half_width();
  for (const JobRow& job : jobs) widest = std::max(widest, job.iteration_half.value_or(0.0));
  return widest;
}

Json to_json(const Row& row) {
  Json json = Json::object();
  for (const Figure& figure : figures()) {
    json[std::string(figure.name)] = figure.value(row);
    if (figure.name != "point") continue;
    Json& sweep = json["sweep"] = Json::object();
    for (const auto& [pointer, value] : row.sweep) sweep[pointer] = value;
  }
  for (const Seconds iteration : row.replicates) json["replicates_iteration_s"].push_back(iteration.value);
  if (row.is_unsure()) json["unsure"] = true;
  for (const JobRow& job : row.jobs) json["jobs"].push_back(to_json(job));
  json.update(row.details);
  return json;
}

}  // namespace syncopate
