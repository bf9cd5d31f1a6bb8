#include "capture/node/cuda/overlap.hpp"

#include <algorithm>
#include <cmath>

#include "capture/cuda/kernels.hpp"

namespace syncopate::capture {

namespace {

constexpr Seconds compute_lasts(10e-3);    // roughly, when it runs alone
constexpr double communication_lasts = 2;  // first guess, as a multiple of the compute
constexpr int most_rounds = 100'000;

const CudaWorkRow& find(std::span<const CudaWorkRow> rows, const std::string& name) {
  return *std::find_if(rows.begin(), rows.end(), [&name](const CudaWorkRow& row) { return row.name == name; });
}

int repeats(Seconds wanted, Seconds one) {
  constexpr double most = 1000;
  return static_cast<int>(std::clamp(std::ceil(wanted / std::max(one, Seconds(1e-6))), 1.0, most));
}

int multiprocessors() {
  int device = 0;
  int count = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
  return count;
}

EventHandle make_event() { return EventHandle(cudaEventCreate, "cudaEventCreate"); }

void wait_for(cudaStream_t stream) { check(cudaStreamSynchronize(stream), "cudaStreamSynchronize"); }

}  // namespace

std::vector<Overlap> cuda_overlaps() {
  const int places = multiprocessors();
  std::vector<Overlap> overlaps;
  for (const CudaWorkRow& compute : cuda_computes()) {
    for (const CudaWorkRow& communication : cuda_communications())
      overlaps.push_back({std::string(compute.name), std::string(communication.name)});
    const std::vector<Overlap> additions = additions_beside(compute.name, "block", places, places);
    overlaps.insert(overlaps.end(), additions.begin(), additions.end());
  }
  return overlaps;
}

CudaOverlap::CudaOverlap(const Gpu& gpu, const Overlap& overlap, std::int64_t bytes)
    : gpu_(gpu),
      other_stream_(make_stream()),
      begin_(make_event()),
      end_(make_event()),
      other_begin_(make_event()),
      other_end_(make_event()) {
  constexpr std::int64_t widest_read = 16;
  const std::int64_t whole = bytes / widest_read * widest_read;
  compute_ = find(cuda_computes(), overlap.compute).make(gpu, gpu.stream(), whole);
  communication_ = overlap.blocks ? make_additions(gpu, other_stream_.get(), whole, *overlap.blocks)
                                  : find(cuda_communications(), overlap.beside).make(gpu, other_stream_.get(), whole);
}

OverlapTimes CudaOverlap::measure(int repetitions) {
  constexpr int warmup = 3;
  Seconds compute;
  Seconds communication;
  for (int i = 0; i < warmup; ++i) {
    compute = time_alone();
    communication = time_communication();
  }
  computes_ = repeats(compute_lasts, compute);
  rounds_ = repeats(communication_lasts * std::max(compute_lasts, compute), communication);
  time_beside();  // increases rounds_ if communication ends too early
  OverlapTimes times;
  for (int i = 0; i < repetitions; ++i) {
    times.alone.push_back(time_alone());
    times.beside.push_back(time_beside());
  }
  return times;
}

void CudaOverlap::queue_compute() {
  record(begin_, gpu_.stream());
  for (int i = 0; i < computes_; ++i) compute_->queue();
  record(end_, gpu_.stream());
}

Seconds CudaOverlap::time_alone() {
  delay(gpu_.stream(), queueing_nanoseconds);
  queue_compute();
  wait_for(gpu_.stream());
  return elapsed(begin_, end_);
}

Seconds CudaOverlap::time_communication() {
  delay(other_stream_.get(), queueing_nanoseconds);
  record(other_begin_, other_stream_.get());
  communication_->queue();
  record(other_end_, other_stream_.get());
  wait_for(other_stream_.get());
  return elapsed(other_begin_, other_end_);
}

Seconds CudaOverlap::time_beside() {
  for (; rounds_ <= most_rounds; rounds_ *= 2) {
    delay(other_stream_.get(), queueing_nanoseconds);
    record(other_begin_, other_stream_.get());
    check(cudaStreamWaitEvent(gpu_.stream(), other_begin_.get(), 0), "cudaStreamWaitEvent");
    communication_->queue();
    queue_compute();
    for (int i = 0; i < rounds_; ++i) communication_->queue();
    record(other_end_, other_stream_.get());
    wait_for(gpu_.stream());
    wait_for(other_stream_.get());
    if (elapsed(begin_, other_end_) >= elapsed(begin_, end_)) return elapsed(begin_, end_);
  }
  throw std::runtime_error("the communication always ends before the compute, even with the most repetitions");
}

}  // namespace syncopate::capture
