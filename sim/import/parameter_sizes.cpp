#include "import/parameter_sizes.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/document.hpp"
#include "base/errors.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "model/dtype.hpp"
#include "model/model.hpp"

namespace syncopate {

namespace {

constexpr std::int64_t most_elements = 100'000'000'000'000;

/// Such as "fp32" for PyTorch's "torch.float32".
std::optional<std::string> dtype_named(std::string_view type) {
  if (type.starts_with("torch.")) type.remove_prefix(6);
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> names = {{{"float32", "fp32"},
                                                                                   {"float", "fp32"},
                                                                                   {"float16", "fp16"},
                                                                                   {"half", "fp16"},
                                                                                   {"bfloat16", "bf16"},
                                                                                   {"float64", "fp64"},
                                                                                   {"double", "fp64"}}};
  for (const auto& [name, dtype] : names) {
    if (type == name) return std::string(dtype);
  }
  return element_bytes(type) ? std::optional(std::string(type)) : std::nullopt;
}

std::string module_of(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos ? "" : name.substr(0, dot);
}

/// The extents of "64x3x7x7", "(64, 3, 7, 7)", "[64,3]", "torch.Size([64])" or "()".
std::optional<Shape> shape_of(std::string_view text) {
  if (text.starts_with("torch.Size(") && text.ends_with(')')) text = text.substr(11, text.size() - 12);
  const bool in_brackets = (text.starts_with('(') && text.ends_with(')')) || (text.starts_with('[') && text.ends_with(']'));
  if (in_brackets) text = text.substr(1, text.size() - 2);
  Shape shape;
  while (!text.empty()) {
    std::int64_t extent = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (error != std::errc() || extent < 1) return std::nullopt;
    shape.push_back(extent);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) break;
    if (text.front() != 'x' && text.front() != ',') return std::nullopt;
    text.remove_prefix(1);
    const bool may_end = in_brackets;  // "(64,)"
    if (text.empty() && !may_end) return std::nullopt;
  }
  if (shape.empty() && !in_brackets) return std::nullopt;
  return unchecked_elements(shape) > static_cast<double>(most_elements) ? std::nullopt : std::optional(shape);
}

Parameter read_line(const std::string& line, const std::string& where) {
  std::istringstream words(line);
  Parameter parameter;
  words >> parameter.name;
  if (parameter.name.size() > 1 && parameter.name.ends_with(':')) parameter.name.pop_back();
  parameter.module = module_of(parameter.name);
  std::string shape;
  std::string type;
  for (std::string word; words >> word;) {
    const bool is_type = !shape.empty() && (std::isalpha(static_cast<unsigned char>(word.front())) != 0);
    (is_type ? type : shape) += word;
  }
  const std::optional<Shape> extents = shape_of(shape);
  if (!extents) {
    throw InputError(
        fmt::format("{}: \"{}\" has the shape \"{}\", expected extents such as 64x3x7x7 or (64, 3, 7, 7), of 1 to 1e14 elements", where,
                    shortened(parameter.name, 60), shortened(shape, 60)));
  }
  parameter.shape = *extents;
  const std::optional<std::string> dtype = dtype_named(type.empty() ? "fp32" : type);
  if (!dtype) {
    throw InputError(fmt::format("{}: \"{}\" has the type \"{}\", expected torch.float32, torch.float16, torch.bfloat16 or torch.float64",
                                 where, shortened(parameter.name, 60), shortened(type, 60)));
  }
  parameter.dtype = *dtype;
  return parameter;
}

std::vector<Parameter> of_model(const Model& model) {
  std::vector<Parameter> parameters;
  for (const ModelLayer& layer : model.layers) {
    for (const Tensor& tensor : layer.tensors) {
      parameters.push_back({tensor.name, layer.name, tensor.shape, "fp32"});
    }
  }
  return parameters;
}

}  // namespace

std::vector<Parameter> read_parameter_sizes(const std::filesystem::path& path) {
  const std::string file = path.string();
  const std::string text = read_file(path);
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin != std::string::npos && text[begin] == '{') return of_model(read_model(Document(parse_json(text, file), file)));
  std::vector<Parameter> parameters;
  std::set<std::string> names;
  std::istringstream lines(text);
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos || line[first] == '#') continue;
    const std::string where = fmt::format("{}: line {}", file, number);
    parameters.push_back(read_line(line, where));
    if (!names.insert(parameters.back().name).second) {
      throw InputError(fmt::format("{}: \"{}\" is there twice", where, shortened(parameters.back().name, 60)));
    }
  }
  if (parameters.empty()) {
    throw InputError(fmt::format("{}: no parameters; expected a model/1 file, or lines such as \"fc.weight 1000x2048\"", file));
  }
  return parameters;
}

}  // namespace syncopate
