#include "capture/cuda/normalization_kernels.hpp"

#include <algorithm>

#include "capture/cuda/makers.hpp"

namespace syncopate::capture {

namespace {

constexpr float epsilon = 1e-5F;
constexpr float running_share = 0.1F;

/// S. Ioffe, C. Szegedy, "Batch normalization", ICML'15. Also updates the running statistics for inference.
class BatchNorm : public CudaOp {
 public:
  explicit BatchNorm(const CudaLayer& layer) : CudaOp(layer) {
    add_parameter();
    add_parameter();
    for (DeviceMemory* memory : {&first_, &second_, &running_mean_, &running_variance_})
      *memory = layer.tools.allocate(channels_ * number_bytes(Number::fp32));
    if (layer.input_gradients[0] == nullptr) unread_ = layer.tools.allocate(layer.bytes(layer.input_elements(0)));
    const Image image = layer.image(layer.layer.output);
    check(cudnnSetTensor4dDescriptor(image_.get(), image.channels_last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW,
                                     cudnn_type(layer.tools.number), to_int(layer.batch()), image.channels, image.height, image.width),
          "cudnnSetTensor4dDescriptor");
    check(cudnnDeriveBNTensorDescriptor(channel_.get(), image_.get(), mode_), "cudnnDeriveBNTensorDescriptor");
  }

  /// cuDNN may not support this format and layout; only a trial shows it. Then this program's own kernels do the work. Other frameworks
  /// also fall back on kernels of their own.
  std::size_t prepare() override {
    std::size_t workspace = 0;
    const cudnnStatus_t status = try_cudnn(workspace);
    const auto kind = CUDNN_STATUS_CATEGORY(status);
    with_cudnn_ = kind != CUDNN_STATUS_NOT_SUPPORTED && kind != CUDNN_STATUS_BAD_PARAM;
    if (with_cudnn_ || !layer_.channels_last()) check(status, "cuDNN's batch normalization");
    if (!with_cudnn_) {
      reserve_ = {};
      return 0;
    }
    check(cudaStreamSynchronize(queue().stream), "cudaStreamSynchronize");
    return workspace;
  }

  void forward() override {
    if (with_cudnn_) return check(cudnn_forward(), "cudnnBatchNormalizationForwardTrainingEx");
    batch_norm(queue(), layer_.inputs[0], rows(), scale().value.as<float>(), shift().value.as<float>(), epsilon, running_share,
               statistics(), layer_.output);
  }

  void backward() override {
    if (with_cudnn_) return check(cudnn_backward(), "cudnnBatchNormalizationBackwardEx");
    batch_norm_backward(queue(), layer_.inputs[0], rows(), layer_.output_gradient, scale().value.as<float>(), epsilon, statistics(),
                        layer_.input_gradients[0], scale().gradient.as<float>(), shift().gradient.as<float>());
  }

  std::vector<std::string> kernels() const override {
    if (!with_cudnn_) return {};
    const std::string name = mode_ == CUDNN_BATCHNORM_SPATIAL ? "BATCHNORM_SPATIAL" : "BATCHNORM_SPATIAL_PERSISTENT";
    return {name, name, ""};
  }

 private:
  cudnnHandle_t cudnn() const { return layer_.tools.cudnn.get(); }
  const CudaParameter& scale() const { return parameters_[0]; }
  const CudaParameter& shift() const { return parameters_[1]; }
  void* input_gradient() const { return layer_.input_gradients[0] == nullptr ? unread_.data() : layer_.input_gradients[0]; }
  Rows rows() const { return {layer_.output_elements() / channels_, channels_}; }
  ChannelStatistics statistics() const {
    return {first_.as<float>(), second_.as<float>(), running_mean_.as<float>(), running_variance_.as<float>()};
  }

  cudnnStatus_t try_cudnn(std::size_t& workspace) {
    constexpr auto ops = CUDNN_BATCHNORM_OPS_BN;
    std::size_t forward = 0;
    std::size_t backward = 0;
    std::size_t reserve = 0;
    auto* image = image_.get();
    cudnnStatus_t status = cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(cudnn(), mode_, ops, image, image, image,
                                                                                    channel_.get(), nullptr, &forward);
    if (status != CUDNN_STATUS_SUCCESS) return status;
    status = cudnnGetBatchNormalizationBackwardExWorkspaceSize(cudnn(), mode_, ops, image, image, image, nullptr, image, channel_.get(),
                                                               nullptr, &backward);
    if (status != CUDNN_STATUS_SUCCESS) return status;
    status = cudnnGetBatchNormalizationTrainingExReserveSpaceSize(cudnn(), mode_, ops, nullptr, image, &reserve);
    if (status != CUDNN_STATUS_SUCCESS) return status;
    reserve_ = layer_.tools.allocate(static_cast<std::int64_t>(reserve));
    workspace = std::max(forward, backward);
    status = cudnn_forward();
    return status == CUDNN_STATUS_SUCCESS ? cudnn_backward() : status;
  }

  cudnnStatus_t cudnn_forward() const {
    const DeviceMemory& workspace = layer_.tools.workspace;
    return cudnnBatchNormalizationForwardTrainingEx(
        cudnn(), mode_, CUDNN_BATCHNORM_OPS_BN, &one, &none, image_.get(), layer_.inputs[0], nullptr, nullptr, image_.get(), layer_.output,
        channel_.get(), scale().value.data(), shift().value.data(), running_share, running_mean_.data(), running_variance_.data(),
        cudnn_epsilon, first_.data(), second_.data(), nullptr, workspace.data(), workspace.bytes(), reserve_.data(), reserve_.bytes());
  }

  cudnnStatus_t cudnn_backward() const {
    const DeviceMemory& workspace = layer_.tools.workspace;
    return cudnnBatchNormalizationBackwardEx(cudnn(), mode_, CUDNN_BATCHNORM_OPS_BN, &one, &none, &one, &none, image_.get(),
                                             layer_.inputs[0], nullptr, nullptr, image_.get(), layer_.output_gradient, nullptr, nullptr,
                                             image_.get(), input_gradient(), channel_.get(), scale().value.data(), nullptr,
                                             scale().gradient.data(), shift().gradient.data(), cudnn_epsilon, first_.data(), second_.data(),
                                             nullptr, workspace.data(), workspace.bytes(), reserve_.data(), reserve_.bytes());
  }

  static constexpr float one = 1.0F;
  static constexpr float none = 0.0F;
  static constexpr double cudnn_epsilon = 1e-5;

  bool with_cudnn_ = true;
  std::int64_t channels_ = layer_.layer.output[0];
  cudnnBatchNormMode_t mode_ = layer_.channels_last() ? CUDNN_BATCHNORM_SPATIAL_PERSISTENT : CUDNN_BATCHNORM_SPATIAL;
  TensorDescriptor image_{cudnnCreateTensorDescriptor, "cudnnCreateTensorDescriptor"};
  TensorDescriptor channel_{cudnnCreateTensorDescriptor, "cudnnCreateTensorDescriptor"};
  DeviceMemory first_;   // mean; in our own kernels the sum
  DeviceMemory second_;  // inverse deviation; in our own kernels the sum of squares
  DeviceMemory running_mean_;
  DeviceMemory running_variance_;
  DeviceMemory reserve_;
  DeviceMemory unread_;  // receives the input's gradient where nothing needs it
};

class LayerNorm : public CudaOp {
 public:
  explicit LayerNorm(const CudaLayer& layer) : CudaOp(layer) {
    add_parameter();
    add_parameter();
  }

  void forward() override {
    layer_norm(queue(), layer_.inputs[0], rows_, parameters_[0].value.as<float>(), parameters_[1].value.as<float>(), epsilon, statistics(),
               layer_.output);
  }

  void backward() override {
    layer_norm_backward(queue(), layer_.inputs[0], rows_, layer_.output_gradient, parameters_[0].value.as<float>(), statistics(),
                        layer_.input_gradients[0], parameters_[0].gradient.as<float>(), parameters_[1].gradient.as<float>());
  }

 private:
  RowStatistics statistics() const { return {mean_.as<float>(), inverse_deviation_.as<float>()}; }

  Rows rows_ = {layer_.output_elements() / layer_.layer.output.back(), layer_.layer.output.back()};
  DeviceMemory mean_ = layer_.tools.allocate(rows_.rows * number_bytes(Number::fp32));
  DeviceMemory inverse_deviation_ = layer_.tools.allocate(rows_.rows * number_bytes(Number::fp32));
};

/// Layer normalization without mean and bias. B. Zhang, R. Sennrich, "Root mean square layer normalization", NeurIPS'19.
class RmsNorm : public CudaOp {
 public:
  explicit RmsNorm(const CudaLayer& layer) : CudaOp(layer) { add_parameter(); }

  void forward() override {
    rms_norm(queue(), layer_.inputs[0], rows_, parameters_[0].value.as<float>(), epsilon, inverses_.as<float>(), layer_.output);
  }

  void backward() override {
    rms_norm_backward(queue(), layer_.inputs[0], rows_, layer_.output_gradient, parameters_[0].value.as<float>(), inverses_.as<float>(),
                      layer_.input_gradients[0], parameters_[0].gradient.as<float>());
  }

 private:
  Rows rows_ = {layer_.output_elements() / layer_.layer.output.back(), layer_.layer.output.back()};
  DeviceMemory inverses_ = layer_.tools.allocate(rows_.rows * number_bytes(Number::fp32));
};

/// Y. Wu, K. He, "Group normalization", ECCV'18.
class GroupNorm : public CudaOp {
 public:
  explicit GroupNorm(const CudaLayer& layer) : CudaOp(layer) {
    add_parameter();
    add_parameter();
  }

  void forward() override {
    group_norm(queue(), layer_.inputs[0], planes_, groups_, parameters_[0].value.as<float>(), parameters_[1].value.as<float>(), epsilon,
               statistics(), layer_.output);
  }

  void backward() override {
    group_norm_backward(queue(), layer_.inputs[0], planes_, groups_, layer_.output_gradient, parameters_[0].value.as<float>(), statistics(),
                        layer_.input_gradients[0], parameters_[0].gradient.as<float>(), parameters_[1].gradient.as<float>());
  }

 private:
  GroupStatistics statistics() const { return {sums_.as<float>(), products_.as<float>(), factors_.as<float4>(), moments_.as<float2>()}; }
  DeviceMemory per_channel(std::size_t bytes) const {
    return layer_.tools.allocate(planes_.samples * planes_.channels * static_cast<std::int64_t>(bytes));
  }

  Planes planes_ = layer_.planes();
  std::int64_t groups_ = layer_.attributes().groups;
  DeviceMemory sums_ = per_channel(sizeof(float));
  DeviceMemory products_ = per_channel(sizeof(float));
  DeviceMemory factors_ = per_channel(sizeof(float4));
  DeviceMemory moments_ = layer_.tools.allocate(planes_.samples * groups_ * static_cast<std::int64_t>(sizeof(float2)));
};

/// Local response normalization across channels. The constants are GoogLeNet's, which are PyTorch's defaults.
class Lrn : public CudaOp {
 public:
  using CudaOp::CudaOp;

  void forward() override {
    response_norm(queue(), layer_.inputs[0], outer_, channels_, inner_, constants, bases_.as<float>(), layer_.output);
  }

  void backward() override {
    if (layer_.input_gradients[0] == nullptr) return;
    response_norm_backward(queue(), layer_.inputs[0], outer_, channels_, inner_, constants, bases_.as<float>(), layer_.output_gradient,
                           layer_.input_gradients[0]);
  }

 private:
  static constexpr ResponseConstants constants = {5, 1e-4F, 0.75F, 1.0F};

  std::int64_t channels_ = layer_.layer.output[0];
  std::int64_t inner_ = layer_.channels_last() ? 1 : elements(layer_.layer.output) / channels_;
  std::int64_t outer_ = layer_.output_elements() / channels_ / inner_;
  DeviceMemory bases_ = layer_.tools.allocate(layer_.output_elements() * number_bytes(Number::fp32));
};

}  // namespace

std::unique_ptr<CudaOp> make_cuda_batch_norm(const CudaLayer& layer) { return std::make_unique<BatchNorm>(layer); }
std::unique_ptr<CudaOp> make_cuda_group_norm(const CudaLayer& layer) { return std::make_unique<GroupNorm>(layer); }
std::unique_ptr<CudaOp> make_cuda_layer_norm(const CudaLayer& layer) { return std::make_unique<LayerNorm>(layer); }
std::unique_ptr<CudaOp> make_cuda_lrn(const CudaLayer& layer) { return std::make_unique<Lrn>(layer); }
std::unique_ptr<CudaOp> make_cuda_rms_norm(const CudaLayer& layer) { return std::make_unique<RmsNorm>(layer); }

}  // namespace syncopate::capture
