#pragma once

#include "capture/cuda/op.hpp"

namespace syncopate::capture {

// One maker per op, or per family of ops that differ in a parameter only; op_table.cpp names them.
std::unique_ptr<CudaOp> make_cuda_adaptive_pooling(const CudaLayer& layer);
std::unique_ptr<CudaOp> make_cuda_add(const CudaLayer& layer);
std::unique_ptr<CudaOp> make_cuda_attention(const CudaLayer& layer);
std::unique_ptr<CudaOp> make_cuda_average_pooling(const CudaLayer& layer);
std::unique_ptr<CudaOp> make_cuda_batch_norm(const CudaLayer& layer);
std::unique_ptr<CudaOp> make_cuda_concat(const CudaLayer& layer);
std::unique_ptr<CudaOp> make_cuda_convolution(const CudaLayer& layer);
std::unique_ptr<CudaOp> make_cuda_dropout(const CudaLayer& layer);
std::unique_ptr<CudaOp> make_cuda_embedding(const CudaLayer& layer);
std::unique_ptr<CudaOp> make_cuda_first_token(const CudaLayer& layer);
std::unique_ptr<CudaOp> make_cuda_flatten(const CudaLayer& layer);
std::unique_ptr<CudaOp> make_cuda_gelu(const CudaLayer& layer);
std::unique_ptr<CudaOp> make_cuda_group_norm(const CudaLayer& layer);
std::unique_ptr<CudaOp> make_cuda_layer_norm(const CudaLayer& layer);
std::unique_ptr<CudaOp> make_cuda_linear(const CudaLayer& layer);
std::unique_ptr<CudaOp> make_cuda_lrn(const CudaLayer& layer);
std::unique_ptr<CudaOp> make_cuda_max_over_time(const CudaLayer& layer);
std::unique_ptr<CudaOp> make_cuda_max_pooling(const CudaLayer& layer);
std::unique_ptr<CudaOp> make_cuda_multiply(const CudaLayer& layer);
std::unique_ptr<CudaOp> make_cuda_pad_shortcut(const CudaLayer& layer);
std::unique_ptr<CudaOp> make_cuda_positional(const CudaLayer& layer);
std::unique_ptr<CudaOp> make_cuda_relu(const CudaLayer& layer);
std::unique_ptr<CudaOp> make_cuda_rms_norm(const CudaLayer& layer);
std::unique_ptr<CudaOp> make_cuda_rotary(const CudaLayer& layer);
std::unique_ptr<CudaOp> make_cuda_sigmoid(const CudaLayer& layer);
std::unique_ptr<CudaOp> make_cuda_silu(const CudaLayer& layer);
std::unique_ptr<CudaOp> make_cuda_tanh(const CudaLayer& layer);
std::unique_ptr<CudaOp> make_cuda_tied_linear(const CudaLayer& layer);
std::unique_ptr<CudaOp> make_cuda_to_tokens(const CudaLayer& layer);
std::unique_ptr<CudaOp> make_cuda_transposed_convolution(const CudaLayer& layer);
std::unique_ptr<CudaOp> make_cuda_upsample(const CudaLayer& layer);

}  // namespace syncopate::capture
