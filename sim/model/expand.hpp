#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/fields.hpp"

namespace syncopate {

/// One layer of a model/1 document with blocks and repetitions written out.
struct LayerEntry {
  std::string name;                  ///< in full: "layer1.0.conv1"
  std::shared_ptr<const Json> json;  ///< the description, parameters of blocks filled in
  std::string pointer;               ///< where the description stands
  std::vector<std::string> inputs;   ///< full names; `block_input` for the model's input
};

struct ExpandedLayers {
  std::vector<LayerEntry> entries;
  /// Instance of a block -> its last layer or instance.
  std::unordered_map<std::string, std::string> instances;
};

/// What `inputs` calls the input of a block, or of the model.
inline constexpr std::string_view block_input = "$input";

/// Writes out the `layers` of a model/1 document with its `blocks`. Throws InputError.
ExpandedLayers expand_layers(const Field& layers, const std::optional<Field>& blocks);

}  // namespace syncopate
