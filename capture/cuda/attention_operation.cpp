#include "capture/cuda/attention_operation.hpp"

#include <array>
#include <optional>

namespace syncopate::capture {

namespace {

using Extents = std::array<std::int64_t, 4>;

/// Builds a graph from operations on tensors [samples, heads, ...] of one attention.
class Builder {
 public:
  using Tensor = const BackendDescriptor&;

  explicit Builder(const AttentionExtents& extents) : of_(extents) {}

  BackendGraph take() { return std::move(graph_); }

  /// [samples, heads, tokens, depth] of an array whose tokens are `step` numbers apart; if transposed, [samples, heads, depth, tokens].
  Tensor heads(std::int64_t id, std::int64_t step, bool transposed = false) {
    return describe(id, of_.type, heads_extents(transposed), heads_strides(step, transposed), TensorPlace::memory);
  }
  Tensor input(std::int64_t id, bool transposed = false) { return heads(id, of_.step, transposed); }
  Tensor output(std::int64_t id) { return heads(id, of_.heads * of_.depth); }
  /// The same, dense and in fp32.
  Tensor dense(std::int64_t id) { return describe(id, CUDNN_DATA_FLOAT, heads_extents(false), dense_strides(), TensorPlace::memory); }
  Tensor dense_between() { return between(CUDNN_DATA_FLOAT, heads_extents(false), dense_strides()); }

  /// A number per row of scores, in fp32.
  Tensor rows(std::int64_t id) { return describe(id, CUDNN_DATA_FLOAT, row_extents(), row_strides(), TensorPlace::memory); }
  Tensor rows_between() { return between(CUDNN_DATA_FLOAT, row_extents(), row_strides()); }

  /// [samples, heads, tokens, tokens].
  Tensor squares(cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    const std::int64_t square = of_.tokens * of_.tokens;
    return between(type, {of_.samples, of_.heads, of_.tokens, of_.tokens}, {of_.heads * square, square, of_.tokens, 1});
  }

  Tensor number(std::int64_t id) { return describe(id, CUDNN_DATA_FLOAT, {1, 1, 1, 1}, {1, 1, 1, 1}, TensorPlace::host); }

  void multiply(Tensor left, Tensor right, Tensor result) {
    constexpr cudnnDataType_t sums = CUDNN_DATA_FLOAT;
    BackendDescriptor product(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    product.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &sums);
    product.finalize();
    BackendDescriptor operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, left);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, right);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, result);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, graph_.keep(std::move(product)));
    graph_.add(std::move(operation));
  }

  void reduce(cudnnReduceTensorOp_t reduction, Tensor numbers, Tensor result) {
    constexpr cudnnDataType_t sums = CUDNN_DATA_FLOAT;
    BackendDescriptor reducer(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    reducer.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &reduction);
    reducer.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &sums);
    reducer.finalize();
    BackendDescriptor operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, numbers);
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, result);
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, graph_.keep(std::move(reducer)));
    graph_.add(std::move(operation));
  }

  /// Element by element; the second tensor may have one number for many of the first.
  Tensor apply(cudnnPointwiseMode_t mode, Tensor x, Tensor result) {
    graph_.add(pointwise(mode, x, result));
    return result;
  }
  Tensor apply(cudnnPointwiseMode_t mode, Tensor x, Tensor y, Tensor result, cudnnDataType_t precision = CUDNN_DATA_FLOAT) {
    BackendDescriptor operation = pointwise(mode, x, result, precision);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, y);
    graph_.add(std::move(operation));
    return result;
  }

  /// The scores, but `masked` where a later token is attended to.
  Tensor causal(Tensor scores) {
    if (!of_.causal) return scores;
    const Tensor row = index(scores, 2);
    const Tensor column = index(scores, 3);
    const Tensor attended = apply(CUDNN_POINTWISE_CMP_GE, row, column, squares(CUDNN_DATA_BOOLEAN), CUDNN_DATA_BOOLEAN);
    const Tensor result = squares();
    BackendDescriptor operation = pointwise(CUDNN_POINTWISE_BINARY_SELECT, scores, result);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, number(AttentionTensor::masked));
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, attended);
    graph_.add(std::move(operation));
    return result;
  }

  /// The transposed squares, in the inputs' format, as a factor of a product.
  Tensor transpose(Tensor numbers) {
    const std::int64_t square = of_.tokens * of_.tokens;
    return reshape(numbers,
                   between(of_.type, {of_.samples, of_.heads, of_.tokens, of_.tokens}, {of_.heads * square, square, 1, of_.tokens}));
  }
  /// An input that was described as transposed, as it lies in memory.
  Tensor transpose_back(Tensor numbers) {
    return reshape(numbers, between(of_.type, heads_extents(false), heads_strides(of_.step, false)));
  }

 private:
  Tensor describe(std::int64_t id, cudnnDataType_t type, const Extents& extents, const Extents& strides, TensorPlace place) {
    return graph_.keep(describe_tensor(id, type, extents, strides, place));
  }
  Tensor between(cudnnDataType_t type, const Extents& extents, const Extents& strides) {
    return describe(next_id_++, type, extents, strides, TensorPlace::between);
  }

  Extents heads_extents(bool transposed) const {
    if (transposed) return {of_.samples, of_.heads, of_.depth, of_.tokens};
    return {of_.samples, of_.heads, of_.tokens, of_.depth};
  }
  Extents heads_strides(std::int64_t step, bool transposed) const {
    if (transposed) return {of_.tokens * step, of_.depth, 1, step};
    return {of_.tokens * step, of_.depth, step, 1};
  }
  Extents dense_strides() const { return {of_.heads * of_.tokens * of_.depth, of_.tokens * of_.depth, of_.depth, 1}; }
  Extents row_extents() const { return {of_.samples, of_.heads, of_.tokens, 1}; }
  Extents row_strides() const { return {of_.heads * of_.tokens, of_.tokens, 1, 1}; }

  /// The place of each of the numbers along an axis.
  Tensor index(Tensor numbers, std::int64_t axis) {
    const Tensor result = squares(CUDNN_DATA_INT32);
    graph_.add(pointwise(CUDNN_POINTWISE_GEN_INDEX, numbers, result, CUDNN_DATA_FLOAT, axis));
    return result;
  }

  Tensor reshape(Tensor numbers, Tensor result) {
    BackendDescriptor operation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, numbers);
    operation.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, result);
    graph_.add(std::move(operation));
    return result;
  }

  BackendDescriptor pointwise(cudnnPointwiseMode_t mode, Tensor x, Tensor result, cudnnDataType_t precision = CUDNN_DATA_FLOAT,
                              std::optional<std::int64_t> axis = {}) {
    BackendDescriptor function(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    function.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
    function.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &precision);
    if (axis) function.set(CUDNN_ATTR_POINTWISE_AXIS, {&*axis, 1});
    function.finalize();
    BackendDescriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, graph_.keep(std::move(function)));
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, result);
    return operation;
  }

  AttentionExtents of_;
  BackendGraph graph_;
  std::int64_t next_id_ = 100;  // of tensors between operations
};

}  // namespace

BackendGraph attention_forward_graph(const AttentionExtents& extents) {
  Builder builder(extents);
  const auto& products = builder.squares();
  builder.multiply(builder.input(AttentionTensor::query), builder.input(AttentionTensor::key, true), products);
  const auto& scores =
      builder.causal(builder.apply(CUDNN_POINTWISE_MUL, products, builder.number(AttentionTensor::scale), builder.squares()));

  const auto& largest = builder.rows_between();
  builder.reduce(CUDNN_REDUCE_TENSOR_MAX, scores, largest);
  const auto& differences = builder.apply(CUDNN_POINTWISE_SUB, scores, largest, builder.squares());
  const auto& exponentials = builder.apply(CUDNN_POINTWISE_EXP, differences, builder.squares());
  const auto& sum = builder.rows_between();
  builder.reduce(CUDNN_REDUCE_TENSOR_ADD, exponentials, sum);
  const auto& logarithm = builder.apply(CUDNN_POINTWISE_LOG, sum, builder.rows_between());
  builder.apply(CUDNN_POINTWISE_ADD, largest, logarithm, builder.rows(AttentionTensor::statistics));

  const auto& weights = builder.apply(CUDNN_POINTWISE_DIV, exponentials, sum, builder.squares(extents.type));
  builder.multiply(weights, builder.input(AttentionTensor::value), builder.output(AttentionTensor::output));
  return builder.take();
}

BackendGraph attention_backward_graph(const AttentionExtents& extents) {
  Builder builder(extents);
  const auto& query = builder.input(AttentionTensor::query);
  const auto& key = builder.input(AttentionTensor::key, true);
  const auto& gradient = builder.output(AttentionTensor::output_gradient);
  const auto& scale = builder.number(AttentionTensor::scale);

  const auto& terms = builder.apply(CUDNN_POINTWISE_MUL, gradient, builder.output(AttentionTensor::output), builder.dense_between());
  const auto& sum = builder.rows_between();
  builder.reduce(CUDNN_REDUCE_TENSOR_ADD, terms, sum);
  // The frontend's graphs have dropout's factor here, also without dropout.
  const auto& sums = builder.apply(CUDNN_POINTWISE_MUL, sum, builder.number(AttentionTensor::one), builder.rows(AttentionTensor::sums));

  const auto& products = builder.squares();
  builder.multiply(query, key, products);
  const auto& scores = builder.apply(CUDNN_POINTWISE_MUL, products, scale, builder.squares());
  const auto& logarithms =
      builder.causal(builder.apply(CUDNN_POINTWISE_SUB, scores, builder.rows(AttentionTensor::statistics), builder.squares()));
  const auto& weights = builder.apply(CUDNN_POINTWISE_EXP, logarithms, builder.squares());
  builder.multiply(builder.transpose(weights), gradient, builder.input(AttentionTensor::value_gradient));

  const auto& weight_gradients = builder.squares();
  builder.multiply(gradient, builder.input(AttentionTensor::value, true), weight_gradients);
  const auto& excess = builder.apply(CUDNN_POINTWISE_SUB, weight_gradients, sums, builder.squares());
  const auto& score_gradients =
      builder.apply(CUDNN_POINTWISE_MUL, builder.apply(CUDNN_POINTWISE_MUL, excess, weights, builder.squares()), scale, builder.squares());
  builder.multiply(builder.transpose(score_gradients), query, builder.input(AttentionTensor::key_gradient));

  const auto& query_gradient = builder.dense(AttentionTensor::query_gradient_sum);
  builder.multiply(score_gradients, builder.transpose_back(key), query_gradient);
  builder.apply(CUDNN_POINTWISE_IDENTITY, query_gradient, builder.input(AttentionTensor::query_gradient));
  return builder.take();
}

}  // namespace syncopate::capture
