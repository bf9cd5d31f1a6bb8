#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/cuda/backend.hpp"

namespace syncopate::capture {

struct CudaTools;

/// How an operation runs.
struct EngineUse {
  std::shared_ptr<const Engines> engines;  ///< of which the plan is one
  std::shared_ptr<const EnginePlan> plan;
  std::size_t workspace = 0;  ///< bytes
  std::string name;           ///< empty: it never runs
};

/// What was chosen for a network's operations, by what they do: equal ones are tried once and run alike, as in frameworks.
using EngineUses = std::map<std::string, EngineUse>;

/// One pass of a layer by one of cuDNN's engines.
class EnginePass {
 public:
  EnginePass(const CudaTools& tools, std::vector<PlanArgument> arguments) : tools_(&tools), arguments_(std::move(arguments)) {}

  /// Chooses the fastest engine for `operation` by trials in the tools' workspace, or takes the choice of an equal one, which has the same
  /// `key`. Returns false if there is no engine.
  bool choose(const std::string& key, BackendOperation operation);
  void run();
  std::size_t workspace() const { return use_.workspace; }
  const std::string& name() const { return use_.name; }

 private:
  EngineUse fastest(BackendOperation operation) const;

  const CudaTools* tools_;
  std::vector<PlanArgument> arguments_;
  EngineUse use_;
  std::optional<BackendDescriptor> pack_;  // the arguments, with the workspace that the pass runs with
};

}  // namespace syncopate::capture
