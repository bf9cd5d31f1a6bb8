#include "engine/worker/own_step.hpp"

#include <algorithm>

#include "engine/worker/pass.hpp"

namespace syncopate {

namespace {

using Points = std::vector<std::pair<Seconds, Seconds>>;

Points ends_of_layers(const StepProfile& job, const StepProfile& own) {
  Points points;
  const PassTable from(job);
  const PassTable to(own);
  for (std::size_t i = 0; i < job.layers.size(); ++i) points.emplace_back(from.forward.ends[i], to.forward.ends[i]);
  return points;
}

Points ready_gradients(const StepProfile& job, const StepProfile& own) {
  Points points;
  for (std::size_t i = 0; i < job.gradients.size(); ++i) points.emplace_back(job.gradients[i].ready, own.gradients[i].ready);
  return points;
}

double factor(Seconds job, Seconds own) { return job > Seconds(0) ? own / job : 1.0; }

}  // namespace

PassMap::PassMap(Points points, Seconds from, Seconds to) {
  points.emplace_back(from, to);
  std::sort(points.begin(), points.end());
  points_.emplace_back(Seconds(0), Seconds(0));
  for (const auto& [done, time] : points) {
    if (done > points_.back().first) {
      points_.emplace_back(done, std::max(time, points_.back().second));
    } else if (points_.size() > 1) {
      points_.back().second = std::max(time, points_.back().second);
    }
  }
}

Seconds PassMap::operator()(Seconds done) const {
  const auto after = std::lower_bound(points_.begin(), points_.end(), done, [](const auto& point, Seconds at) { return point.first < at; });
  if (after == points_.end()) return points_.back().second;
  if (after->first == done || after == points_.begin()) return after->second;
  const auto before = after - 1;
  return before->second + (done - before->first) / (after->first - before->first) * (after->second - before->second);
}

PassMap PassMap::slowest(const PassMap& a, const PassMap& b) {
  PassMap both = a;
  for (std::size_t i = 0; i < both.points_.size(); ++i) both.points_[i].second = std::max(a.points_[i].second, b.points_[i].second);
  return both;
}

OwnStep::OwnStep(PassMap of_forward, PassMap of_backward, double of_update, double of_whole)
    : forward(std::move(of_forward)), backward(std::move(of_backward)), update(of_update), whole(of_whole) {}

OwnStep::OwnStep(const StepProfile& job, const StepProfile& own)
    : OwnStep(PassMap(ends_of_layers(job, own), job.forward, own.forward), PassMap(ready_gradients(job, own), job.backward, own.backward),
              factor(job.update, own.update), factor(job.compute(), own.compute())) {}

OwnStep OwnStep::slowest(const OwnStep& a, const OwnStep& b) {
  return {PassMap::slowest(a.forward, b.forward), PassMap::slowest(a.backward, b.backward), std::max(a.update, b.update),
          std::max(a.whole, b.whole)};
}

}  // namespace syncopate
