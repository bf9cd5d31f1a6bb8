#include <doctest/doctest.h>

#include "base/errors.hpp"
#include "trace/step_profile.hpp"
#include "trace/trace.hpp"

using namespace syncopate;

namespace {

// Three layers; forward 1, 2, 3 s; backward 4, 5, 6 s; layer c has two gradients.
Json small_trace() {
  return parse_json(R"({
    "format": "trace/1",
    "provenance": {"kind": "synthetic"},
    "model": {"name": "small", "batch": 4, "dtype": "fp32"},
    "layers": [{"name": "a", "forward_s": 1, "backward_s": 4},
               {"name": "b", "forward_s": 2, "backward_s": 5},
               {"name": "c", "forward_s": 3, "backward_s": 6}],
    "gradients": [{"name": "c.bias", "layer": "c", "bytes": 10},
                  {"name": "c.weight", "layer": "c", "bytes": 20},
                  {"name": "a.weight", "layer": "a", "bytes": 30}]})",
                    "small.json");
}

Trace read(const Json& json) { return read_trace(Document(json, "small.json")); }

void set_ready(Json& json, std::vector<double> ready) {
  for (std::size_t i = 0; i < ready.size(); ++i) json["gradients"][i]["ready_s"] = ready[i];
}

std::vector<double> ready_times(const StepProfile& profile) {
  std::vector<double> times;
  for (const auto& gradient : profile.gradients) times.push_back(gradient.ready.value);
  return times;
}

}  // namespace

TEST_SUITE("Does a trace become the step that the format promises?") {
  TEST_CASE("without recorded times a gradient is ready when its layer's backward ends") {
    const StepProfile profile = step_profile(read(small_trace()), Granularity::tensor);
    CHECK(profile.forward == Seconds(6));
    CHECK(profile.backward == Seconds(15));
    CHECK(ready_times(profile) == std::vector<double>{6, 6, 15});
    CHECK(profile.bytes() == Bytes(60));
    CHECK(profile.compute() == Seconds(21));
  }

  TEST_CASE("recorded times are used, and backward lasts until the last of them") {
    Json json = small_trace();
    set_ready(json, {1, 2, 20});
    const StepProfile profile = step_profile(read(json), Granularity::tensor);
    CHECK(ready_times(profile) == std::vector<double>{1, 2, 20});
    CHECK(profile.backward == Seconds(20));
    CHECK(profile.layers[2].backward.value == doctest::Approx(6.0 * 20 / 15));
  }

  TEST_CASE("measured spans win and stretch the layers, ready times with them where they are derived") {
    Json json = small_trace();
    json["iteration"] = {{"forward_s", 12}, {"backward_s", 30}};
    json["update_s"] = 0.5;
    StepProfile profile = step_profile(read(json), Granularity::tensor);
    CHECK(profile.forward == Seconds(12));
    CHECK(profile.layers[1].forward == Seconds(4));
    CHECK(ready_times(profile) == std::vector<double>{12, 12, 30});
    CHECK(profile.compute() == Seconds(42.5));
    set_ready(json, {1, 2, 20});
    profile = step_profile(read(json), Granularity::tensor);
    CHECK(profile.backward == Seconds(30));
    CHECK(ready_times(profile) == std::vector<double>{1, 2, 20});
  }

  TEST_CASE("granularity layer adds a layer's bytes, ready with its last gradient") {
    Json json = small_trace();
    json["gradients"].push_back({{"name", "c.late"}, {"layer", "c"}, {"bytes", 5}});
    set_ready(json, {1, 2, 3, 4});
    const StepProfile profile = step_profile(read(json), Granularity::layer);
    REQUIRE(profile.gradients.size() == 2);
    CHECK(profile.gradients[0].name == "a");
    CHECK(profile.gradients[0].ready == Seconds(3));
    CHECK(profile.gradients[1].name == "c");
    CHECK(profile.gradients[1].bytes == Bytes(35));
    CHECK(profile.gradients[1].ready == Seconds(4));
  }
}

TEST_SUITE("Is a trace that breaks a rule refused, with file, place, rule and value?") {
  TEST_CASE("one row per rule") {
    struct Row {
      const char* what;
      void (*spoil)(Json&);
      std::string message;
    };
    const std::vector<Row> table = {
        {"no format", [](Json& t) { t.erase("format"); }, "/: the required key \"format\" is missing"},
        {"other format", [](Json& t) { t["format"] = "model/1"; }, "/format: expected \"trace/1\", got \"model/1\""},
        {"no provenance", [](Json& t) { t.erase("provenance"); }, "/: the required key \"provenance\" is missing"},
        {"odd provenance", [](Json& t) { t["provenance"]["kind"] = "measure"; },
         "/provenance/kind: expected one of measured, imported, synthetic, got \"measure\"; did you mean \"measured\"?"},
        {"no model", [](Json& t) { t.erase("model"); }, "/: the required key \"model\" is missing"},
        {"batch 0", [](Json& t) { t["model"]["batch"] = 0; }, "/model/batch: expected an integer >= 1, got 0"},
        {"huge batch", [](Json& t) { t["model"]["batch"] = 1e12; }, "/model/batch: expected an integer <= 1000000000, got 1000000000000.0"},
        {"unknown key", [](Json& t) { t["layer"] = 1; }, "/layer: unknown key \"layer\"; did you mean \"layers\"?"},
        {"unknown key in a layer", [](Json& t) { t["layers"][1]["foward_s"] = 1; },
         "/layers/1/foward_s: unknown key \"foward_s\"; did you mean \"forward_s\"?"},
        {"no layers", [](Json& t) { t["layers"] = Json::array(); }, "/layers: expected a list that is not empty, got []"},
        {"no gradients", [](Json& t) { t["gradients"] = Json::array(); }, "/gradients: expected a list that is not empty, got []"},
        {"layers no list", [](Json& t) { t["layers"] = 3; }, "/layers: expected a list that is not empty, got 3"},
        {"negative time", [](Json& t) { t["layers"][0]["forward_s"] = -1; }, "/layers/0/forward_s: expected a number >= 0, got -1"},
        {"time a string", [](Json& t) { t["layers"][0]["forward_s"] = "1"; }, "/layers/0/forward_s: expected a number >= 0, got \"1\""},
        {"huge time", [](Json& t) { t["layers"][0]["forward_s"] = 1e300; },
         "/layers/0/forward_s: expected a number <= 1000000000, got 1e+300"},
        {"not a number", [](Json& t) { t["layers"][0]["backward_s"] = std::nan(""); },
         "/layers/0/backward_s: expected a number >= 0, got null"},
        {"layer twice", [](Json& t) { t["layers"][1]["name"] = "a"; }, "/layers/1: the layer \"a\" is listed twice"},
        {"all times 0",
         [](Json& t) {
           for (Json& layer : t["layers"]) layer["forward_s"] = layer["backward_s"] = 0;
         },
         "/layers: an iteration must take some time"},
        {"one quartile", [](Json& t) { t["layers"][0]["forward_quartiles_s"] = {1}; },
         "/layers/0/forward_quartiles_s: expected two numbers, the first and third quartile, got [1]"},
        {"quartiles swapped",
         [](Json& t) {
           t["layers"][0]["backward_quartiles_s"] = {2, 1};
         },
         "/layers/0/backward_quartiles_s: expected the first quartile before the third, got [2,1]"},
        {"gradient twice", [](Json& t) { t["gradients"][1]["name"] = "c.bias"; },
         "/gradients/1/name: the gradient \"c.bias\" is listed twice"},
        {"gradient of no layer", [](Json& t) { t["gradients"][0]["layer"] = "cc"; },
         "/gradients/0/layer: no layer is named \"cc\"; did you mean \"c\"?"},
        {"bytes 0", [](Json& t) { t["gradients"][0]["bytes"] = 0; },
         "/gradients/0/bytes: expected a whole number of bytes from 1 to 1e15 or a string such as \"25MB\" or \"1MiB\", got 0"},
        {"shape 0",
         [](Json& t) {
           t["gradients"][0]["shape"] = {3, 0};
         },
         "/gradients/0/shape/1: expected an integer >= 1, got 0"},
        {"ready on some", [](Json& t) { t["gradients"][0]["ready_s"] = 1; }, "/gradients/1: ready_s must be on all gradients or on none"},
        {"ready decreasing",
         [](Json& t) {
           set_ready(t, {1, 3, 2});
         },
         "/gradients/2/ready_s: expected at least the ready_s of the gradient before (3), got 2.0"},
        {"order against layers", [](Json& t) { t["gradients"][0]["layer"] = "a"; },
         "/gradients/1: gradients go in the order in which backward makes them ready, but \"c.weight\" belongs to a later layer than "
         "\"c.bias\" before it; swap them or give ready_s"},
        {"backward shorter than ready",
         [](Json& t) {
           set_ready(t, {1, 2, 20});
           t["iteration"]["backward_s"] = 19;
         },
         "/iteration/backward_s: expected at least the last gradient's ready_s (20), got 19"},
        {"nothing to stretch",
         [](Json& t) {
           for (Json& layer : t["layers"]) layer["backward_s"] = 0;
           t["iteration"]["backward_s"] = 1;
         },
         "/iteration/backward_s: layers whose backward_s are all 0 cannot be stretched to it; give ready_s or the layers' times"},
        {"device without kind",
         [](Json& t) {
           t["device"] = {{"name", "x"}};
         },
         "/device: the required key \"kind\" is missing"},
        {"update negative", [](Json& t) { t["update_s"] = -0.1; }, "/update_s: expected a number >= 0, got -0.1"},
    };
    for (const Row& row : table) {
      CAPTURE(row.what);
      Json json = small_trace();
      row.spoil(json);
      CHECK_THROWS_WITH_AS(read(json), ("small.json: " + row.message).c_str(), InputError);
    }
  }
}
