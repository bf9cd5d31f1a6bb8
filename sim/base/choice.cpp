#include "base/choice.hpp"

#include <fmt/format.h>

#include "base/document.hpp"
#include "base/text.hpp"

namespace syncopate {

std::string choose_name(const Field& field, const std::vector<std::string>& names) {
  std::string name = field.text();
  if (std::find(names.begin(), names.end(), name) != names.end()) return name;
  field.fail_because(fmt::format("expected one of {}, got {}{}", fmt::join(names, ", "), excerpt(field.json()), did_you_mean(name, names)));
}

}  // namespace syncopate
