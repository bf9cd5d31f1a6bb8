#include "goodput/goodput.hpp"

namespace syncopate {

Goodput mean_of(std::span<const Goodput> replicates) {
  Goodput mean = replicates.front();
  const auto count = static_cast<double>(replicates.size());
  const auto average = [&](auto Goodput::*figure) {
    auto sum = replicates.front().*figure;
    for (const Goodput& goodput : replicates.subspan(1)) sum += goodput.*figure;
    mean.*figure = sum / count;
  };
  const auto average_if_known = [&](auto Goodput::*figure) {
    if (!(mean.*figure)) return;
    auto sum = *(replicates.front().*figure);
    for (const Goodput& goodput : replicates.subspan(1)) sum += *(goodput.*figure);
    mean.*figure = sum / count;
  };
  for (const auto figure : {&Goodput::samples_per_s, &Goodput::effective_time_ratio, &Goodput::checkpoint_share, &Goodput::lost_share,
                            &Goodput::detection_share, &Goodput::restart_share, &Goodput::degraded_share, &Goodput::failures}) {
    average(figure);
  }
  average(&Goodput::total);
  average_if_known(&Goodput::checkpoint_every);
  average_if_known(&Goodput::total_half);
  average_if_known(&Goodput::ratio_half);
  return mean;
}

}  // namespace syncopate
