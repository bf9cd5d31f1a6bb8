#include "schedule/sharded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/choice.hpp"
#include "base/indexed.hpp"
#include "base/text.hpp"
#include "schedule/compression.hpp"
#include "schedule/sender.hpp"

namespace syncopate {

namespace {

/// Groups of `size` consecutive ranks.
Groups consecutive(const RankPlaces& places, int size) {
  Groups groups;
  for (int first = 0; first < places.ranks; first += size) groups.emplace_back(size, first);
  return groups;
}

/// The first ranks of those groups, the second ranks, and so on.
Groups across(const RankPlaces& places, int size) {
  Groups groups;
  for (int first = 0; first < size; ++first) groups.emplace_back(places.ranks / size, first, size);
  return groups;
}

}  // namespace

void Sharding::declare_units(Parameters& parameters) {
  parameters.declare(
      {.name = "units",
       .meaning =
           R"(layers that are gathered together: up to a size with its unit, such as "100MB"; "layer": each by itself; or a number of layers)",
       .kind = ParameterInfo::Kind::bytes,
       .default_value = "100MB"},
      [this](const Field& field) {
        constexpr std::int64_t most_layers = 1'000'000;
        if (field.is_text() && field.text() == "layer") {
          layers_of_unit = 1;
        } else if (field.is_text()) {
          const std::string text = field.text();
          const bool is_size = text.find_first_of("123456789") == 0 && text.find_first_not_of("0123456789") != std::string::npos;
          if (!is_size) field.fail(R"("layer", a number of layers without quotes, or bytes with their unit, such as "100MB")");
          bytes_of_unit = field.bytes();
        } else {
          if (field.json().is_number() && field.json().get<double>() > static_cast<double>(most_layers))
            field.fail(R"(at most 1000000 layers, which a number counts, or bytes with their unit, such as "100MB")");
          layers_of_unit = static_cast<int>(field.integer(1, most_layers));
        }
      });
}

void Sharding::declare_gathering(Parameters& parameters) {
  parameters.optional("reshard_after_forward", reshard_after_forward,
                      "parameters are freed after forward, and gathered again for backward");
  parameters.optional("prefetch", prefetch, {{"pre", Prefetch::pre}, {"post", Prefetch::post}, {"none", Prefetch::none}},
                      "when the next unit of backward is gathered: when a unit's backward begins (pre), when it ends (post), or after its "
                      "reduce-scatter (none)");
  parameters.optional("reshard_last", reshard_last, "the last unit is freed after forward, too");
  parameters.optional("limit_all_gathers", limit_all_gathers, {1, 1'000'000},
                      "all-gathers that forward issues ahead of the units that it has freed");
}

void Sharding::declare_rest(Parameters& parameters) {
  parameters.optional("streams", streams, {1, 2}, "all-gathers and reduce-scatters share a channel, or have one each");
  parameters.declare(
      {.name = "shard_group",
       .meaning = "ranks that shard parameters among themselves: all, those of a node, or a number; groups are replicas of each other",
       .kind = ParameterInfo::Kind::choice,
       .choices = {"all", "node"},
       .default_value = "all"},
      [this](const Field& field) {
        constexpr std::int64_t most_ranks = 1'000'000;
        if (field.is_text()) {
          shard_group = choose_name(field, {"all", "node"});
        } else {
          shard_group.clear();
          asked_group = static_cast<int>(field.integer(1, most_ranks));
        }
      });
  parameters.optional("parameter_bytes", parameter_bytes, {0.0, 1024.0, true}, "gathered bytes for each byte of the trace's gradients");
  parameters.optional("reduce_bytes", reduce_bytes, {0.0, 1024.0, true}, "reduced bytes for each byte of the trace's gradients");
  parameters.optional("accumulate", accumulated, step_range, "steps whose gradients are added up before they are sent");
  parameters.optional("optimizer_bytes_per_parameter", optimizer_bytes_per_parameter, {0.0, 1024.0},
                      "bytes of the optimiser's state for each parameter");
}

void Sharding::place(const Cluster& cluster) {
  sharders = shard_group == "all" ? cluster.workers() : shard_group == "node" ? cluster.gpus_per_node : asked_group;
  replicas = std::max(1, cluster.workers() / sharders);
}

void Sharding::check_groups(Object& fields, const Cluster& cluster) const {
  if (fields.field().json().contains("compression")) {  // sharded schedules have no such parameter
    fields.at("compression")
        .fail_because(
            R"(sharded schedules have no "compression"; use "parameter_bytes" and "reduce_bytes", such as 0.5 for half of the trace's bytes)");
  }
  const int workers = cluster.workers();
  const int gpus = cluster.gpus_per_node;
  if (workers % sharders != 0) {
    fields.at("shard_group")
        .fail_because(fmt::format("groups of {} do not divide {} workers; use a number that does, or \"all\"", sharders, workers));
  }
  if (sharders % gpus != 0 && gpus % sharders != 0) {
    fields.at("shard_group")
        .fail_because(
            fmt::format("groups of {} are neither whole nodes of {} GPUs nor equal parts of one; use a multiple or a divisor of {}",
                        sharders, gpus, gpus));
  }
}

Traffic Sharding::traffic() const {
  Traffic traffic;
  const auto shards = [size = sharders](const RankPlaces& places) { return consecutive(places, size); };
  if (sharders > 1 && streams == 1) {
    traffic.streams.push_back({.operations = {Operation::all_gather, Operation::reduce_scatter}, .groups = shards});
  } else if (sharders > 1) {
    traffic.streams.push_back({.operations = {Operation::all_gather}, .groups = shards});
    traffic.streams.push_back({.operations = {Operation::reduce_scatter}, .groups = shards});
  }
  if (replicas > 1) {
    traffic.streams.push_back({.operations = {Operation::all_reduce},
                               .groups = [size = sharders](const RankPlaces& places) { return across(places, size); },
                               .follows = sharders > 1});
  }
  return traffic;
}

Pace Sharding::pace() const {
  return {.cycle = accumulated,
          .steps_per_update = accumulated,
          .waits_for_all = true,
          .is_sgd = accumulated == 1,
          .update = [s = sharders](const StepProfile& profile) { return profile.update / s; }};
}

std::vector<Unit> Sharding::units(const StepProfile& profile) const {
  std::vector<Bytes> bytes(profile.layers.size());
  std::vector<std::vector<Slice>> slices(profile.layers.size());
  std::vector<Seconds> ready(profile.layers.size());
  for (std::size_t i = 0; i < profile.gradients.size(); ++i) {
    const StepProfile::GradientReady& gradient = profile.gradients[i];
    bytes[gradient.layer] += gradient.bytes;
    slices[gradient.layer].push_back({static_cast<int>(i), gradient.bytes});
    ready[gradient.layer] = std::max(ready[gradient.layer], gradient.ready);
  }
  struct Cut {
    std::size_t first = 0;
    Bytes bytes{};
    int layers = 0;
  };
  std::vector<Cut> cuts;
  for (std::size_t layer = 0; layer < profile.layers.size(); ++layer) {
    if (slices[layer].empty()) continue;
    const bool is_full =
        !cuts.empty() && (layers_of_unit > 0 ? cuts.back().layers == layers_of_unit : cuts.back().bytes + bytes[layer] > bytes_of_unit);
    if (cuts.empty() || is_full) cuts.push_back({.first = cuts.empty() ? 0 : layer});
    cuts.back().bytes += bytes[layer];
    ++cuts.back().layers;
  }
  std::vector<Unit> units;
  Seconds elapsed;
  for (std::size_t layer = profile.layers.size(); layer-- > 0;) {
    elapsed += profile.layers[layer].backward;
    ready[layer] = std::max(ready[layer], std::min(elapsed, profile.backward));
  }
  for (std::size_t number = 0; number < cuts.size(); ++number) {
    const std::size_t end = number + 1 < cuts.size() ? cuts[number + 1].first : profile.layers.size();
    Unit unit;
    unit.first_layer = cuts[number].first;
    unit.last_layer = end - 1;
    Payload whole;
    for (std::size_t layer = unit.first_layer; layer < end; ++layer) {
      unit.ready = std::max(unit.ready, ready[layer]);
      whole.slices.insert(whole.slices.end(), slices[layer].begin(), slices[layer].end());
    }
    const std::string& first = profile.layers[unit.first_layer].name;
    whole.label = unit.first_layer == unit.last_layer ? first : fmt::format("{}..{}", first, profile.layers[unit.last_layer].name);
    const auto scaled = [&](double factor) {
      Payload part = whole;
      for (Slice& slice : part.slices) slice.bytes = factor * slice.bytes;
      part.bytes = factor * cuts[number].bytes;
      return std::make_shared<const Payload>(std::move(part));
    };
    unit.parameters = scaled(parameter_bytes);
    unit.gradients = scaled(reduce_bytes);
    unit.share = scaled(reduce_bytes / sharders);
    units.push_back(std::move(unit));
  }
  for (std::size_t number = units.size() - 1; number-- > 0;) units[number].ready = std::max(units[number].ready, units[number + 1].ready);
  units.front().ready = profile.backward;
  return units;
}

std::string Sharding::note_on(const StepProfile& profile) const {
  if (sharders == 1 && replicas > 1)
    return "groups of one rank share nothing: every rank keeps all parameters, and gradients are all-reduced";
  if (layers_of_unit > 0) return "";
  const std::vector<Unit> all = units(profile);
  const auto largest = std::max_element(
      all.begin(), all.end(), [](const Unit& a, const Unit& b) { return uncompressed(*a.gradients) < uncompressed(*b.gradients); });
  const Bytes bytes = uncompressed(*largest->gradients) / reduce_bytes;
  if (bytes <= bytes_of_unit) return "";
  return fmt::format("units are whole layers: {} has {}, more than units of {}", largest->gradients->label, format_bytes(bytes),
                     format_bytes(bytes_of_unit));
}

double Sharding::posts_that_gather(const StepProfile& profile) const {
  const auto count = static_cast<double>(units(profile).size());
  const double for_backward = !frees_units() ? 0.0 : (count - (reshard_last ? 0.0 : 1.0)) / count;
  return posts_with(profile, 1.0 + for_backward);
}

double Sharding::posts_with(const StepProfile& profile, double gathers) const {
  const double sends = (sharders > 1 ? 1.0 : 0.0) + (replicas > 1 ? 1.0 : 0.0);
  return static_cast<double>(units(profile).size()) * ((sharders > 1 ? gathers : 0.0) + sends / accumulated);
}

class Sharding::Rank {
 public:
  Rank(const Sharding& sharding, const std::vector<Unit>& units, Worker& worker)
      : sharding_(sharding), units_(units), worker_(worker), gathers_(units.size()) {}

  /// Issues AG(u).
  void gather(std::size_t unit) {
    if (is_sharded())
      gathers_[unit] = worker_.collectives().post(units_[unit].parameters, worker_.step(), {.operation = Operation::all_gather});
  }
  /// Waits for the last issued AG(u), unless it has waited for it already.
  void wait_for(std::size_t unit) {
    if (const auto gather = std::exchange(gathers_[unit], std::nullopt)) worker_.collectives().wait(*gather);
  }
  void forward(std::size_t unit) {
    for (std::size_t layer = units_[unit].first_layer; layer <= units_[unit].last_layer; ++layer) worker_.forward(layer);
  }
  void backward(std::size_t unit) {
    if (unit > 0) return worker_.backward_until(units_[unit].ready);
    worker_.backward();
  }
  /// Issues RS(u), and AR(u) after it. `gradient`: the value of the step's last RS and AR.
  void scatter(std::size_t unit, const Values& gradient) {
    const int row_of_scatters = sharding_.streams - 1;
    if (is_sharded()) {
      scatters_.push_back(worker_.collectives().post(
          units_[unit].gradients, worker_.step(), {.operation = Operation::reduce_scatter, .stream = row_of_scatters, .value = gradient}));
    }
    if (sharding_.replicas == 1) return;
    if (is_sharded()) {
      reduces_.push_back(
          worker_.collectives().post(units_[unit].share, worker_.step(), {.stream = row_of_scatters + 1, .after = scatters_.back()}));
    } else {
      reduces_.push_back(worker_.collectives().post(units_[unit].share, worker_.step(), {.value = gradient}));
    }
  }
  /// Waits for all gradients, then updates the rank's shard.
  void update(Seconds length) {
    worker_.collectives().wait(scatters_);
    worker_.collectives().wait(reduces_);
    worker_.apply(worker_.step());
    worker_.dataflow().replica().step(worker_.collectives().mean_of(sharding_.replicas > 1 ? reduces_ : scatters_));
    scatters_.clear();
    reduces_.clear();
    worker_.update_for(length);
  }

 private:
  bool is_sharded() const { return sharding_.sharders > 1; }

  const Sharding& sharding_;
  const std::vector<Unit>& units_;
  Worker& worker_;
  std::vector<std::optional<Handle>> gathers_;  ///< by unit
  std::vector<Handle> scatters_;
  std::vector<Handle> reduces_;
};

Program Sharding::program_that_gathers(const ScheduleInput& input) const {
  return [sharding = *this, units = units(input.profile), update = input.update / sharders](Worker& worker) {
    Rank rank(sharding, units, worker);
    Sender send({}, units.size());
    GradientSum mean(worker, 1.0 / sharding.accumulated);
    const std::size_t count = units.size();
    const auto ahead = sharding.frees_units() ? std::min(at(sharding.limit_all_gathers), count) : count;
    const auto gather = [&](std::size_t unit) {
      if (sharding.sharders > 1) worker.hold(units[unit].parameters->bytes);
      rank.gather(unit);
    };
    const auto free = [&](std::size_t unit) {
      if (sharding.sharders > 1) worker.hold(-1.0 * units[unit].parameters->bytes);
    };
    while (worker.next_step()) {
      std::size_t gathered = 0;
      while (gathered < ahead) gather(gathered++);
      for (std::size_t unit = 0; unit < count; ++unit) {
        rank.wait_for(unit);
        rank.forward(unit);
        if (!sharding.frees(unit, count)) continue;
        free(unit);
        if (gathered < count) gather(gathered++);
      }
      const bool sends = worker.step() % sharding.accumulated == sharding.accumulated - 1;
      if (sharding.frees(count - 1, count)) gather(count - 1);
      for (std::size_t unit = count; unit-- > 0;) {
        const bool gathers_next = unit > 0 && sharding.frees(unit - 1, count);
        rank.wait_for(unit);
        if (gathers_next && sharding.prefetch == Prefetch::pre) gather(unit - 1);
        rank.backward(unit);
        free(unit);
        if (gathers_next && sharding.prefetch == Prefetch::post) gather(unit - 1);
        if (sends) rank.scatter(unit, send(worker, count - 1 - unit, mean));
        if (gathers_next && sharding.prefetch == Prefetch::none) gather(unit - 1);
      }
      mean();
      if (!sends) continue;
      rank.update(update);
      mean.clear();
    }
  };
}

Program Sharding::program_that_keeps(const ScheduleInput& input, bool gated) const {
  return [sharding = *this, gated, units = units(input.profile), update = input.update / sharders](Worker& worker) {
    Rank rank(sharding, units, worker);
    Sender send({}, units.size());
    GradientSum mean(worker, 1.0 / sharding.accumulated);
    const std::size_t count = units.size();
    while (worker.next_step()) {
      for (std::size_t unit = 0; unit < count; ++unit) {
        rank.wait_for(unit);
        rank.forward(unit);
      }
      const bool sends = worker.step() % sharding.accumulated == sharding.accumulated - 1;
      for (std::size_t unit = count; unit-- > 0;) {
        rank.backward(unit);
        if (sends) rank.scatter(unit, send(worker, count - 1 - unit, mean));
      }
      mean();
      if (!sends) continue;
      rank.update(update);
      mean.clear();
      for (std::size_t unit = 0; unit < count; ++unit) rank.gather(unit);
      for (std::size_t unit = 0; unit < count && !gated; ++unit) rank.wait_for(unit);
    }
  };
}

}  // namespace syncopate
