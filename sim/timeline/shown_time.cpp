#include "timeline/shown_time.hpp"

#include <algorithm>

namespace syncopate {

ShownTime::ShownTime(const std::vector<int>& shown, std::optional<Iterations> iterations) : iterations_(iterations), is_now_(!iterations) {
  for (const int worker : shown) workers_.push_back({.number = worker});
}

void ShownTime::begin_step(int worker, Seconds now) {
  const auto found = std::find_if(workers_.begin(), workers_.end(), [worker](const Worker& one) { return one.number == worker; });
  if (found == workers_.end()) return;
  found->last_begin = now;
  if (has_window_) ++found->begun;
  look(now);
}

void ShownTime::open_window(Seconds now) {
  has_window_ = true;
  for (Worker& worker : workers_) worker.begun = worker.last_begin >= now * (1.0 - rounding) ? 1 : 0;
  look(now);
}

void ShownTime::look(Seconds now) {
  if (!iterations_) return;
  const auto has_ended = [this](const Worker& worker) { return worker.begun > iterations_->last + 1; };
  is_now_ = has_window_ && std::any_of(workers_.begin(), workers_.end(),
                                       [&](const Worker& worker) { return worker.begun > iterations_->first && !has_ended(worker); });
  if (!over_ && std::all_of(workers_.begin(), workers_.end(), has_ended)) over_ = now;
}

}  // namespace syncopate
