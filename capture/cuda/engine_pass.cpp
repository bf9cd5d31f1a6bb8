#include "capture/cuda/engine_pass.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "capture/alignment.hpp"
#include "capture/cuda/gpu.hpp"
#include "capture/cuda/op.hpp"

namespace syncopate::capture {

namespace {

/// Nothing if a run fails.
template <class Run>
std::optional<Seconds> shortest_of(cudaStream_t stream, std::size_t runs, Run run) {
  constexpr std::uint64_t until_queued = 300'000;  // ns; launching takes longer than a short kernel runs
  std::vector<EventHandle> marks;
  while (marks.size() <= runs) marks.emplace_back(cudaEventCreate, "cudaEventCreate");
  delay(stream, until_queued);
  record(marks.front(), stream);
  for (std::size_t i = 1; i <= runs; ++i) {
    if (!run()) return std::nullopt;
    record(marks[i], stream);
  }
  check(cudaEventSynchronize(marks.back().get()), "cudaEventSynchronize");
  Seconds shortest(std::numeric_limits<double>::infinity());
  for (std::size_t i = 1; i <= runs; ++i) shortest = std::min(shortest, elapsed(marks[i - 1], marks[i]));
  return shortest;
}

/// The shortest of a few GPU times of the work that `run` queues, of the first only if that exceeds `limit` far. Nothing if `run` fails.
template <class Run>
std::optional<Seconds> time_of(cudaStream_t stream, Run run, Seconds limit) {
  constexpr std::size_t runs = 5;
  if (!run()) return std::nullopt;  // also loads the kernels
  const std::optional<Seconds> first = shortest_of(stream, 1, run);
  if (!first || *first > 2.0 * limit) return first;
  const std::optional<Seconds> others = shortest_of(stream, runs - 1, run);
  return others ? std::optional(std::min(*first, *others)) : std::nullopt;
}

/// No engine runs.
EngineUse without(std::string reason, bool failed = false) { return {nullptr, nullptr, 0, "", std::move(reason), failed}; }

}  // namespace

bool EnginePass::choose(const std::string& key, BackendGraph graph) {
  EngineUses& known = *tools_->engine_uses;
  auto place = known.find(key);
  if (place == known.end()) place = known.emplace(key, fastest(std::move(graph))).first;
  use_ = place->second;
  return use_.plan != nullptr;
}

void EnginePass::run() {
  if (!pack_) pack_ = pack();
  check(use_.plan->run(tools_->cudnn.get(), *pack_), "cudnnBackendExecute");
}

std::size_t EnginePass::scratch_bytes() const {
  std::size_t bytes = 0;
  for (const ScratchArgument& argument : scratch_) bytes += aligned(argument.bytes);
  return bytes;
}

/// The scratch tensors begin the workspace; the plan has what follows.
BackendDescriptor EnginePass::pack() const {
  std::vector<PlanArgument> arguments = arguments_;
  std::size_t place = 0;
  for (const ScratchArgument& argument : scratch_) {
    arguments.push_back({argument.id, tools_->workspace.at(static_cast<std::int64_t>(place))});
    place += aligned(argument.bytes);
  }
  return plan_arguments(arguments, tools_->workspace.at(static_cast<std::int64_t>(place)));
}

EngineUse EnginePass::fastest(BackendGraph graph) const {
  if (scratch_bytes() > tools_->workspace.bytes())
    return without(
        fmt::format("it needs {} bytes of scratch memory, and the workspace has {}", scratch_bytes(), tools_->workspace.bytes()));
  auto* cudnn = tools_->cudnn.get();
  const auto engines = std::make_shared<const Engines>(cudnn, std::move(graph));
  const EngineRules rules = {tools_->number != Number::fp32 || tools_->tf32, tools_->workspace.bytes() - scratch_bytes()};
  const BackendDescriptor arguments = pack();
  std::vector<std::shared_ptr<const EnginePlan>> plans(engines->offers().size());
  std::string lack;     // the first status that says that cuDNN lacks something
  std::string problem;  // the first other error
  const auto succeeds = [&](cudnnStatus_t status) {
    if (status == CUDNN_STATUS_SUCCESS) return true;
    cudaGetLastError();  // else the next launch would report it
    if (is_out_of_memory(status)) check(status, "a trial of an engine");
    std::string& first = CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED ? lack : problem;
    if (first.empty()) first = describe(status);
    return false;
  };
  const auto build = [&](std::size_t offer) -> std::optional<std::size_t> {
    if (!succeeds(engines->build(offer, plans[offer]))) return std::nullopt;
    return plans[offer]->workspace();
  };
  const auto time = [&](std::size_t offer, Seconds limit) {
    return time_of(
        tools_->stream, [&] { return succeeds(plans[offer]->run(cudnn, arguments)); }, limit);
  };
  const std::optional<ChosenEngine> best = fastest_engine(engines->offers(), rules, build, time);
  if (!best) {
    check(cudaStreamSynchronize(tools_->stream), "cudaStreamSynchronize");
    if (engines->offers().empty())
      return without(fmt::format("cuDNN offers no engine{}{}", engines->refusal().empty() ? "" : ": ", engines->refusal()));
    if (problem.empty() && lack.empty()) lack = fmt::format("they round inputs or need more workspace than {} bytes", rules.workspace);
    return without(fmt::format("none of cuDNN's {} offers runs: {}", engines->offers().size(), problem.empty() ? lack : problem),
                   !problem.empty());
  }
  const std::string name = fmt::format("{}, workspace {} bytes", engines->offers()[best->offer].name, scratch_bytes() + best->workspace);
  return {engines, plans[best->offer], best->workspace, name, "", false};
}

}  // namespace syncopate::capture
