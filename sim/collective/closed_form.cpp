#include "collective/closed_form.hpp"

#include <algorithm>
#include <iterator>
#include <memory>

namespace syncopate {

CostLine cost_line(const ClosedForm& form, int ranks, const LinkCost& link) {
  if (ranks == 1) return {};
  return {form.rounds(ranks) * link.alpha, form.volume(ranks) * (form.transfers * link.beta + form.reductions * link.gamma)};
}

CostLine carry(const ClosedForm& form, const CostLine& measured, int from, int to) {
  if (to == 1) return {};
  return {form.rounds(to) / form.rounds(from) * measured.a, form.volume(to) / form.volume(from) * measured.b};
}

std::vector<MeasuredTime> carry(const ClosedForm& form, std::vector<MeasuredTime> measured, int from, int to) {
  if (to == 1) return {};
  const double rounds = form.rounds(to) / form.rounds(from);
  const double bytes = rounds * form.volume(from) / form.volume(to);
  for (MeasuredTime& point : measured) point = {bytes * point.bytes, rounds * point.time};
  return measured;
}

CostLine line_through(const std::vector<MeasuredTime>& points) {
  const MeasuredTime& first = points.front();
  const MeasuredTime& last = points.back();
  const SecondsPerByte slope((last.time - first.time).value / (last.bytes - first.bytes).value);
  return {std::max(Seconds(0), first.time - slope * first.bytes), slope};
}

CostCurve lowest(std::vector<CostLine> lines) {
  return CostCurve([lines = std::move(lines)](Bytes bytes) {
    return *std::min_element(lines.begin(), lines.end(), [bytes](const CostLine& a, const CostLine& b) { return a(bytes) < b(bytes); });
  });
}

CostCurve curve_through(std::vector<MeasuredTime> points) {
  return CostCurve([shared = std::make_shared<const std::vector<MeasuredTime>>(std::move(points))](Bytes bytes) {
    const std::vector<MeasuredTime>& list = *shared;
    if (bytes < list.front().bytes) return CostLine{list.front().time, SecondsPerByte(0)};
    auto after =
        std::upper_bound(list.begin(), list.end(), bytes, [](Bytes size, const MeasuredTime& point) { return size < point.bytes; });
    if (after == list.end()) --after;
    const MeasuredTime& low = *std::prev(after);
    const SecondsPerByte slope((after->time - low.time).value / (after->bytes - low.bytes).value);
    return CostLine{low.time - slope * low.bytes, slope};
  });
}

LinkCost implied_link(const ClosedForm& form, const CostLine& measured, int ranks, SecondsPerByte gamma) {
  return {measured.a / form.rounds(ranks), (measured.b / form.volume(ranks) - form.reductions * gamma) / form.transfers, gamma};
}

}  // namespace syncopate
