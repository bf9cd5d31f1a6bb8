#include <algorithm>
#include <array>

#include "capture/cpu/makers.hpp"

namespace syncopate::capture {

namespace {

struct Row {
  std::string_view op;  ///< of model/1
  CpuOpMaker make;
};

constexpr std::array table = {
    Row{"adaptive_avg_pool", make_adaptive_pooling},
    Row{"add", make_add},
    Row{"attention", make_attention},
    Row{"avg_pool", make_average_pooling},
    Row{"batch_norm", make_batch_norm},
    Row{"concat", make_concat},
    Row{"conv1d", make_convolution},
    Row{"conv2d", make_convolution},
    Row{"conv_transpose2d", make_transposed_convolution},
    Row{"dropout", make_dropout},
    Row{"embedding", make_embedding},
    Row{"first_token", make_first_token},
    Row{"flatten", make_flatten},
    Row{"gelu", make_gelu},
    Row{"group_norm", make_group_norm},
    Row{"layer_norm", make_layer_norm},
    Row{"linear", make_linear},
    Row{"lrn", make_lrn},
    Row{"max_over_time", make_max_over_time},
    Row{"max_pool", make_max_pooling},
    Row{"multiply", make_multiply},
    Row{"pad_shortcut", make_pad_shortcut},
    Row{"positional", make_positional},
    Row{"relu", make_relu},
    Row{"rms_norm", make_rms_norm},
    Row{"rotary", make_rotary},
    Row{"sigmoid", make_sigmoid},
    Row{"silu", make_silu},
    Row{"tanh", make_tanh},
    Row{"tied_linear", make_tied_linear},
    Row{"to_tokens", make_to_tokens},
    Row{"upsample", make_upsample},
};

}  // namespace

CpuOpMaker cpu_op(std::string_view name) {
  const auto* row = std::find_if(table.begin(), table.end(), [name](const Row& candidate) { return candidate.op == name; });
  return row == table.end() ? nullptr : row->make;
}

}  // namespace syncopate::capture
