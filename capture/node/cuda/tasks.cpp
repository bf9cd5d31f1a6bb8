#include "capture/node/cuda/tasks.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "capture/node/cpu_compress.hpp"
#include "capture/node/cuda/copy_tasks.hpp"
#include "capture/node/cuda/kernels.hpp"

namespace syncopate::capture {

namespace {

class Add : public NodeTask {
 public:
  explicit Add(const CudaGradients& gradients)
      : gpu_(gradients.gpu),
        queue_{gpu_.stream(), gradients.number},
        count_(gradients.count()),
        sums_(gpu_.allocate(gradients.bytes())),
        added_(gpu_.allocate(gradients.bytes())) {}
  void write(std::span<const float> numbers) override { write_numbers(gpu_, numbers, sums_.data(), queue_.number); }
  void write_added(std::span<const float> numbers) override { write_numbers(gpu_, numbers, added_.data(), queue_.number); }
  void run() override { sum(queue_, std::array<const void*, 2>{sums_.data(), added_.data()}, sums_.data(), count_); }
  std::vector<float> result() override { return read_numbers(gpu_, sums_.data(), queue_.number, count_); }

 private:
  const Gpu& gpu_;
  Queue queue_;
  std::int64_t count_;
  DeviceMemory sums_;
  DeviceMemory added_;
};

/// Converts from one number format to another.
class Cast : public NodeTask {
 public:
  Cast(const CudaGradients& gradients, Number from, Number to)
      : gpu_(gradients.gpu),
        count_(gradients.count()),
        from_number_(from),
        to_number_(to),
        from_(gpu_.allocate(count_ * number_bytes(from))),
        to_(gpu_.allocate(count_ * number_bytes(to))) {}
  void write(std::span<const float> numbers) override { write_numbers(gpu_, numbers, from_.data(), from_number_); }
  void run() override { convert(gpu_.stream(), from_.data(), from_number_, to_.data(), to_number_, count_); }
  std::vector<float> result() override { return read_numbers(gpu_, to_.data(), to_number_, count_); }

 private:
  const Gpu& gpu_;
  std::int64_t count_;
  Number from_number_;
  Number to_number_;
  DeviceMemory from_;
  DeviceMemory to_;
};

class Sign : public NodeTask {
 public:
  explicit Sign(const CudaGradients& gradients)
      : gpu_(gradients.gpu),
        count_(gradients.count()),
        numbers_(gpu_.allocate(gradients.bytes())),
        words_(gpu_.allocate(word_count() * static_cast<std::int64_t>(sizeof(std::uint32_t)))),
        mean_(gpu_.allocate(sizeof(double))) {}
  void write(std::span<const float> numbers) override { write_numbers(gpu_, numbers, numbers_.data(), Number::fp32); }
  void run() override { pack_signs(gpu_.stream(), numbers_.as<float>(), count_, words_.as<std::uint32_t>(), mean_.as<double>()); }
  std::vector<float> result() override {
    Signs signs;
    signs.words.resize(static_cast<std::size_t>(word_count()));
    copy_to_host(signs.words.data(), words_.data(), words_.bytes(), gpu_.stream());
    double mean = 0;
    copy_to_host(&mean, mean_.data(), sizeof(mean), gpu_.stream());
    signs.mean = static_cast<float>(mean);
    return unpack(signs, static_cast<std::size_t>(count_));
  }

 private:
  std::int64_t word_count() const { return (count_ + 31) / 32; }

  const Gpu& gpu_;
  std::int64_t count_;
  DeviceMemory numbers_;
  DeviceMemory words_;
  DeviceMemory mean_;
};

class TopK : public NodeTask {
 public:
  explicit TopK(const CudaGradients& gradients)
      : gpu_(gradients.gpu),
        count_(gradients.count()),
        k_(kept(gradients.share, count_)),
        numbers_(gpu_.allocate(gradients.bytes())),
        selection_(gpu_.allocate(sizeof(Selection))),
        values_(gpu_.allocate(k_ * static_cast<std::int64_t>(sizeof(float)))),
        indices_(gpu_.allocate(k_ * static_cast<std::int64_t>(sizeof(std::uint32_t)))) {}
  void write(std::span<const float> numbers) override { write_numbers(gpu_, numbers, numbers_.data(), Number::fp32); }
  void run() override {
    select_top(gpu_.stream(), numbers_.as<float>(), count_, k_, selection_.as<Selection>(), values_.as<float>(),
               indices_.as<std::uint32_t>());
  }
  std::vector<float> result() override {
    Sparse kept = {std::vector<float>(static_cast<std::size_t>(k_)), std::vector<std::uint32_t>(static_cast<std::size_t>(k_))};
    copy_to_host(kept.values.data(), values_.data(), values_.bytes(), gpu_.stream());
    copy_to_host(kept.indices.data(), indices_.data(), indices_.bytes(), gpu_.stream());
    return unpack(kept, static_cast<std::size_t>(count_));
  }

 private:
  const Gpu& gpu_;
  std::int64_t count_;
  std::int64_t k_;
  DeviceMemory numbers_;
  DeviceMemory selection_;
  DeviceMemory values_;
  DeviceMemory indices_;
};

/// A maker of tasks; `fixed` are the arguments after the gradients.
template <class Task, auto... fixed>
std::unique_ptr<NodeTask> make(const CudaGradients& gradients) {
  return std::make_unique<Task>(gradients, fixed...);
}

constexpr std::array<std::string_view, 1> fp32 = {"fp32"};
constexpr std::array<std::string_view, 3> all = {"fp32", "fp16", "bf16"};

constexpr std::array table = {
    CudaOperation{"host_to_device", fp32, make<HostCopy, cudaMemcpyHostToDevice, true>},
    CudaOperation{"device_to_host", fp32, make<HostCopy, cudaMemcpyDeviceToHost, true>},
    CudaOperation{"host_to_device_pageable", fp32, make<HostCopy, cudaMemcpyHostToDevice, false>},
    CudaOperation{"device_to_host_pageable", fp32, make<HostCopy, cudaMemcpyDeviceToHost, false>},
    CudaOperation{"device_copy", fp32, make<Pack, true>},
    CudaOperation{"pack", all, make<Pack, false>},
    CudaOperation{"pack_each", all, make<Pack, true>},
    CudaOperation{"add", all, make<Add>},
    CudaOperation{"cast_fp16", fp32, make<Cast, Number::fp32, Number::fp16>},
    CudaOperation{"uncast_fp16", fp32, make<Cast, Number::fp16, Number::fp32>},
    CudaOperation{"sign", fp32, make<Sign>},
    CudaOperation{"top_k_0.01", fp32, make<TopK>},
    CudaOperation{"top_k_0.001", fp32, make<TopK>},
};

}  // namespace

std::int64_t CudaGradients::count() const { return std::accumulate(tensors.begin(), tensors.end(), std::int64_t{0}); }

Number number_of(std::string_view dtype) { return dtype == "fp16" ? Number::fp16 : dtype == "bf16" ? Number::bf16 : Number::fp32; }

void write_numbers(const Gpu& gpu, std::span<const float> from, void* to, Number number) {
  if (number == Number::fp32) return copy_to_device(to, from.data(), from.size_bytes(), gpu.stream());
  const DeviceMemory plain = gpu.allocate(static_cast<std::int64_t>(from.size_bytes()));
  copy_to_device(plain.data(), from.data(), plain.bytes(), gpu.stream());
  convert(gpu.stream(), plain.data(), Number::fp32, to, number, static_cast<std::int64_t>(from.size()));
  check(cudaStreamSynchronize(gpu.stream()), "cudaStreamSynchronize");
}

std::vector<float> read_numbers(const Gpu& gpu, const void* from, Number number, std::int64_t count) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  const DeviceMemory plain = gpu.allocate(count * number_bytes(Number::fp32));
  convert(gpu.stream(), from, number, plain.data(), Number::fp32, count);
  copy_to_host(numbers.data(), plain.data(), plain.bytes(), gpu.stream());
  return numbers;
}

const CudaOperation* find_cuda_operation(std::string_view name) {
  const auto* const found = std::find_if(table.begin(), table.end(), [name](const CudaOperation& row) { return row.name == name; });
  return found == table.end() ? nullptr : found;
}

}  // namespace syncopate::capture
