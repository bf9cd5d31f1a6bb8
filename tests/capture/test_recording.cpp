#include <doctest/doctest.h>

#include <functional>

#include "capture/capture_trace.hpp"
#include "capture/recording.hpp"

using namespace syncopate;
using namespace syncopate::capture;

namespace {

/// A device whose clock is the test's: each piece of work takes what `cost` says, in microseconds.
class FakeDevice : public Device {
 public:
  enum class Work { forward, backward, update, mark };
  using Cost = std::function<double(int iteration, Work work, std::size_t layer)>;

  FakeDevice(Cost cost, bool asynchronous) : cost_(std::move(cost)), asynchronous_(asynchronous) {}

  void set_up(const Network& /*network*/) override {}
  void begin(Run run) override {
    ++iteration;
    queued += run == Run::queued ? 1 : 0;
    log.clear();
    marks_.clear();
  }
  void forward(std::size_t layer) override { work(Work::forward, layer, "f"); }
  void backward(std::size_t layer) override { work(Work::backward, layer, "b"); }
  void update() override { work(Work::update, 0, "u"); }
  void mark() override {
    now_ += cost_(iteration, Work::mark, 0);
    marks_.emplace_back(1e-6 * now_);
  }
  std::vector<Seconds> collect() override {
    ++collected;
    std::vector<Seconds> times;
    for (const Seconds mark : marks_) times.push_back(mark - marks_.front());
    return times;
  }
  std::vector<float> read(const Array& /*array*/) override { return {}; }
  void write(const Array& /*array*/, std::span<const float> /*values*/) override {}
  double loss() override { return 0; }
  bool asynchronous() const override { return asynchronous_; }
  DeviceDescription describe() const override {
    DeviceDescription description;
    description.kind = "cpu";
    description.name = "fake";
    return description;
  }

  int iteration = 0;
  int queued = 0;
  int collected = 0;
  std::string log;  ///< of the last iteration

 private:
  void work(Work kind, std::size_t layer, const char* letter) {
    now_ += cost_(iteration, kind, layer);
    log += letter + (kind == Work::update ? "" : std::to_string(layer));
  }

  Cost cost_;
  bool asynchronous_;
  double now_ = 1e9;  // a clock starts anywhere
  std::vector<Seconds> marks_;
};

using Work = FakeDevice::Work;

/// Layer i: forward 10 (i + 1), backward 100 (i + 1), update 7, in microseconds; two layers and the loss.
double steady(int /*iteration*/, Work work, std::size_t layer) {
  switch (work) {
    case Work::forward: return 10.0 * static_cast<double>(layer + 1);
    case Work::backward: return 100.0 * static_cast<double>(layer + 1);
    case Work::update: return 7;
    case Work::mark: return 0;
  }
  return 0;
}

constexpr std::size_t layers = 2;

Summary summary_of(FakeDevice device, int iterations = 30) { return summarize(record(device, layers, {3, iterations})); }

Summary summary_of(const FakeDevice::Cost& cost, int iterations = 30) { return summary_of(FakeDevice(cost, false), iterations); }

void check_us(Seconds time, double microseconds) { CHECK(time.value == doctest::Approx(1e-6 * microseconds).epsilon(1e-6)); }

}  // namespace

TEST_SUITE("Do a recording's statistics say what the clock said?") {
  TEST_CASE("every layer forward, the loss, every layer backward, the update; warm-up and iterations are counted") {
    FakeDevice device(steady, false);
    int progress = 0;
    RecordingOptions options{4, 30};
    options.progress = [&progress] { ++progress; };
    const Recording recording = record(device, layers, options);
    CHECK(device.log == "f0f1f2b2b1b0u");
    CHECK(recording.busy.size() == 30);
    CHECK(progress == 34);
    CHECK(device.iteration == 35);  // one more to measure the clock
    CHECK(recording.busy[0].size() == 8);
    check_us(recording.busy[0].back(), 60 + 600 + 7);
  }

  TEST_CASE("the times of a steady device are its own") {
    const Summary summary = summary_of(steady);
    REQUIRE(summary.layers.size() == 3);
    check_us(summary.layers[0].forward.median, 10);
    check_us(summary.layers[2].forward.median, 30);
    check_us(summary.layers[0].backward.median, 100);
    check_us(summary.layers[2].backward.median, 300);
    check_us(summary.layers[2].ready, 300);
    check_us(summary.layers[1].ready, 500);
    check_us(summary.layers[0].ready, 600);
    check_us(summary.update.median, 7);
    check_us(summary.forward_span, 60);
    check_us(summary.backward_span, 600);
    check_us(summary.busy.iteration.median, 667);
    check_us(summary.sum_of_layers, 667);
    CHECK(summary.busy.outliers == 0);
    CHECK(summary.warnings.empty());
  }

  TEST_CASE("quartiles of an iteration that grows evenly") {
    // 31 iterations after 3 of warm-up and the clock's: layer 0's forward takes 100, 101, ..., 130.
    const Summary summary = summary_of(
        [](int iteration, Work work, std::size_t layer) {
          return work == Work::forward && layer == 0 ? 100.0 + iteration - 5 : steady(iteration, work, layer);
        },
        31);
    check_us(summary.layers[0].forward.first, 107.5);
    check_us(summary.layers[0].forward.median, 115);
    check_us(summary.layers[0].forward.third, 122.5);
    check_us(summary.layers[1].forward.first, 20);
  }

  TEST_CASE("a few iterations that something disturbed are counted, and change nothing else") {
    const Summary summary = summary_of(
        [](int iteration, Work work, std::size_t layer) { return steady(iteration, work, layer) * (iteration % 10 == 7 ? 50 : 1); });
    CHECK(summary.busy.outliers == 3);
    CHECK(summary.warnings.empty());
    check_us(summary.layers[0].backward.median, 100);
    check_us(summary.sum_of_layers, 667);
  }

  TEST_CASE("many of them are a warning") {
    const Summary summary = summary_of(
        [](int iteration, Work work, std::size_t layer) { return steady(iteration, work, layer) * (iteration % 4 == 0 ? 3 : 1); });
    CHECK(summary.busy.outliers == 7);
    REQUIRE(summary.warnings.size() == 1);
    CHECK(summary.warnings[0] == "7 of 30 iterations take over 10% longer than the median of 667 us: capture again on a quieter machine");
  }

  TEST_CASE("layers that do not add up to the iteration are a warning, and nothing is rescaled") {
    // Every iteration one layer in turn takes 400 us more: no median shows it, the iteration does.
    const Summary summary = summary_of([](int iteration, Work work, std::size_t layer) {
      const bool turn = work == Work::backward && layer == static_cast<std::size_t>(iteration % 3);
      return steady(iteration, work, layer) + (turn ? 400 : 0);
    });
    check_us(summary.sum_of_layers, 667);
    check_us(summary.busy.iteration.median, 1067);
    check_us(summary.layers[1].backward.median, 200);
    REQUIRE(summary.warnings.size() == 1);
    CHECK(summary.warnings[0] ==
          "the medians of the layers add up to 667 us, 37.5% less than the iteration's 1.067 ms: capture again on a quieter machine");
  }

  TEST_CASE("a device that becomes slower half-way is a warning") {
    const Summary summary = summary_of(
        [](int iteration, Work work, std::size_t layer) { return steady(iteration, work, layer) * (iteration > 19 ? 1.08 : 1); });
    CHECK(summary.busy.drift == doctest::Approx(0.08));
    REQUIRE(summary.warnings.size() == 1);
    CHECK(summary.warnings[0] ==
          "the second half of the iterations took 8.0% longer than the first: the device's speed changed, capture again");
  }

  TEST_CASE("and so is one that becomes faster") {
    const Summary summary =
        summary_of([](int iteration, Work work, std::size_t layer) { return steady(iteration, work, layer) * (iteration > 19 ? 0.9 : 1); });
    REQUIRE(summary.warnings.size() == 1);
    CHECK(summary.warnings[0] ==
          "the second half of the iterations took 10.0% less than the first: the device's speed changed, capture again");
  }

  TEST_CASE("an asynchronous device that is steady has a host that is not") {
    const auto slower_by_itself = [](int iteration, Work work, std::size_t layer) {
      return steady(iteration, work, layer) * (iteration > 3 + 1 + 30 + 15 ? 1.08 : 1);
    };
    const Summary summary = summary_of(FakeDevice(slower_by_itself, true));
    REQUIRE(summary.warnings.size() == 1);
    CHECK(summary.warnings[0] ==
          "the second half of the iterations that run by themselves took 8.0% longer than the first: the host's speed changed, capture "
          "again");
  }

  TEST_CASE("and one that is not steady itself has its host under no suspicion") {
    const auto slower = [](int iteration, Work work, std::size_t layer) {
      const bool second_half = iteration > 3 + 1 + 15 && (iteration <= 3 + 1 + 30 || iteration > 3 + 1 + 45);
      return steady(iteration, work, layer) * (second_half ? 1.08 : 1);
    };
    const Summary summary = summary_of(FakeDevice(slower, true));
    REQUIRE(summary.warnings.size() == 2);
    CHECK(summary.warnings[1] ==
          "the second half of the iterations that run by themselves took 8.0% longer than the first: the device's speed changed, capture "
          "again");
  }

  TEST_CASE("the clock's floor is what a mark takes, and is in no time") {
    const auto with_marks = [](int iteration, Work work, std::size_t layer) {
      return work == Work::mark ? 0.5 : steady(iteration, work, layer);
    };
    FakeDevice device(with_marks, false);
    check_us(record(device, layers, {1, 30}).floor, 0.5);
    const Summary summary = summary_of(with_marks);
    check_us(summary.layers[1].forward.median, 20);
    check_us(summary.layers[1].ready, 500);
    check_us(summary.update.median, 7);
    check_us(summary.forward_span, 60);
    check_us(summary.busy.iteration.median, 667);
  }

  TEST_CASE("a layer without work takes no time, not less") {
    const Summary summary = summary_of([](int iteration, Work work, std::size_t layer) {
      if (work == Work::mark) return iteration == 4 ? 0.5 : 0.4;  // the fourth iteration measures marks
      return layer == 1 ? 0.0 : steady(iteration, work, layer);
    });
    CHECK(summary.layers[1].forward.median == Seconds(0));
    check_us(summary.layers[0].forward.median, 9.9);
    check_us(summary.forward_busy, 9.9 + 29.9);
  }

  TEST_CASE("in a free run marks take time where the device works, and none where it waits for the host") {
    const Seconds layer(10e-6);
    for (const auto& [late, expected] :
         {std::pair(0.0, 60.0), std::pair(0.2, 60.0 + 3 * 0.2 + 3 * 0.2), std::pair(5.0, 60.0 + 3 * 5.0 + 3 * 0.5)}) {
      CAPTURE(late);
      const auto cost = [by = late](int iteration, Work work, std::size_t number) {
        if (work == Work::mark) return 0.5;
        return steady(iteration, work, number) + (iteration > 3 + 1 + 30 ? by : 0);
      };
      const Summary summary = summary_of(FakeDevice(cost, true));
      check_us(summary.forward_busy, 60);
      check_us(summary.forward_span, expected);
      CHECK(summary.layers[0].forward.median.value == doctest::Approx(layer.value));
    }
  }

  TEST_CASE("a graph that takes another time than its layers is a warning") {
    FakeDevice device([](int iteration, Work work,
                         std::size_t layer) { return steady(iteration, work, layer) * (iteration > 3 + 1 + 30 + 1 ? 1.06 : 1); },
                      true);
    RecordingOptions options{3, 30};
    options.graphs = true;
    const Summary summary = summarize(record(device, layers, options));
    REQUIRE(summary.warnings.size() == 1);
    CHECK(summary.warnings[0] == "forward and backward take 699.6 us as a graph, 6.0% more than their layers' 660 us");
  }

  TEST_CASE("a graph is described once and runs in every iteration") {
    FakeDevice device(
        [](int iteration, Work work, std::size_t layer) {
          if (work == Work::mark) return iteration == 3 + 1 + 30 + 1 ? 0.2 : 0.0;  // in a graph marks take another time
          return steady(iteration, work, layer) + (iteration > 3 + 1 + 30 ? 1 : 0);
        },
        true);
    RecordingOptions options{3, 30};
    options.graphs = true;
    const Recording recording = record(device, layers, options);
    CHECK(device.queued == 3 + 1 + 30);
    CHECK(device.iteration == 3 + 1 + 30 + 2);
    CHECK(device.collected == 3 + 1 + 30 + 1 + 30);
    CHECK(recording.spans.size() == 30);
    const Summary summary = summarize(recording);
    check_us(summary.forward_busy, 60);
    check_us(summary.forward_span, 60 + 3 * 0.8);
    const Network network = plan_network(read_model(Document(parse_json(R"({"format": "model/1", "name": "net", "input": [5], "layers": [
      {"name": "a", "op": "linear", "out_features": 4}, {"name": "b", "op": "layer_norm"}]})",
                                                                        "net.json"),
                                                             "net.json")),
                                         16, "bf16", Layout::channels_last);
    CHECK(capture_trace(network, device.describe(), recording, summary).timing["spans"] == "of a CUDA graph");
  }

  TEST_CASE("an asynchronous device is recorded twice: its work alone, and as it runs") {
    FakeDevice device(
        [](int iteration, Work work, std::size_t layer) {
          const bool by_itself = iteration > 3 + 1 + 30;
          return steady(iteration, work, layer) + (by_itself && work != Work::mark ? 5 : 0);
        },
        true);
    const Recording recording = record(device, layers, {3, 30});
    CHECK(device.queued == 3 + 1 + 30);
    CHECK(device.iteration == 3 + 1 + 60);
    const Summary summary = summarize(recording);
    check_us(summary.layers[0].forward.median, 10);
    check_us(summary.forward_busy, 60);
    check_us(summary.forward_span, 75);
    check_us(summary.backward_span, 615);
    check_us(summary.layers[1].ready, 510);
    CHECK(summary.warnings.empty());
  }

  TEST_CASE("an asynchronous device whose host is late in many iterations is a warning") {
    FakeDevice device(
        [](int iteration, Work work, std::size_t layer) {
          const bool late = iteration > 3 + 1 + 30 && iteration % 4 == 0;
          return steady(iteration, work, layer) + (late && work != Work::mark ? 500 : 0);
        },
        true);
    const Summary summary = summarize(record(device, layers, {3, 30}));
    CHECK(summary.busy.outliers == 0);
    CHECK(summary.span.outliers == 8);
    REQUIRE(summary.warnings.size() == 1);
    CHECK(summary.warnings[0] ==
          "8 of 30 iterations that run by themselves take over 10% longer than the median of 667 us: capture again on a quieter machine");
  }
}

TEST_SUITE("Is a trace what was recorded?") {
  TEST_CASE("layers in forward order with the loss, gradients as backward makes them ready") {
    const std::string text = R"({"format": "model/1", "name": "net", "input": [5], "layers": [
      {"name": "loss", "op": "linear", "out_features": 4}, {"name": "b", "op": "layer_norm"}]})";
    const Network network = plan_network(read_model(Document(parse_json(text, "net.json"), "net.json")), 16, "bf16", Layout::channels_last);
    FakeDevice device(steady, false);
    const Recording recording = record(device, layers, {3, 30});
    const Trace made = capture_trace(network, device.describe(), recording, summarize(recording));
    const Trace trace = read_trace(Document(parse_json(write_trace(made), "trace"), "trace"));
    CHECK(trace.provenance.kind == "measured");
    CHECK(trace.model == "net");
    CHECK(trace.batch == 16);
    CHECK(trace.dtype == "bf16");
    CHECK(trace.device_kind == "cpu");
    REQUIRE(trace.layers.size() == 3);
    CHECK(trace.layers[0].type == "linear");
    CHECK(trace.layers[2].name == "loss_");
    CHECK(trace.layers[2].type == "cross_entropy");
    check_us(trace.layers[1].backward, 200);
    check_us((*trace.layers[1].backward_quartiles)[1], 200);
    check_us(*trace.forward_span, 60);
    check_us(*trace.backward_span, 600);
    check_us(trace.update, 7);
    std::vector<std::string> names;
    std::vector<double> bytes;
    for (const Gradient& gradient : trace.gradients) {
      names.push_back(gradient.name);
      bytes.push_back(gradient.bytes.value);
    }
    CHECK(names == std::vector<std::string>{"b.weight", "b.bias", "loss.bias", "loss.weight"});
    CHECK(bytes == std::vector<double>{16, 16, 8, 40});  // a normalization's stay in fp32
    check_us(*trace.gradients[0].ready, 500);
    check_us(*trace.gradients[3].ready, 600);
  }
}
