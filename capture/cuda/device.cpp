#include "capture/cuda/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/table.hpp"
#include "base/text.hpp"
#include "capture/random_values.hpp"

namespace syncopate::capture {

namespace {

constexpr std::size_t fewest_marks = 128;
constexpr std::size_t marks_in_stretch = 48;  // with at most ten launches per mark, a stretch fits into the launch queue

}  // namespace

CudaDevice::CudaDevice(int gpu) : gpu_(gpu) {
  tools_.stream = gpu_.stream();
  try {
    tools_.cudnn = CudnnHandle(cudnnCreate, "cudnnCreate");
    check(cudnnSetStream(tools_.cudnn.get(), tools_.stream), "cudnnSetStream");
    tools_.cublas = CublasHandle(cublasCreate, "cublasCreate");
    check(cublasSetStream(tools_.cublas.get(), tools_.stream), "cublasSetStream");
    tools_.cublas_lt = CublasLtHandle(cublasLtCreate, "cublasLtCreate");
  } catch (const std::runtime_error& error) {
    throw gpu_.unusable(error.what());
  }
}

void CudaDevice::set_up(const Network& network) {
  network_ = &network;
  require_ops(network, "CUDA", [](std::string_view op) { return cuda_op(op) != nullptr; });
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    if (network.layers[i].elements <= std::numeric_limits<std::int32_t>::max()) continue;
    throw InputError(
        fmt::format("{}: layer {}: at batch {} its output has {} elements, but cuDNN supports at most 2147483647; choose a smaller --batch",
                    network.model.file, network.model.layers[i].name, network.batch, network.layers[i].elements));
  }
  std::size_t free = 0;
  std::size_t all = 0;
  check(cudaMemGetInfo(&free, &all), "cudaMemGetInfo");
  const auto too_small = [&] {
    return DeviceError(
        fmt::format("{} at batch {} needs {} and cuDNN's workspace, but only {} of {} are free on {}; choose a smaller --batch{}",
                    network.model.name, network.batch, format_bytes(network.memory.total()), format_bytes(Bytes(static_cast<double>(free))),
                    format_bytes(Bytes(static_cast<double>(all))), gpu_.name(), network.element_bytes > 2 ? " or --dtype bf16" : ""));
  };
  if (network.memory.total() > Bytes(static_cast<double>(free))) throw too_small();
  try {
    build();
  } catch (const OutOfDeviceMemory&) {
    throw too_small();
  }
}

void CudaDevice::build() {
  const Network& network = *network_;
  tools_.number = network.dtype == "fp16" ? Number::fp16 : network.dtype == "bf16" ? Number::bf16 : Number::fp32;
  tools_.tf32 = network.dtype == "tf32";
  const std::int64_t input_bytes = input_is_ids() ? static_cast<std::int64_t>(sizeof(std::int32_t)) : network.element_bytes;
  input_ = tools_.allocate(network.input_elements * input_bytes);
  activations_ = tools_.allocate(network.activation_bytes);
  gradients_ = tools_.allocate(network.buffer_bytes);
  loss_ = tools_.allocate(sizeof(double));
  for (std::size_t i = 0; i < network.layers.size(); ++i) add_layer(i);
  for (const std::size_t head : network.heads) add_loss(head);
  prepare_update();
  write({Array::Kind::input}, random_input(network));
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const ModelLayer& described = network.model.layers[i];
    for (std::size_t tensor = 0; tensor < described.tensors.size(); ++tensor)
      write({Array::Kind::parameter, i, tensor}, initial_values(described, i, tensor));
  }
  prepare_ops();
  while (marks_.size() < std::max(fewest_marks, 2 * network.layers.size() + 4)) marks_.emplace_back(cudaEventCreate, "cudaEventCreate");
}

void CudaDevice::add_layer(std::size_t index) {
  const ModelLayer& described = network_->model.layers[index];
  const NetworkLayer& layer = network_->layers[index];
  outputs_.push_back(layer.aliased ? output(described.inputs[0]) : activations_.at(layer.offset));
  ops_.push_back(cuda_op(described.op->name)(layer_context(index)));
  contributions_.emplace_back();
  if (layer.contributions.size() < 2) return;
  for (const std::size_t buffer : layer.contributions) contributions_.back().push_back(gradient(buffer));
}

void CudaDevice::add_loss(std::size_t head) {
  const NetworkLayer& layer = network_->layers[head];
  const Shape& shape = network_->shape(head);
  const bool planes = shape.size() == 3 && network_->layout == Layout::channels_first;
  const std::int64_t classes = shape.size() == 3 ? shape[0] : shape.back();
  const std::int64_t inner = planes ? elements(shape) / classes : 1;
  losses_.emplace_back(tools_, Logits{layer.elements / classes / inner, classes, inner}, outputs_[head],
                       layer.trains ? gradient(layer.contributions.front()) : nullptr);
}

/// Fills memory with random numbers before trials: kernels are faster on zeros.
void CudaDevice::fill(const DeviceMemory& memory) const {
  constexpr std::int64_t count = std::int64_t{1} << 20U;
  const std::vector<float> numbers = random_numbers(count);
  const DeviceMemory plain = tools_.allocate(count * number_bytes(Number::fp32));
  const DeviceMemory piece = tools_.allocate(count * number_bytes(tools_.number));
  copy_to_device(plain.data(), numbers.data(), plain.bytes(), tools_.stream);
  convert(tools_.stream, plain.data(), Number::fp32, piece.data(), tools_.number, count);
  for (std::size_t done = 0; done < memory.bytes(); done += piece.bytes()) {
    check(cudaMemcpyAsync(memory.at(static_cast<std::int64_t>(done)), piece.data(), std::min(piece.bytes(), memory.bytes() - done),
                          cudaMemcpyDeviceToDevice, tools_.stream),
          "cudaMemcpyAsync");
  }
  check(cudaStreamSynchronize(tools_.stream), "cudaStreamSynchronize");
}

/// Libraries try their algorithms with a large workspace. Afterwards only the workspace of the chosen algorithms is kept.
void CudaDevice::prepare_ops() {
  constexpr std::size_t share = 4;
  constexpr std::size_t most = std::size_t{4} << 30U;
  std::size_t free = 0;
  std::size_t all = 0;
  check(cudaMemGetInfo(&free, &all), "cudaMemGetInfo");
  tools_.workspace = tools_.allocate(static_cast<std::int64_t>(std::min(free / share, most)));
  fill(activations_);
  fill(gradients_);
  std::size_t needed = 0;
  for (const std::unique_ptr<CudaOp>& op : ops_) needed = std::max(needed, op->prepare());
  check(cudaStreamSynchronize(tools_.stream), "cudaStreamSynchronize");
  cudaGetLastError();  // clears the error of an algorithm that failed in its trial
  tools_.workspace = {};
  tools_.workspace = tools_.allocate(static_cast<std::int64_t>(needed));
}

void CudaDevice::prepare_update() {
  std::vector<DescentPiece> pieces;
  for (const std::unique_ptr<CudaOp>& op : ops_) {
    first_descent_.push_back(descents_.size());
    for (const CudaParameter& parameter : op->parameters()) {
      const std::int64_t bytes = parameter.count() * number_bytes(Number::fp32);
      auto* first = optimizer_memory_.emplace_back(tools_.allocate(bytes)).as<float>();
      auto* second = network_->optimizer == Optimizer::adam ? optimizer_memory_.emplace_back(tools_.allocate(bytes)).as<float>() : nullptr;
      auto* master = parameter.number == Number::fp32 ? parameter.value.as<float>()
                                                      : optimizer_memory_.emplace_back(tools_.allocate(bytes)).as<float>();
      const auto tensor = static_cast<std::int64_t>(descents_.size());
      for (std::int64_t start = 0; start < parameter.count(); start += DescentPiece::elements) pieces.push_back({tensor, start});
      descents_.push_back({master, parameter.value.data(), parameter.gradient.data(), first, second, parameter.count(), parameter.number});
    }
  }
  if (descents_.empty()) return;
  const std::size_t bytes = descents_.size() * sizeof(Descent);
  device_descents_ = tools_.allocate(static_cast<std::int64_t>(bytes));
  copy_to_device(device_descents_.data(), descents_.data(), bytes, tools_.stream);
  descent_piece_count_ = static_cast<std::int64_t>(pieces.size());
  descent_pieces_ = tools_.allocate(static_cast<std::int64_t>(pieces.size() * sizeof(DescentPiece)));
  copy_to_device(descent_pieces_.data(), pieces.data(), pieces.size() * sizeof(DescentPiece), tools_.stream);
}

CudaLayer CudaDevice::layer_context(std::size_t index) {
  const ModelLayer& described = network_->model.layers[index];
  const NetworkLayer& layer = network_->layers[index];
  const CudaParameter* table = layer.table == NetworkLayer::no_table ? nullptr : ops_[layer.table]->parameters().data();
  CudaLayer context = {tools_,     *network_, described, index, {}, {}, outputs_[index], {}, gradient(layer.output_gradient),
                       iteration_, table};
  for (std::size_t slot = 0; slot < described.inputs.size(); ++slot) {
    context.shapes.push_back(network_->shape(described.inputs[slot]));
    context.inputs.push_back(output(described.inputs[slot]));
    context.input_gradients.push_back(gradient(layer.input_gradients[slot]));
  }
  return context;
}

void* CudaDevice::gradient(std::size_t buffer) {
  return buffer == NetworkLayer::no_buffer ? nullptr : gradients_.at(network_->buffers[buffer].offset);
}

void CudaDevice::begin(Run run) {
  ++iteration_;
  marked_ = 0;
  held_after_.clear();
  run_ = run;
  graph_ = {};
  if (run == Run::queued) wait_for_host();
  if (run == Run::graph) check(cudaStreamBeginCapture(tools_.stream, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
  begun_ = HostClock::now();
}

void CudaDevice::end_graph() {
  const GraphDescription described([this](cudaGraph_t* graph) { return cudaStreamEndCapture(tools_.stream, graph); },
                                   "cudaStreamEndCapture");
  graph_ = GraphHandle([&described](cudaGraphExec_t* graph) { return cudaGraphInstantiateWithFlags(graph, described.get(), 0); },
                       "cudaGraphInstantiateWithFlags");
}

/// Makes the device wait while the host queues a stretch.
void CudaDevice::wait_for_host() {
  constexpr std::chrono::nanoseconds shortest = std::chrono::microseconds(100);
  constexpr std::chrono::nanoseconds longest = std::chrono::milliseconds(100);
  constexpr int margin = 3;  // backward queues more work than forward, and the host's speed varies
  const auto wait = queueing_ ? std::clamp(*queueing_ * margin, shortest, longest) : longest / 10;
  delay(tools_.stream, static_cast<std::uint64_t>(wait.count()));
}

/// A launch queue holds about a thousand launches; large networks need several thousand. So the device waits for the host after every
/// stretch. collect() subtracts the waiting time.
void CudaDevice::hold() {
  if (held_after_.empty()) queued_ = HostClock::now();
  if (held_after_.size() == resumed_.size()) resumed_.emplace_back(cudaEventCreate, "cudaEventCreate");
  wait_for_host();
  record(resumed_[held_after_.size()], tools_.stream);
  held_after_.push_back(marked_ - 1);
}

void CudaDevice::forward(std::size_t layer) {
  if (layer < ops_.size()) return ops_[layer]->forward();
  check(cudaMemsetAsync(loss_.data(), 0, loss_.bytes(), tools_.stream), "cudaMemsetAsync");
  for (const CudaLoss& loss : losses_) loss.forward(loss_.as<double>());
}

void CudaDevice::backward(std::size_t layer) {
  if (layer == ops_.size()) {
    for (const CudaLoss& loss : losses_) loss.backward();
    return;
  }
  const NetworkLayer& planned = network_->layers[layer];
  if (!planned.trains) return;
  ops_[layer]->backward();
  for (const std::size_t summed : planned.sums) {
    const NetworkLayer& of = network_->layers[summed];
    sum(tools_.queue(), contributions_[summed], gradient(of.output_gradient), of.elements);
  }
}

void CudaDevice::update() {
  descend(tools_.stream, device_descents_.as<Descent>(), descent_pieces_.as<DescentPiece>(), descent_piece_count_, adam_step(++updates_));
  if (iteration_ == 1 || run_ == Run::graph) return;  // the first iteration also loads kernels
  // The first stretch begins with an empty queue, so its time is the host's work only.
  const HostClock::duration stretch = (held_after_.empty() ? HostClock::now() : queued_) - begun_;
  queueing_ = std::min<std::chrono::nanoseconds>(queueing_.value_or(HostClock::duration::max()), stretch);
}

void CudaDevice::mark() {
  if (marked_ == marks_.size()) marks_.emplace_back(cudaEventCreate, "cudaEventCreate");
  const EventHandle& event = marks_[marked_++];
  if (run_ == Run::graph) return record_in_graph(event, tools_.stream);
  record(event, tools_.stream);
  if (run_ == Run::queued && marked_ % marks_in_stretch == 0) hold();
}

std::vector<Seconds> CudaDevice::collect() {
  if (run_ == Run::graph) {
    if (graph_.get() == nullptr) end_graph();
    check(cudaGraphLaunch(graph_.get(), tools_.stream), "cudaGraphLaunch");
  }
  check(cudaStreamSynchronize(tools_.stream), "cudaStreamSynchronize");
  std::vector<Seconds> times;
  times.reserve(marked_);
  Seconds held;
  auto hold = held_after_.begin();
  for (std::size_t i = 0; i < marked_; ++i) {
    times.push_back(elapsed(marks_.front(), marks_[i]) - held);
    if (hold == held_after_.end() || *hold != i) continue;
    held += elapsed(marks_[i], resumed_[static_cast<std::size_t>(hold - held_after_.begin())]);
    ++hold;
  }
  return times;
}

std::unique_ptr<Device> make_cuda(int gpu) { return std::make_unique<CudaDevice>(gpu); }

}  // namespace syncopate::capture
