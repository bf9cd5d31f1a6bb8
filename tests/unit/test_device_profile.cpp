#include <doctest/doctest.h>

#include <random>

#include "base/errors.hpp"
#include "device/fit.hpp"
#include "device/least_squares.hpp"
#include "device/synthesize.hpp"
#include "trace/step_profile.hpp"

using namespace syncopate;

namespace {

Model small_model() {
  return read_model(Document(parse_json(R"({
    "format": "model/1", "name": "small", "input": [4, 16, 16],
    "layers": [{"name": "a", "op": "conv2d", "out_channels": 8, "kernel": 1},
               {"name": "b", "op": "conv2d", "out_channels": 16, "kernel": 5, "stride": 2, "pad": 2},
               {"name": "c", "op": "conv2d", "out_channels": 64, "kernel": 1},
               {"name": "d", "op": "conv2d", "out_channels": 128, "kernel": 1},
               {"name": "e", "op": "conv2d", "out_channels": 8, "kernel": 7},
               {"name": "norm", "op": "batch_norm"},
               {"name": "relu", "op": "relu"},
               {"name": "pool", "op": "avg_pool", "kernel": 2},
               {"name": "flat", "op": "flatten"},
               {"name": "fc", "op": "linear", "out_features": 10}]})",
                                        "small.json"),
                             "small.json"));
}

DeviceProfile small_profile() {
  DeviceProfile profile;
  profile.file = "device.json";
  profile.name = "test";
  profile.kind = "gpu";
  profile.source = "made for a test";
  profile.dtype = "fp32";
  profile.costs[CostClass::convolution] = {{Seconds(1e-4), 1e-12, SecondsPerByte(2e-11), SecondsPerByte(3e-11)},
                                           {Seconds(3e-4), 2e-12, SecondsPerByte(5e-11), SecondsPerByte(7e-11)}};
  profile.others = DeviceProfile::Direction{{Seconds(1e-5), 0, SecondsPerByte(1e-11), {}}, {Seconds(2e-5), 0, SecondsPerByte(3e-11), {}}};
  profile.update = {Seconds(1e-6), 0, {}, SecondsPerByte(1e-10)};
  return profile;
}

double residual(const std::vector<Terms>& rows, const std::vector<double>& y, const Terms& x) {
  double sum = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    double predicted = 0;
    for (std::size_t j = 0; j < x.size(); ++j) predicted += rows[i][j] * x[j];
    sum += (predicted - y[i]) * (predicted - y[i]);
  }
  return sum;
}

}  // namespace

TEST_SUITE("Does a device profile predict what it says?") {
  TEST_CASE("a layer costs launch + MACs + activations + weights of its batch") {
    const Model model = small_model();
    const Trace trace = synthesize(model, small_profile(), 32);
    // Layer a: 4 -> 8 channels of 16x16, 40 parameters.
    CHECK(trace.layers[0].forward.value == doctest::Approx(1e-4 + 1e-12 * 32 * 8 * 256 * 4 + 2e-11 * 32 * 4 * 12 * 256 + 3e-11 * 4 * 40));
    CHECK(trace.layers[0].backward.value == doctest::Approx(3e-4 + 2e-12 * 32 * 8 * 256 * 4 + 5e-11 * 32 * 4 * 12 * 256 + 7e-11 * 4 * 40));
    CHECK(trace.layers[6].forward.value == doctest::Approx(1e-5 + 1e-11 * 32 * 4 * 2 * 8 * 2 * 2));
    CHECK(trace.layers[8].forward == Seconds(0));
    CHECK(trace.update.value == doctest::Approx(14 * 1e-6 + 1e-10 * 4 * model.parameters()));
    CHECK(trace.provenance.synthetic());
    CHECK(trace.provenance.note == "the device profile's error: unknown");
  }

  TEST_CASE("gradients come in the reverse order of forward, a linear layer's bias first") {
    const Trace trace = synthesize(small_model(), small_profile(), 1);
    CHECK(trace.gradients.size() == 14);
    CHECK(trace.gradients[0].name == "fc.bias");
    CHECK(trace.gradients[1].name == "fc.weight");
    CHECK(trace.gradients[2].name == "norm.weight");
    CHECK(trace.gradients[13].name == "a.bias");
    CHECK(trace.gradients[1].shape == Shape{10, 8});
    CHECK(trace.gradients[1].bytes == Bytes(320));
  }

  TEST_CASE("GPUs that share a batch each compute a part of it") {
    DeviceProfile two = small_profile();
    two.gpus = 2;
    const Trace shared = synthesize(small_model(), two, 64);
    const Trace alone = synthesize(small_model(), small_profile(), 32);
    CHECK(shared.batch == 64);
    for (std::size_t i = 0; i < alone.layers.size(); ++i) CHECK(shared.layers[i].backward == alone.layers[i].backward);
    CHECK_THROWS_WITH_AS(synthesize(small_model(), two, 33),
                         "device.json: /gpus: 2 GPUs share a worker's batch evenly, but the batch is 33; choose a multiple", InputError);
  }

  TEST_CASE("a class without a cost is an error that names a layer") {
    DeviceProfile profile = small_profile();
    profile.others.reset();
    CHECK_THROWS_WITH_AS(
        synthesize(small_model(), profile, 1),
        "device.json: /costs: no cost for normalization layers, such as \"norm\" of small; add \"normalization\" or \"others\"",
        InputError);
  }

  TEST_CASE("a class without a line of its own costs what it resembles, else what the others do") {
    DeviceProfile profile = small_profile();
    const DeviceProfile::Direction* convolution = &profile.costs.at(CostClass::convolution);
    CHECK(profile.cost(CostClass::convolution_3x3) == convolution);
    CHECK(profile.cost(CostClass::attention) == &*profile.others);
    CHECK(profile.cost(CostClass::depthwise) == &*profile.others);
    profile.costs[CostClass::linear] = *convolution;
    profile.costs[CostClass::elementwise] = *convolution;
    CHECK(profile.cost(CostClass::attention) == &profile.costs.at(CostClass::linear));
    CHECK(profile.cost(CostClass::depthwise) == &profile.costs.at(CostClass::elementwise));
    CHECK(profile.cost(CostClass::join) == &profile.costs.at(CostClass::elementwise));
    profile.others.reset();
    CHECK(profile.cost(CostClass::pooling) == nullptr);
  }

  TEST_CASE("a synthetic trace reads back as it was written") {
    const Trace trace = synthesize(small_model(), small_profile(), 8);
    const Trace again = read_trace(Document(parse_json(write_trace(trace), "again.json"), "again.json"));
    CHECK(write_trace(again) == write_trace(trace));
    CHECK(step_profile(again, Granularity::tensor).compute().value ==
          doctest::Approx(step_profile(trace, Granularity::tensor).compute().value).epsilon(1e-8));
  }

  TEST_CASE("a profile reads back as it was written") {
    DeviceProfile profile = small_profile();
    profile.gpus = 2;
    profile.errors = {{"a trace", "small", 0.25, std::nullopt, 0.125, -0.5}};
    const std::string text = write_device_profile(profile);
    const DeviceProfile again = read_device_profile(Document(parse_json(text, "again.json"), "again.json"));
    CHECK(write_device_profile(again) == text);
    CHECK(again.describe_errors() == "forward +25.0%, median layer off by 12.5%, samples/s -50.0% against a trace");
    CHECK(synthesize(small_model(), again, 2).provenance.note ==
          "the device profile's error: forward +25.0%, median layer off by 12.5%, samples/s -50.0% against a trace");
    profile.errors.front().model = "another";
    CHECK(synthesize(small_model(), profile, 2).provenance.note.ends_with(" against a trace; unknown for small"));
  }
}

TEST_SUITE("Does a fit find the costs that made the times?") {
  TEST_CASE("least squares recover known coefficients, and no coefficient is negative") {
    std::mt19937 random(7);
    std::uniform_real_distribution<double> uniform(0, 1);
    for (int round = 0; round < 50; ++round) {
      std::vector<Terms> rows(12);
      Terms known{};
      for (double& x : known) x = uniform(random) < 0.3 ? 0 : uniform(random);
      std::vector<double> exact;
      std::vector<double> noisy;
      for (auto& row : rows) {
        row = {1e9 * uniform(random), 1e6 * uniform(random), 1e3 * uniform(random), 1};
        exact.push_back(1e-9 * known[0] * row[0] + 1e-6 * known[1] * row[1] + 1e-3 * known[2] * row[2] + known[3]);
        noisy.push_back(exact.back() + 4 * (uniform(random) - 0.5));
      }
      const Terms found = non_negative_least_squares(rows, exact);
      CHECK(found[0] == doctest::Approx(1e-9 * known[0]).epsilon(1e-6));
      CHECK(found[3] == doctest::Approx(known[3]).epsilon(1e-6));
      const Terms best = non_negative_least_squares(rows, noisy);
      for (const double x : best) CHECK(x >= 0);
      for (int trial = 0; trial < 200; ++trial) {
        Terms other = best;
        for (double& x : other) x = std::max(0.0, x + 0.2 * (uniform(random) - 0.5) * std::max(x, 1e-10));
        CHECK(residual(rows, noisy, other) >= residual(rows, noisy, best) * (1 - 1e-9));
      }
    }
  }

  TEST_CASE("of terms that explain the times equally well, the first ones do; a term that no row has is 0") {
    const std::vector<double> y = {2, 4, 6, 8};
    const Terms first = non_negative_least_squares({{1, 2, 0, 0}, {2, 4, 0, 0}, {3, 6, 0, 0}, {4, 8, 0, 0}}, y);
    CHECK(first[0] == doctest::Approx(2));
    CHECK(first == Terms{first[0], 0, 0, 0});
    const Terms second = non_negative_least_squares({{0, 5, 5, 1}, {0, 10, 10, 1}, {0, 15, 15, 1}, {0, 20, 20, 1}}, y);
    CHECK(second[1] == doctest::Approx(0.4));
    CHECK(second == Terms{0, second[1], 0, 0});
    CHECK(non_negative_least_squares({{1, 0, 0, 0}, {1, 0, 0, 0}}, {-1, -2}) == Terms{});
    CHECK(non_negative_least_squares({Terms{}, Terms{}}, {1, 2}) == Terms{});
  }

  TEST_CASE("the fit of a synthetic trace is the profile that made it") {
    const Model model = small_model();
    const DeviceProfile profile = small_profile();
    const Trace trace = synthesize(model, profile, 32);
    const FitReport report = fit_profile({{&trace, &model}}, 1);
    CHECK(report.samples.front().match.rule == "name");
    const DeviceProfile::Direction& found = report.profile.costs.at(CostClass::convolution);
    const DeviceProfile::Direction& made = profile.costs.at(CostClass::convolution);
    for (const auto& [a, b] : {std::pair{found.forward, made.forward}, std::pair{found.backward, made.backward}}) {
      CHECK(a.launch.value == doctest::Approx(b.launch.value).epsilon(1e-4));
      CHECK(a.s_per_mac == doctest::Approx(b.s_per_mac).epsilon(1e-4));
      CHECK(a.activations.value == doctest::Approx(b.activations.value).epsilon(1e-4));
      CHECK(a.weights.value == doctest::Approx(b.weights.value).epsilon(1e-4));
    }
    CHECK(report.classes.front().r2_forward == doctest::Approx(1));
    CHECK(std::abs(*report.profile.errors.front().forward) < 1e-6);
    CHECK(*report.profile.errors.front().median_layer < 1e-6);
  }

  TEST_CASE("a single linear layer gets the convolutions' rate, and the rest of its time is launch") {
    const Model model = small_model();
    Trace trace = synthesize(model, small_profile(), 32);
    trace.layers.back().forward = Seconds(0.5);
    const DeviceProfile::Direction found = fit_profile({{&trace, &model}}, 1).profile.costs.at(CostClass::linear);
    CHECK(found.forward.s_per_mac == doctest::Approx(1e-12).epsilon(1e-4));
    CHECK(found.forward.launch.value == doctest::Approx(0.5 - 1e-12 * 32 * 80));
    CHECK(found.forward.weights == SecondsPerByte(0));
  }

  TEST_CASE("a trace of another model or number type cannot be compared") {
    const Model model = small_model();
    Trace trace = synthesize(model, small_profile(), 32);
    trace.file = "t.json";
    trace.dtype = "fp16";
    CHECK_THROWS_WITH_AS(profile_error(small_profile(), {&trace, &model}),
                         "t.json: /model/dtype: the trace is in \"fp16\", the profile test for \"fp32\"; compare like with like",
                         InputError);
    for (std::size_t i = 1; i < trace.layers.size(); ++i) trace.layers[i].name = "x" + std::to_string(i);
    for (Layer& layer : trace.layers) layer.type = "mystery";
    CHECK_THROWS_AS(fit_profile({{&trace, &model}}, 1), InputError);
  }

  TEST_CASE("a profile's error against a trace that took twice as long is a half") {
    const Model model = small_model();
    Trace trace = synthesize(model, small_profile(), 32);
    for (Layer& layer : trace.layers) {
      layer.forward = 2 * layer.forward;
      layer.backward = 4 * layer.backward;
    }
    const ProfileError error = profile_error(small_profile(), {&trace, &model});
    CHECK(*error.forward == doctest::Approx(-0.5));
    CHECK(*error.backward == doctest::Approx(-0.75));
  }

  TEST_CASE("layers are matched by name, by their order within a type, or by having parameters") {
    const Model model = small_model();
    Trace trace = synthesize(model, small_profile(), 1);
    CHECK(match_layers(trace, model).pairs.size() == 10);
    const std::vector<std::string> pytorch = {"Conv2d",     "Conv2d", "Conv2d",    "Conv2d", "Conv2d",
                                              "batch_norm", "relu_",  "AvgPool2d", "view",   "linear"};
    for (std::size_t i = 0; i < trace.layers.size(); ++i) {
      trace.layers[i].name = "unlike " + std::to_string(i);
      trace.layers[i].type = pytorch[i];
    }
    const LayerMatch by_type = match_layers(trace, model);
    CHECK(by_type.rule == "order among layers of one type");
    CHECK(by_type.pairs ==
          std::vector<std::pair<std::size_t, std::size_t>>{{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 6}, {7, 7}, {9, 9}});
    trace.layers.erase(trace.layers.begin() + 6, trace.layers.begin() + 9);
    for (Layer& layer : trace.layers) layer.type = "unknown";
    for (Gradient& gradient : trace.gradients) gradient.layer = std::min<std::size_t>(gradient.layer, 6);
    const LayerMatch by_parameters = match_layers(trace, model);
    CHECK(by_parameters.pairs == std::vector<std::pair<std::size_t, std::size_t>>{{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 9}});
    trace.gradients.back().bytes = Bytes(1e6);
    CHECK(match_layers(trace, model).pairs.size() == 6);
  }
}
