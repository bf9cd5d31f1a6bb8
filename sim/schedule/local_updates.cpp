#include "schedule/local_updates.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <queue>

namespace syncopate {

namespace {

/// Runs tasks one at a time, as soon as they are possible. Of several possible tasks, the one with the smallest `rank` goes first.
/// run(task, start) returns the task's end.
template <class Run>
void take_turns(const std::vector<Seconds>& possible, const std::vector<std::size_t>& rank, Run&& run) {
  std::vector<std::size_t> order(possible.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return possible[a] < possible[b]; });
  const auto later = [&](std::size_t a, std::size_t b) { return rank[a] > rank[b]; };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> waiting(later);
  Seconds free;
  for (std::size_t next = 0; next < order.size() || !waiting.empty();) {
    if (waiting.empty()) free = std::max(free, possible[order[next]]);
    for (; next < order.size() && possible[order[next]] <= free * (1.0 + rounding); ++next) waiting.push(order[next]);
    const std::size_t task = waiting.top();
    waiting.pop();
    free = run(task, free);
  }
}

}  // namespace

LocalUpdates::LocalUpdates(const StepProfile& profile) {
  std::vector<Layer> layers(profile.layers.size());
  std::vector<std::size_t> last(layers.size());  // by layer: 1 + index of its last gradient
  std::vector<Bytes> bytes(layers.size());
  for (std::size_t i = 0; i < profile.gradients.size(); ++i) {
    const StepProfile::GradientReady& gradient = profile.gradients[i];
    layers[gradient.layer].ready = gradient.ready;
    bytes[gradient.layer] += gradient.bytes;
    last[gradient.layer] = i + 1;
  }
  for (std::size_t index = 0; index < layers.size(); ++index) {
    if (last[index] == 0) continue;
    layers[index].index = index;
    auto model = std::make_shared<Payload>();
    *model = {profile.layers[index].name, {{0, bytes[index]}}, bytes[index]};
    layers[index].model = std::move(model);
    layers_.push_back(layers[index]);
  }
  std::sort(layers_.begin(), layers_.end(), [&](const Layer& a, const Layer& b) { return last[a.index] < last[b.index]; });
  depths_.reserve(layers_.size());
  for (const Layer& layer : layers_) depths_.push_back(layer.index);
}

LocalUpdates::LocalUpdates(const StepProfile& profile, Seconds update) : LocalUpdates(profile) {
  const Bytes all = profile.bytes();
  for (Layer& layer : layers_) layer.update = layer.model->bytes / all * update;
}

LocalUpdates LocalUpdates::of_last(const StepProfile& profile, Seconds last_update) {
  LocalUpdates updates(profile);
  updates.layers_.back().update = last_update;
  return updates;
}

void LocalUpdates::Step::end(Worker& worker) {
  const std::vector<Layer>& layers = updates_.layers_;
  std::vector<Seconds> updated(layers.size());
  take_turns(possible_, updates_.depths_, [&](std::size_t layer, Seconds start) {
    return done_[layer].updated = updated[layer] = worker.end_of_update(start, layers[layer].update);
  });
  take_turns(updated, updates_.depths_,
             [&](std::size_t layer, Seconds start) { return done_[layer].spread = worker.node().spread(layers[layer].model, start); });
  std::fill(possible_.begin(), possible_.end(), Seconds(0));
  wait(worker, layers.size() - 1);
}

void LocalUpdates::Step::wait(Worker& worker, std::size_t layer) const {
  worker.update_until(done_[layer].updated);
  worker.node().wait_until(done_[layer].spread);
}

void LocalUpdates::Step::forward(Worker& worker) {
  const std::vector<Layer>& layers = updates_.layers_;
  std::vector<std::size_t> awaited;
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    if (done_[layer].spread > worker.now()) awaited.push_back(layer);
  }
  std::sort(awaited.begin(), awaited.end(), [&](std::size_t a, std::size_t b) { return layers[a].index < layers[b].index; });
  std::size_t next = 0;  // the network's layer that comes next
  for (const std::size_t layer : awaited) {
    for (; next < layers[layer].index; ++next) worker.forward(next);
    wait(worker, layer);
  }
  worker.forward();
}

}  // namespace syncopate
