#include "capture/cuda/products.hpp"

namespace syncopate::capture {

namespace {

cudaDataType_t blas_type(Number number) {
  switch (number) {
    case Number::fp32: return CUDA_R_32F;
    case Number::fp16: return CUDA_R_16F;
    case Number::bf16: return CUDA_R_16BF;
  }
  return CUDA_R_32F;
}

cublasComputeType_t compute_type(const CudaTools& tools) { return tools.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F; }

cublasOperation_t operation(bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; }

}  // namespace

// cuBLAS expects column-major matrices. Ours are row-major, that is, transposed: (left right)^T = right^T left^T.

void multiply(const CudaTools& tools, const ProductExtents& extents, const Factor& left, const Factor& right, void* result) {
  const cudaDataType_t type = blas_type(tools.number);
  const float one = 1.0F;
  const float zero = 0.0F;
  check(cublasGemmEx(tools.cublas.get(), operation(right.transposed), operation(left.transposed), to_int(extents.columns),
                     to_int(extents.rows), to_int(extents.depth), &one, right.numbers, type, to_int(right.stride), left.numbers, type,
                     to_int(left.stride), &zero, result, type, to_int(extents.columns), compute_type(tools), CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx");
}

void multiply_all(const CudaTools& tools, const ProductExtents& extents, float scale, const Factors& left, const Factors& right,
                  const Products& results, std::int64_t count) {
  const cudaDataType_t type = blas_type(tools.number);
  const float zero = 0.0F;
  check(cublasGemmBatchedEx(tools.cublas.get(), operation(right.transposed), operation(left.transposed), to_int(extents.columns),
                            to_int(extents.rows), to_int(extents.depth), &scale, right.numbers, type, to_int(right.stride), left.numbers,
                            type, to_int(left.stride), &zero, results.numbers, type, to_int(results.stride), to_int(count),
                            compute_type(tools), CUBLAS_GEMM_DEFAULT),
        "cublasGemmBatchedEx");
}

std::string_view product_name(const CudaTools& tools) { return tools.tf32 ? "CUBLAS_COMPUTE_32F_FAST_TF32" : "CUBLAS_COMPUTE_32F"; }

}  // namespace syncopate::capture
