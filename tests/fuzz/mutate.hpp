#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace syncopate::fuzz {

/// A JSON text with something changed in it: a value or a key that is at a limit of what is allowed, lacks, is there twice or comes from
/// elsewhere in the text. Nullopt for what is no JSON.
std::optional<std::string> mutate_json(std::string_view text, std::uint32_t seed);

}  // namespace syncopate::fuzz
