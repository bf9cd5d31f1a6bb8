#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/cuda/backend.hpp"

namespace syncopate::capture {

struct CudaTools;

/// How a graph runs.
struct EngineUse {
  std::shared_ptr<const Engines> engines;  ///< of which the plan is one
  std::shared_ptr<const EnginePlan> plan;
  std::size_t workspace = 0;  ///< bytes
  std::string name;           ///< empty: it never runs
  std::string reason;         ///< why no engine runs, if so
  bool failed = false;        ///< no engine runs, and cuDNN does not just lack one
};

/// What was chosen for a network's graphs, by what they do: equal ones are tried once and run alike, as in frameworks.
using EngineUses = std::map<std::string, EngineUse>;

/// A tensor of a plan that nobody needs after the run. It lies in the workspace.
struct ScratchArgument {
  std::int64_t id;
  std::size_t bytes;
};

/// One pass of a layer by one of cuDNN's engines.
class EnginePass {
 public:
  EnginePass(const CudaTools& tools, std::vector<PlanArgument> arguments, std::vector<ScratchArgument> scratch = {})
      : tools_(&tools), arguments_(std::move(arguments)), scratch_(std::move(scratch)) {}

  /// Chooses the fastest engine for `graph` by trials in the tools' workspace, or takes the choice of an equal one, which has the same
  /// `key`. Returns false if there is no engine.
  bool choose(const std::string& key, BackendGraph graph);
  void run();
  /// Bytes that a run needs.
  std::size_t workspace() const { return use_.plan ? scratch_bytes() + use_.workspace : 0; }
  const std::string& name() const { return use_.name; }
  /// Why there is no engine, if so.
  const std::string& reason() const { return use_.reason; }
  /// Whether engines failed where cuDNN does not just lack them.
  bool failed() const { return use_.failed; }

 private:
  EngineUse fastest(BackendGraph graph) const;
  BackendDescriptor pack() const;
  std::size_t scratch_bytes() const;

  const CudaTools* tools_;
  std::vector<PlanArgument> arguments_;
  std::vector<ScratchArgument> scratch_;
  EngineUse use_;
  std::optional<BackendDescriptor> pack_;  // the arguments, with the workspace that the pass runs with
};

}  // namespace syncopate::capture
