#pragma once

#include <string_view>

#include "capture/cuda/op.hpp"

namespace syncopate::capture {

/// Extents of a product: result [rows, columns] = left [rows, depth] right [depth, columns].
struct ProductExtents {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t depth;
};

/// A row-major matrix whose rows are `stride` numbers apart, read as it is or transposed.
struct Factor {
  const void* numbers = nullptr;
  std::int64_t stride = 0;
  bool transposed = false;
};

/// The result, or what is added to it.
void multiply(const CudaTools& tools, const ProductExtents& extents, const Factor& left, const Factor& right, void* result,
              bool adds = false);

/// Many matrices of one shape; the pointers to them lie on the device.
struct Factors {
  const void* const* numbers = nullptr;
  std::int64_t stride = 0;
  bool transposed = false;
};

struct Products {
  void* const* numbers;
  std::int64_t stride;
};

/// `count` results, `scale` times the products.
void multiply_all(const CudaTools& tools, const ProductExtents& extents, float scale, const Factors& left, const Factors& right,
                  const Products& results, std::int64_t count);

/// result [rows, columns] = left [rows, depth] right^T + bias, with right [columns, depth], in one kernel of cuBLASLt, as in PyTorch's
/// linear layers. Uses the tools' workspace.
class BiasedProduct {
 public:
  BiasedProduct(const CudaTools& tools, const ProductExtents& extents, const void* bias);

  /// False if cuBLASLt has no kernel for it.
  bool supported() const { return supported_; }
  std::size_t workspace() const { return supported_ ? chosen_.workspaceSize : 0; }
  void run(const CudaTools& tools, const void* left, const void* right, void* result) const;

 private:
  MatmulDescriptor product_;
  MatrixLayout right_;
  MatrixLayout left_;
  MatrixLayout result_;
  cublasLtMatmulHeuristicResult_t chosen_{};
  bool supported_ = false;
};

/// How cuBLAS computes products in the tools' format, by its own name.
std::string_view product_name(const CudaTools& tools);

}  // namespace syncopate::capture
