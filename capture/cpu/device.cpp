#include "capture/cpu/device.hpp"

#include <fmt/format.h>
#include <omp.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <new>

#include "base/table.hpp"
#include "base/text.hpp"
#include "capture/cpu/host.hpp"
#include "capture/random_values.hpp"

namespace syncopate::capture {

namespace {

constexpr std::align_val_t huge_page{2U << 20U};

/// Copies between NHWC (`inside`) and model/1's order. Shapes that are no images have one order only.
template <class Copy>
void for_each_element(std::int64_t batch, const Shape& shape, Copy copy) {
  if (shape.size() != 3) {
    for (std::int64_t i = 0; i < batch * elements(shape); ++i) copy(i, i);
    return;
  }
  const std::int64_t pixels = shape[1] * shape[2];
  for (std::int64_t sample = 0; sample < batch; ++sample) {
    const std::int64_t start = sample * shape[0] * pixels;
    for (std::int64_t channel = 0; channel < shape[0]; ++channel) {
      for (std::int64_t pixel = 0; pixel < pixels; ++pixel) copy(start + pixel * shape[0] + channel, start + channel * pixels + pixel);
    }
  }
}

/// Moves buffers that an iteration overwrites to other pages of physical memory. The pages of a buffer make its layer up to 10% faster
/// or slower, so medians are taken over several placements.
void change_place(float* numbers, std::int64_t bytes) {
  madvise(numbers, static_cast<std::size_t>(bytes), MADV_DONTNEED);
  std::fill_n(numbers, bytes / static_cast<std::int64_t>(sizeof(float)), 0.0F);
}

void descend_sgd(float* value, const float* gradient, std::span<float> moving) {
  for (std::size_t i = 0; i < moving.size(); ++i) {
    moving[i] = momentum * moving[i] + gradient[i];
    value[i] -= learning_rate * moving[i];
  }
}

void descend_adam(float* value, const float* gradient, std::span<float> first, std::span<float> second, const AdamStep& step) {
  for (std::size_t i = 0; i < first.size(); ++i) {
    first[i] = adam_beta1 * first[i] + (1 - adam_beta1) * gradient[i];
    second[i] = adam_beta2 * second[i] + (1 - adam_beta2) * gradient[i] * gradient[i];
    value[i] -= step.rate * first[i] / (step.scale * std::sqrt(second[i]) + adam_epsilon);
  }
}

}  // namespace

CpuDevice::CpuDevice(int threads) : threads_(threads), engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
  if (dnnl_version()->cpu_runtime != DNNL_RUNTIME_OMP) {
    throw DeviceError(
        "--device cpu: this oneDNN was built without OpenMP, so its threads cannot be limited or timed; install a oneDNN with OpenMP");
  }
  omp_set_num_threads(threads);
  // A process that preempts this one also evicts its caches. Without the privilege the call changes nothing.
  constexpr int highest = -20;
  setpriority(PRIO_PROCESS, 0, highest);
}

void CpuDevice::FreeMemory::operator()(float* memory) const { operator delete(memory, huge_page); }

CpuDevice::Block CpuDevice::allocate(std::int64_t elements) {
  const auto page = static_cast<std::size_t>(huge_page);
  const std::size_t bytes = (static_cast<std::size_t>(elements) * sizeof(float) / page + 1) * page;
  Block memory(static_cast<float*>(operator new(bytes, huge_page)));
  madvise(memory.get(), bytes, MADV_HUGEPAGE);
  std::fill_n(memory.get(), bytes / sizeof(float), 0.0F);
  return memory;
}

void CpuDevice::set_up(const Network& network) {
  network_ = &network;
  require_ops(network, "CPU", [](std::string_view op) { return cpu_op(op) != nullptr; });
  const std::string needs = fmt::format("{} at batch {} needs {} and oneDNN's workspace", network.model.name, network.batch,
                                        format_bytes(network.memory.total()));
  const Bytes available = available_memory();
  if (network.memory.total() > available)
    throw DeviceError(fmt::format("{}, but only {} are free; choose a smaller --batch", needs, format_bytes(available)));
  try {
    build();
  } catch (const std::bad_alloc&) {
    throw DeviceError(fmt::format("{}, more than the system gives; choose a smaller --batch", needs));
  } catch (const dnnl::error& error) {
    if (error.status != dnnl_out_of_memory) throw;
    throw DeviceError(fmt::format("{}, more than the system gives; choose a smaller --batch", needs));
  }
}

void CpuDevice::build() {
  const Network& network = *network_;
  input_ = allocate(network.input_elements);
  activations_ = allocate(network.activation_bytes / static_cast<std::int64_t>(sizeof(float)));
  gradients_ = allocate(network.buffer_bytes / static_cast<std::int64_t>(sizeof(float)));
  write({Array::Kind::input}, random_input(network));
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const ModelLayer& described = network.model.layers[i];
    outputs_.push_back(network.layers[i].aliased
                           ? output(described.inputs[0])
                           : activations_.get() + network.layers[i].offset / static_cast<std::int64_t>(sizeof(float)));
    ops_.push_back(cpu_op(described.op->name)(layer_context(i)));
    sums_.push_back(sum_of(network.layers[i]));
    for (std::size_t tensor = 0; tensor < described.tensors.size(); ++tensor) {
      const std::size_t numbers = ops_[i]->parameters()[tensor].value.get_desc().get_size() / sizeof(float);
      states_.emplace_back(static_cast<std::size_t>(optimizer_states(network.optimizer)), std::vector<float>(numbers));
      write({Array::Kind::parameter, i, tensor}, initial_values(described, i, tensor));
    }
  }
  for (const std::size_t head : network.heads) {
    const NetworkLayer& layer = network.layers[head];
    const std::int64_t classes = CpuLayer::width(network.shape(head));
    losses_.emplace_back(layer.elements / classes, classes, outputs_[head], layer.trains ? gradient(layer.contributions.front()) : nullptr);
  }
}

CpuLayer CpuDevice::layer_context(std::size_t index) {
  const ModelLayer& described = network_->model.layers[index];
  const NetworkLayer& layer = network_->layers[index];
  const CpuParameter* table = layer.table == NetworkLayer::no_table ? nullptr : ops_[layer.table]->parameters().data();
  CpuLayer context = {engine_,
                      stream_,
                      described,
                      index,
                      network_->batch,
                      {},
                      {},
                      outputs_[index],
                      {},
                      gradient(layer.output_gradient),
                      iteration_,
                      table,
                      layer.adds_to_gradient};
  for (std::size_t slot = 0; slot < described.inputs.size(); ++slot) {
    context.shapes.push_back(network_->shape(described.inputs[slot]));
    context.inputs.push_back(output(described.inputs[slot]));
    context.input_gradients.push_back(gradient(layer.input_gradients[slot]));
  }
  return context;
}

float* CpuDevice::gradient(std::size_t buffer) {
  if (buffer == NetworkLayer::no_buffer) return nullptr;
  return gradients_.get() + network_->buffers[buffer].offset / static_cast<std::int64_t>(sizeof(float));
}

CpuOp::Step CpuDevice::sum_of(const NetworkLayer& layer) {
  CpuOp::Step sum;
  if (layer.contributions.size() < 2) return sum;
  const std::vector<dnnl::memory::desc> descs(layer.contributions.size(), flat_desc(layer.elements));
  sum.primitive = dnnl::sum({descs.front(), std::vector<float>(descs.size(), 1.0F), descs, engine_});
  for (std::size_t i = 0; i < descs.size(); ++i) {
    sum.arguments.emplace(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), dnnl::memory(descs[i], engine_, gradient(layer.contributions[i])));
  }
  sum.arguments.emplace(DNNL_ARG_DST, dnnl::memory(descs.front(), engine_, gradient(layer.output_gradient)));
  return sum;
}

void CpuDevice::begin(Run /*run*/) {
  constexpr std::uint32_t iterations_in_one_place = 4;
  if (++iteration_ % iterations_in_one_place == 0) {
    change_place(activations_.get(), network_->activation_bytes);
    change_place(gradients_.get(), network_->buffer_bytes);
  }
  marks_.clear();
}

void CpuDevice::forward(std::size_t layer) {
  if (layer < ops_.size()) return ops_[layer]->forward();
  for (CpuLoss& loss : losses_) loss.forward();
}

void CpuDevice::backward(std::size_t layer) {
  if (layer == ops_.size()) {
    for (const CpuLoss& loss : losses_) loss.backward();
    return;
  }
  if (!network_->layers[layer].trains) return;
  ops_[layer]->backward();
  for (const std::size_t summed : network_->layers[layer].sums) sums_[summed].primitive.execute(stream_, sums_[summed].arguments);
}

void CpuDevice::update() {
  const AdamStep step = adam_step(++updates_);
  auto state = states_.begin();
  for (const std::unique_ptr<CpuOp>& op : ops_) {
    for (const CpuParameter& parameter : op->parameters()) {
      auto* value = static_cast<float*>(parameter.value.get_data_handle());
      const auto* gradient = static_cast<const float*>(parameter.gradient.get_data_handle());
      if (network_->optimizer == Optimizer::adam) {
        descend_adam(value, gradient, (*state)[0], (*state)[1], step);
      } else {
        descend_sgd(value, gradient, (*state)[0]);
      }
      ++state;
    }
  }
}

void CpuDevice::mark() {
  timespec now = {};
  clock_gettime(threads_ == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  marks_.emplace_back(static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec));
}

std::vector<Seconds> CpuDevice::collect() {
  std::vector<Seconds> times;
  times.reserve(marks_.size());
  for (const Seconds mark : marks_) times.push_back(mark - marks_.front());
  return times;
}

std::pair<float*, Shape> CpuDevice::find(const Array& array) {
  if (array.kind == Array::Kind::input) return {input_.get(), network_->model.input};
  if (array.kind == Array::Kind::output) return {outputs_[array.layer], network_->shape(array.layer)};
  const NetworkLayer& layer = network_->layers[array.layer];
  if (array.kind == Array::Kind::output_gradient) return {gradient(layer.output_gradient), network_->shape(array.layer)};
  return {gradient(layer.input_gradients[array.index]), network_->shape(network_->model.layers[array.layer].inputs[array.index])};
}

std::vector<float> CpuDevice::read(const Array& array) {
  if (array.kind == Array::Kind::parameter || array.kind == Array::Kind::parameter_gradient) {
    const CpuParameter& found = parameter(array);
    std::vector<float> values(found.plain.get_size() / sizeof(float));
    dnnl::memory plain(found.plain, engine_, values.data());
    dnnl::memory source = array.kind == Array::Kind::parameter ? found.value : found.gradient;
    dnnl::reorder(source, plain).execute(stream_, source, plain);
    return values;
  }
  const auto [data, shape] = find(array);
  std::vector<float> values(static_cast<std::size_t>(network_->batch * elements(shape)));
  for_each_element(network_->batch, shape, [&, from = data](std::int64_t inside, std::int64_t outside) {
    values[static_cast<std::size_t>(outside)] = from[inside];
  });
  return values;
}

void CpuDevice::write(const Array& array, std::span<const float> values) {
  if (array.kind == Array::Kind::parameter || array.kind == Array::Kind::parameter_gradient) {
    std::vector<float> copy(values.begin(), values.end());
    dnnl::memory plain(parameter(array).plain, engine_, copy.data());
    dnnl::memory target = array.kind == Array::Kind::parameter ? parameter(array).value : parameter(array).gradient;
    dnnl::reorder(plain, target).execute(stream_, plain, target);
    return;
  }
  const auto [data, shape] = find(array);
  for_each_element(network_->batch, shape,
                   [&, to = data](std::int64_t inside, std::int64_t outside) { to[inside] = values[static_cast<std::size_t>(outside)]; });
}

double CpuDevice::loss() {
  double sum = 0;
  for (const CpuLoss& loss : losses_) sum += loss.value();
  return sum;
}

DeviceDescription CpuDevice::describe() const {
  DeviceDescription description;
  description.kind = "cpu";
  description.name = fmt::format("{}, {} thread{}", processor_name(), threads_, threads_ == 1 ? "" : "s");
  description.clock = threads_ == 1 ? "CPU time of the thread" : "wall";
  const dnnl_version_t* version = dnnl_version();
  description.software["onednn"] = fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
  const double frequency = processor_hertz();
  if (frequency > 0) description.clocks["processor_hz"] = frequency;
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    const std::vector<std::string> kernels = ops_[i]->kernels();
    if (!kernels.empty()) description.kernels[network_->model.layers[i].name] = kernels;
  }
  return description;
}

}  // namespace syncopate::capture
