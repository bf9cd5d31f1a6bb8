#include "capture/node/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "base/table.hpp"
#include "base/text.hpp"
#include "capture/random_values.hpp"

namespace syncopate::capture {

namespace {

/// 161 tensors, as in ResNet-50, aligned as frameworks' allocators do.
std::vector<std::int64_t> equal_tensors(std::int64_t count) {
  constexpr std::int64_t tensors = 161;
  constexpr std::int64_t aligned = 64;
  std::vector<std::int64_t> equal(tensors, std::max<std::int64_t>(count / tensors / aligned * aligned, 1));
  return equal;
}

std::vector<std::int64_t> lengths(const Operation& operation, std::string_view dtype, const NodeOptions& options) {
  const std::int64_t count = options.bytes / dtype_bytes(dtype);
  if (!operation.many) return {count};
  return options.tensors.empty() ? equal_tensors(count) : options.tensors;
}

std::int64_t total(const std::vector<std::int64_t>& tensors) {
  std::int64_t count = 0;
  for (const std::int64_t length : tensors) count += length;
  return count;
}

/// Calls visit(operation, dtype) for everything that the device supports.
template <class Visit>
void for_each_operation(const NodeDevice& device, Visit visit) {
  for (const Operation& operation : operations()) {
    for (const std::string_view dtype : device.dtypes(operation)) visit(operation, dtype);
  }
}

/// Random numbers, enough for every operation.
std::vector<float> gradients(const NodeDevice& device, const NodeOptions& options) {
  std::int64_t most = 0;
  for_each_operation(device, [&](const Operation& operation, std::string_view dtype) {
    most = std::max(most, total(lengths(operation, dtype, options)));
  });
  try {
    return random_numbers(most);
  } catch (const std::bad_alloc&) {
    throw DeviceError(fmt::format("gradients of {} are more than this machine's memory holds; choose fewer --bytes",
                                  format_bytes(Bytes(static_cast<double>(most) * sizeof(float)))));
  }
}

Measurement measure(NodeDevice& device, const Operation& operation, std::string_view dtype, std::span<const float> numbers,
                    const NodeOptions& options) {
  const std::vector<std::int64_t> tensors = lengths(operation, dtype, options);
  const std::int64_t count = total(tensors);
  const std::unique_ptr<NodeTask> task = device.prepare(operation, dtype, tensors);
  task->write(numbers.first(static_cast<std::size_t>(count)));
  task->write_added(numbers.last(static_cast<std::size_t>(count)));
  for (int i = 0; i < options.warmup; ++i) device.time(*task);
  std::vector<Seconds> times;
  times.reserve(static_cast<std::size_t>(options.repetitions));
  for (int i = 0; i < options.repetitions; ++i) times.push_back(device.time(*task));
  return {operation, std::string(dtype), count * dtype_bytes(dtype), tensors.size(), spread(std::move(times))};
}

/// Runs `body`. If it throws, adds the reason to found.failed.
template <class Attempt>
void attempt(const std::string& name, NodeMeasurements& found, const NodeOptions& options, Attempt body) {
  try {
    body();
  } catch (const std::bad_alloc&) {
    found.failed.push_back({name, "out of memory"});
  } catch (const std::exception& error) {
    found.failed.push_back({name, error.what()});
  }
  options.progress();
}

}  // namespace

std::size_t measurement_count(const NodeDevice& device) {
  std::size_t count = device.overlaps().size();
  for_each_operation(device, [&count](const Operation&, std::string_view) { ++count; });
  return count;
}

NodeMeasurements measure_node(NodeDevice& device, const NodeOptions& options) {
  NodeMeasurements found;
  const std::vector<float> numbers = gradients(device, options);
  for_each_operation(device, [&](const Operation& operation, std::string_view dtype) {
    attempt(fmt::format("{} {}", operation.name, dtype), found, options,
            [&] { found.operations.push_back(measure(device, operation, dtype, numbers, options)); });
  });
  for (const Overlap& overlap : device.overlaps()) {
    attempt(fmt::format("{} beside {}", overlap.compute, overlap.beside), found, options, [&] {
      OverlapTimes times = device.measure(overlap, options.bytes, options.repetitions);
      found.overlaps.push_back({overlap, spread(std::move(times.alone)), spread(std::move(times.beside))});
    });
  }
  if (found.operations.empty() && found.overlaps.empty()) {
    const std::string reason =
        found.failed.empty() ? "the device supports none" : fmt::format("{}: {}", found.failed[0].name, found.failed[0].reason);
    throw DeviceError(fmt::format("no measurement succeeded: {}", reason));
  }
  return found;
}

}  // namespace syncopate::capture
