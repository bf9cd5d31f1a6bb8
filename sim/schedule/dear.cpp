#include <algorithm>
#include <memory>
#include <numeric>

#include "base/indexed.hpp"
#include "schedule/by_layer.hpp"
#include "schedule/compression.hpp"
#include "schedule/posts.hpp"
#include "schedule/sender.hpp"

namespace syncopate {

namespace {

/// Splits an all-reduce into its halves: buckets of gradients are reduce-scattered during backward and all-gathered during the next
/// forward, whose layers wait for their buckets.
struct Dear {
  Bytes bucket = Bytes(25e6);
  Compression compression{};

  void declare(Parameters& parameters) {
    parameters.optional("bucket", bucket, "size of a bucket of gradients");
    compression.declare(parameters);
  }

  void check(Object& fields, const Cluster& /*cluster*/) const {
    const bool halves = compression.operation == Operation::all_reduce && compression.name != "gtop-k";
    if (halves) return;
    fields.at("compression")
        .fail_because(
            R"(dear reduce-scatters gradients, but messages of this compression cannot be summed part by part; use "fp16" or "random-k")");
  }

  static Traffic traffic() { return {.streams = {{.operations = {Operation::reduce_scatter, Operation::all_gather}}}}; }
  Pace pace() const {
    return {.steps_before_warmup = 1, .waits_for_all = true, .is_sgd = compression.is_none(), .is_lossy = !compression.is_none()};
  }
  Grouping group(const StepProfile& profile) const { return Fusion{bucket, bucket}(profile, CostCurve()); }
  double posts(const StepProfile& profile) const { return 2.0 * static_cast<double>(group(profile).size()); }
  std::vector<ModelPart> parts(const ScheduleInput& input) const {
    return compression.is_none() ? std::vector<ModelPart>() : parts_of(group(input.profile), input.profile);
  }

  struct Bucket {
    Seconds ready;
    SharedPayload payload;  ///< as sent, that is, compressed
    Seconds before;         ///< the worker's time before the reduce-scatter
    Seconds after;          ///< the worker's time after the all-gather
    std::vector<std::size_t> layers;
  };

  std::vector<Bucket> buckets(const ScheduleInput& input) const {
    std::vector<Bucket> all;
    for (const GroupPost& group : group_posts(group(input.profile), input.profile)) {
      const Payload& whole = *group.payload;
      const Seconds copy = merge_time(whole, input.copy);
      Bucket filled = {group.post_at,
                       compression(group.payload, input),
                       copy + compression.encode_time(whole.bytes),
                       copy + compression.decode_time(whole.bytes, input.ranks),
                       {}};
      for (const Slice& slice : whole.slices) filled.layers.push_back(input.profile.gradients[at(slice.tensor)].layer);
      std::sort(filled.layers.begin(), filled.layers.end());
      filled.layers.erase(std::unique(filled.layers.begin(), filled.layers.end()), filled.layers.end());
      all.push_back(std::move(filled));
    }
    return all;
  }

  Program program(const ScheduleInput& input) const {
    const std::vector<Bucket> buckets = this->buckets(input);
    std::vector<std::size_t> order(buckets.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return buckets[a].layers.front() < buckets[b].layers.front(); });
    const auto messages = by_layer(input.profile, buckets.size(), [&](std::size_t i) { return buckets[i].layers; });
    return [buckets, order, messages, compression = compression](Worker& worker) {
      std::vector<Handle> scattered;
      std::vector<Handle> gathered(buckets.size());
      std::vector<bool> is_awaited(buckets.size(), false);
      Sender send(compression, buckets.size());
      while (worker.next_step()) {
        forward_by_layer(worker, messages, [&](std::size_t layer) {
          if (worker.step() == 0) return;
          for (const std::size_t i : messages[layer]) {
            if (!is_awaited[i]) continue;
            worker.collectives().wait(gathered[i]);
            worker.spend(buckets[i].after);
            is_awaited[i] = false;
          }
          worker.update(layer);
        });
        scattered.clear();
        for (std::size_t i = 0; i < buckets.size(); ++i) {
          worker.backward_until(buckets[i].ready);
          worker.spend(buckets[i].before);
          const Values value = send(worker, i, [&] { return worker.dataflow().gradient(); });
          scattered.push_back(
              worker.collectives().post(buckets[i].payload, worker.step(), {.operation = Operation::reduce_scatter, .value = value}));
        }
        worker.backward();
        worker.collectives().wait(scattered);
        worker.apply(worker.step());
        worker.dataflow().replica().step(worker.collectives().mean_of(scattered));
        for (const std::size_t i : order) {
          gathered[i] = worker.collectives().post(buckets[i].payload, worker.step(), {.operation = Operation::all_gather});
          is_awaited[i] = true;
        }
      }
    };
  }
};

}  // namespace

ScheduleRow dear() {
  return declare_schedule<Dear>(
      "dear", "buckets reduce-scattered during backward, all-gathered during the next forward",
      "L. Zhang et al., \"DeAR: accelerating distributed deep learning with fine-grained all-reduce pipelining\", ICDCS'23");
}

}  // namespace syncopate
