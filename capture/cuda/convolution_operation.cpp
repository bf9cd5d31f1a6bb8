#include "capture/cuda/convolution_operation.hpp"

namespace syncopate::capture {

namespace {

// Names of the tensors among a plan's arguments.
constexpr std::int64_t input_id = 'x';
constexpr std::int64_t filter_id = 'w';
constexpr std::int64_t output_id = 'y';

BackendDescriptor tensor(std::int64_t id, const std::array<std::int64_t, 4>& extents, const ConvolutionExtents& convolution) {
  const std::int64_t channels = extents[1];
  const std::int64_t height = extents[2];
  const std::int64_t width = extents[3];
  const std::array<std::int64_t, 4> first = {channels * height * width, height * width, width, 1};
  const std::array<std::int64_t, 4> last = {channels * height * width, 1, width * channels, channels};
  return describe_tensor(id, convolution.type, extents, convolution.channels_last ? last : first);
}

BackendDescriptor steps(const ConvolutionExtents& convolution) {
  constexpr cudnnDataType_t sums = CUDNN_DATA_FLOAT;
  constexpr cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  constexpr std::int64_t dimensions = 2;
  constexpr std::array<std::int64_t, 2> dense = {1, 1};
  BackendDescriptor descriptor(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  descriptor.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &sums);
  descriptor.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
  descriptor.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {&dimensions, 1});
  descriptor.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, dense);
  descriptor.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, convolution.stride);
  descriptor.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, convolution.pad);
  descriptor.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, convolution.pad);
  descriptor.finalize();
  return descriptor;
}

/// cuDNN's names for a pass.
struct PassNames {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t input;
  cudnnBackendAttributeName_t filter;
  cudnnBackendAttributeName_t output;
  cudnnBackendAttributeName_t steps;
  cudnnBackendAttributeName_t alpha;
  cudnnBackendAttributeName_t beta;
};

PassNames names_of(ConvolutionPass pass) {
  switch (pass) {
    case ConvolutionPass::forward:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case ConvolutionPass::backward_data:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case ConvolutionPass::backward_filter: break;
  }
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
}

}  // namespace

BackendGraph convolution_graph(ConvolutionPass pass, const ConvolutionExtents& extents) {
  constexpr float one = 1.0F;
  constexpr float none = 0.0F;
  const PassNames names = names_of(pass);
  BackendGraph graph;
  BackendDescriptor operation(names.operation);
  operation.set(names.input, graph.keep(tensor(input_id, extents.input, extents)));
  operation.set(names.filter, graph.keep(tensor(filter_id, extents.filter, extents)));
  operation.set(names.output, graph.keep(tensor(output_id, extents.output, extents)));
  operation.set(names.steps, graph.keep(steps(extents)));
  operation.set(names.alpha, CUDNN_TYPE_FLOAT, 1, &one);
  operation.set(names.beta, CUDNN_TYPE_FLOAT, 1, &none);
  graph.add(std::move(operation));
  return graph;
}

std::array<PlanArgument, 3> convolution_arguments(void* input, void* filter, void* output) {
  return {{{input_id, input}, {filter_id, filter}, {output_id, output}}};
}

}  // namespace syncopate::capture
