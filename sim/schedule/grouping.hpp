#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fields.hpp"
#include "base/json.hpp"
#include "collective/closed_form.hpp"
#include "schedule/parameters.hpp"
#include "trace/step_profile.hpp"

namespace syncopate {

/// Gradients that one all-reduce carries: [first, last] in the order in which they become ready.
struct GradientGroup {
  std::size_t first = 0;
  std::size_t last = 0;
  Seconds post_at;  ///< since backward began, on an undisturbed worker

  bool operator==(const GradientGroup&) const = default;
};

/// Consecutive groups that cover all gradients once.
using Grouping = std::vector<GradientGroup>;

/// A pure function from the undisturbed step and the cost of an all-reduce to groups; the same on every rank.
using GroupingFunction = std::function<Grouping(const StepProfile&, const CostCurve&)>;

/// A row of the table of ways to group gradients. Each is a synchronous schedule over all-reduces with that name, and a value of `grouping`
/// for schedules over servers.
struct GroupingRow {
  std::string_view name;
  std::string_view meaning;  ///< as a schedule over all-reduces
  std::string_view paper;
  std::vector<ParameterInfo> parameters;
  std::function<GroupingFunction(Object& fields)> read;
  bool by_cost = false;  ///< the groups depend on the cost of communication
};

/// The table: to add a way, write its file and add a row.
const std::vector<GroupingRow>& groupings();

/// Declares a struct whose members are parameters, with `void declare(Parameters&)` and `Grouping operator()(const StepProfile&, const
/// CostCurve&) const`; or a plain function.
template <class Declared>
GroupingRow declare_grouping(std::string_view name, std::string_view meaning, std::string_view paper, Declared defaults,
                             bool by_cost = false) {
  GroupingRow row = {name, meaning, paper, {}, {}, by_cost};
  if constexpr (requires(Declared declared, Parameters & parameters) { declared.declare(parameters); }) {
    ParameterList parameters;
    Declared(defaults).declare(parameters);
    row.parameters = parameters.list;
  }
  row.read = [defaults = std::move(defaults)]([[maybe_unused]] Object& fields) {
    Declared declared = defaults;
    if constexpr (requires(Parameters & parameters) { declared.declare(parameters); }) {
      ParameterReader reader(fields);
      declared.declare(reader);
    }
    return GroupingFunction(declared);
  };
  return row;
}

/// Reads a way to group gradients: its name, or an object with its parameters. Throws InputError.
GroupingFunction read_grouping(const Field& field);

/// S-SGD, MG-WFBP Eq. 3: one group per gradient, all posted when backward has ended.
Grouping group_s_sgd(const StepProfile& profile, const CostCurve& cost);

/// Wait-free backpropagation, H. Zhang et al., "Poseidon", ATC'17; MG-WFBP Eqs. 7-9: one group per gradient, posted as
/// soon as it is ready.
Grouping group_wfbp(const StepProfile& profile, const CostCurve& cost);

/// SyncEASGD, MG-WFBP Sec. 3.2: one group for everything, posted when backward has ended.
Grouping group_sync_easgd(const StepProfile& profile, const CostCurve& cost);

/// S. Shi et al., "MG-WFBP: merging gradients wisely for efficient communication in distributed deep learning",
/// Algorithm 1.
Grouping group_mg_wfbp(const StepProfile& profile, const CostCurve& cost);

/// The grouping into consecutive groups whose last all-reduce ends first; exact, O(L^2).
Grouping group_mg_wfbp_optimal(const StepProfile& profile, const CostCurve& cost);

/// That, or the fewest groups with which an iteration is at most `tolerance` longer; of those the one that ends first.
struct MgWfbpOptimal {
  double tolerance = 0.0;

  void declare(Parameters& parameters);
  Grouping operator()(const StepProfile& profile, const CostCurve& cost) const;
};

/// PyTorch DistributedDataParallel's buckets, S. Li et al., VLDB 2020, Sec. 4.2: in ready order, a bucket is closed by the
/// gradient that reaches its size. `last_bucket`: as with DDP_SET_LAST_BUCKET_CAP=1, buckets are filled from the last gradient backwards,
/// and `first_bucket` is the last one's size.
struct Fusion {
  Bytes first_bucket{1 << 20};
  Bytes bucket{25 << 20};
  bool last_bucket = false;

  void declare(Parameters& parameters);
  Grouping operator()(const StepProfile& profile, const CostCurve& cost) const;
};

/// Horovod's tensor fusion, A. Sergeev and M. Del Balso, "Horovod: fast and easy distributed deep learning in TensorFlow", 2018, Sec. 4:
/// at the end of every cycle, counted from the begin of backward, and when backward ends, what has become ready is fused in that order, up
/// to the threshold. Defaults: of the program, HOROVOD_FUSION_THRESHOLD and HOROVOD_CYCLE_TIME.
struct Horovod {
  Bytes threshold{128 << 20};
  Seconds cycle{1e-3};

  void declare(Parameters& parameters);
  Grouping operator()(const StepProfile& profile, const CostCurve& cost) const;
};

/// Groups as they are given: a plan's, or those that PyTorch's DistributedDataParallel logs.
struct GivenGroups {
  struct Group {
    std::string where;                 ///< for messages
    std::size_t count = 0;             ///< of gradients; 0: by name or bytes
    std::vector<std::string> names{};  ///< of gradients
    std::optional<Bytes> bytes{};      ///< of all of them together
  };
  std::vector<Group> groups{};  ///< in the order of readiness; what is left is one more

  void declare(Parameters& parameters);
  /// Throws InputError if the groups are not consecutive gradients of the trace.
  Grouping operator()(const StepProfile& profile, const CostCurve& cost) const;
};

Bytes bytes_of(const GradientGroup& group, const StepProfile& profile);

/// Bytes of each group, and names of its parameters.
Json describe(const Grouping& grouping, const StepProfile& profile);

/// When the last all-reduce of a grouping ends, since backward began, on an undisturbed worker whose channel is free.
Seconds communication_end(const Grouping& grouping, const StepProfile& profile, const CostCurve& cost);

}  // namespace syncopate
