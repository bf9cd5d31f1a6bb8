#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "capture/node/cuda/device.hpp"
#include "capture/node/measure.hpp"
#include "node_cases.hpp"

using namespace syncopate;
using namespace syncopate::capture;

TEST_SUITE("Does the GPU do with gradients what the processor does?") {
  TEST_CASE("every operation, in every format") {
    CudaNode device(0);
    for (const std::vector<std::int64_t>& tensors : tensor_lists) check_operations(device, tensors);
  }

  TEST_CASE("more numbers than all threads take at once") {
    CudaNode device(0);
    check_operations(device, {6'000'003});
  }

  TEST_CASE("it has every operation") {
    const CudaNode device(0);
    for (const Operation& operation : operations()) {
      CAPTURE(std::string(operation.name));
      CHECK_FALSE(device.dtypes(operation).empty());
    }
  }
}

TEST_SUITE("Does the GPU measure what it should?") {
  TEST_CASE("everything succeeds, and no kernel is faster than memory could be") {
    CudaNode device(0);
    NodeOptions options;
    options.bytes = 64 << 20;
    options.repetitions = 10;
    const NodeMeasurements found = measure_node(device, options);
    for (const Failure& failure : found.failed) {
      CAPTURE(failure.reason);
      CHECK(failure.name.empty());
    }
    CHECK(found.operations.size() + found.overlaps.size() == measurement_count(device));
    for (const Measurement& measured : found.operations) {
      CAPTURE(std::string(measured.operation.name));
      CHECK(measured.seconds.median.value > 0);
      CHECK(measured.bandwidth().value < 20e12);
    }
    for (const MeasuredOverlap& measured : found.overlaps) {
      CAPTURE(measured.overlap.compute);
      CAPTURE(measured.overlap.beside);
      CHECK(measured.alone.median.value > 1e-3);
      CHECK(measured.slowdown() > -0.1);
    }
  }

  TEST_CASE("it says what it is") {
    const DeviceDescription description = CudaNode(0).describe();
    CHECK(description.kind == "gpu");
    CHECK_FALSE(description.name.empty());
    for (const char* key : {"cuda_runtime", "cuda_driver", "cublas"}) CHECK(description.software.contains(key));
  }

  TEST_CASE("an index beyond the GPUs is an error that says how many there are") {
    std::string message;
    try {
      const CudaNode device(1'000'000);
    } catch (const DeviceError& error) {
      message = error.what();
    }
    CAPTURE(message);
    CHECK(message.starts_with("--device cuda:1000000: there "));
  }
}

int main(int argc, char** argv) {
  try {
    const CudaNode device(0);
  } catch (const DeviceError& error) {
    fmt::print("SKIPPED: no NVIDIA GPU ({})\n", error.what());
    constexpr int skipped = 77;
    return skipped;
  }
  return doctest::Context(argc, argv).run();
}
