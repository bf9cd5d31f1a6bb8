#define DOCTEST_CONFIG_IMPLEMENT
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "capture/cuda/attention_operation.hpp"
#include "capture/cuda/convolution_operation.hpp"

// cuDNN can be asked what it would run on a GPU that is described to it. So its engines for attention's graphs are found, and their kernels
// compiled, without a GPU. What the kernels compute is compared in test_cuda.cpp, on a GPU.

namespace {

constexpr int skipped = 77;

}  // namespace

#if CUDNN_VERSION < 91000  // the headers lack what the test asks

int main() {
  fmt::print("SKIPPED: it needs the headers of cuDNN 9.10 or later, built with those of {}.{}\n", CUDNN_MAJOR, CUDNN_MINOR);
  return skipped;
}

#else

using namespace syncopate::capture;

namespace {

struct Card {
  std::string name;
  int capability;  ///< ten times the compute capability's major number and ten times its minor one
  int processors;
  int shared_memory;  ///< bytes that a block may ask for
  int threads;        ///< of a multiprocessor
};

const Card h100 = {"H100", 900, 132, 232448, 2048};
const Card a100 = {"A100", 800, 108, 166912, 2048};
const Card t4 = {"T4", 750, 40, 65536, 1024};

BackendDescriptor describe(const Card& card) {
  const std::string text = fmt::format(
      R"({{"deviceName": "{}", "deviceVer": {}, "multiProcessorCount": {}, "maxSharedMemoryPerBlockOptin": {}, "maxThreadsPerSM": {},
          "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536, "warpSize": 32,
          "maxSharedMemoryPerBlock": 49152, "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536, "maxCtasPerSM": 32,
          "maxThreadsPerBlock": 1024, "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1, "totalGlobalMem": 16000000000,
          "smClockRateKHz": 1500000, "memClockRateKHz": 1500000, "l2CacheSize": 40000000, "cudaDeviceId": 0, "driverVer": 13000}})",
      card.name, card.capability, card.processors, card.shared_memory, card.threads);
  BackendDescriptor properties(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  properties.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, static_cast<std::int64_t>(text.size()), text.data());
  properties.finalize();
  return properties;
}

/// Engine configurations that cuDNN offers for a graph on a card, the most promising first.
std::vector<BackendDescriptor> offers(const BackendDescriptor& graph, const BackendDescriptor& card) {
  constexpr cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_INSTANT;
  const BackendDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, card);
  if (heuristics.try_finalize() != CUDNN_STATUS_SUCCESS) return {};
  const std::int64_t most = heuristics.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
  return heuristics.parts(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, most);
}

/// Empty if cuDNN compiles the kernels. They cannot be loaded without a GPU, which is the next step.
std::string compile(const BackendDescriptor& config, const BackendDescriptor& card) {
  const BackendDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, card);
  const cudnnStatus_t status = plan.try_finalize();
  if (status == CUDNN_STATUS_SUCCESS) return "";
  const std::string text = syncopate::capture::describe(status);
  return status == CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER && text.find("cuLibraryLoadData") != std::string::npos ? "" : text;
}

using MakeGraph = BackendGraph (*)(const AttentionExtents& extents);
constexpr std::array<MakeGraph, 2> both_directions = {attention_forward_graph, attention_backward_graph};

AttentionExtents extents(cudnnDataType_t type, std::int64_t tokens, std::int64_t depth, bool one_input, bool causal) {
  constexpr std::int64_t heads = 2;
  return {type, 2, heads, tokens, depth, (one_input ? 3 : 1) * heads * depth, causal};
}

const std::vector<AttentionExtents> cases = {
    extents(CUDNN_DATA_BFLOAT16, 512, 64, false, false), extents(CUDNN_DATA_BFLOAT16, 197, 64, true, true),
    extents(CUDNN_DATA_BFLOAT16, 8, 8, true, true),      extents(CUDNN_DATA_HALF, 8, 8, false, false),
    extents(CUDNN_DATA_HALF, 24, 16, true, true),        extents(CUDNN_DATA_HALF, 196, 128, true, false),
    extents(CUDNN_DATA_HALF, 1024, 128, false, true),
};

const std::vector<AttentionExtents> wide_heads = {
    extents(CUDNN_DATA_BFLOAT16, 512, 256, false, true),
    extents(CUDNN_DATA_HALF, 197, 256, true, false),
};

void check_offers(const Card& card, const std::vector<AttentionExtents>& attentions, std::size_t most_compiled) {
  const BackendDescriptor properties = describe(card);
  for (const AttentionExtents& each : attentions) {
    for (const MakeGraph make : both_directions) {
      CAPTURE(card.name);
      CAPTURE(static_cast<int>(each.type));
      CAPTURE(each.tokens);
      CAPTURE(each.depth);
      CAPTURE(each.causal);
      CAPTURE((make == attention_backward_graph));
      const BackendGraph operations = make(each);
      const BackendDescriptor graph = operations.describe(nullptr);
      graph.finalize();
      const std::vector<BackendDescriptor> offered = offers(graph, properties);
      CHECK_FALSE(offered.empty());
      for (std::size_t i = 0; i < offered.size() && i < most_compiled; ++i) {
        const EngineOffer offer = describe_engine(offered[i]);
        CAPTURE(offer.name);
        CHECK(offer.tensor_cores);
        CHECK_FALSE(offer.rounds_inputs);
        CHECK(compile(offered[i], properties) == "");
      }
    }
  }
}

}  // namespace

TEST_SUITE("Does cuDNN have fused kernels for attention?") {
  TEST_CASE("for every direction, format and mask on an H100: they compile") { check_offers(h100, cases, 2); }

  TEST_CASE("for heads of 256 numbers on an H100") { check_offers(h100, wide_heads, 1); }

  TEST_CASE("on an A100") { check_offers(a100, cases, 1); }

  TEST_CASE("not on a T4, for fp32 or for wide heads, where attention is products of matrices") {
    const auto has_offers = [](const Card& card, const BackendGraph& operations) {
      const BackendDescriptor graph = operations.describe(nullptr);
      return graph.try_finalize() == CUDNN_STATUS_SUCCESS && !offers(graph, describe(card)).empty();
    };
    const AttentionExtents common = extents(CUDNN_DATA_HALF, 196, 128, true, false);
    for (const MakeGraph make : both_directions) {
      CHECK(has_offers(h100, make(common)));
      CHECK_FALSE(has_offers(t4, make(common)));
    }
    // For a graph that a T4 can run, its description is good enough.
    const ConvolutionExtents convolution = {CUDNN_DATA_HALF, true, {8, 64, 14, 14}, {64, 64, 3, 3}, {8, 64, 14, 14}, {1, 1}, {1, 1}};
    CHECK(has_offers(t4, convolution_graph(ConvolutionPass::forward, convolution)));
    CHECK_FALSE(has_offers(h100, attention_backward_graph(extents(CUDNN_DATA_FLOAT, 196, 64, false, false))));
    CHECK_FALSE(has_offers(h100, attention_backward_graph(extents(CUDNN_DATA_BFLOAT16, 196, 512, false, false))));
  }
}

int main(int argc, char** argv) {
  if (cudnnGetVersion() < fused_attention_since) {
    fmt::print("SKIPPED: it needs cuDNN {} or later, found {}\n", cudnn_version(fused_attention_since), cudnn_version(cudnnGetVersion()));
    return skipped;
  }
  if (dlopen("libcuda.so.1", RTLD_NOW) == nullptr) {
    fmt::print("SKIPPED: there is no library of a driver, nor CUDA's stand-in for it ({})\n", dlerror());
    return skipped;
  }
  return doctest::Context(argc, argv).run();
}

#endif
