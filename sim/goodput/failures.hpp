#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "base/units.hpp"

namespace syncopate {

/// The time of an event that never happens.
constexpr Seconds never(std::numeric_limits<double>::infinity());

/// Components of one kind, which fail independently. Each is a renewal process: the time from new to failure has a Weibull distribution.
struct FailureKind {
  Seconds mean;        ///< time to failure of one component
  double shape = 1.0;  ///< of the Weibull distribution; 1 is exponential
  /// Components per node. A failing component takes its node down; the node comes back with new components. 0: the components are `groups`
  /// of nodes; a group is new after its failure.
  int per_node = 1;
  std::vector<std::vector<int>> groups{};

  std::int64_t components(int nodes) const { return per_node > 0 ? std::int64_t{per_node} * nodes : std::ssize(groups); }
};

/// Mean time between failures of all components together. Infinite if nothing fails. If a shape is not 1, it is the long-run mean.
Seconds time_between_failures(const std::vector<FailureKind>& kinds, int nodes);

/// Failures of one kind, sorted by time. A component that has failed does not fail again until it is renewed.
class FailureProcess {
 public:
  FailureProcess() = default;
  FailureProcess(const FailureProcess&) = delete;
  FailureProcess& operator=(const FailureProcess&) = delete;
  virtual ~FailureProcess() = default;

  virtual Seconds time() const = 0;             ///< of the next failure
  virtual std::uint32_t component() const = 0;  ///< that fails next
  virtual void pass() = 0;                      ///< removes the next failure
  virtual void renew(int node, Seconds now) = 0;
};

/// All failures of a run, sorted by time, as drawn by one seed. They include failures of nodes that are not in the job; callers skip these.
/// Exponential kinds fail at the same times whatever else happens.
class Failures {
 public:
  /// Keeps a reference to `kinds`.
  Failures(const std::vector<FailureKind>& kinds, int nodes, std::uint64_t seed);

  Seconds time() const;                ///< of the next failure; infinite if there is none
  std::span<const int> nodes() const;  ///< that the next failure hits
  void pass();                         ///< removes the next failure
  void renew(int node, Seconds now);   ///< the node was repaired or replaced

 private:
  void find_next();

  const std::vector<FailureKind>& kinds_;
  std::vector<std::unique_ptr<FailureProcess>> processes_;  ///< one per kind
  std::size_t next_ = 0;                                    ///< index of the process with the next failure
  int own_node_ = 0;                                        ///< the next failure's node, if it hits a single node
};

}  // namespace syncopate
