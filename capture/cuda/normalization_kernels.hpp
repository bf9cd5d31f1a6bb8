#pragma once

#include "capture/cuda/kernels.hpp"

// Kernels of normalizations and of sums over rows, as kernels.hpp describes.
namespace syncopate::capture {

/// Extents of a matrix of `rows` x `width` numbers.
struct Rows {
  std::int64_t rows;
  std::int64_t width;
};

/// The sum of each column.
void sum_columns(const Queue& queue, const void* numbers, const Rows& shape, float* sums);

/// What layer normalization keeps of each row for backward.
struct RowStatistics {
  float* mean;
  float* inverse_deviation;
};
void layer_norm(const Queue& queue, const void* input, const Rows& shape, const float* scale, const float* shift, float epsilon,
                const RowStatistics& statistics, void* output);
/// `input_gradient` may be null.
void layer_norm_backward(const Queue& queue, const void* input, const Rows& shape, const void* output_gradient, const float* scale,
                         const RowStatistics& statistics, void* input_gradient, float* scale_gradient, float* shift_gradient);

/// Layer normalization without mean and shift. Keeps the inverse of each row's root of the mean square.
void rms_norm(const Queue& queue, const void* input, const Rows& shape, const float* scale, float epsilon, float* inverses, void* output);
/// `input_gradient` may be null.
void rms_norm_backward(const Queue& queue, const void* input, const Rows& shape, const void* output_gradient, const float* scale,
                       const float* inverses, void* input_gradient, float* scale_gradient);

/// What group normalization computes: sums per sample and channel, which each pass overwrites, and what backward needs of forward.
struct GroupStatistics {
  float* sums;      ///< of the input or of gradients
  float* products;  ///< of the input with itself, or of gradients with the normalized input
  float4* factors;  ///< per sample and channel: of the input, of its gradient, and a summand
  float2* moments;  ///< per sample and group: mean and inverse deviation
};
/// Over the pixels and channels of each of `groups`.
void group_norm(const Queue& queue, const void* input, const Planes& shape, std::int64_t groups, const float* scale, const float* shift,
                float epsilon, const GroupStatistics& statistics, void* output);
/// `input_gradient` may be null.
void group_norm_backward(const Queue& queue, const void* input, const Planes& shape, std::int64_t groups, const void* output_gradient,
                         const float* scale, const GroupStatistics& statistics, void* input_gradient, float* scale_gradient,
                         float* shift_gradient);

/// What batch normalization keeps of each channel: sums over the rows of the input and of its squared distance from the mean
/// for backward, and running statistics.
struct ChannelStatistics {
  float* sum;
  float* squares;
  float* running_mean;
  float* running_variance;
};
/// Of NHWC: a row is a pixel.
void batch_norm(const Queue& queue, const void* input, const Rows& shape, const float* scale, const float* shift, float epsilon,
                float running_share, const ChannelStatistics& statistics, void* output);
/// `input_gradient` may be null.
void batch_norm_backward(const Queue& queue, const void* input, const Rows& shape, const void* output_gradient, const float* scale,
                         float epsilon, const ChannelStatistics& statistics, void* input_gradient, float* scale_gradient,
                         float* shift_gradient);

/// Local response normalization over `size` channels: x / base^beta with base = k + alpha / size times the sum of squares.
struct ResponseConstants {
  std::int64_t size;
  float alpha;
  float beta;
  float k;
};
/// Of [outer, channels, inner]; keeps each base.
void response_norm(const Queue& queue, const void* input, std::int64_t outer, std::int64_t channels, std::int64_t inner,
                   const ResponseConstants& constants, float* bases, void* output);
void response_norm_backward(const Queue& queue, const void* input, std::int64_t outer, std::int64_t channels, std::int64_t inner,
                            const ResponseConstants& constants, const float* bases, const void* output_gradient, void* input_gradient);

}  // namespace syncopate::capture
