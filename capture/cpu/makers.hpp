#pragma once

#include "capture/cpu/op.hpp"

namespace syncopate::capture {

// One maker per op, or per family of ops that differ in a parameter only; op_table.cpp names them.
std::unique_ptr<CpuOp> make_adaptive_pooling(const CpuLayer& layer);
std::unique_ptr<CpuOp> make_add(const CpuLayer& layer);
std::unique_ptr<CpuOp> make_attention(const CpuLayer& layer);
std::unique_ptr<CpuOp> make_average_pooling(const CpuLayer& layer);
std::unique_ptr<CpuOp> make_batch_norm(const CpuLayer& layer);
std::unique_ptr<CpuOp> make_concat(const CpuLayer& layer);
std::unique_ptr<CpuOp> make_convolution(const CpuLayer& layer);
std::unique_ptr<CpuOp> make_dropout(const CpuLayer& layer);
std::unique_ptr<CpuOp> make_embedding(const CpuLayer& layer);
std::unique_ptr<CpuOp> make_first_token(const CpuLayer& layer);
std::unique_ptr<CpuOp> make_flatten(const CpuLayer& layer);
std::unique_ptr<CpuOp> make_gelu(const CpuLayer& layer);
std::unique_ptr<CpuOp> make_group_norm(const CpuLayer& layer);
std::unique_ptr<CpuOp> make_layer_norm(const CpuLayer& layer);
std::unique_ptr<CpuOp> make_linear(const CpuLayer& layer);
std::unique_ptr<CpuOp> make_lrn(const CpuLayer& layer);
std::unique_ptr<CpuOp> make_max_over_time(const CpuLayer& layer);
std::unique_ptr<CpuOp> make_max_pooling(const CpuLayer& layer);
std::unique_ptr<CpuOp> make_multiply(const CpuLayer& layer);
std::unique_ptr<CpuOp> make_pad_shortcut(const CpuLayer& layer);
std::unique_ptr<CpuOp> make_positional(const CpuLayer& layer);
std::unique_ptr<CpuOp> make_relu(const CpuLayer& layer);
std::unique_ptr<CpuOp> make_rms_norm(const CpuLayer& layer);
std::unique_ptr<CpuOp> make_rotary(const CpuLayer& layer);
std::unique_ptr<CpuOp> make_sigmoid(const CpuLayer& layer);
std::unique_ptr<CpuOp> make_silu(const CpuLayer& layer);
std::unique_ptr<CpuOp> make_tanh(const CpuLayer& layer);
std::unique_ptr<CpuOp> make_tied_linear(const CpuLayer& layer);
std::unique_ptr<CpuOp> make_to_tokens(const CpuLayer& layer);
std::unique_ptr<CpuOp> make_transposed_convolution(const CpuLayer& layer);
std::unique_ptr<CpuOp> make_upsample(const CpuLayer& layer);

}  // namespace syncopate::capture
