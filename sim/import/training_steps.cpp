#include "import/training_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>

namespace syncopate {

namespace {

using Operator = KinetoTrace::Operator;
using Kernel = KinetoTrace::Kernel;

enum Kind : std::size_t { accumulate, update, backward, forward, kinds };

/// The work that an operator caused: the kernels that it launched, found by time and thread of the launch. In a profile of the CPU only,
/// the operator's own time.
class Work {
 public:
  explicit Work(const KinetoTrace& profile) : cpu_only_(profile.cpu_only()) {
    if (cpu_only_) return;
    std::unordered_map<std::int64_t, const KinetoTrace::Launch*> launches;
    for (const KinetoTrace::Launch& launch : profile.launches) launches.emplace(launch.correlation, &launch);
    for (const Kernel& kernel : profile.kernels) {
      if (kernel.communication) continue;
      const auto launch = launches.find(kernel.correlation);
      if (launch != launches.end()) launched_.push_back({launch->second->time, launch->second->thread, &kernel});
    }
    if (launched_.empty()) profile.lacks("no GPU kernel can be matched with the call that launched it (\"correlation\")");
    std::sort(launched_.begin(), launched_.end(), [](const Launched& a, const Launched& b) { return a.time < b.time; });
  }

  /// Calls visit(start, end) for all work that was launched between `start` and `end`, by one thread or by all.
  template <class Visit>
  void visit(double start, double end, std::optional<std::uint32_t> thread, Visit&& visit) const {
    if (cpu_only_) return visit(start, end);
    for_each_kernel(start, end, thread, [&visit](const Kernel& kernel) { visit(kernel.start, kernel.end); });
  }

  /// Total duration of an operator's work.
  double busy(const Operator& op) const {
    double sum = 0;
    visit(op.start, op.end, op.thread, [&sum](double start, double end) { sum += end - start; });
    return sum;
  }

  /// Adds the names of an operator's kernels that are not there yet.
  void add_kernels(const Operator& op, std::vector<std::uint32_t>& names) const {
    if (cpu_only_) return;
    for_each_kernel(op.start, op.end, op.thread, [&names](const Kernel& kernel) {
      if (std::find(names.begin(), names.end(), kernel.name) == names.end()) names.push_back(kernel.name);
    });
  }

 private:
  struct Launched {
    double time;
    std::uint32_t thread;
    const Kernel* kernel;
  };

  template <class Visit>
  void for_each_kernel(double start, double end, std::optional<std::uint32_t> thread, Visit visit) const {
    auto at = std::lower_bound(launched_.begin(), launched_.end(), start, [](const Launched& l, double time) { return l.time < time; });
    for (; at != launched_.end() && at->time <= end; ++at) {
      if (!thread || at->thread == *thread) visit(*at->kernel);
    }
  }

  bool cpu_only_;
  std::vector<Launched> launched_;
};

/// The interval from the first start of work to the last end.
struct Span {
  double start = std::numeric_limits<double>::infinity();
  double end = -std::numeric_limits<double>::infinity();

  void add(double from, double to) {
    start = std::min(start, from);
    end = std::max(end, to);
  }
  bool empty() const { return start > end; }
};

/// A backward node or AccumulateGrad. For a backward node also the forward operator that created it, if the profile has it.
struct Node {
  Kind kind = backward;
  const Operator* op = nullptr;
  const Operator* layer = nullptr;
};

class Finder {
 public:
  explicit Finder(const KinetoTrace& profile) : profile_(&profile), work_(profile) {
    sort_operators();
    match_nodes();
  }

  std::vector<TrainingStep> run() {
    std::vector<std::vector<Node>> passes = split();
    std::vector<TrainingStep> steps;
    steps.reserve(passes.size());
    for (const std::vector<Node>& nodes : passes) steps.push_back(measure(nodes));
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const double begin = passes[i].back().op->start;
      const double end = i + 1 < steps.size() ? steps[i + 1].layers.front()->start : std::numeric_limits<double>::infinity();
      steps[i].update = measure_update(begin, end);
    }
    return steps;
  }

 private:
  Kind kind_of(const Operator& op) const {
    const std::string& name = profile_->strings[op.name];
    if (name.find("AccumulateGrad") != std::string::npos) return accumulate;
    if (name.starts_with("Optimizer.step")) return update;
    return op.forward_thread != 0 ? backward : forward;
  }

  /// Whether `op` starts inside `around`. Tolerates rounding: an operator that directly follows another may seem to start before the
  /// other one's end, by less than a nanosecond, the profiler's resolution.
  static bool starts_within(const Operator& op, const Operator& around) {
    constexpr double half_a_nanosecond = 5e-4;
    return op.start < around.end - half_a_nanosecond;
  }

  /// Sorts the operators by start. Finds the outermost operators of each kind, and the forward operator of each sequence number.
  void sort_operators() {
    struct Thread {
      std::array<const Operator*, kinds> outermost{};  // by kind: the latest
      std::array<std::size_t, kinds> index{};          // by kind: its index in nodes_
    };
    std::vector<const Operator*> sorted;
    for (const Operator& op : profile_->operators) sorted.push_back(&op);
    std::sort(sorted.begin(), sorted.end(),
              [](const Operator* a, const Operator* b) { return a->start != b->start ? a->start < b->start : a->end > b->end; });
    std::unordered_map<std::uint32_t, Thread> threads;
    for (const Operator* op : sorted) {
      const Kind kind = kind_of(*op);
      Thread& thread = threads[op->thread];
      const Operator*& around = thread.outermost[kind];
      const bool inside = around != nullptr && starts_within(*op, *around);
      if (!inside) around = op;
      if (kind == forward) {
        // Operators inside a backward node are not layers of forward.
        const Operator* node = thread.outermost[backward];
        if (node != nullptr && starts_within(*op, *node)) continue;
        // Several operators may carry a node's sequence number. The last one created the node; earlier ones only read the counter.
        forward_of_[op->thread][op->sequence] = around;
      } else if (kind == update) {
        if (!inside) updates_.push_back(op);
      } else if (!inside) {
        thread.index[kind] = nodes_.size();
        nodes_.push_back({kind, op, nullptr});
      } else if (profile_->strings[around->name].ends_with(": " + profile_->strings[op->name])) {
        // Newer versions wrap a node in an event that also sums gradients and runs hooks; the inner one has the shapes.
        nodes_[thread.index[kind]].op = op;
      }
    }
  }

  /// Finds each node's forward operator. Sequence numbers count per thread, and nodes give autograd's own number of the thread. The
  /// matching thread is the one in which most of the nodes find their operator.
  void match_nodes() {
    std::map<std::int64_t, std::map<std::uint32_t, std::size_t>> explained;
    for (const Node& node : nodes_) {
      for (const auto& [thread, operators] : forward_of_) {
        if (find_forward(node, thread) != nullptr) ++explained[node.op->forward_thread][thread];
      }
    }
    for (Node& node : nodes_) {
      const auto& threads = explained[node.op->forward_thread];
      const auto most = std::max_element(threads.begin(), threads.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
      if (most != threads.end()) node.layer = find_forward(node, most->first);
    }
  }

  const Operator* find_forward(const Node& node, std::uint32_t thread) const {
    if (node.kind != backward) return nullptr;
    const auto& operators = forward_of_.at(thread);
    const auto found = operators.find(node.op->sequence);
    return found == operators.end() || found->second->start > node.op->start ? nullptr : found->second;
  }

  /// A new step begins at a backward node whose forward operator ran after the previous node.
  std::vector<std::vector<Node>> split() const {
    std::vector<std::vector<Node>> passes;
    double last_start = 0;
    for (const Node& node : nodes_) {
      if (passes.empty() || (node.layer != nullptr && node.layer->start > last_start)) passes.emplace_back();
      passes.back().push_back(node);
      last_start = node.op->start;
    }
    std::erase_if(passes, [](const std::vector<Node>& nodes) {
      return std::none_of(nodes.begin(), nodes.end(), [](const Node& node) { return node.layer != nullptr; });
    });
    if (passes.empty()) profile_->lacks("no backward node has its forward operator in the profile: it holds no whole step");
    return passes;
  }

  TrainingStep measure(const std::vector<Node>& nodes) const {
    TrainingStep step;
    for (const Node& node : nodes) {
      if (node.layer != nullptr) step.layers.push_back(node.layer);
    }
    std::sort(step.layers.begin(), step.layers.end(), [](const Operator* a, const Operator* b) { return a->start < b->start; });
    step.layers.erase(std::unique(step.layers.begin(), step.layers.end()), step.layers.end());
    measure_forward(step);
    measure_backward(step, nodes);
    return step;
  }

  void measure_forward(TrainingStep& step) const {
    Span span;
    for (const Operator* layer : step.layers) {
      step.forward.push_back(work_.busy(*layer));
      work_.add_kernels(*layer, step.kernels.emplace_back());
      work_.visit(layer->start, layer->end, layer->thread, [&span](double from, double to) { span.add(from, to); });
    }
    if (span.empty()) return;
    step.forward_start = span.start;
    step.forward_end = span.end;
  }

  void measure_backward(TrainingStep& step, const std::vector<Node>& nodes) const {
    const double begin = nodes.front().op->start;
    double end = begin;
    for (const Node& node : nodes) end = std::max(end, node.op->end);
    Span span;
    double all = 0;
    work_.visit(begin, end, std::nullopt, [&](double from, double to) {
      span.add(from, to);
      all += to - from;
    });
    if (!span.empty()) {
      step.backward_start = span.start;
      step.backward_end = span.end;
    }

    std::unordered_map<const Operator*, std::size_t> index;
    for (std::size_t i = 0; i < step.layers.size(); ++i) index.emplace(step.layers[i], i);
    step.backward.resize(step.layers.size());
    double of_layers = 0;
    double ready = step.backward_start;
    double seen = begin;
    std::unordered_map<std::uint32_t, std::size_t> producer;  // by thread: the layer of the latest node
    for (const Node& node : nodes) {
      const bool is_gradient = node.kind == accumulate;
      if (node.layer != nullptr) {
        producer[node.op->thread] = index.at(node.layer);
      } else if (!is_gradient) {
        producer.erase(node.op->thread);
      }
      const auto layer = producer.find(node.op->thread);
      if (layer == producer.end()) {
        step.whole = step.whole && !is_gradient;
        continue;
      }
      const double time = work_.busy(*node.op);
      step.backward[layer->second] += time;
      work_.add_kernels(*node.op, step.kernels[layer->second]);
      of_layers += time;
      if (!is_gradient) continue;
      work_.visit(seen, node.op->end, std::nullopt, [&ready](double /*from*/, double to) { ready = std::max(ready, to); });
      seen = node.op->end;
      step.gradients.push_back({layer->second, node.op, ready - step.backward_start});
    }
    step.backward_of_no_layer = std::max(0.0, all - of_layers);
  }

  /// The time of the optimiser's steps that start between `begin` and `end`.
  double measure_update(double begin, double end) const {
    double sum = 0;
    auto at = std::lower_bound(updates_.begin(), updates_.end(), begin, [](const Operator* op, double time) { return op->start < time; });
    for (; at != updates_.end() && (*at)->start < end; ++at) {
      Span span;
      work_.visit((*at)->start, (*at)->end, (*at)->thread, [&span](double from, double to) { span.add(from, to); });
      if (!span.empty()) sum += span.end - span.start;
    }
    return sum;
  }

  const KinetoTrace* profile_;
  Work work_;
  std::vector<Node> nodes_;                                                                // outermost, by time
  std::vector<const Operator*> updates_;                                                   // by time
  std::map<std::uint32_t, std::unordered_map<std::int64_t, const Operator*>> forward_of_;  // by thread and sequence number
};

void check(const KinetoTrace& profile) {
  const auto any = [&profile](auto&& predicate) { return std::any_of(profile.operators.begin(), profile.operators.end(), predicate); };
  if (profile.events == 0) profile.lacks("the profile has no events");
  if (profile.cpu_operators == 0) profile.lacks("the profile has no operators of the CPU");
  if (!any([](const Operator& op) { return op.sequence != KinetoTrace::none; })) {
    profile.lacks(
        "its operators have no \"Sequence number\", by which backward is matched with forward: the program ran without gradients, or its "
        "PyTorch was built without Kineto");
  }
  if (profile.cpu_only() && !profile.gpu_operator.empty()) {
    profile.lacks(fmt::format("the profile recorded only the CPU, but {} runs on a GPU", profile.gpu_operator));
  }
  if (profile.kernels.empty() && !profile.cpu_only()) profile.lacks("the profile has calls that start GPU kernels, but no kernels");
  if (!any([](const Operator& op) { return op.forward_thread != 0 && op.sequence != KinetoTrace::none; })) {
    profile.lacks("the profile has no backward pass (it shows inference, not training)");
  }
  if (!any([&profile](const Operator& op) { return profile.strings[op.name].find("AccumulateGrad") != std::string::npos; })) {
    profile.lacks("the profile has no torch::autograd::AccumulateGrad, so it does not say when gradients are ready");
  }
}

}  // namespace

std::vector<TrainingStep> find_training_steps(const KinetoTrace& profile) {
  check(profile);
  return Finder(profile).run();
}

}  // namespace syncopate
