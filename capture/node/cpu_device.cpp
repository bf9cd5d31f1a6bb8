#include "capture/node/cpu_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "capture/cpu/host.hpp"
#include "capture/node/cpu_compress.hpp"
#include "capture/node/cpu_overlap.hpp"
#include "capture/node/half.hpp"

namespace syncopate::capture {

namespace {

struct Gradients {
  const std::vector<std::int64_t>& tensors;  // their lengths
  double share;                              // of the numbers, kept by top_k

  std::size_t count() const { return static_cast<std::size_t>(std::accumulate(tensors.begin(), tensors.end(), std::int64_t{0})); }
};

void copy_all(std::span<const float> from, std::vector<float>& to) { std::copy(from.begin(), from.end(), to.begin()); }

/// Packs the tensors into one buffer.
class Pack : public NodeTask {
 public:
  explicit Pack(const Gradients& gradients) : merged_(gradients.count()) {
    for (const std::int64_t length : gradients.tensors) tensors_.emplace_back(static_cast<std::size_t>(length));
  }
  void write(std::span<const float> numbers) override {
    for (std::vector<float>& tensor : tensors_) {
      copy_all(numbers.first(tensor.size()), tensor);
      numbers = numbers.subspan(tensor.size());
    }
  }
  void run() override {
    auto place = merged_.begin();
    for (const std::vector<float>& tensor : tensors_) place = std::copy(tensor.begin(), tensor.end(), place);
  }
  std::vector<float> result() override { return merged_; }

 private:
  std::vector<std::vector<float>> tensors_;
  std::vector<float> merged_;
};

class Add : public NodeTask {
 public:
  explicit Add(const Gradients& gradients) : sums_(gradients.count()), added_(gradients.count()) {}
  void write(std::span<const float> numbers) override { copy_all(numbers, sums_); }
  void write_added(std::span<const float> numbers) override { copy_all(numbers, added_); }
  void run() override { std::transform(sums_.begin(), sums_.end(), added_.begin(), sums_.begin(), std::plus<>()); }
  std::vector<float> result() override { return sums_; }

 private:
  std::vector<float> sums_;
  std::vector<float> added_;
};

/// From fp32 to fp16.
class Cast : public NodeTask {
 public:
  explicit Cast(const Gradients& gradients) : numbers_(gradients.count()), halves_(gradients.count()) {}
  void write(std::span<const float> numbers) override { copy_all(numbers, numbers_); }
  void run() override { std::transform(numbers_.begin(), numbers_.end(), halves_.begin(), to_half); }
  std::vector<float> result() override {
    std::vector<float> numbers(halves_.size());
    std::transform(halves_.begin(), halves_.end(), numbers.begin(), from_half);
    return numbers;
  }

 private:
  std::vector<float> numbers_;
  std::vector<std::uint16_t> halves_;
};

/// From fp16 to fp32.
class Uncast : public NodeTask {
 public:
  explicit Uncast(const Gradients& gradients) : halves_(gradients.count()), numbers_(gradients.count()) {}
  void write(std::span<const float> numbers) override { std::transform(numbers.begin(), numbers.end(), halves_.begin(), to_half); }
  void run() override { std::transform(halves_.begin(), halves_.end(), numbers_.begin(), from_half); }
  std::vector<float> result() override { return numbers_; }

 private:
  std::vector<std::uint16_t> halves_;
  std::vector<float> numbers_;
};

class Sign : public NodeTask {
 public:
  explicit Sign(const Gradients& gradients) : numbers_(gradients.count()) { signs_.words.resize((numbers_.size() + 31) / 32); }
  void write(std::span<const float> numbers) override { copy_all(numbers, numbers_); }
  void run() override { pack_signs(numbers_, signs_); }
  std::vector<float> result() override { return unpack(signs_, numbers_.size()); }

 private:
  std::vector<float> numbers_;
  Signs signs_;
};

class TopK : public NodeTask {
 public:
  explicit TopK(const Gradients& gradients) : numbers_(gradients.count()) {
    const auto k = static_cast<std::size_t>(kept(gradients.share, static_cast<std::int64_t>(numbers_.size())));
    kept_.values.resize(k);
    kept_.indices.resize(k);
  }
  void write(std::span<const float> numbers) override { copy_all(numbers, numbers_); }
  void run() override { select_top(numbers_, kept_); }
  std::vector<float> result() override { return unpack(kept_, numbers_.size()); }

 private:
  std::vector<float> numbers_;
  Sparse kept_;
};

template <class Task>
std::unique_ptr<NodeTask> make(const Gradients& gradients) {
  return std::make_unique<Task>(gradients);
}

struct Row {
  std::string_view operation;
  std::unique_ptr<NodeTask> (*make)(const Gradients& gradients);
};

constexpr std::array table = {
    Row{"device_copy", make<Pack>},   Row{"pack", make<Pack>}, Row{"add", make<Add>},         Row{"cast_fp16", make<Cast>},
    Row{"uncast_fp16", make<Uncast>}, Row{"sign", make<Sign>}, Row{"top_k_0.01", make<TopK>}, Row{"top_k_0.001", make<TopK>},
};

const Row* find(const Operation& operation) {
  const auto* const row =
      std::find_if(table.begin(), table.end(), [&](const Row& candidate) { return candidate.operation == operation.name; });
  return row == table.end() ? nullptr : row;
}

}  // namespace

std::span<const std::string_view> CpuNode::dtypes(const Operation& operation) const {
  static constexpr std::array<std::string_view, 1> only = {"fp32"};
  if (find(operation) == nullptr) return {};
  return only;
}

std::unique_ptr<NodeTask> CpuNode::prepare(const Operation& operation, std::string_view /*dtype*/,
                                           const std::vector<std::int64_t>& tensors) {
  return find(operation)->make({tensors, operation.share});
}

Seconds CpuNode::time(NodeTask& task) {
  const Seconds start = thread_time();
  task.run();
  return thread_time() - start;
}

std::vector<Overlap> CpuNode::overlaps() const { return cpu_overlaps(); }

OverlapTimes CpuNode::measure(const Overlap& overlap, std::int64_t bytes, int repetitions) {
  return measure_cpu_overlap(overlap, bytes, repetitions);
}

DeviceDescription CpuNode::describe() const {
  DeviceDescription description;
  description.kind = "cpu";
  description.name = fmt::format("{}, 1 thread", processor_name());
  description.clock = "CPU time of the thread";
  description.software["compiler"] = __VERSION__;
  const double frequency = processor_hertz();
  if (frequency > 0) description.clocks["processor_hz"] = frequency;
  return description;
}

}  // namespace syncopate::capture
