#include "capture/node/cpu_overlap.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <functional>
#include <latch>
#include <stop_token>
#include <thread>

namespace syncopate::capture {

namespace {

constexpr Seconds compute_lasts(10e-3);  // roughly, when it runs alone
constexpr int warmup = 3;

/// Work that the measured thread does.
class Compute {
 public:
  virtual ~Compute() = default;
  virtual void run() = 0;
};

/// A product of square matrices, which the caches hold.
class CpuProduct : public Compute {
 public:
  void run() override {
    std::fill(result_.begin(), result_.end(), 0.0F);
    for (std::size_t row = 0; row < extent; ++row) {
      for (std::size_t inner = 0; inner < extent; ++inner) {
        const float factor = left_[row * extent + inner];
        for (std::size_t column = 0; column < extent; ++column) result_[row * extent + column] += factor * right_[inner * extent + column];
      }
    }
  }

 private:
  static constexpr std::size_t extent = 256;
  std::vector<float> left_ = std::vector<float>(extent * extent, 0.5F);
  std::vector<float> right_ = std::vector<float>(extent * extent, 0.25F);
  std::vector<float> result_ = std::vector<float>(extent * extent);
};

/// A ReLU of all numbers: limited by memory.
class CpuElementwise : public Compute {
 public:
  explicit CpuElementwise(std::size_t count) : input_(count, 1.0F), output_(count) {}
  void run() override {
    std::transform(input_.begin(), input_.end(), output_.begin(), [](float number) { return std::max(number, 0.0F); });
  }

 private:
  std::vector<float> input_;
  std::vector<float> output_;
};

std::unique_ptr<Compute> make_product(std::size_t /*count*/) { return std::make_unique<CpuProduct>(); }
std::unique_ptr<Compute> make_elementwise(std::size_t count) { return std::make_unique<CpuElementwise>(count); }

struct ComputeRow {
  std::string_view name;
  std::unique_ptr<Compute> (*make)(std::size_t count);
};

constexpr std::array compute_rows = {
    ComputeRow{"matrix product, fp32", make_product},
    ComputeRow{"elementwise, fp32", make_elementwise},
};

/// Threads that add gradients from the end of the constructor to the destructor, each its part.
class Adders {
 public:
  Adders(int threads, std::vector<float>& sums, const std::vector<float>& added) : begun_(threads) {
    const std::size_t part = sums.size() / static_cast<std::size_t>(threads);
    for (std::size_t first = 0; threads_.size() < static_cast<std::size_t>(threads); first += part) {
      threads_.emplace_back(
          [this, to = std::span(sums).subspan(first, part), from = std::span(added).subspan(first, part)](const std::stop_token& stop) {
            begun_.count_down();
            while (!stop.stop_requested()) add(stop, to, from);
          });
    }
    begun_.wait();
  }

 private:
  static void add(const std::stop_token& stop, std::span<float> to, std::span<const float> from) {
    constexpr std::size_t piece = 1 << 16;  // so that a request to stop is soon seen
    for (std::size_t first = 0; first < to.size() && !stop.stop_requested(); first += piece) {
      const std::span<float> sums = to.subspan(first, std::min(piece, to.size() - first));
      std::transform(sums.begin(), sums.end(), from.begin() + static_cast<std::ptrdiff_t>(first), sums.begin(), std::plus<>());
    }
  }

  std::latch begun_;
  std::vector<std::jthread> threads_;  // last: they end before what they use
};

Seconds time_of(Compute& compute, int runs) {
  const Seconds start = thread_time();
  for (int i = 0; i < runs; ++i) compute.run();
  return thread_time() - start;
}

int processors() { return static_cast<int>(std::thread::hardware_concurrency()); }

}  // namespace

Seconds thread_time() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return Seconds(static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec));
}

std::vector<Overlap> cpu_overlaps() {
  std::vector<Overlap> overlaps;
  for (const ComputeRow& row : compute_rows) {
    const std::vector<Overlap> beside = additions_beside(row.name, "thread", processors() - 1, processors());
    overlaps.insert(overlaps.end(), beside.begin(), beside.end());
  }
  return overlaps;
}

OverlapTimes measure_cpu_overlap(const Overlap& overlap, std::int64_t bytes, int repetitions) {
  const std::size_t count = static_cast<std::size_t>(bytes) / sizeof(float);
  std::vector<float> sums(count, 1.0F);
  const std::vector<float> added(count, 1.0F);
  const auto* const row = std::find_if(compute_rows.begin(), compute_rows.end(),
                                       [&](const ComputeRow& candidate) { return candidate.name == overlap.compute; });
  const std::unique_ptr<Compute> compute = row->make(count);
  Seconds one;
  for (int i = 0; i < warmup; ++i) one = time_of(*compute, 1);
  constexpr double most_runs = 1000;
  const int runs = static_cast<int>(std::clamp(std::ceil(compute_lasts / std::max(one, Seconds(1e-6))), 1.0, most_runs));
  OverlapTimes times;
  for (int i = 0; i < repetitions; ++i) {
    times.alone.push_back(time_of(*compute, runs));
    const Adders adders(*overlap.blocks, sums, added);
    times.beside.push_back(time_of(*compute, runs));
  }
  return times;
}

}  // namespace syncopate::capture
