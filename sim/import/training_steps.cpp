#include "import/training_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/errors.hpp"
#include "import/device_time.hpp"
#include "import/launches.hpp"

namespace syncopate {

namespace {

using Operator = KinetoTrace::Operator;
using Kernel = KinetoTrace::Kernel;

enum Kind : std::size_t { accumulate, update, backward, forward, kinds };

/// The work that an operator caused: the kernels that it launched, found by time and thread of the launch. In a profile of the CPU only,
/// the operator's own time.
class Work {
 public:
  Work(const KinetoTrace& profile, const Launches& launches) : cpu_only_(profile.cpu_only()) {
    if (cpu_only_) return;
    for (const Kernel& kernel : profile.kernels) {
      if (kernel.communication) continue;
      const KinetoTrace::Launch* launch = launches.of(kernel);
      if (launch != nullptr) launched_.push_back({launch->time, launch->thread, &kernel});
    }
    if (launched_.empty()) profile.lacks("no GPU kernel can be matched with the call that launched it (\"correlation\")");
    std::sort(launched_.begin(), launched_.end(), [](const Launched& a, const Launched& b) { return a.time < b.time; });
  }

  /// Calls visit(interval) for all work that was launched between `start` and `end`, by one thread or by all.
  template <class Visit>
  void visit(Seconds start, Seconds end, std::optional<std::uint32_t> thread, Visit&& visit) const {
    if (cpu_only_) return visit(Interval{start, end});
    visit_kernels(start, end, thread, [&visit](const Kernel& kernel) { visit(Interval{kernel.start, kernel.end}); });
  }

  /// Calls visit(kernel) for all kernels that an operator launched.
  template <class Visit>
  void visit_kernels(const Operator& op, Visit&& visit) const {
    visit_kernels(op.start, op.end, op.thread, visit);
  }

 private:
  struct Launched {
    Seconds time;
    std::uint32_t thread;
    const Kernel* kernel;
  };

  template <class Visit>
  void visit_kernels(Seconds start, Seconds end, std::optional<std::uint32_t> thread, Visit visit) const {
    auto at = std::lower_bound(launched_.begin(), launched_.end(), start, [](const Launched& l, Seconds time) { return l.time < time; });
    for (; at != launched_.end() && at->time <= end; ++at) {
      if (!thread || at->thread == *thread) visit(*at->kernel);
    }
  }

  bool cpu_only_;
  std::vector<Launched> launched_;
};

/// The interval from the first start of work to the last end.
struct Span {
  Seconds start{std::numeric_limits<double>::infinity()};
  Seconds end{-std::numeric_limits<double>::infinity()};

  void add(Interval interval) {
    start = std::min(start, interval.start);
    end = std::max(end, interval.end);
  }
  bool empty() const { return start > end; }
};

/// A backward node or AccumulateGrad. For a backward node also the forward operator that created it, if the profile has it.
struct Node {
  Kind kind = backward;
  const Operator* op = nullptr;
  const Operator* around = nullptr;  ///< of a backward node: the event that also sums gradients and runs hooks, or op itself
  const Operator* layer = nullptr;
  bool nested = false;  ///< an AccumulateGrad inside a backward node, whose work is also the node's
};

/// "autograd::engine::evaluate_function: AddmmBackward0" wraps "AddmmBackward0".
bool wraps(const std::string& around, const std::string& inner) { return around.ends_with(": " + inner); }

class Finder {
 public:
  Finder(const KinetoTrace& profile, Clocking clocking)
      : profile_(&profile), clocking_(clocking), launches_(profile), work_(profile, launches_), time_(profile, launches_) {
    sort_collectives();
    sort_operators();
    match_nodes();
  }

  std::vector<TrainingStep> run() {
    std::vector<std::vector<Node>> passes = split();
    std::vector<TrainingStep> steps(passes.size());
    std::vector<std::vector<Interval>> spans(passes.size());
    for (std::size_t i = 0; i < passes.size(); ++i) measure(passes[i], steps[i], spans[i]);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const Seconds begin = passes[i].back().op->start;
      const bool is_last = i + 1 == steps.size();
      const Seconds end = is_last ? Seconds(std::numeric_limits<double>::infinity()) : steps[i + 1].layers.front()->start;
      measure_update(begin, end, steps[i], spans[i]);
      for (const Interval& span : spans[i]) {
        steps[i].device += time_.computing.covered(span.start, span.end);
        steps[i].wall += span.end - span.start - time_.waiting.covered(span.start, span.end);
      }
      steps[i].collectives = collectives_in(steps[i].forward_start, is_last ? end : steps[i + 1].forward_start);
      if (!is_last) measure_period(steps[i + 1].forward_start, steps[i], spans[i]);
    }
    set_numbers(steps);
    return steps;
  }

 private:
  Kind kind_of(const Operator& op) const {
    const std::string& name = name_of(op);
    if (name.find("AccumulateGrad") != std::string::npos) return accumulate;
    if (name.starts_with("Optimizer.step")) return update;
    return op.forward_thread != 0 ? backward : forward;
  }

  const std::string& name_of(const Operator& op) const { return profile_->strings[op.name]; }

  /// Whether `op`, which does not start before `around`, is inside. Tolerates rounding: an operator that directly follows another may seem
  /// to start before the other one's end, by less than a nanosecond, the profiler's resolution. In whole microseconds, one that is inside
  /// may seem to start at the other one's end.
  bool is_inside(const Operator& op, const Operator& around, Kind kind) const {
    constexpr Seconds half_a_nanosecond(5e-10);
    if (op.start < around.end - half_a_nanosecond) return true;
    if (op.start > around.end + half_a_nanosecond || op.end > around.end + half_a_nanosecond) return false;
    return kind == forward ? op.sequence == around.sequence : wraps(name_of(around), name_of(op));
  }

  /// Pointers to the operators, outer ones before inner ones. Where times are equal, the order of the file tells: in most files outer
  /// operators stand before inner ones, in some after.
  std::vector<const Operator*> outer_first() const {
    std::vector<const Operator*> sorted;
    for (const Operator& op : profile_->operators) sorted.push_back(&op);
    std::size_t before = 0;
    std::size_t after = 0;
    for (std::size_t i = 0; i + 1 < sorted.size(); ++i) {
      const Operator& first = *sorted[i];
      const Operator& second = *sorted[i + 1];
      if (first.thread != second.thread) continue;
      if (first.start < second.start && second.end < first.end) ++before;
      if (second.start < first.start && first.end < second.end) ++after;
    }
    if (after > before) std::reverse(sorted.begin(), sorted.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Operator* a, const Operator* b) { return a->start != b->start ? a->start < b->start : a->end > b->end; });
    return sorted;
  }

  /// Finds the outermost operators of each kind, those that ran again in backward, and the forward operator of each sequence number.
  void sort_operators() {
    struct Thread {
      std::array<const Operator*, kinds> outermost{};  // by kind: the latest
      std::array<std::size_t, kinds> index{};          // by kind: its index in nodes_
    };
    std::unordered_map<std::uint32_t, Thread> threads;
    for (const Operator* op : outer_first()) {
      const Kind kind = kind_of(*op);
      Thread& thread = threads[op->thread];
      const Operator*& around = thread.outermost[kind];
      const bool inside = around != nullptr && is_inside(*op, *around, kind);
      if (!inside) around = op;
      const Operator* node = thread.outermost[backward];
      const bool in_node = kind != backward && node != nullptr && is_inside(*op, *node, backward);
      if (kind == forward) {
        // Inside a backward node only recomputation has sequence numbers. It is no layer of forward.
        if (in_node && !inside) recomputed_[op->thread].push_back(op);
        if (in_node) continue;
        // Several operators may carry a node's sequence number. The last one created the node; earlier ones only read the counter.
        forward_of_[op->thread][op->sequence] = around;
      } else if (kind == update) {
        if (!inside) updates_.push_back(op);
      } else if (!inside) {
        thread.index[kind] = nodes_.size();
        nodes_.push_back({kind, op, op, nullptr, in_node});
      } else if (wraps(name_of(*around), name_of(*op))) {
        // Newer versions wrap a node in an event that also sums gradients and runs hooks; the inner one has the shapes. Hooks after an
        // AccumulateGrad prepare communication. On a CPU the time of the event is also autograd's own.
        Node& node_of_event = nodes_[thread.index[kind]];
        node_of_event.op = op;
        if (kind == accumulate || profile_->cpu_only()) node_of_event.around = op;
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
    Seconds last_start;
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

  /// The duration of a stretch of compute.
  Seconds length(Seconds from, Seconds to) const {
    if (clocking_ == Clocking::device) return time_.computing.covered(from, to);
    return to - from - time_.waiting.covered(from, to);
  }

  /// Total duration of an operator's work.
  Seconds busy(const Operator& op) const {
    Seconds sum;
    if (profile_->cpu_only()) return op.end - op.start - time_.waiting.covered(op.start, op.end);
    work_.visit_kernels(op, [&sum](const Kernel& kernel) { sum += kernel.end - kernel.start; });
    return sum;
  }

  /// What an operator's work waited for communication.
  Seconds waited(const Operator& op) const {
    Seconds sum;
    if (profile_->cpu_only()) return time_.waiting.covered(op.start, op.end);
    work_.visit_kernels(op, [&](const Kernel& kernel) {
      if (const auto found = time_.waited.find(&kernel); found != time_.waited.end()) sum += found->second;
    });
    return sum;
  }

  void add_kernels(const Operator& op, std::vector<std::uint32_t>& names) const {
    if (profile_->cpu_only()) return;
    work_.visit_kernels(op, [&names](const Kernel& kernel) {
      if (std::find(names.begin(), names.end(), kernel.name) == names.end()) names.push_back(kernel.name);
    });
  }

  void measure(const std::vector<Node>& nodes, TrainingStep& step, std::vector<Interval>& spans) const {
    for (const Node& node : nodes) {
      if (node.layer != nullptr) step.layers.push_back(node.layer);
    }
    std::sort(step.layers.begin(), step.layers.end(), [](const Operator* a, const Operator* b) { return a->start < b->start; });
    step.layers.erase(std::unique(step.layers.begin(), step.layers.end()), step.layers.end());
    measure_forward(step, spans);
    measure_backward(step, nodes, spans);
  }

  void measure_forward(TrainingStep& step, std::vector<Interval>& spans) const {
    Span span;
    for (const Operator* layer : step.layers) {
      step.forward.push_back(busy(*layer));
      step.waits.push_back(waited(*layer));
      add_kernels(*layer, step.kernels.emplace_back());
      work_.visit(layer->start, layer->end, layer->thread, [&span](Interval interval) { span.add(interval); });
    }
    if (span.empty()) return;
    step.forward_start = span.start;
    step.forward_span = length(span.start, span.end);
    spans.push_back({span.start, span.end});
  }

  void measure_backward(TrainingStep& step, const std::vector<Node>& nodes, std::vector<Interval>& spans) const {
    const Seconds begin = nodes.front().op->start;
    Seconds end = begin;
    for (const Node& node : nodes) end = std::max(end, node.op->end);
    Span span;
    Seconds all;
    work_.visit(begin, end, std::nullopt, [&](Interval interval) {
      span.add(interval);
      all += profile_->cpu_only() ? length(interval.start, interval.end) : interval.end - interval.start;
    });
    if (!span.empty()) {
      step.backward_span = length(span.start, span.end);
      spans.push_back({span.start, span.end});
    }
    const Seconds start = span.empty() ? Seconds(0) : span.start;

    std::unordered_map<const Operator*, std::size_t> index;
    for (std::size_t i = 0; i < step.layers.size(); ++i) index.emplace(step.layers[i], i);
    step.backward.resize(step.layers.size());
    Seconds ready = start;
    Seconds seen = begin;
    std::set<std::uint32_t> threads;  // that run backward nodes
    for (const Node& node : nodes) {
      if (node.kind == backward) threads.insert(node.op->thread);
    }
    std::unordered_map<std::uint32_t, std::size_t> producer;  // by thread: the layer of the latest node
    for (const Node& node : nodes) {
      const bool is_gradient = node.kind == accumulate;
      if (node.layer != nullptr) {
        producer[node.op->thread] = index.at(node.layer);
      } else if (!is_gradient) {
        producer.erase(node.op->thread);
      }
      if (is_gradient && (has_none(*node.op) || (!has_shapes(*node.op) && !threads.contains(node.op->thread)))) {
        ++step.without_gradient;
        continue;
      }
      const auto layer = producer.find(node.op->thread);
      if (layer == producer.end()) {
        step.whole = step.whole && !is_gradient;
        continue;
      }
      if (!node.nested) add_work(node, layer->second, step);
      if (!is_gradient) continue;
      work_.visit(seen, node.op->end, std::nullopt, [&ready](Interval interval) { ready = std::max(ready, interval.end); });
      seen = node.op->end;
      step.gradients.push_back({layer->second, node.op, length(start, ready)});
    }
    for (const Seconds of_layer : step.backward) all -= of_layer;
    step.backward_of_no_layer = std::max(Seconds(0), all);
  }

  bool has_shapes(const Operator& op) const { return !profile_->strings[op.shapes].empty(); }

  /// Shapes were recorded, and the input has none and no type: the parameter took no part in this step. Without shapes, such a parameter
  /// shows where the calling thread runs its AccumulateGrad, and another one runs backward.
  bool has_none(const Operator& accumulate) const {
    return profile_->strings[accumulate.shapes] == "()" && profile_->strings[accumulate.type].empty();
  }

  /// Adds what a node computes to its layer, and what ran again in it to the layers that it belongs to.
  void add_work(const Node& node, std::size_t layer, TrainingStep& step) const {
    Seconds own = busy(*node.around);
    step.waits[layer] += waited(*node.around);
    add_kernels(*node.around, step.kernels[layer]);
    const std::vector<const Operator*> again = recomputed_in(*node.op);
    const std::vector<std::optional<std::size_t>> layers = layers_of(again, step.layers, layer);
    for (std::size_t i = 0; i < again.size(); ++i) {
      const Seconds time = busy(*again[i]);
      step.recomputation += time;
      if (layers.empty()) continue;
      own -= time;
      if (layers[i]) step.backward[*layers[i]] += time;
    }
    step.backward[layer] += own;
  }

  std::vector<const Operator*> recomputed_in(const Operator& node) const {
    const auto of_thread = recomputed_.find(node.thread);
    if (of_thread == recomputed_.end()) return {};
    std::vector<const Operator*> found;
    const auto& all = of_thread->second;
    auto at = std::lower_bound(all.begin(), all.end(), node.start, [](const Operator* op, Seconds time) { return op->start < time; });
    for (; at != all.end() && (*at)->start < node.end; ++at) found.push_back(*at);
    return found;
  }

  /// The layers that the operators `again` are, by name: a checkpointed block ends at or before the layer whose node ran it again, and its
  /// last layers need not run. Some operators are no layers, such as a counter's. Empty if fewer than half are found: then the layer is the
  /// whole block (torch.utils.checkpoint with reentrant autograd).
  static std::vector<std::optional<std::size_t>> layers_of(const std::vector<const Operator*>& again,
                                                           const std::vector<const Operator*>& layers, std::size_t layer) {
    std::vector<std::optional<std::size_t>> best;
    std::size_t most = 0;
    const std::size_t last = layer + 1;  // one after
    for (std::size_t skipped = 0; skipped <= std::min(last, again.size()); ++skipped) {
      std::vector<std::optional<std::size_t>> found(again.size());
      std::size_t count = 0;
      std::size_t next = last - skipped;
      for (std::size_t i = again.size(); i-- > 0 && next > 0;) {
        if (again[i]->name != layers[next - 1]->name) continue;
        found[i] = --next;
        ++count;
      }
      if (count > most) {
        most = count;
        best = std::move(found);
      }
    }
    return 2 * most < again.size() ? std::vector<std::optional<std::size_t>>() : best;
  }

  /// The time of the optimiser's steps that start between `begin` and `end`.
  void measure_update(Seconds begin, Seconds end, TrainingStep& step, std::vector<Interval>& spans) const {
    auto at = std::lower_bound(updates_.begin(), updates_.end(), begin, [](const Operator* op, Seconds time) { return op->start < time; });
    for (; at != updates_.end() && (*at)->start < end; ++at) {
      Span span;
      work_.visit((*at)->start, (*at)->end, (*at)->thread, [&span](Interval interval) { span.add(interval); });
      if (span.empty()) continue;
      step.update += length(span.start, span.end);
      spans.push_back({span.start, span.end});
    }
  }

  void sort_collectives() {
    for (const Kernel& kernel : profile_->kernels) {
      if (kernel.communication) collectives_.push_back({kernel.start, kernel.end});
    }
    for (const KinetoTrace::Stretch& collective : profile_->host_collectives) collectives_.push_back(collective.time);
    std::sort(collectives_.begin(), collectives_.end(), [](const Interval& a, const Interval& b) { return a.start < b.start; });
  }

  /// Durations of the collectives that start between `from` and `to`.
  std::vector<Seconds> collectives_in(Seconds from, Seconds to) const {
    std::vector<Seconds> durations;
    auto at =
        std::lower_bound(collectives_.begin(), collectives_.end(), from, [](const Interval& c, Seconds time) { return c.start < time; });
    for (; at != collectives_.end() && at->start < to; ++at) durations.push_back(at->end - at->start);
    return durations;
  }

  /// A step has the number of the latest mark in which its first layer begins, by the host's clock.
  void set_numbers(std::vector<TrainingStep>& steps) const {
    std::vector<const KinetoTrace::Mark*> marks;
    for (const KinetoTrace::Mark& mark : profile_->marks) marks.push_back(&mark);
    std::stable_sort(marks.begin(), marks.end(), [](const auto* a, const auto* b) { return a->time.start < b->time.start; });
    std::map<std::int64_t, std::size_t> passes;
    for (TrainingStep& step : steps) {
      const Seconds begin = step.layers.front()->start;
      const auto next =
          std::upper_bound(marks.begin(), marks.end(), begin, [](Seconds time, const auto* m) { return time < m->time.start; });
      if (next == marks.begin() || (*std::prev(next))->time.end < begin) continue;
      const std::int64_t mark = (*std::prev(next))->number;
      step.number = StepNumber{mark, passes[mark]++};
    }
  }

  void measure_period(Seconds next, TrainingStep& step, const std::vector<Interval>& spans) const {
    step.period = next - step.forward_start;
    step.exposed = bare_.covered(step.forward_start, next);
    if (clocking_ == Clocking::device) return;
    for (const Interval& span : spans) step.exposed -= bare_.covered(span.start, span.end) - time_.waiting.covered(span.start, span.end);
  }

  const KinetoTrace* profile_;
  Clocking clocking_;
  Launches launches_;
  Work work_;
  DeviceTime time_;
  IntervalUnion bare_ = time_.moving.minus(time_.computing);                               // communication beside which nothing computes
  std::vector<Interval> collectives_;                                                      // by start
  std::vector<Node> nodes_;                                                                // outermost, by time
  std::vector<const Operator*> updates_;                                                   // by time
  std::unordered_map<std::uint32_t, std::vector<const Operator*>> recomputed_;             // by thread, by time
  std::map<std::uint32_t, std::unordered_map<std::int64_t, const Operator*>> forward_of_;  // by thread and sequence number
};

void check(const KinetoTrace& profile) {
  const auto any = [&profile](auto&& predicate) { return std::any_of(profile.operators.begin(), profile.operators.end(), predicate); };
  if (profile.events == 0) profile.lacks("the profile has no events");
  if (profile.kernels.empty() && !profile.accelerator.empty()) {
    throw InputError(fmt::format(
        "{}: the work was done by an accelerator that is not read: {}; profiles of GPUs of NVIDIA, AMD and Intel, and of CPUs, are",
        profile.file, profile.accelerator));
  }
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

std::vector<TrainingStep> find_training_steps(const KinetoTrace& profile, Clocking clocking) {
  check(profile);
  return Finder(profile, clocking).run();
}

}  // namespace syncopate
