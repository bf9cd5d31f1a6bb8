#include "import/import.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <ctime>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/errors.hpp"
#include "base/statistics.hpp"
#include "base/text.hpp"
#include "import/training_steps.hpp"
#include "model/dtype.hpp"
#include "model/shape.hpp"

namespace syncopate {

namespace {

using Operator = KinetoTrace::Operator;

/// The values of one measurement in all steps.
class Repeated {
 public:
  explicit Repeated(const std::vector<Seconds>& times) {
    for (const Seconds time : times) values_.push_back(time.value);
    std::sort(values_.begin(), values_.end());
  }
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

/// Such as "fp32" for PyTorch's "float".
std::optional<std::string> dtype_of(std::string_view type) {
  constexpr std::array table = {std::pair{"float", "fp32"}, std::pair{"c10::Half", "fp16"}, std::pair{"c10::BFloat16", "bf16"},
                                std::pair{"double", "fp64"}};
  for (const auto& [name, dtype] : table) {
    if (name == type) return dtype;
  }
  return std::nullopt;
}

Seconds sum(const std::vector<Seconds>& values) { return std::accumulate(values.begin(), values.end(), Seconds(0)); }

class Importer {
 public:
  Importer(const KinetoTrace& profile, const ImportSettings& settings)
      : profile_(&profile), settings_(&settings), steps_(find_training_steps(profile, settings.clocking)) {
    choose_steady();
  }

  Imported run() const {
    Imported imported;
    imported.clocking = settings_->clocking;
    imported.steps = steady_.size();
    for (const TrainingStep* step : steady_) imported.each_step.push_back(summary_of(*step));
    imported.steps_left_out = steps_.size() - steady_.size();
    imported.without_gradient = steady_.front()->without_gradient;
    measure(imported);
    add_layers(imported);
    add_gradients(imported.trace);
    if (settings_->sizes != nullptr) set_sizes(imported);
    describe(imported);
    return imported;
  }

 private:
  const std::string& string(std::uint32_t number) const { return profile_->strings[number]; }

  /// Equal for steps that run the same operators and gradients.
  static std::string signature(const TrainingStep& step) {
    std::string text;
    for (const Operator* layer : step.layers) text += fmt::format("{};", layer->name);
    for (const auto& gradient : step.gradients) text += fmt::format("{}:{};", gradient.layer, gradient.accumulate->shapes);
    return text;
  }

  /// Chooses the largest group of whole steps with equal signature. Of equally large groups, the one with more layers and gradients.
  void choose_steady() {
    std::map<std::string, std::vector<const TrainingStep*>> alike;
    for (const TrainingStep& step : steps_) {
      if (step.whole && !step.gradients.empty()) alike[signature(step)].push_back(&step);
    }
    if (alike.empty()) profile_->lacks("no step of the profile has all its forward operators and its gradients");
    const auto size = [](const std::vector<const TrainingStep*>& steps) {
      return std::pair(steps.size(), steps.front()->layers.size() + steps.front()->gradients.size());
    };
    const auto smaller = [&size](const auto& a, const auto& b) { return size(a.second) < size(b.second); };
    steady_ = std::max_element(alike.begin(), alike.end(), smaller)->second;
    const auto updates = std::count_if(steady_.begin(), steady_.end(), has_update);
    if (updates > 0 && (2 * updates < static_cast<std::ptrdiff_t>(steady_.size()) || updates_every_other_step())) {
      profile_->lacks(
          fmt::format("the optimiser steps after only {} of {} backward passes, but a trace cannot describe accumulation of gradients; let "
                      "every pass end with a step",
                      updates, steady_.size()));
    }
  }

  static bool has_update(const TrainingStep* step) { return step->update > Seconds(0); }

  /// Whether no two steps in a row have an update, and not only the last step has none, which may be cut off.
  bool updates_every_other_step() const {
    if (std::all_of(steady_.begin(), std::prev(steady_.end()), has_update)) return false;
    return std::adjacent_find(steady_.begin(), steady_.end(),
                              [](const TrainingStep* a, const TrainingStep* b) { return has_update(a) && has_update(b); }) == steady_.end();
  }

  /// The update's median, of the steps that have one. The last one may be cut off, and a scaler of gradients leaves some out.
  Seconds update() const {
    std::vector<Seconds> times;
    for (const TrainingStep* step : steady_) {
      if (has_update(step)) times.push_back(step->update);
    }
    return times.empty() ? Seconds(0) : Repeated(times).median();
  }

  static ImportedStep summary_of(const TrainingStep& step) {
    ImportedStep summary = {step.forward_span, step.backward_span, step.update, {}, step.collectives, step.number};
    for (std::size_t i = 0; i < step.layers.size(); ++i) summary.layers.push_back(step.forward[i] + step.backward[i]);
    return summary;
  }

  template <class Value>
  Repeated over_steps(Value&& value) const {
    std::vector<Seconds> times;
    for (const TrainingStep* step : steady_) times.push_back(value(*step));
    return Repeated(times);
  }

  void measure(Imported& imported) const {
    imported.forward_busy = over_steps([](const TrainingStep& step) { return sum(step.forward); }).median();
    imported.backward_busy = over_steps([](const TrainingStep& step) { return sum(step.backward); }).median();
    imported.backward_of_no_layer = over_steps([](const TrainingStep& step) { return step.backward_of_no_layer; }).median();
    if (imported.forward_busy == Seconds(0) || imported.backward_busy == Seconds(0)) {
      profile_->lacks(profile_->cpu_only() ? "its operators of forward or of backward take no time"
                                           : "its operators of forward or of backward launched no GPU kernel (CUDA graphs hide launches)");
    }
    imported.recomputation = over_steps([](const TrainingStep& step) { return step.recomputation; }).median();
    imported.wall = over_steps([](const TrainingStep& step) { return step.wall; }).median();
    if (!profile_->cpu_only()) imported.device = over_steps([](const TrainingStep& step) { return step.device; }).median();
    std::vector<Seconds> periods;
    std::vector<Seconds> exposed;
    for (std::size_t i = 0; i + 1 < steady_.size(); ++i) {
      const bool neighbours = steady_[i] + 1 == steady_[i + 1];
      if (!neighbours) continue;
      periods.push_back(*steady_[i]->period);
      exposed.push_back(steady_[i]->exposed);
    }
    if (!periods.empty()) {
      imported.period = Repeated(periods).median();
      imported.exposed = Repeated(exposed).median();
    }
    Trace& trace = imported.trace;
    trace.forward_span = over_steps([](const TrainingStep& step) { return step.forward_span; }).median();
    trace.backward_span = over_steps([](const TrainingStep& step) { return step.backward_span; }).median();
    trace.update = update();
  }

  void add_layers(Imported& imported) const {
    Trace& trace = imported.trace;
    std::unordered_map<std::string, int> count;
    const std::vector<const Operator*>& layers = steady_.front()->layers;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const Repeated forward = over_steps([i](const TrainingStep& step) { return step.forward[i]; });
      const Repeated backward = over_steps([i](const TrainingStep& step) { return step.backward[i]; });
      const std::string type = type_of(*layers[i]);
      trace.layers.push_back({fmt::format("{}_{}", type, ++count[type]), type, forward.median(), backward.median(), forward.quartiles(),
                              backward.quartiles()});
      imported.waits.push_back(over_steps([i](const TrainingStep& step) { return step.waits[i]; }).median());
    }
  }

  void add_gradients(Trace& trace) const {
    std::vector<int> of_layer(trace.layers.size());
    const auto& gradients = steady_.front()->gradients;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      Gradient gradient;
      gradient.layer = gradients[i].layer;
      gradient.name = fmt::format("{}.{}", trace.layers[gradient.layer].name, of_layer[gradient.layer]++);
      gradient.ready = over_steps([i](const TrainingStep& step) { return step.gradients[i].ready; }).median();
      if (settings_->sizes == nullptr && settings_->needs_sizes) set_size(gradient, *gradients[i].accumulate);
      trace.gradients.push_back(std::move(gradient));
    }
  }

  void set_size(Gradient& gradient, const Operator& accumulate) const {
    const std::string& shapes = string(accumulate.shapes);
    if (shapes.empty()) {
      profile_->lacks(
          "its AccumulateGrad operators have no \"Input Dims\", so the sizes of the gradients are unknown; give them with --sizes (a "
          "model/1 file, or lines \"name shape\")");
    }
    const std::optional<std::string> dtype = dtype_of(string(accumulate.type));
    if (!dtype) {
      profile_->lacks(fmt::format("a gradient is of type \"{}\" (\"Input type\"), expected float, double, c10::Half or c10::BFloat16",
                                  string(accumulate.type)));
    }
    gradient.shape = parse_shapes(shapes).front();
    const bool empty = std::any_of(gradient.shape.begin(), gradient.shape.end(), [](std::int64_t extent) { return extent < 1; });
    const double elements = unchecked_elements(gradient.shape);
    constexpr double most_elements = 1e14;
    if (empty || elements > most_elements) {
      throw InputError(
          fmt::format("{}: an AccumulateGrad has the \"Input Dims\" {}, expected a shape of 1 to 1e14 elements", profile_->file, shapes));
    }
    gradient.bytes = Bytes(elements * element_bytes(*dtype).value());
  }

  /// Gives the gradients the sizes of the settings: each layer in forward order takes as many parameters as it has gradients.
  void set_sizes(Imported& imported) const {
    Trace& trace = imported.trace;
    const std::vector<Parameter>& sizes = *settings_->sizes;
    if (!string(steady_.front()->gradients.front().accumulate->shapes).empty()) {
      throw InputError(fmt::format("{}: its shapes were recorded; leave --sizes out", profile_->file));
    }
    if (sizes.size() != trace.gradients.size()) {
      throw InputError(fmt::format(
          "{}: a step has {} gradients, but --sizes gives {} parameters; list those that have a gradient, in the order of the model",
          profile_->file, trace.gradients.size(), sizes.size()));
    }
    std::vector<std::vector<std::size_t>> of_layer(trace.layers.size());
    for (std::size_t i = 0; i < trace.gradients.size(); ++i) of_layer[trace.gradients[i].layer].push_back(i);
    std::size_t next = 0;
    for (std::size_t layer = 0; layer < of_layer.size(); ++layer) {
      std::vector<std::size_t>& gradients = of_layer[layer];
      // A linear layer's bias is ready before its weight.
      const std::string& type = trace.layers[layer].type;
      if (type == "linear" || type == "addmm") std::reverse(gradients.begin(), gradients.end());
      for (const std::size_t gradient : gradients) {
        const Parameter& parameter = sizes[next];
        const bool is_first = gradient == gradients.front();
        if (!is_first && parameter.module != sizes[next - 1].module) imported.mixed_modules = trace.layers[layer].name;
        trace.gradients[gradient].name = parameter.name;
        trace.gradients[gradient].shape = parameter.shape;
        trace.gradients[gradient].bytes = Bytes(unchecked_elements(parameter.shape) * element_bytes(parameter.dtype).value());
        ++next;
      }
    }
  }

  /// Such as "relu" for "aten::relu_".
  std::string type_of(const Operator& op) const {
    const std::string& full = string(op.name);
    const std::size_t colons = full.rfind("::");
    std::string type = colons == std::string::npos ? full : full.substr(colons + 2);
    while (type.size() > 1 && type.ends_with('_')) type.pop_back();
    std::replace_if(
        type.begin(), type.end(), [](unsigned char c) { return std::iscntrl(c) != 0; }, ' ');
    constexpr std::size_t most = 96;
    return type.empty() ? "unnamed" : shortened(type, most);
  }

  void describe(Imported& imported) const {
    Trace& trace = imported.trace;
    trace.model = settings_->model;
    imported.batch_seen = batch_of(*steady_.front()->layers.front());
    if (!settings_->batch && !imported.batch_seen) {
      throw InputError(fmt::format("{}: the first operator ({}) does not show the batch; give it with --batch", profile_->file,
                                   string(steady_.front()->layers.front()->name)));
    }
    trace.batch = settings_->batch ? *settings_->batch : *imported.batch_seen;
    trace.dtype = !settings_->needs_sizes       ? ""
                  : settings_->sizes != nullptr ? settings_->sizes->front().dtype
                                                : dtype_of(string(steady_.front()->gradients.front().accumulate->type)).value();
    trace.provenance.kind = "imported";
    trace.provenance.source = fmt::format("torch.profiler trace {}", std::filesystem::path(profile_->file).filename().string());
    if (profile_->world_size > 1) trace.provenance.source += fmt::format(", one of {} workers", profile_->world_size);
    const double recorded = (profile_->base_time + profile_->origin).value;
    constexpr double year_2000 = 946684800;
    constexpr double year_2100 = 4102444800;
    if (recorded > year_2000 && recorded < year_2100) {
      trace.provenance.utc = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(recorded)));
    }
    trace.timing = {{"iterations", imported.steps},
                    {"forward_busy_s", imported.forward_busy.value},
                    {"backward_busy_s", imported.backward_busy.value},
                    {"backward_of_no_layer_s", imported.backward_of_no_layer.value}};
    if (profile_->cpu_only()) {
      describe_cpu(trace);
    } else {
      describe_gpu(trace);
    }
    trace.provenance.note += what_was_moved(imported);
    if (imported.period) trace.timing["step_s"] = imported.period->value;
    if (imported.exposed > Seconds(0)) trace.timing["communication_s"] = imported.exposed.value;
    if (imported.recomputation > Seconds(0)) trace.timing["recomputation_s"] = imported.recomputation.value;
    if (imported.device > Seconds(0)) trace.timing["device_s"] = imported.device.value;
    if (imported.without_gradient > 0) trace.timing["parameters_without_gradient"] = imported.without_gradient;
    for (std::size_t i = 0; i < trace.layers.size(); ++i) {
      if (imported.waits[i] > Seconds(0)) trace.timing["waits_s"][trace.layers[i].name] = imported.waits[i].value;
    }
  }

  /// What a reader of the trace cannot see in it, as the end of its note.
  std::string what_was_moved(const Imported& imported) const {
    std::string text;
    const auto add = [&text](const std::string& what) { text += "; " + what; };
    const auto milliseconds = [](Seconds time) { return fmt::format("{:.4g} ms", 1e3 * time.value); };
    if (const Seconds waits = sum(imported.waits); waits > Seconds(0))
      add(fmt::format("waits left out: {} of a step", milliseconds(waits)));
    if (imported.recomputation > Seconds(0)) {
      add(fmt::format("backward has {} of forward that ran again (activation checkpointing)", milliseconds(imported.recomputation)));
    }
    if (imported.without_gradient > 0) add(fmt::format("parameters without a gradient left out: {}", imported.without_gradient));
    if (settings_->sizes != nullptr) add("the gradients' sizes were given, not recorded");
    if (!imported.batch_seen) add("the batch was given, not recorded");
    return text;
  }

  void describe_gpu(Trace& trace) const {
    trace.device_kind = "gpu";
    const auto device = static_cast<std::size_t>(std::max<std::int64_t>(0, profile_->kernels.front().device));
    const std::vector<std::string>& names = profile_->devices;
    trace.device = device < names.size() ? names[device] : names.size() == 1 ? names.front() : "GPU";
    trace.provenance.note =
        settings_->clocking == Clocking::device
            ? "layers' times are those of their kernels; iteration and ready_s are times in which kernels compute, as if "
              "launches took none"
            : "layers' times are those of their kernels; iteration and ready_s are spans on the GPU, launch gaps included, "
              "waits for communication left out";
    trace.timing["method"] = "GPU kernels by their launching operator";
    trace.timing["clock"] = "CUPTI";
    for (std::size_t i = 0; i < trace.layers.size(); ++i) {
      Json& kernels = trace.timing["kernels"][trace.layers[i].name] = Json::array();
      for (const std::uint32_t name : steady_.front()->kernels[i]) kernels.push_back(short_name(string(name)));
    }
  }

  static void describe_cpu(Trace& trace) {
    trace.device_kind = "cpu";
    trace.device = "CPU";
    trace.provenance.note =
        "a profile of the CPU: layers' times are those of their operators on the wall's clock, with what the profiler itself costs and "
        "what else ran on the machine";
    trace.timing["method"] = "operators of the CPU";
    trace.timing["clock"] = "wall";
  }

  /// The name without "void " and the parameters: "gemm<float>" for "void gemm<float>(int, float*)". "Memset (Device)" stays as it is.
  static std::string_view without_parameters(std::string_view name) {
    if (name.starts_with("void ")) name.remove_prefix(5);
    int open = 0;
    for (std::size_t at = name.ends_with(')') ? name.size() : 0; at-- > 0;) {
      open += name[at] == ')' ? 1 : name[at] == '(' ? -1 : 0;
      if (open == 0) return at > 0 && name[at - 1] != ' ' ? name.substr(0, at) : name;
    }
    return name;
  }

  /// The beginning of a kernel's name. Names of templates can have a thousand characters.
  static std::string short_name(std::string_view full) {
    constexpr std::size_t most = 96;
    const std::string_view name = without_parameters(full);
    if (name.size() <= most) return std::string(name);
    return fmt::format("{}...", beginning(name, most));
  }

  /// The batch: the first extent of the first layer's input. A compiled graph's inputs are parameters, buffers and the batch, in any order:
  /// those that no parameter is like must agree.
  std::optional<std::int64_t> batch_of(const Operator& first) const {
    const auto shapes = parse_shapes(string(first.shapes));
    const std::string type = type_of(first);
    if (type.find("Compiled") != std::string::npos) return batch_of_compiled(shapes);
    const auto is = [&type](std::string_view word) { return type.find(word) != std::string::npos; };
    const std::size_t input = is("embedding") || is("addmm") ? 1 : 0;
    return shapes.size() <= input ? std::nullopt : batch_in(shapes[input]);
  }

  std::optional<std::int64_t> batch_of_compiled(const std::vector<Shape>& shapes) const {
    std::set<Shape> parameters;
    for (const auto& gradient : steady_.front()->gradients) {
      const auto shape = parse_shapes(string(gradient.accumulate->shapes));
      if (!shape.empty()) parameters.insert(shape.front());
    }
    std::optional<std::int64_t> batch;
    if (shapes.size() >= static_cast<std::size_t>(KinetoTrace::most_shapes)) return std::nullopt;  // there may be more
    for (const Shape& shape : shapes) {
      if (shape.empty() || parameters.contains(shape)) continue;
      const std::optional<std::int64_t> extent = batch_in(shape);
      if (!extent || (batch && *batch != *extent)) return std::nullopt;
      batch = extent;
    }
    return batch;
  }

  static std::optional<std::int64_t> batch_in(const Shape& shape) {
    constexpr std::int64_t most = 1'000'000'000;
    return shape.empty() || shape.front() < 1 || shape.front() > most ? std::nullopt : std::optional(shape.front());
  }

  const KinetoTrace* profile_;
  const ImportSettings* settings_;
  std::vector<TrainingStep> steps_;
  std::vector<const TrainingStep*> steady_;
};

}  // namespace

Imported import_profile(const KinetoTrace& profile, const ImportSettings& settings) {
  if (settings.clocking == Clocking::device && profile.cpu_only()) {
    throw InputError(fmt::format("{}: --device-time needs a profile of a GPU, and this one has only the CPU; leave it out", profile.file));
  }
  return Importer(profile, settings).run();
}

}  // namespace syncopate
