#include "base/choice.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace syncopate {

std::string choose_name(const Field& field, const std::vector<std::string>& names, const std::vector<std::string>& not_built_yet) {
  std::string name = field.text();
  if (std::find(names.begin(), names.end(), name) != names.end()) return name;
  const std::string list = fmt::format("{}", fmt::join(names, ", "));
  if (std::find(not_built_yet.begin(), not_built_yet.end(), name) != not_built_yet.end()) {
    field.fail_because(fmt::format("\"{}\" is not built yet; choose one of {}", name, list));
  }
  field.fail_because(fmt::format("expected one of {}, got {}{}", list, excerpt(field.json()), did_you_mean(name, names)));
}

}  // namespace syncopate
