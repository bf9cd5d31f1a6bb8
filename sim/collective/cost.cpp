#include "collective/cost.hpp"

namespace syncopate {

CostLine cost_line(const CostShape& shape, int ranks, const LinkCost& link) {
  if (ranks == 1) return {};
  return {shape.rounds(ranks) * link.alpha, shape.volume(ranks) * (shape.transfers * link.beta + link.gamma)};
}

CostLine all_gather_line(const CostShape& shape, int ranks, const LinkCost& link) {
  if (ranks == 1) return {};
  return {shape.gather_rounds(ranks) * link.alpha, (ranks - 1.0) * link.beta};
}

CostLine carry(const CostShape& shape, const CostLine& measured, int from, int to) {
  if (to == 1) return {};
  return {shape.rounds(to) / shape.rounds(from) * measured.a, shape.volume(to) / shape.volume(from) * measured.b};
}

LinkCost implied_link(const CostShape& shape, const CostLine& measured, int ranks, SecondsPerByte gamma) {
  return {measured.a / shape.rounds(ranks), (measured.b / shape.volume(ranks) - gamma) / shape.transfers, gamma};
}

}  // namespace syncopate
