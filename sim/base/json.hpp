#pragma once

#include <nlohmann/json_fwd.hpp>

namespace syncopate {

/// A JSON value. This is a forward declaration; base/document.hpp includes the definition. Objects keep the order of their keys, which
/// sweeps need.
using Json = nlohmann::ordered_json;

class Document;

}  // namespace syncopate
