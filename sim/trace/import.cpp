#include "trace/import.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>

#include "base/errors.hpp"

namespace syncopate {

namespace {

using Operator = KinetoTrace::Operator;
using Kernel = KinetoTrace::Kernel;

constexpr double us = 1e-6;
constexpr std::string_view how_to_record =
    "record with torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True) round whole training "
    "steps; traces/README.md has the lines";

/// The quantile of sorted values, between neighbours in proportion.
double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const double above = sorted[std::min(below + 1, sorted.size() - 1)];
  return sorted[below] + (place - static_cast<double>(below)) * (above - sorted[below]);
}

/// The same measurement in every step.
class Repeated {
 public:
  void add(double seconds) { values_.insert(std::upper_bound(values_.begin(), values_.end(), seconds), seconds); }
  bool empty() const { return values_.empty(); }
  Seconds median() const { return Seconds(quantile(values_, 0.5)); }
  Quartiles quartiles() const { return {Seconds(quantile(values_, 0.25)), Seconds(quantile(values_, 0.75))}; }

 private:
  std::vector<double> values_;
};

/// "(32,3,224,224)(64,3)" -> {{32,3,224,224},{64,3}}
std::vector<std::vector<std::int64_t>> parse_shapes(std::string_view text) {
  std::vector<std::vector<std::int64_t>> shapes;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    if (*at == '(') shapes.emplace_back();
    ++at;
    std::int64_t extent = 0;
    const auto [next, error] = std::from_chars(at, end, extent);
    if (error == std::errc()) shapes.back().push_back(extent);
    at = next;
  }
  return shapes;
}

std::optional<double> bytes_of(std::string_view type) {
  constexpr std::array table = {std::pair{"float", 4.0}, std::pair{"c10::Half", 2.0}, std::pair{"c10::BFloat16", 2.0},
                                std::pair{"double", 8.0}};
  for (const auto& [name, bytes] : table) {
    if (name == type) return bytes;
  }
  return std::nullopt;
}

/// One step's gradient, as AccumulateGrad takes it.
struct StepGradient {
  std::size_t layer = 0;
  const Operator* accumulate = nullptr;  ///< with the shape
  double ready = 0;
};

/// One pass through forward and backward. Times in microseconds.
struct Step {
  std::vector<const Operator*> layers;  ///< in forward order
  std::vector<const Operator*> nodes;   ///< backward nodes and AccumulateGrads, in order
  std::vector<double> forward;          ///< per layer, of kernels
  std::vector<double> backward;
  std::vector<StepGradient> gradients;
  double forward_start = 0;
  double forward_end = 0;
  double backward_start = 0;
  double backward_end = 0;
  double update = 0;
  double backward_of_no_layer = 0;
};

/// A kernel and where on the CPU it was launched.
struct Launched {
  double time = 0;
  std::uint32_t thread = 0;
  const Kernel* kernel = nullptr;
};

class Importer {
 public:
  explicit Importer(const KinetoTrace& profile) : profile_(&profile) {}

  Imported run(const std::string& model, std::optional<std::int64_t> batch) {
    check();
    join_kernels();
    sort_operators();
    split_into_steps();
    for (Step& step : steps_) measure(step);
    const std::vector<const Step*> steady = choose_steady();
    Imported imported = summarize(steady);
    describe(imported, model, batch, *steady.front());
    return imported;
  }

 private:
  [[noreturn]] void fail(std::string_view lacks) const {
    throw InputError(fmt::format("{}: {}; {}", profile_->file, lacks, how_to_record));
  }

  const std::string& name(const Operator& op) const { return profile_->names[op.name]; }

  bool is_accumulate(const Operator& op) const { return name(op).find("AccumulateGrad") != std::string::npos; }
  bool is_update(const Operator& op) const { return name(op).starts_with("Optimizer.step"); }

  void check() const {
    const auto& ops = profile_->operators;
    const auto any = [&ops](auto&& predicate) { return std::any_of(ops.begin(), ops.end(), predicate); };
    if (profile_->events == 0) fail("the profile has no events");
    if (profile_->cpu_operators == 0) fail("the profile has no operators of the CPU");
    if (!any([](const Operator& op) { return op.sequence != KinetoTrace::none; })) {
      fail(
          "its operators have no \"Sequence number\", by which backward is matched with forward: the program ran without gradients, or its "
          "PyTorch was built without Kineto");
    }
    if (profile_->kernels.empty()) fail("the profile has no GPU kernels: it saw the CPU only");
    if (!any([](const Operator& op) { return op.backward && op.sequence != KinetoTrace::none; })) {
      fail("the profile has no backward pass: it is of inference");
    }
    if (!any([this](const Operator& op) { return is_accumulate(op); })) {
      fail("the profile has no torch::autograd::AccumulateGrad, so it does not say when gradients are ready");
    }
  }

  void join_kernels() {
    std::unordered_map<std::int64_t, const KinetoTrace::Launch*> launches;
    for (const KinetoTrace::Launch& launch : profile_->launches) launches.emplace(launch.correlation, &launch);
    for (const Kernel& kernel : profile_->kernels) {
      if (kernel.communication) continue;
      const auto launch = launches.find(kernel.correlation);
      if (launch != launches.end()) launched_.push_back({launch->second->time, launch->second->thread, &kernel});
    }
    if (launched_.empty()) fail("no GPU kernel can be joined with the call that launched it (\"correlation\")");
    std::sort(launched_.begin(), launched_.end(), [](const Launched& a, const Launched& b) { return a.time < b.time; });
  }

  /// Sorts operators by their start and finds the outermost of each kind, and the forward operator of each sequence number.
  void sort_operators() {
    std::vector<const Operator*> sorted;
    for (const Operator& op : profile_->operators) sorted.push_back(&op);
    std::sort(sorted.begin(), sorted.end(),
              [](const Operator* a, const Operator* b) { return a->start != b->start ? a->start < b->start : a->end > b->end; });
    std::unordered_map<std::uint32_t, std::array<const Operator*, 4>> outermost;  // per thread: the last of each kind
    for (const Operator* op : sorted) {
      const std::size_t kind = is_accumulate(*op) ? 0 : is_update(*op) ? 1 : op->backward ? 2 : 3;
      const Operator*& around = outermost[op->thread][kind];
      const bool inside = around != nullptr && op->start < around->end;
      if (!inside) around = op;
      if (kind == 3) {
        // What runs inside a backward node counts on its own: the numbers are those of a thread.
        const Operator* node = outermost[op->thread][2];
        if (node != nullptr && op->start < node->end) continue;
        // The creator of a node comes last among the operators that carry its number: earlier ones only looked at it.
        forward_of_[op->sequence] = around;
      } else if (!inside) {
        (kind == 1 ? updates_ : nodes_).push_back(op);
      } else if (kind != 1 && name(*nodes_.back()).ends_with(": " + name(*op))) {
        // Newer versions wrap a node in an event that also sums gradients and runs hooks; the inner one has the shapes.
        nodes_.back() = op;
      }
    }
  }

  /// A step ends where a backward node's forward operator ran after the node before it.
  void split_into_steps() {
    double last_start = 0;
    for (const Operator* node : nodes_) {
      const Operator* forward = forward_operator(*node);
      if (steps_.empty() || (forward != nullptr && forward->start > last_start)) steps_.emplace_back();
      steps_.back().nodes.push_back(node);
      if (forward != nullptr) steps_.back().layers.push_back(forward);
      last_start = node->start;
    }
    for (Step& step : steps_) {
      std::sort(step.layers.begin(), step.layers.end(), [](const Operator* a, const Operator* b) { return a->start < b->start; });
      step.layers.erase(std::unique(step.layers.begin(), step.layers.end()), step.layers.end());
    }
    std::erase_if(steps_, [](const Step& step) { return step.layers.empty(); });
    if (steps_.empty()) fail("no backward node has its forward operator in the profile: it holds no whole step");
  }

  const Operator* forward_operator(const Operator& node) const {
    const auto found = forward_of_.find(node.sequence);
    return is_accumulate(node) || found == forward_of_.end() || found->second->start > node.start ? nullptr : found->second;
  }

  /// The kernels launched from `start` to `end`, on one thread or on all.
  template <class Visit>
  void for_kernels(double start, double end, std::optional<std::uint32_t> thread, Visit&& visit) const {
    auto at = std::lower_bound(launched_.begin(), launched_.end(), start, [](const Launched& l, double time) { return l.time < time; });
    for (; at != launched_.end() && at->time <= end; ++at) {
      if (!thread || at->thread == *thread) visit(*at->kernel);
    }
  }

  double busy(const Operator& op) const {
    double sum = 0;
    for_kernels(op.start, op.end, op.thread, [&sum](const Kernel& kernel) { sum += kernel.end - kernel.start; });
    return sum;
  }

  void measure(Step& step) const {
    measure_forward(step);
    measure_backward(step);
    for (const Operator* update : updates_) {
      const bool after = update->start >= step.nodes.back()->start;
      const bool before_next = &step == &steps_.back() || update->start < (&step + 1)->layers.front()->start;
      if (after && before_next) step.update += span(update->start, update->end, update->thread);
    }
  }

  /// From the first start of a kernel to the last end.
  double span(double start, double end, std::uint32_t thread) const {
    double first = std::numeric_limits<double>::infinity();
    double last = -first;
    for_kernels(start, end, thread, [&](const Kernel& kernel) {
      first = std::min(first, kernel.start);
      last = std::max(last, kernel.end);
    });
    return std::max(0.0, last - first);
  }

  void measure_forward(Step& step) const {
    bool first = true;
    for (const Operator* layer : step.layers) {
      step.forward.push_back(busy(*layer));
      for_kernels(layer->start, layer->end, layer->thread, [&](const Kernel& kernel) {
        step.forward_start = first ? kernel.start : std::min(step.forward_start, kernel.start);
        step.forward_end = first ? kernel.end : std::max(step.forward_end, kernel.end);
        first = false;
      });
    }
  }

  void measure_backward(Step& step) const {
    std::unordered_map<const Operator*, std::size_t> index;
    for (std::size_t i = 0; i < step.layers.size(); ++i) index.emplace(step.layers[i], i);
    step.backward.resize(step.layers.size());
    const double begin = step.nodes.front()->start;
    double end = begin;
    for (const Operator* node : step.nodes) end = std::max(end, node->end);
    bool first = true;
    double all = 0;
    for_kernels(begin, end, std::nullopt, [&](const Kernel& kernel) {
      if (first) step.backward_start = step.backward_end = kernel.start;
      step.backward_start = std::min(step.backward_start, kernel.start);
      step.backward_end = std::max(step.backward_end, kernel.end);
      all += kernel.end - kernel.start;
      first = false;
    });

    double of_layers = 0;
    double ready = step.backward_start;
    double seen = begin;
    std::unordered_map<std::uint32_t, std::size_t> producer;  // per thread: the layer of the last node
    for (const Operator* node : step.nodes) {
      if (const Operator* forward = forward_operator(*node)) {
        producer[node->thread] = index.at(forward);
      } else if (!is_accumulate(*node) || !producer.contains(node->thread)) {
        continue;
      }
      const std::size_t layer = producer.at(node->thread);
      const double time = busy(*node);
      step.backward[layer] += time;
      of_layers += time;
      if (!is_accumulate(*node)) continue;
      for_kernels(seen, node->end, std::nullopt, [&ready](const Kernel& kernel) { ready = std::max(ready, kernel.end); });
      seen = node->end;
      step.gradients.push_back({layer, node, ready - step.backward_start});
    }
    step.backward_of_no_layer = std::max(0.0, all - of_layers);
  }

  /// What two steps of the same program have in common.
  std::string signature(const Step& step) const {
    std::string text;
    for (const Operator* layer : step.layers) text += fmt::format("{};", layer->name);
    for (const StepGradient& gradient : step.gradients) text += fmt::format("{}:{};", gradient.layer, gradient.accumulate->shapes);
    return text;
  }

  std::vector<const Step*> choose_steady() const {
    std::map<std::string, std::vector<const Step*>> alike;
    for (const Step& step : steps_) {
      if (!step.gradients.empty()) alike[signature(step)].push_back(&step);
    }
    if (alike.empty()) fail("no step of the profile has both its forward operators and its gradients");
    return std::max_element(alike.begin(), alike.end(), [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); })
        ->second;
  }

  Imported summarize(const std::vector<const Step*>& steps) const {
    Imported imported;
    imported.steps = steps.size();
    imported.steps_left_out = steps_.size() - steps.size();
    const auto over_steps = [&steps](auto&& value) {
      Repeated repeated;
      for (const Step* step : steps) repeated.add(us * value(*step));
      return repeated;
    };
    const auto sum = [](const std::vector<double>& values) {
      double total = 0;
      for (const double value : values) total += value;
      return total;
    };
    imported.forward_busy = over_steps([&](const Step& step) { return sum(step.forward); }).median();
    imported.backward_busy = over_steps([&](const Step& step) { return sum(step.backward); }).median();
    imported.backward_of_no_layer = over_steps([](const Step& step) { return step.backward_of_no_layer; }).median();
    if (imported.forward_busy == Seconds(0) || imported.backward_busy == Seconds(0)) {
      fail("no GPU kernel was launched by its operators of forward or of backward: CUDA graphs hide who launched what");
    }
    Repeated periods;
    for (std::size_t i = 0; i + 1 < steps_.size(); ++i) periods.add(us * (steps_[i + 1].forward_start - steps_[i].forward_start));
    if (!periods.empty()) imported.period = periods.median();

    Trace& trace = imported.trace;
    trace.forward_span = over_steps([](const Step& step) { return step.forward_end - step.forward_start; }).median();
    trace.backward_span = over_steps([](const Step& step) { return step.backward_end - step.backward_start; }).median();
    trace.update = over_steps([](const Step& step) { return step.update; }).median();
    const Step& first = *steps.front();
    std::unordered_map<std::string, int> count;
    for (std::size_t i = 0; i < first.layers.size(); ++i) {
      const Repeated forward = over_steps([i](const Step& step) { return step.forward[i]; });
      const Repeated backward = over_steps([i](const Step& step) { return step.backward[i]; });
      const std::string type = type_of(*first.layers[i]);
      trace.layers.push_back({fmt::format("{}_{}", type, ++count[type]), type, forward.median(), backward.median(), forward.quartiles(),
                              backward.quartiles()});
    }
    for (std::size_t i = 0; i < first.gradients.size(); ++i) trace.gradients.push_back(gradient(first.gradients[i], trace.layers));
    std::vector<int> of_layer(trace.layers.size());
    for (std::size_t i = 0; i < first.gradients.size(); ++i) {
      trace.gradients[i].name += fmt::format(".{}", of_layer[trace.gradients[i].layer]++);
      trace.gradients[i].ready = over_steps([i](const Step& step) { return step.gradients[i].ready; }).median();
    }
    return imported;
  }

  /// "relu" of "aten::relu_".
  std::string type_of(const Operator& op) const {
    const std::string& full = name(op);
    const std::size_t colons = full.rfind("::");
    std::string type = colons == std::string::npos ? full : full.substr(colons + 2);
    while (type.size() > 1 && type.ends_with('_')) type.pop_back();
    std::replace_if(
        type.begin(), type.end(), [](unsigned char c) { return std::iscntrl(c) != 0; }, ' ');
    return type.empty() ? "unnamed" : type;
  }

  Gradient gradient(const StepGradient& found, const std::vector<Layer>& layers) const {
    const std::string& shapes = profile_->names[found.accumulate->shapes];
    if (shapes.empty()) fail("its AccumulateGrad operators have no \"Input Dims\", so the sizes of the gradients are unknown");
    const std::string& type = profile_->names[found.accumulate->type];
    const std::optional<double> bytes_per_element = bytes_of(type);
    if (!bytes_per_element)
      fail(fmt::format("a gradient is of type \"{}\" (\"Input type\"), expected float, double, c10::Half or c10::BFloat16", type));
    Gradient gradient;
    gradient.name = layers[found.layer].name;
    gradient.layer = found.layer;
    gradient.shape = parse_shapes(shapes).front();
    double elements = 1;
    for (const std::int64_t extent : gradient.shape) elements *= static_cast<double>(std::max<std::int64_t>(0, extent));
    constexpr double most_elements = 1e14;
    if (elements < 1 || elements > most_elements) {
      throw InputError(
          fmt::format("{}: an AccumulateGrad has the \"Input Dims\" {}, expected a shape of 1 to 1e14 elements", profile_->file, shapes));
    }
    gradient.bytes = Bytes(elements * *bytes_per_element);
    return gradient;
  }

  void describe(Imported& imported, const std::string& model, std::optional<std::int64_t> batch, const Step& step) const {
    Trace& trace = imported.trace;
    trace.model = model;
    trace.batch = batch ? *batch : batch_of(*step.layers.front());
    const std::string& type = profile_->names[step.gradients.front().accumulate->type];
    trace.dtype = type == "c10::Half" ? "fp16" : type == "c10::BFloat16" ? "bf16" : type == "double" ? "fp64" : "fp32";
    trace.device_kind = "gpu";
    const auto device = static_cast<std::size_t>(std::max<std::int64_t>(0, launched_.front().kernel->device));
    trace.device = device < profile_->devices.size() ? profile_->devices[device] : "GPU";
    trace.provenance.kind = "imported";
    trace.provenance.source = fmt::format("torch.profiler trace {}", std::filesystem::path(profile_->file).filename().string());
    if (profile_->world_size > 1) trace.provenance.source += fmt::format(", one of {} workers", profile_->world_size);
    const double recorded = profile_->base_time_s + profile_->origin * us;
    constexpr double year_2000 = 946684800;
    constexpr double year_2100 = 4102444800;
    if (recorded > year_2000 && recorded < year_2100) {
      trace.provenance.utc = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(recorded)));
    }
    trace.provenance.note =
        "layers' times are those of their kernels, communication left out; iteration and ready_s are spans on the GPU, launch gaps "
        "included";
    trace.timing = {{"method", "GPU kernels by their launching operator"},
                    {"clock", "CUPTI"},
                    {"iterations", imported.steps},
                    {"forward_busy_s", imported.forward_busy.value},
                    {"backward_busy_s", imported.backward_busy.value},
                    {"backward_of_no_layer_s", imported.backward_of_no_layer.value}};
    if (imported.period) trace.timing["step_s"] = imported.period->value;
  }

  /// The first extent of the first layer's input; an embedding's input is its second argument.
  std::int64_t batch_of(const Operator& first) const {
    const auto shapes = parse_shapes(profile_->names[first.shapes]);
    const std::size_t input = type_of(first).find("embedding") != std::string::npos ? 1 : 0;
    if (shapes.size() <= input || shapes[input].empty() || shapes[input].front() < 1 || shapes[input].front() > 1'000'000'000) {
      throw InputError(
          fmt::format("{}: the first operator ({}) does not show the batch; give it with --batch", profile_->file, name(first)));
    }
    return shapes[input].front();
  }

  const KinetoTrace* profile_;
  std::vector<Launched> launched_;                                // by time
  std::vector<const Operator*> nodes_;                            // backward nodes and AccumulateGrads, outermost, by time
  std::vector<const Operator*> updates_;                          // steps of the optimiser, by time
  std::unordered_map<std::int64_t, const Operator*> forward_of_;  // by sequence number
  std::vector<Step> steps_;
};

}  // namespace

Imported import_profile(const KinetoTrace& profile, const std::string& model, std::optional<std::int64_t> batch) {
  return Importer(profile).run(model, batch);
}

}  // namespace syncopate
