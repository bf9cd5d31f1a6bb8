#include "capture/node/cuda/overlap_work.hpp"

#include <algorithm>
#include <array>

#include "capture/cuda/products.hpp"
#include "capture/node/cuda/kernels.hpp"
#include "capture/node/cuda/tasks.hpp"
#include "capture/random_values.hpp"

namespace syncopate::capture {

namespace {

/// Products of square matrices.
class Product : public CudaWork {
 public:
  Product(const Gpu& gpu, cudaStream_t stream, Number number, bool tf32) {
    tools_.cublas = CublasHandle(cublasCreate, "cublasCreate");
    check(cublasSetStream(tools_.cublas.get(), stream), "cublasSetStream");
    tools_.number = number;
    tools_.tf32 = tf32;
    for (DeviceMemory* matrix : {&left_, &right_, &result_}) *matrix = gpu.allocate(extent * extent * number_bytes(number));
    const std::vector<float> numbers = random_numbers(extent * extent);
    write_numbers(gpu, numbers, left_.data(), number);
    write_numbers(gpu, numbers, right_.data(), number);
  }
  void queue() override {
    multiply(tools_, {extent, extent, extent}, {left_.data(), extent, false}, {right_.data(), extent, false}, result_.data());
  }

 private:
  static constexpr std::int64_t extent = 4096;
  CudaTools tools_;  // without cuDNN, on the caller's stream
  DeviceMemory left_;
  DeviceMemory right_;
  DeviceMemory result_;
};

/// Memory full of random numbers: on zeros a GPU takes less power.
DeviceMemory random_memory(const Gpu& gpu, std::int64_t bytes) {
  constexpr std::int64_t piece = std::int64_t{4} << 20U;
  DeviceMemory memory = gpu.allocate(bytes);
  const std::vector<float> numbers = random_numbers(piece / number_bytes(Number::fp32));
  for (std::int64_t done = 0; done < bytes; done += piece)
    copy_to_device(memory.at(done), numbers.data(), static_cast<std::size_t>(std::min(piece, bytes - done)), gpu.stream());
  return memory;
}

/// An element-wise operation in fp32: limited by memory.
class Elementwise : public CudaWork {
 public:
  Elementwise(const Gpu& gpu, cudaStream_t stream, std::int64_t bytes)
      : stream_(stream),
        count_(bytes / number_bytes(Number::fp32)),
        input_(random_memory(gpu, bytes)),
        output_(random_memory(gpu, bytes)) {}
  void queue() override { activate({stream_, Number::fp32}, Activation::relu, input_.data(), output_.data(), count_); }

 private:
  cudaStream_t stream_;
  std::int64_t count_;
  DeviceMemory input_;
  DeviceMemory output_;
};

/// Copies a gradient and adds it, at the GPU's full speed: reception in an all-reduce.
class CopyAndAdd : public CudaWork {
 public:
  CopyAndAdd(const Gpu& gpu, cudaStream_t stream, std::int64_t bytes)
      : stream_(stream),
        count_(bytes / number_bytes(Number::fp32)),
        sent_(random_memory(gpu, bytes)),
        arrived_(random_memory(gpu, bytes)),
        sums_(random_memory(gpu, bytes)) {}
  void queue() override {
    check(cudaMemcpyAsync(arrived_.data(), sent_.data(), sent_.bytes(), cudaMemcpyDeviceToDevice, stream_), "cudaMemcpyAsync");
    sum({stream_, Number::fp32}, std::array<const void*, 2>{sums_.data(), arrived_.data()}, sums_.data(), count_);
  }

 private:
  cudaStream_t stream_;
  std::int64_t count_;
  DeviceMemory sent_;
  DeviceMemory arrived_;
  DeviceMemory sums_;
};

/// Copies a gradient to the host and back. Copy engines do it, and no multiprocessor.
class HostCopies : public CudaWork {
 public:
  HostCopies(const Gpu& gpu, cudaStream_t stream, std::int64_t bytes)
      : stream_(stream),
        device_(random_memory(gpu, bytes)),
        host_([bytes](void** memory) { return cudaMallocHost(memory, static_cast<std::size_t>(bytes)); }, "cudaMallocHost") {}
  void queue() override {
    check(cudaMemcpyAsync(host_.get(), device_.data(), device_.bytes(), cudaMemcpyDeviceToHost, stream_), "cudaMemcpyAsync");
    check(cudaMemcpyAsync(device_.data(), host_.get(), device_.bytes(), cudaMemcpyHostToDevice, stream_), "cudaMemcpyAsync");
  }

 private:
  cudaStream_t stream_;
  DeviceMemory device_;
  Owned<void*, cudaFreeHost> host_;
};

/// Additions by few blocks, as many as a collective library has channels. A block adds as many numbers as it would alone.
class AddInBlocks : public CudaWork {
 public:
  AddInBlocks(const Gpu& gpu, cudaStream_t stream, std::int64_t bytes, unsigned int blocks)
      : stream_(stream),
        blocks_(blocks),
        count_(bytes / number_bytes(Number::fp32)),
        sums_(random_memory(gpu, bytes)),
        arrived_(random_memory(gpu, bytes)) {}
  void queue() override { add_in_blocks(stream_, sums_.as<float>(), arrived_.as<float>(), count_, blocks_, blocks_); }

 private:
  cudaStream_t stream_;
  unsigned int blocks_;
  std::int64_t count_;
  DeviceMemory sums_;
  DeviceMemory arrived_;
};

std::unique_ptr<CudaWork> make_bf16_product(const Gpu& gpu, cudaStream_t stream, std::int64_t /*bytes*/) {
  return std::make_unique<Product>(gpu, stream, Number::bf16, false);
}

std::unique_ptr<CudaWork> make_tf32_product(const Gpu& gpu, cudaStream_t stream, std::int64_t /*bytes*/) {
  return std::make_unique<Product>(gpu, stream, Number::fp32, true);
}

template <class Work>
std::unique_ptr<CudaWork> make(const Gpu& gpu, cudaStream_t stream, std::int64_t bytes) {
  return std::make_unique<Work>(gpu, stream, bytes);
}

constexpr std::array computes = {
    CudaWorkRow{"matrix product, bf16", make_bf16_product},
    CudaWorkRow{"matrix product, tf32", make_tf32_product},
    CudaWorkRow{"elementwise, fp32", make<Elementwise>},
};

constexpr std::array communications = {
    CudaWorkRow{"copies and additions on the whole GPU", make<CopyAndAdd>},
    CudaWorkRow{"copies to the host and back", make<HostCopies>},
};

}  // namespace

std::span<const CudaWorkRow> cuda_computes() { return computes; }

std::span<const CudaWorkRow> cuda_communications() { return communications; }

std::unique_ptr<CudaWork> make_additions(const Gpu& gpu, cudaStream_t stream, std::int64_t bytes, int blocks) {
  return std::make_unique<AddInBlocks>(gpu, stream, bytes, static_cast<unsigned int>(blocks));
}

}  // namespace syncopate::capture
