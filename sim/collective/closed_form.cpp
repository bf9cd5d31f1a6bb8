#include "collective/closed_form.hpp"

namespace syncopate {

CostLine cost_line(const ClosedForm& form, int ranks, const LinkCost& link) {
  if (ranks == 1) return {};
  return {form.rounds(ranks) * link.alpha, form.volume(ranks) * (form.transfers * link.beta + form.reductions * link.gamma)};
}

CostLine carry(const ClosedForm& form, const CostLine& measured, int from, int to) {
  if (to == 1) return {};
  return {form.rounds(to) / form.rounds(from) * measured.a, form.volume(to) / form.volume(from) * measured.b};
}

LinkCost implied_link(const ClosedForm& form, const CostLine& measured, int ranks, SecondsPerByte gamma) {
  return {measured.a / form.rounds(ranks), (measured.b / form.volume(ranks) - form.reductions * gamma) / form.transfers, gamma};
}

}  // namespace syncopate
