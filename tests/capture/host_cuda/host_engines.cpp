#include "host_engines.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <vector>

#include "capture/cuda/attention_operation.hpp"
#include "capture/cuda/op.hpp"

namespace host_cuda {

bool has_engines = false;
std::size_t version = syncopate::capture::fused_attention_since;
cudnnStatus_t finalized = CUDNN_STATUS_SUCCESS;
std::size_t graphs_run = 0;

}  // namespace host_cuda

namespace syncopate::capture {

namespace {

using Index = std::array<std::int64_t, 4>;

struct Tensor {
  std::int64_t id;
  cudnnDataType_t type;
  bool between;  ///< two operations; else in memory
  Index extents;
  Index strides;

  /// The place of an element; along an axis of extent 1 all are the same.
  std::size_t at(const Index& index) const {
    std::int64_t place = 0;
    for (std::size_t i = 0; i < index.size(); ++i) place += extents[i] == 1 ? 0 : index[i] * strides[i];
    return static_cast<std::size_t>(place);
  }
  std::int64_t count() const {
    Index last = extents;
    for (std::int64_t& extent : last) --extent;
    return static_cast<std::int64_t>(at(last)) + 1;
  }
  std::optional<Number> number() const {
    if (type == CUDNN_DATA_FLOAT) return Number::fp32;
    if (type == CUDNN_DATA_HALF) return Number::fp16;
    if (type == CUDNN_DATA_BFLOAT16) return Number::bf16;
    return std::nullopt;  // of indices and truths, which are whole
  }
};

template <class Visit>
void for_each(const Index& extents, Visit visit) {
  for (Index i{}; i[0] < extents[0]; ++i[0]) {
    for (i[1] = 0; i[1] < extents[1]; ++i[1]) {
      for (i[2] = 0; i[2] < extents[2]; ++i[2]) {
        for (i[3] = 0; i[3] < extents[3]; ++i[3]) visit(i);
      }
    }
  }
}

/// What was set of a descriptor.
struct Described {
  cudnnBackendDescriptorType_t type;
  std::map<cudnnBackendAttributeName_t, std::vector<std::byte>> attributes;

  template <class Value>
  Value get(cudnnBackendAttributeName_t name) const {
    const std::vector<std::byte>& bytes = attributes.at(name);
    Value value{};
    if (bytes.size() != sizeof(Value)) throw std::logic_error("an attribute of a graph has another type");
    std::memcpy(&value, bytes.data(), sizeof(Value));
    return value;
  }
};

const Described& described(const BackendDescriptor& descriptor) { return *static_cast<const Described*>(descriptor.get()); }

const Described& part_of(const Described& operation, cudnnBackendAttributeName_t name) { return *operation.get<const Described*>(name); }

Tensor tensor_of(const Described& operation, cudnnBackendAttributeName_t name) {
  const Described& tensor = part_of(operation, name);
  const auto id = tensor.get<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
  const bool on_host = id == AttentionTensor::scale || id == AttentionTensor::masked || id == AttentionTensor::one;
  if (tensor.get<bool>(CUDNN_ATTR_TENSOR_IS_BY_VALUE) != on_host)
    throw std::logic_error("a graph takes a number of the host from the device's memory, or the other way round");
  return {id, tensor.get<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE), tensor.get<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL),
          tensor.get<Index>(CUDNN_ATTR_TENSOR_DIMENSIONS), tensor.get<Index>(CUDNN_ATTR_TENSOR_STRIDES)};
}

std::size_t bytes_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_BOOLEAN: return sizeof(bool);
    case CUDNN_TYPE_INT64: return sizeof(std::int64_t);
    case CUDNN_TYPE_BACKEND_DESCRIPTOR: return sizeof(void*);
    case CUDNN_TYPE_DATA_TYPE: return sizeof(cudnnDataType_t);
    case CUDNN_TYPE_POINTWISE_MODE: return sizeof(cudnnPointwiseMode_t);
    case CUDNN_TYPE_REDUCTION_OPERATOR_TYPE: return sizeof(cudnnReduceTensorOp_t);
    default: throw std::logic_error("a graph has an attribute whose type the host lacks");
  }
}

float compute(cudnnPointwiseMode_t mode, float x, float y, float chosen) {
  switch (mode) {
    case CUDNN_POINTWISE_IDENTITY: return x;
    case CUDNN_POINTWISE_ADD: return x + y;
    case CUDNN_POINTWISE_SUB: return x - y;
    case CUDNN_POINTWISE_MUL: return x * y;
    case CUDNN_POINTWISE_DIV: return x / y;
    case CUDNN_POINTWISE_EXP: return std::exp(x);
    case CUDNN_POINTWISE_LOG: return std::log(x);
    case CUDNN_POINTWISE_CMP_GE: return x >= y ? 1.0F : 0.0F;
    case CUDNN_POINTWISE_BINARY_SELECT: return chosen != 0 ? x : y;
    default: throw std::logic_error("a graph has an operation that the host lacks");
  }
}

class GraphRun {
 public:
  explicit GraphRun(std::map<std::int64_t, void*> arguments) : arguments_(std::move(arguments)) {}

  void run(const Described& operation) {
    switch (operation.type) {
      case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR: return multiply(operation);
      case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR: return reduce(operation);
      case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR: return reshape(operation);
      case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR: return apply(operation);
      default: throw std::logic_error("a graph has an operation that the host lacks");
    }
  }

 private:
  std::vector<float> read(const Tensor& tensor) const {
    if (tensor.between) return between_.at(tensor.id);
    std::vector<float> values(static_cast<std::size_t>(tensor.count()));
    convert(nullptr, arguments_.at(tensor.id), tensor.number().value(), values.data(), Number::fp32, tensor.count());
    return values;
  }

  void write(const Tensor& tensor, const std::function<float(const Index&)>& value) {
    std::vector<float> values = tensor.between ? std::vector<float>(static_cast<std::size_t>(tensor.count())) : read(tensor);
    for_each(tensor.extents, [&](const Index& i) { values[tensor.at(i)] = value(i); });
    put(tensor, std::move(values));
  }

  void put(const Tensor& tensor, std::vector<float> values) {
    if (!tensor.between)
      return convert(nullptr, values.data(), Number::fp32, arguments_.at(tensor.id), tensor.number().value(), tensor.count());
    if (tensor.number().value_or(Number::fp32) != Number::fp32) {
      std::vector<std::uint16_t> rounded(values.size());
      convert(nullptr, values.data(), Number::fp32, rounded.data(), *tensor.number(), tensor.count());
      convert(nullptr, rounded.data(), *tensor.number(), values.data(), Number::fp32, tensor.count());
    }
    between_[tensor.id] = std::move(values);
  }

  void multiply(const Described& operation) {
    const Tensor left = tensor_of(operation, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
    const Tensor right = tensor_of(operation, CUDNN_ATTR_OPERATION_MATMUL_BDESC);
    const std::vector<float> lefts = read(left);
    const std::vector<float> rights = read(right);
    write(tensor_of(operation, CUDNN_ATTR_OPERATION_MATMUL_CDESC), [&](const Index& i) {
      float sum = 0;
      for (std::int64_t k = 0; k < left.extents[3]; ++k)
        sum += lefts[left.at({i[0], i[1], i[2], k})] * rights[right.at({i[0], i[1], k, i[3]})];
      return sum;
    });
  }

  /// Over the last axis.
  void reduce(const Described& operation) {
    const auto mode = part_of(operation, CUDNN_ATTR_OPERATION_REDUCTION_DESC).get<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR);
    const bool maximum = mode == CUDNN_REDUCE_TENSOR_MAX;
    if (!maximum && mode != CUDNN_REDUCE_TENSOR_ADD) throw std::logic_error("a graph has a reduction that the host lacks");
    const Tensor from = tensor_of(operation, CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
    const std::vector<float> values = read(from);
    write(tensor_of(operation, CUDNN_ATTR_OPERATION_REDUCTION_YDESC), [&](const Index& i) {
      float result = maximum ? -std::numeric_limits<float>::infinity() : 0.0F;
      for (std::int64_t k = 0; k < from.extents[3]; ++k) {
        const float value = values[from.at({i[0], i[1], i[2], k})];
        result = maximum ? std::max(result, value) : result + value;
      }
      return result;
    });
  }

  /// The same numbers in the same order of memory.
  void reshape(const Described& operation) {
    put(tensor_of(operation, CUDNN_ATTR_OPERATION_RESHAPE_YDESC), read(tensor_of(operation, CUDNN_ATTR_OPERATION_RESHAPE_XDESC)));
  }

  void apply(const Described& operation) {
    const Described& function = part_of(operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    const auto mode = function.get<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
    const Tensor result = tensor_of(operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    if (mode == CUDNN_POINTWISE_GEN_INDEX) {
      const auto axis = static_cast<std::size_t>(function.get<std::int64_t>(CUDNN_ATTR_POINTWISE_AXIS));
      return write(result, [axis](const Index& i) { return static_cast<float>(i.at(axis)); });
    }
    const auto input = [&](cudnnBackendAttributeName_t name) -> std::function<float(const Index&)> {
      if (!operation.attributes.contains(name)) return [](const Index&) { return 0.0F; };
      const Tensor tensor = tensor_of(operation, name);
      return [tensor, values = read(tensor)](const Index& i) { return values[tensor.at(i)]; };
    };
    const auto x = input(CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
    const auto y = input(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
    const auto chosen = input(CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
    write(result, [&](const Index& i) { return compute(mode, x(i), y(i), chosen(i)); });
  }

  std::map<std::int64_t, void*> arguments_;
  std::map<std::int64_t, std::vector<float>> between_;
};

std::map<const EnginePass*, BackendGraph>& chosen_graphs() {
  static std::map<const EnginePass*, BackendGraph> graphs;
  return graphs;
}

}  // namespace

// NOLINTBEGIN(readability-convert-member-functions-to-static): as they are declared
bool EnginePass::choose(const std::string& /*key*/, BackendGraph graph) {
  if (host_cuda::has_engines) chosen_graphs().insert_or_assign(this, std::move(graph));
  use_.reason = host_cuda::has_engines ? "" : "the host has no engines";
  return host_cuda::has_engines;
}

void EnginePass::run() {
  std::map<std::int64_t, void*> arguments;
  for (const PlanArgument& argument : arguments_) arguments[argument.id] = argument.numbers;
  std::vector<std::vector<std::byte>> scratch;
  for (const ScratchArgument& argument : scratch_)
    arguments[argument.id] = scratch.emplace_back(argument.bytes, std::byte{0xFF}).data();  // no numbers
  GraphRun graph(std::move(arguments));
  for (const BackendDescriptor& operation : chosen_graphs().at(this).operations()) graph.run(described(operation));
  ++host_cuda::graphs_run;
}

std::size_t EnginePass::scratch_bytes() const { return 0; }
// NOLINTEND(readability-convert-member-functions-to-static)

}  // namespace syncopate::capture

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t descriptorType, cudnnBackendDescriptor_t* descriptor) {
  *descriptor = new syncopate::capture::Described{descriptorType, {}};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  delete static_cast<syncopate::capture::Described*>(descriptor);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t attributeName,
                                       cudnnBackendAttributeType_t attributeType, std::int64_t elementCount, const void* arrayOfElements) {
  const auto* first = static_cast<const std::byte*>(arrayOfElements);
  const std::size_t bytes = static_cast<std::size_t>(elementCount) * syncopate::capture::bytes_of(attributeType);
  static_cast<syncopate::capture::Described*>(descriptor)->attributes[attributeName].assign(first, first + bytes);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t /*descriptor*/) { return host_cuda::finalized; }

std::size_t cudnnGetVersion() { return host_cuda::version; }
