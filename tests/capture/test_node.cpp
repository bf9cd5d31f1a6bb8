#include <doctest/doctest.h>

#include <bit>
#include <limits>
#include <map>

#include "base/errors.hpp"
#include "capture/node/cpu_compress.hpp"
#include "capture/node/cpu_device.hpp"
#include "capture/node/report.hpp"
#include "node_cases.hpp"

using namespace syncopate;
using namespace syncopate::capture;

namespace {

/// Nothing happens.
struct IdleTask : NodeTask {
  void write(std::span<const float> numbers) override { count = numbers.size(); }
  void run() override {}
  std::vector<float> result() override { return std::vector<float>(count); }
  std::size_t count = 0;
};

/// A device whose clock is the test's: the n-th time of an operation is n milliseconds. Some operations fail.
struct FakeNode : NodeDevice {
  std::span<const std::string_view> dtypes(const Operation& operation) const override {
    static constexpr std::array<std::string_view, 2> both = {"fp32", "bf16"};
    return operation.name == "add" || operation.name == "pack" || operation.name == "sign" ? both : std::span<const std::string_view>();
  }
  std::unique_ptr<NodeTask> prepare(const Operation& operation, std::string_view dtype, const std::vector<std::int64_t>& lengths) override {
    if (all_fail || operation.name == "sign") throw std::runtime_error("no signs here");
    if (dtype == "bf16" && operation.name == "add") throw std::bad_alloc();
    tensors[std::string(operation.name) + " " + std::string(dtype)] = lengths;
    times = 0;
    return std::make_unique<IdleTask>();
  }
  Seconds time(NodeTask& task) override {
    task.run();
    return Seconds(1e-3 * ++times);
  }
  std::vector<Overlap> overlaps() const override { return all_fail ? std::vector<Overlap>() : overlapping; }
  OverlapTimes measure(const Overlap& /*overlap*/, std::int64_t /*bytes*/, int repetitions) override {
    const auto count = static_cast<std::size_t>(repetitions);
    return {std::vector<Seconds>(count, Seconds(2)), std::vector<Seconds>(count, Seconds(3))};
  }
  DeviceDescription describe() const override { return {"cpu", "fake", "the test's", {}, {}, {}}; }

  bool all_fail = false;
  std::vector<Overlap> overlapping = {{"compute", "copies"}};
  int times = 0;
  std::map<std::string, std::vector<std::int64_t>> tensors;
};

NodeOptions options(std::int64_t bytes) {
  NodeOptions options;
  options.bytes = bytes;
  options.warmup = 3;
  options.repetitions = 11;
  return options;
}

}  // namespace

TEST_SUITE("Does the processor do with gradients what it should?") {
  TEST_CASE("every operation") {
    CpuNode device;
    for (const std::vector<std::int64_t>& tensors : tensor_lists) check_operations(device, tensors);
  }

  TEST_CASE("of equal magnitudes exactly k are kept, the first ones") {
    const std::vector<float> numbers = {1, -2, 2, 3, -2, 2, 1, -2};
    Sparse kept = {std::vector<float>(4), std::vector<std::uint32_t>(4)};
    select_top(numbers, kept);
    CHECK(kept.values == std::vector<float>{-2, 2, 3, -2});
    CHECK(kept.indices == std::vector<std::uint32_t>{1, 2, 3, 4});
    const std::vector<float> zeros(8);
    select_top(zeros, kept);
    CHECK(kept.indices == std::vector<std::uint32_t>{0, 1, 2, 3});
  }

  TEST_CASE("any number may be kept, up to all") {
    const std::vector<float> numbers = wide_numbers(257);
    for (std::size_t k = 1; k <= numbers.size(); ++k) {
      Sparse kept = {std::vector<float>(k), std::vector<std::uint32_t>(k)};
      select_top(numbers, kept);
      check_top_k(unpack(kept, numbers.size()), numbers, k);
    }
  }

  TEST_CASE("signs are bits from the lowest of the first word on") {
    std::vector<float> numbers(33, 1.0F);
    numbers[0] = numbers[5] = numbers[32] = -4.0F;
    Signs signs = {std::vector<std::uint32_t>(2)};
    pack_signs(numbers, signs);
    CHECK(signs.words == std::vector<std::uint32_t>{0b100001, 1});
    CHECK(signs.mean == doctest::Approx(42.0 / 33));
  }

  TEST_CASE("every fp16 survives the way to fp32 and back") {
    for (std::uint32_t half = 0; half <= 0xFFFF; ++half) {
      const float number = from_half(static_cast<std::uint16_t>(half));
      const bool is_nan = (half & 0x7FFFU) > 0x7C00U;
      if (std::isnan(number) != is_nan || (!is_nan && to_half(number) != half)) FAIL("fp16 with the bits ", half);
    }
  }

  TEST_CASE("numbers round to the nearest fp16, and to even half-way between two") {
    for (std::uint16_t half = 0; half < 0x7BFF; ++half) {
      const float below = from_half(half);
      const float above = from_half(static_cast<std::uint16_t>(half + 1));
      const float middle = below + (above - below) / 2;
      const auto even = static_cast<std::uint16_t>(half + (half & 1U));
      const bool right = to_half(middle) == even && to_half(std::nextafter(middle, 0.0F)) == half &&
                         to_half(std::nextafter(middle, 1e6F)) == half + 1 && to_half(-middle) == (even | 0x8000U);
      if (!right) FAIL("between the fp16 with the bits ", half, " and the next");
    }
    CHECK(to_half(65519.0F) == 0x7BFF);
    CHECK(to_half(65520.0F) == 0x7C00);
    CHECK(to_half(1e30F) == 0x7C00);
    CHECK(to_half(-std::numeric_limits<float>::infinity()) == 0xFC00);
    CHECK(from_half(0x3C00) == 1.0F);
    CHECK(from_half(0xC000) == -2.0F);
    CHECK(from_half(1) == 0x1p-24F);
  }
}

TEST_SUITE("Are measurements what the clock said?") {
  TEST_CASE("medians and quartiles after the warm-up, per byte of the gradients") {
    FakeNode device;
    const NodeMeasurements found = measure_node(device, options(1 << 20));
    REQUIRE(found.operations.size() == 3);
    const auto add =
        std::find_if(found.operations.begin(), found.operations.end(), [](const Measurement& m) { return m.operation.name == "add"; });
    REQUIRE(add != found.operations.end());
    CHECK(add->bytes == 1 << 20);
    CHECK(add->seconds.median.value == doctest::Approx(9e-3));  // of 4 to 14 ms
    CHECK(add->seconds.first.value == doctest::Approx(6.5e-3));
    CHECK(add->seconds.third.value == doctest::Approx(11.5e-3));
    CHECK(add->per_byte().value == doctest::Approx(9e-3 / (1 << 20)));
    CHECK(add->bandwidth().value == doctest::Approx(3 * (1 << 20) / 9e-3));
    REQUIRE(found.overlaps.size() == 1);
    CHECK(found.overlaps[0].slowdown() == doctest::Approx(0.5));
  }

  TEST_CASE("lengths: one tensor, 161 equal ones or those of a model, of numbers as long as the format's") {
    FakeNode device;
    measure_node(device, options(1 << 20));
    CHECK(device.tensors["add fp32"] == std::vector<std::int64_t>{1 << 18});
    CHECK(device.tensors["pack fp32"] == std::vector<std::int64_t>(161, 1600));
    CHECK(device.tensors["pack bf16"] == std::vector<std::int64_t>(161, 3200));
    NodeOptions of_model = options(1 << 20);
    of_model.tensors = {5, 1, 700};
    const NodeMeasurements found = measure_node(device, of_model);
    CHECK(device.tensors["pack fp32"] == of_model.tensors);
    CHECK(device.tensors["pack bf16"] == of_model.tensors);
    for (const Measurement& measured : found.operations) {
      if (measured.operation.name == "pack") CHECK(measured.bytes == 706 * dtype_bytes(measured.dtype));
    }
  }

  TEST_CASE("what fails does not take the rest with it") {
    FakeNode device;
    std::size_t steps = 0;
    NodeOptions counted = options(1 << 20);
    counted.progress = [&steps] { ++steps; };
    const NodeMeasurements found = measure_node(device, counted);
    CHECK(steps == measurement_count(device));
    REQUIRE(found.failed.size() == 3);
    CHECK(found.failed[0].name == "add bf16");
    CHECK(found.failed[0].reason == "out of memory");
    CHECK(found.failed[1].name == "sign fp32");
    CHECK(found.failed[2].reason == "no signs here");
    device.all_fail = true;
    CHECK_THROWS_WITH_AS(measure_node(device, counted), "no measurement succeeded: pack fp32: no signs here", DeviceError);
  }

  TEST_CASE("additions beside compute have the share of the device that they occupy") {
    FakeNode device;
    device.overlapping = additions_beside("compute", "block", 6, 8);
    const NodeOptions wanted = options(1 << 20);
    const NodeMeasurements found = measure_node(device, wanted);
    const Json rows = parse_json(write_node({{"kind", "measured"}}, device.describe(), wanted, found), "node.json")["overlap"];
    REQUIRE(rows.size() == 3);
    CHECK(rows[0]["beside"] == "additions in 1 block");
    CHECK(rows[2]["beside"] == "additions in 4 blocks");
    CHECK(rows[2]["blocks"] == 4);
    CHECK(rows[2]["share"] == 0.5);
    CHECK(format_node(device.describe(), found).find("50.0%") != std::string::npos);
    CHECK(additions_beside("compute", "block", 132, 132).size() == 6);
    CHECK(additions_beside("compute", "thread", 0, 1).empty());
  }

  TEST_CASE("the processor computes alone and beside other threads") {
    CpuNode device;
    for (const Overlap& overlap : device.overlaps()) {
      const OverlapTimes times = device.measure(overlap, 1 << 20, 3);
      CHECK(times.alone.size() == 3);
      CHECK(times.beside.size() == 3);
      for (const Seconds time : times.alone) CHECK(time.value > 0);
      for (const Seconds time : times.beside) CHECK(time.value > 0);
    }
  }

  TEST_CASE("the file holds them, a measurement a line") {
    FakeNode device;
    const NodeOptions wanted = options(1 << 20);
    const std::string text = write_node({{"kind", "measured"}}, device.describe(), wanted, measure_node(device, wanted));
    const Json json = parse_json(text, "node.json");
    CHECK(json["format"] == "node/1");
    CHECK(json["timing"]["repetitions"] == 11);
    CHECK(json["measurements"].size() == 3);
    CHECK(json["overlap"][0]["slowdown"] == 0.5);
    CHECK_FALSE(json["overlap"][0].contains("blocks"));
    CHECK(json["failed"][1]["name"] == "sign fp32");
    CHECK(text.find("\n{\"name\":\"add\",\"dtype\":\"fp32\",\"bytes\":1048576,\"seconds\":0.009,") != std::string::npos);
  }
}
