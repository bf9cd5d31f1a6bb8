#include "import/kineto.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <istream>
#include <nlohmann/json.hpp>

#include "base/document.hpp"
#include "base/errors.hpp"
#include "base/files.hpp"
#include "base/gzip.hpp"
#include "import/mended_json.hpp"

namespace syncopate {

namespace {

using Parser = nlohmann::json;

constexpr double us = 1e-6;
constexpr double ns = 1e-9;

std::string in_lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// One element of traceEvents, with the members that the import needs.
struct Event {
  std::string name;
  std::string category;
  std::string phase;
  std::string process;
  std::string thread;
  double time = 0;      // microseconds
  double duration = 0;  // microseconds
  std::int64_t correlation = KinetoTrace::none;
  std::int64_t sequence = KinetoTrace::none;
  std::int64_t forward_thread = 0;
  std::int64_t device = 0;
  std::string shapes;
  std::string type;
  bool on_stream = false;
  std::string collective;
  std::string label;  // of a process
  KinetoTrace::AllReduce all_reduce;
};

/// Follows the parser through the file and keeps the events that the import needs.
class EventHandler : public nlohmann::json_sax<Parser> {
 public:
  explicit EventHandler(const std::string& file) { trace_.file = file; }

  KinetoTrace take() {
    trace_.origin = Seconds(us * origin_);
    return std::move(trace_);
  }
  bool found_events() const { return found_events_; }

  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t value) override { return number(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override { return number(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return number(value); }
  bool binary(binary_t& /*value*/) override { return true; }

  bool key(string_t& value) override {
    key_.swap(value);
    return true;
  }

  bool string(string_t& value) override {
    switch (place()) {
      case Place::event:
        if (key_ == "name") event_.name.swap(value);
        if (key_ == "cat") event_.category.swap(value);
        if (key_ == "ph") event_.phase.swap(value);
        if (key_ == "pid") event_.process = value;
        if (key_ == "tid") event_.thread = value;
        if (key_ == "ts" || key_ == "dur") return time_in_text(value);
        break;
      case Place::types:
        if (types_++ == 0) event_.type.swap(value);
        break;
      case Place::shape: add_extent(-1); break;
      case Place::arguments:
        if (key_ == "Collective name") event_.collective.swap(value);
        if (key_ == "dtype") event_.all_reduce.type.swap(value);
        if (key_ == "name" || key_ == "labels") event_.label = value;
        break;
      case Place::device:
        if (key_ == "name") trace_.devices.push_back(value);
        break;
      default: break;
    }
    return true;
  }

  bool start_object(std::size_t /*size*/) override {
    switch (place()) {
      case Place::file: return enter(Place::root);
      case Place::root: return enter(key_ == "distributedInfo" ? Place::distributed : Place::other);
      case Place::events: event_ = Event(); return enter(Place::event);
      case Place::event: return enter(key_ == "args" ? Place::arguments : Place::other);
      case Place::devices: return enter(Place::device);
      default: return enter(Place::other);
    }
  }

  bool start_array(std::size_t /*size*/) override {
    switch (place()) {
      // Chrome's format also allows the bare list of events; PyTorch without Kineto writes that.
      case Place::file: found_events_ = true; return enter(Place::events);
      case Place::root:
        found_events_ = found_events_ || key_ == "traceEvents";
        return enter(key_ == "traceEvents" ? Place::events : key_ == "deviceProperties" ? Place::devices : Place::other);
      case Place::arguments: return enter(key_ == "Input Dims" ? Place::shapes : key_ == "Input type" ? Place::types : Place::other);
      case Place::shapes:
        if (++shapes_ > KinetoTrace::most_shapes) return enter(Place::other);
        event_.shapes += '(';
        return enter(Place::shape);
      default: return enter(Place::other);
    }
  }

  bool end_object() override {
    if (place() == Place::event) keep();
    return leave();
  }

  bool end_array() override {
    if (place() == Place::shapes) shapes_ = 0;
    if (place() == Place::types) types_ = 0;
    if (place() == Place::shape) event_.shapes += ')';
    return leave();
  }

  bool parse_error(std::size_t position, const std::string& /*token*/, const nlohmann::detail::exception& error) override {
    const std::string what = error.what();
    const std::size_t line = what.find("at line ");
    const std::string place =
        line == std::string::npos ? fmt::format("at byte {}", position) : what.substr(line, what.find(':', line) - line);
    std::string reason = parse_error_reason(error);
    if (reason.starts_with("unexpected end of input")) {
      reason = position <= 1 ? "the file is empty" : reason + "; a profile that was cut off while it was written cannot be used";
    }
    throw InputError(fmt::format("{}: not valid JSON {}: {}", trace_.file, place, reason));
  }

 private:
  enum class Place { file, root, events, event, arguments, shapes, shape, types, devices, device, distributed, other };

  Place place() const { return places_.empty() ? Place::file : places_.back(); }

  bool enter(Place place) {
    places_.push_back(place);
    return true;
  }

  bool leave() {
    places_.pop_back();
    return true;
  }

  bool number(double value) {
    switch (place()) {
      case Place::event:
        if (key_ == "ts") event_.time = value;
        if (key_ == "dur") event_.duration = value;
        if (key_ == "pid") event_.process = fmt::format("{:.0f}", value);
        if (key_ == "tid") event_.thread = fmt::format("{:.0f}", value);
        break;
      case Place::arguments: argument(value); break;
      case Place::shape: add_extent(value); break;
      case Place::root:
        if (key_ == "baseTimeNanoseconds") trace_.base_time = Seconds(ns * value);
        break;
      case Place::distributed:
        if (key_ == "world_size") trace_.world_size = integer(value);
        if (key_ == "rank") trace_.rank = integer(value);
        break;
      default: break;
    }
    return true;
  }

  /// Some versions write times as texts. What is no number leaves the event without a time.
  bool time_in_text(const std::string& text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || number(value);
  }

  /// An extent that is not a valid number of elements becomes -1, which later fails as a shape.
  void add_extent(double value) {
    constexpr double most = 1e15;
    if (event_.shapes.back() != '(') event_.shapes += ',';
    event_.shapes += fmt::format("{:.0f}", value >= 0 && value <= most && value == std::floor(value) ? value : -1);
  }

  void argument(double value) {
    if (key_ == "correlation") event_.correlation = integer(value);
    if (key_ == "Sequence number") event_.sequence = integer(value);
    if (key_ == "Fwd thread id") event_.forward_thread = integer(value);
    if (key_ == "device") event_.device = integer(value);
    if (key_ == "stream") event_.on_stream = true;
    if (key_ == "In msg nelems") event_.all_reduce.elements = integer(value);
    if (key_ == "Group size") event_.all_reduce.ranks = integer(value);
  }

  static std::int64_t integer(double value) {
    constexpr double most = 9e15;
    return value >= 0 && value <= most ? static_cast<std::int64_t>(value) : KinetoTrace::none;
  }

  void keep() {
    ++trace_.events;
    if (event_.phase == "M") return keep_label();
    // Some kernels have time 0: their times are unknown.
    if (event_.phase != "X" || event_.time <= 0) return;
    constexpr double latest = 1e17;
    constexpr double longest = 1e14;
    if (event_.time > latest || event_.duration > longest) {
      throw InputError(fmt::format("{}: the event {} has \"ts\" {} and \"dur\" {}, expected microseconds", trace_.file,
                                   Json(event_.name).dump(-1, ' ', true, Json::error_handler_t::replace), event_.time, event_.duration));
    }
    // Differences of microseconds are exact, where seconds since 1970 would be rounded to 0.2 us.
    if (origin_ == 0) origin_ = event_.time;
    const double start = event_.time - origin_;
    const Interval time = {Seconds(us * start), Seconds(us * (start + std::max(0.0, event_.duration)))};
    const std::string category = in_lower_case(event_.category);
    // PyTorch without Kineto gives operators no category.
    if (category == "cpu_op" || category == "operator" || category == "user_annotation" || category.empty()) {
      keep_operator(time, category != "user_annotation");
    } else if (is_launch(category)) {
      keep_launch(time);
    } else if (category == "kernel" || category == "gpu_memset" || category == "memset" || is_device_copy(category)) {
      keep_kernel(time);
    } else if (trace_.accelerator.empty()) {
      trace_.accelerator = accelerator_of(category);
    }
  }

  void keep_label() {
    if (event_.name != "process_name" && event_.name != "process_labels") return;
    if (event_.label.find("Ascend") != std::string::npos) trace_.accelerator = "Ascend NPU";
    std::string& label = trace_.labels[number_of(event_.process)];
    label += (label.empty() ? "" : ", ") + event_.label;
  }

  void keep_launch(Interval time) {
    const KinetoTrace::Stretch call = {time, number_of(event_.thread), number_of(event_.process)};
    // The last two are those of Intel's runtime.
    if (event_.name.ends_with("Synchronize") || event_.name == "urEventWait" || event_.name == "urQueueFinish")
      trace_.waits.push_back(call);
    if (event_.correlation != KinetoTrace::none) trace_.launches.push_back({time.start, event_.correlation, call.thread, call.process});
  }

  void keep_kernel(Interval time) {
    const bool communication = is_communication(event_.name);
    trace_.kernels.push_back(
        {time.start, time.end, event_.correlation, event_.device, number_of(event_.name), number_of(event_.process), communication});
    if (event_.collective == "allreduce" && communication) {
      event_.all_reduce.duration = time.end - time.start;
      event_.all_reduce.process = number_of(event_.process);
      trace_.all_reduces.push_back(event_.all_reduce);
    }
  }

  void keep_operator(Interval time, bool cpu_operator) {
    trace_.cpu_operators += cpu_operator ? 1 : 0;
    if (trace_.gpu_operator.empty() && runs_on_gpu(event_.name)) trace_.gpu_operator = event_.name;
    const KinetoTrace::Stretch stretch = {time, number_of(event_.thread), number_of(event_.process)};
    if (event_.name.starts_with("gloo:") || event_.name.starts_with("mpi:")) return trace_.host_collectives.push_back(stretch);
    if (event_.name.starts_with("c10d::")) trace_.collective_calls.push_back(stretch);
    keep_mark(time);
    const bool of_interest = event_.name.find("AccumulateGrad") != std::string::npos || event_.name.starts_with("Optimizer.step");
    if (!of_interest && (event_.sequence == KinetoTrace::none || !cpu_operator)) return;
    const bool unnumbered_node = event_.forward_thread == 0 && event_.name.starts_with("autograd::engine");
    trace_.operators.push_back({time.start, time.end, event_.sequence, number_of(event_.name), stretch.thread, stretch.process,
                                number_of(event_.shapes), number_of(event_.type),
                                unnumbered_node ? KinetoTrace::none : event_.forward_thread});
  }

  void keep_mark(Interval time) {
    constexpr std::string_view word = "ProfilerStep#";
    if (!event_.name.starts_with(word)) return;
    std::int64_t number = 0;
    const char* const last = event_.name.data() + event_.name.size();
    const auto [end, error] = std::from_chars(event_.name.data() + word.size(), last, number);
    if (error == std::errc() && end == last && number >= 0) trace_.marks.push_back({time, number, number_of(event_.process)});
  }

  std::uint32_t number_of(const std::string& text) { return trace_.strings.number_of(text); }

  /// Calls of CUDA, HIP ("cuda_runtime", too) and Intel's XPU.
  static bool is_launch(std::string_view category) {
    constexpr std::array<std::string_view, 8> categories = {"cuda_runtime", "runtime",     "cuda_driver", "driver",
                                                            "hip_runtime",  "xpu_runtime", "xpu_driver",  "hip_driver"};
    return std::find(categories.begin(), categories.end(), category) != categories.end();
  }

  /// The accelerator of a category that is not read; empty if it is none.
  std::string accelerator_of(const std::string& category) const {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 5> known = {
        {{"mtia", "MTIA"}, {"hpu", "Gaudi (HPU)"}, {"npu", "NPU"}, {"privateuse1", "PrivateUse1"}, {"glow", "Glow"}}};
    for (const auto& [prefix, name] : known) {
      if (category.starts_with(prefix)) return fmt::format("{} (events of the category \"{}\")", name, event_.category);
    }
    const bool of_gpu = category.starts_with("gpu_") || category.starts_with("cuda_") || category == "memcpy" || category == "overhead";
    const bool on_device = event_.on_stream && event_.correlation != KinetoTrace::none && !of_gpu;
    return on_device ? fmt::format("events of the category \"{}\"", event_.category) : "";
  }

  /// A copy within the device, as profilers of NVIDIA, Intel and AMD name it.
  bool is_device_copy(const std::string& category) const {
    if (category != "gpu_memcpy" && category != "memcpy") return false;
    constexpr std::array<std::string_view, 3> words = {"DtoD", "D2D", "DeviceToDevice"};
    return std::any_of(words.begin(), words.end(), [this](std::string_view word) { return event_.name.find(word) != std::string::npos; });
  }

  /// Some operators exist for GPUs only, such as "aten::cudnn_convolution" and "nccl:all_reduce".
  static bool runs_on_gpu(std::string_view name) {
    constexpr std::array<std::string_view, 7> words = {"cudnn_convolution",
                                                       "cudnn_batch_norm",
                                                       "_cudnn_rnn",
                                                       "miopen_",
                                                       "_flash_attention_forward",
                                                       "_efficient_attention_forward",
                                                       "nccl:"};
    return std::any_of(words.begin(), words.end(), [name](std::string_view word) { return name.find(word) != std::string_view::npos; });
  }

  /// Kernels of NCCL and its derivatives, of Intel's oneCCL, and those that PyTorch and others write for themselves.
  static bool is_communication(std::string_view name) {
    if (name.starts_with("void ")) name.remove_prefix(5);  // of a template
    constexpr std::array<std::string_view, 5> libraries = {"nccl", "rccl", "msccl", "oneccl", "hccl"};
    constexpr std::array<std::string_view, 6> words = {"all_reduce_kernel",   "all_gather_kernel",   "reduce_scatter_kernel",
                                                       "cross_device_reduce", "multimem_all_reduce", "multimem_all_gather"};
    return std::any_of(libraries.begin(), libraries.end(), [name](std::string_view library) { return name.starts_with(library); }) ||
           std::any_of(words.begin(), words.end(), [name](std::string_view word) { return name.find(word) != std::string::npos; });
  }

  KinetoTrace trace_;
  std::vector<Place> places_;
  std::string key_;
  Event event_;
  double origin_ = 0;  // microseconds
  int shapes_ = 0;
  int types_ = 0;
  bool found_events_ = false;
};

}  // namespace

void KinetoTrace::lacks(std::string_view what) const {
  const bool trained = std::any_of(operators.begin(), operators.end(), [](const Operator& op) { return op.sequence != none; });
  const bool of_a_cpu = trained && cpu_only() && gpu_operator.empty();
  throw InputError(
      fmt::format("{}: {}; record with torch.profiler.profile(activities=[ProfilerActivity.CPU{}], record_shapes=True) around whole "
                  "training steps; see traces/PROFILES.md",
                  file, what, of_a_cpu ? "" : ", ProfilerActivity.CUDA"));
}

std::uint32_t StringPool::number_of(const std::string& text) {
  const auto [found, added] = numbers_.emplace(text, static_cast<std::uint32_t>(texts_.size()));
  if (added) texts_.push_back(text);
  return found->second;
}

KinetoTrace read_kineto(const std::filesystem::path& path) { return read_kineto(open_to_read(path), path.string()); }

KinetoTrace read_kineto(int file, const std::string& name) {
  GzipBuffer buffer(file, name);
  MendedJson mended(buffer);
  std::istream stream(&mended);
  EventHandler handler(name);
  Parser::sax_parse(stream, &handler);
  if (!handler.found_events()) {
    throw InputError(
        fmt::format("{}: no traceEvents: not a trace of torch.profiler; export one with prof.export_chrome_trace(\"trace.json\")", name));
  }
  KinetoTrace trace = handler.take();
  trace.mended = mended.mended();
  return trace;
}

}  // namespace syncopate
