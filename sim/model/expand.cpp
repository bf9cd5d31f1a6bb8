#include "model/expand.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <unordered_set>

#include "base/choice.hpp"
#include "base/document.hpp"
#include "base/errors.hpp"

namespace syncopate {

namespace {

constexpr std::size_t most_layers = 100'000;
constexpr std::int64_t most_copies = 10'000;
constexpr std::size_t deepest = 100;  // levels of nested blocks

/// The parameters of one instance of a block, with their values.
using Arguments = std::map<std::string, Json>;

struct Block {
  Field layers;
  std::map<std::string, Json> defaults;  ///< null: the parameter is required
};

/// Where a list of layers is expanded: in the model itself, or in an instance of a block.
struct Scope {
  std::string prefix;  ///< of the layers' full names, such as "layer1.0."
  std::string input;   ///< the full name of the layer that "$input" refers to
  Arguments arguments;
  std::vector<std::string> inside;  ///< names of the enclosing blocks, outermost first
};

std::string replace_number(std::string name, std::int64_t number) {
  name.replace(name.find('#'), 1, std::to_string(number));
  return name;
}

class Expander {
 public:
  Expander(const Field& layers, const std::optional<Field>& blocks) {
    if (blocks) read_blocks(*blocks);
    for (const auto& [name, block] : blocks_) block_names_.push_back(name);
    expand(layers, Scope{"", std::string(block_input), {}, {}});
    for (const auto& [name, block] : blocks_) {
      if (!used_.contains(name)) block.layers.fail_because(fmt::format("no layer uses the block \"{}\"; remove it", name));
    }
  }

  ExpandedLayers take() { return std::move(result_); }

 private:
  void read_blocks(const Field& field) {
    Object fields(field);
    for (const auto& [name, json] : field.json().items()) {
      Object block(fields.at(name));
      Block read{block.at("layers"), {}};
      if (const auto parameters = block.find("parameters")) {
        Object defaults(*parameters);
        for (const auto& [parameter, value] : parameters->json().items()) {
          if (constexpr std::array reserved = {"name", "op", "block", "inputs", "repeat"};
              std::find(reserved.begin(), reserved.end(), parameter) != reserved.end()) {
            defaults.at(parameter).fail_because(fmt::format("\"{}\" is a key of every layer; choose another name", parameter));
          }
          read.defaults.emplace(parameter, value);
        }
      }
      block.finish();
      blocks_.emplace(name, std::move(read));
    }
  }

  /// Expands a list. Returns the full name of its last layer or instance.
  std::string expand(const Field& layers, const Scope& scope) {
    std::string previous = scope.input;
    for (const Field& field : layers.list()) previous = expand_entry(field, scope, previous);
    return previous;
  }

  /// Expands one entry of a list with all its repetitions. Returns the full name of the last one.
  std::string expand_entry(const Field& written, const Scope& scope, std::string previous) {
    const auto json = std::make_shared<const Json>(fill_in(written, scope));
    const Field field(written.document(), written.pointer(), *json);
    Object fields(field);
    const Field name_field = fields.at("name");
    const std::string name = name_field.name();
    if (name.starts_with('$'))
      name_field.fail_because(fmt::format("names that begin with \"$\" are inputs and parameters; rename \"{}\"", name));
    const auto repeat = fields.find("repeat");
    const auto numbered = std::count(name.begin(), name.end(), '#');
    if (repeat ? numbered != 1 : numbered != 0) {
      name_field.fail_because(repeat
                                  ? fmt::format("a repeated layer's name needs one \"#\" for the number, got \"{}\"", name)
                                  : fmt::format("\"#\" stands for the number of a repeated layer; add \"repeat\" or rename \"{}\"", name));
    }
    if (!repeat) return expand_copy(json, field, name, scope, previous);
    const auto [from, to] = read_repeat(*repeat);
    for (std::int64_t number = from; number <= to; ++number) {
      previous = expand_copy(json, field, replace_number(name, number), scope, previous);
    }
    return previous;
  }

  static std::pair<std::int64_t, std::int64_t> read_repeat(const Field& field) {
    const std::vector<Field> ends = field.list();
    if (ends.size() != 2) field.fail("two numbers, [first, last]");
    const std::int64_t from = ends[0].integer(0, most_copies);
    return {from, ends[1].integer(from, most_copies)};
  }

  std::string expand_copy(const std::shared_ptr<const Json>& json, const Field& field, const std::string& name, const Scope& scope,
                          const std::string& previous) {
    std::string full_name = scope.prefix + name;
    if (!names_.insert(full_name).second) field.fail_because(fmt::format("two layers are named \"{}\"", full_name));
    Object fields(field);
    const std::vector<std::string> inputs = read_inputs(fields, scope, previous);
    if (const auto block = fields.find("block")) {
      expand_block(fields, *block, full_name, inputs, scope);
    } else {
      if (result_.entries.size() == most_layers) field.fail_because(fmt::format("more than {} layers; lower \"repeat\"", most_layers));
      result_.entries.push_back({full_name, json, field.pointer(), inputs});
    }
    return full_name;
  }

  static std::vector<std::string> read_inputs(Object& fields, const Scope& scope, const std::string& previous) {
    const auto field = fields.find("inputs");
    if (!field) return {previous};
    std::vector<std::string> inputs;
    for (const Field& input : field->list()) {
      const std::string name = input.text();
      inputs.push_back(name == block_input ? scope.input : scope.prefix + name);
    }
    return inputs;
  }

  void expand_block(Object& fields, const Field& field, const std::string& full_name, const std::vector<std::string>& inputs,
                    const Scope& around) {
    if (block_names_.empty()) field.fail_because("the model has no \"blocks\"; define this block there");
    const std::string name = choose_name(field, block_names_);
    const Block& block = blocks_.at(name);
    Scope scope{full_name + ".", inputs.front(), {}, around.inside};
    scope.inside.push_back(name);
    if (std::count(scope.inside.begin(), scope.inside.end(), name) > 1) {
      field.fail_because(fmt::format("blocks contain each other: {}", fmt::join(scope.inside, " -> ")));
    }
    if (scope.inside.size() > deepest) field.fail_because(fmt::format("blocks are nested deeper than {} levels", deepest));
    if (inputs.size() != 1) {
      fields.field().fail_because(fmt::format("a block takes one input, got {}; put an add or a concat before it", inputs.size()));
    }
    for (const char* key : {"name", "repeat"}) fields.find(key);
    for (const auto& [parameter, fallback] : block.defaults) {
      const auto given = fields.find(parameter);
      if (!given && fallback.is_null()) {
        fields.field().fail_because(fmt::format("the block \"{}\" needs the parameter \"{}\"", name, parameter));
      }
      scope.arguments.emplace(parameter, given ? given->json() : fallback);
    }
    fields.finish();
    used_.insert(name);
    result_.instances.emplace(full_name, expand(block.layers, scope));
  }

  /// The entry with the parameters of the enclosing block filled in.
  static Json fill_in(const Field& entry, const Scope& scope) {
    if (!entry.is_object()) entry.fail("an object such as {\"name\": \"relu1\", \"op\": \"relu\"}");
    Json filled = entry.json();
    for (auto& [key, value] : filled.items()) {
      if (key == "name" || key == "inputs" || key.starts_with("x-")) continue;
      fill_in_value(Field(entry.document(), entry.pointer() + (JsonPointer() / key).to_string(), entry.json().at(key)), scope, value);
    }
    return filled;
  }

  static void fill_in_value(const Field& written, const Scope& scope, Json& value) {
    if (value.is_array()) {
      for (Json& element : value) fill_in_value(written, scope, element);
      return;
    }
    if (!value.is_string() || !value.get_ref<const std::string&>().starts_with('$')) return;
    const std::string name = value.get_ref<const std::string&>().substr(1);
    const auto argument = scope.arguments.find(name);
    if (argument == scope.arguments.end()) {
      std::vector<std::string> known;
      for (const auto& [parameter, bound] : scope.arguments) known.push_back("$" + parameter);
      written.fail_because(known.empty() ? fmt::format("\"${}\" is a parameter, but only layers in blocks have parameters", name)
                                         : fmt::format("the block has no parameter \"{}\"; it has {}", name, fmt::join(known, ", ")));
    }
    value = argument->second;
  }

  std::map<std::string, Block> blocks_;
  std::vector<std::string> block_names_;
  std::unordered_set<std::string> used_;
  std::unordered_set<std::string> names_;
  ExpandedLayers result_;
};

}  // namespace

ExpandedLayers expand_layers(const Field& layers, const std::optional<Field>& blocks) { return Expander(layers, blocks).take(); }

}  // namespace syncopate
