#pragma once

#include <nlohmann/json_fwd.hpp>

namespace syncopate {

/// A JSON value, by name alone: base/document.hpp has all of it. Objects keep the order of their keys, which a sweep relies on.
using Json = nlohmann::ordered_json;

class Document;

}  // namespace syncopate
