#include "dataflow/record_file.hpp"

#include <istream>
#include <string>

#include "base/document.hpp"
#include "base/errors.hpp"
#include "base/gzip.hpp"

namespace syncopate {

bool is_record_with(const std::filesystem::path& path, Optimizer optimizer) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return false;
  try {
    GzipBuffer buffer(path);
    std::istream stream(&buffer);
    std::string header;
    std::getline(stream, header);
    const Json json = Json::parse(header, nullptr, false);
    return json.is_object() && json.contains("optimizer") && json["optimizer"] == to_string(optimizer);
  } catch (const InputError&) {  // not a gzip file
    return false;
  }
}

}  // namespace syncopate
