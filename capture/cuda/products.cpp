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

void multiply(const CudaTools& tools, const ProductExtents& extents, const Factor& left, const Factor& right, void* result, bool adds) {
  const cudaDataType_t type = blas_type(tools.number);
  const float one = 1.0F;
  const float kept = adds ? 1.0F : 0.0F;
  check(cublasGemmEx(tools.cublas.get(), operation(right.transposed), operation(left.transposed), to_int(extents.columns),
                     to_int(extents.rows), to_int(extents.depth), &one, right.numbers, type, to_int(right.stride), left.numbers, type,
                     to_int(left.stride), &kept, result, type, to_int(extents.columns), compute_type(tools), CUBLAS_GEMM_DEFAULT),
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

// Column-major: result^T [columns, rows] = right^T^T left^T, so that the bias is added to every column.
BiasedProduct::BiasedProduct(const CudaTools& tools, const ProductExtents& extents, const void* bias) {
  constexpr std::size_t most = std::size_t{32} << 20U;  // bytes of workspace, as in PyTorch on Hopper
  const cudaDataType_t type = blas_type(tools.number);
  const auto make_layout = [type](std::int64_t rows, std::int64_t columns) {
    return MatrixLayout(
        [=](cublasLtMatrixLayout_t* layout) {
          return cublasLtMatrixLayoutCreate(layout, type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns), rows);
        },
        "cublasLtMatrixLayoutCreate");
  };
  product_ =
      MatmulDescriptor([&](cublasLtMatmulDesc_t* product) { return cublasLtMatmulDescCreate(product, compute_type(tools), CUDA_R_32F); },
                       "cublasLtMatmulDescCreate");
  const auto set = [this](cublasLtMatmulDescAttributes_t name, const auto& value) {
    check(cublasLtMatmulDescSetAttribute(product_.get(), name, &value, sizeof(value)), "cublasLtMatmulDescSetAttribute");
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
  set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  right_ = make_layout(extents.depth, extents.columns);
  left_ = make_layout(extents.depth, extents.rows);
  result_ = make_layout(extents.columns, extents.rows);
  const MatmulPreference preference(cublasLtMatmulPreferenceCreate, "cublasLtMatmulPreferenceCreate");
  check(cublasLtMatmulPreferenceSetAttribute(preference.get(), CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, sizeof(most)),
        "cublasLtMatmulPreferenceSetAttribute");
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(tools.cublas_lt.get(), product_.get(), right_.get(), left_.get(),
                                                               result_.get(), result_.get(), preference.get(), 1, &chosen_, &found);
  supported_ = status == CUBLAS_STATUS_SUCCESS && found == 1 && chosen_.state == CUBLAS_STATUS_SUCCESS;
}

void BiasedProduct::run(const CudaTools& tools, const void* left, const void* right, void* result) const {
  const float one = 1.0F;
  const float zero = 0.0F;
  check(cublasLtMatmul(tools.cublas_lt.get(), product_.get(), &one, right, right_.get(), left, left_.get(), &zero, result, result_.get(),
                       result, result_.get(), &chosen_.algo, tools.workspace.data(), tools.workspace.bytes(), tools.stream),
        "cublasLtMatmul");
}

std::string_view product_name(const CudaTools& tools) { return tools.tf32 ? "CUBLAS_COMPUTE_32F_FAST_TF32" : "CUBLAS_COMPUTE_32F"; }

}  // namespace syncopate::capture
