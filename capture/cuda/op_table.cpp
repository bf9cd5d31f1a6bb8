#include <algorithm>
#include <array>

#include "capture/cuda/makers.hpp"

namespace syncopate::capture {

namespace {

struct Row {
  std::string_view op;  ///< of model/1
  CudaOpMaker make;
};

constexpr std::array table = {
    Row{"adaptive_avg_pool", make_cuda_adaptive_pooling},
    Row{"add", make_cuda_add},
    Row{"attention", make_cuda_attention},
    Row{"avg_pool", make_cuda_average_pooling},
    Row{"batch_norm", make_cuda_batch_norm},
    Row{"concat", make_cuda_concat},
    Row{"conv1d", make_cuda_convolution},
    Row{"conv2d", make_cuda_convolution},
    Row{"conv_transpose2d", make_cuda_transposed_convolution},
    Row{"dropout", make_cuda_dropout},
    Row{"embedding", make_cuda_embedding},
    Row{"first_token", make_cuda_first_token},
    Row{"flatten", make_cuda_flatten},
    Row{"gelu", make_cuda_gelu},
    Row{"group_norm", make_cuda_group_norm},
    Row{"layer_norm", make_cuda_layer_norm},
    Row{"linear", make_cuda_linear},
    Row{"lrn", make_cuda_lrn},
    Row{"max_over_time", make_cuda_max_over_time},
    Row{"max_pool", make_cuda_max_pooling},
    Row{"multiply", make_cuda_multiply},
    Row{"pad_shortcut", make_cuda_pad_shortcut},
    Row{"positional", make_cuda_positional},
    Row{"relu", make_cuda_relu},
    Row{"rms_norm", make_cuda_rms_norm},
    Row{"rotary", make_cuda_rotary},
    Row{"sigmoid", make_cuda_sigmoid},
    Row{"silu", make_cuda_silu},
    Row{"tanh", make_cuda_tanh},
    Row{"tied_linear", make_cuda_tied_linear},
    Row{"to_tokens", make_cuda_to_tokens},
    Row{"upsample", make_cuda_upsample},
};

}  // namespace

CudaOpMaker cuda_op(std::string_view name) {
  const auto* row = std::find_if(table.begin(), table.end(), [name](const Row& candidate) { return candidate.op == name; });
  return row == table.end() ? nullptr : row->make;
}

}  // namespace syncopate::capture
