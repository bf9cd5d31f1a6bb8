#include "schedule/grouping.hpp"

namespace syncopate {

const std::vector<GroupingRow>& groupings() {
  static const std::vector<GroupingRow> table = {
      declare_grouping("s-sgd", "one all-reduce per gradient, all after backward", "MG-WFBP, Eq. 3", group_s_sgd),
      declare_grouping("wfbp", "one all-reduce per gradient, as soon as it is ready", "Poseidon, ATC'17; MG-WFBP, Eqs. 7-9", group_wfbp),
      declare_grouping("sync-easgd", "one all-reduce for everything, after backward", "MG-WFBP, Sec. 3.2", group_sync_easgd),
      declare_grouping("mg-wfbp", "gradients merged by MG-WFBP's Algorithm 1 (greedy)", "MG-WFBP, Algorithm 1", group_mg_wfbp, true),
      declare_grouping("mg-wfbp-optimal", "gradients merged so that the last all-reduce ends first", "", MgWfbpOptimal(), true),
      declare_grouping("fusion", "gradients merged into buckets of a fixed size, as PyTorch DDP does", "PyTorch DDP, VLDB'20, Sec. 4.2",
                       Fusion()),
      declare_grouping("horovod", "gradients that are ready at the end of a cycle are fused, as Horovod does", "Horovod, 2018, Sec. 4",
                       Horovod()),
      declare_grouping("groups", "gradients merged as given: a plan of simctl apply, or the buckets that PyTorch DDP logs", "",
                       GivenGroups()),
  };
  return table;
}

}  // namespace syncopate
