#include "base/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <unordered_set>

#include "base/errors.hpp"
#include "base/files.hpp"
#include "base/text.hpp"

namespace syncopate {

namespace {

constexpr std::size_t max_depth = 64;

/// Builds a Json value from parser events. Unlike the library's own builder it refuses duplicate keys.
class StrictBuilder : public nlohmann::json_sax<Json> {
 public:
  StrictBuilder(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*size*/) override { return open(Json::object()); }
  bool start_array(std::size_t /*size*/) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& value) override {
    if (!is_new(value)) {
      throw InputError(fmt::format("{}: {}: the key \"{}\" appears twice; remove one of them", name_, place(), value));
    }
    key_ = value;
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/, const nlohmann::detail::exception& error) override {
    std::string reason = parse_error_reason(error);
    if (text_.find_first_not_of(" \t\r\n") == std::string_view::npos) reason = "the file is empty";
    const std::string word = word_at(position);
    if (word == "nan" || word == "inf" || word == "infinity") reason = "NaN and Infinity are not JSON; give a finite number";
    throw InputError(fmt::format("{}: not valid JSON {}: {}", name_, line_and_column(position), reason));
  }

 private:
  /// Whether the innermost object lacks the key. Few keys are compared one by one; many keys are hashed.
  bool is_new(const std::string& key) {
    constexpr std::size_t few = 16;
    const auto& members = stack_.back()->get_ref<const Json::object_t&>();
    if (members.size() < few) return !stack_.back()->contains(key);
    std::unordered_set<std::string>& keys = keys_.back();
    if (keys.empty()) {
      for (const auto& [name, value] : members) keys.insert(name);
    }
    return keys.insert(key).second;
  }

  bool add(Json value) {
    insert(std::move(value));
    return true;
  }

  bool open(Json container) {
    if (stack_.size() == max_depth) throw InputError(fmt::format("{}: {}: nested deeper than {} levels", name_, place(), max_depth));
    stack_.push_back(insert(std::move(container)));
    keys_.emplace_back();
    return true;
  }

  bool close() {
    stack_.pop_back();
    keys_.pop_back();
    return true;
  }

  Json* insert(Json value) {
    if (stack_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *stack_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    auto& members = parent.get_ref<Json::object_t&>();
    members.std::vector<std::pair<const std::string, Json>>::emplace_back(key_, std::move(value));
    return &members.back().second;
  }

  /// The pointer of the innermost open container. Every level is the newest child of the level above.
  std::string place() const {
    std::string pointer;
    for (std::size_t level = 0; level + 1 < stack_.size(); ++level) {
      const Json& parent = *stack_[level];
      pointer += '/';
      pointer += parent.is_array() ? std::to_string(parent.size() - 1) : parent.get_ref<const Json::object_t&>().back().first;
    }
    return pointer.empty() ? "/" : pointer;
  }

  /// The word at a position (counted from 1), in lower case.
  std::string word_at(std::size_t position) const {
    const auto is_letter = [this](std::size_t i) { return i < text_.size() && std::isalpha(static_cast<unsigned char>(text_[i])) != 0; };
    std::size_t begin = position == 0 ? 0 : position - 1;
    while (begin > 0 && is_letter(begin - 1)) --begin;
    std::string word;
    for (std::size_t i = begin; is_letter(i); ++i) word += static_cast<char>(std::tolower(static_cast<unsigned char>(text_[i])));
    return word;
  }

  std::string line_and_column(std::size_t position) const {
    const std::string_view before = text_.substr(0, position == 0 ? 0 : position - 1);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t newline = before.rfind('\n');
    const std::size_t column = newline == std::string_view::npos ? before.size() + 1 : before.size() - newline;
    return fmt::format("at line {}, column {}", line, column);
  }

  std::string_view text_;
  const std::string& name_;
  Json root_;
  std::vector<Json*> stack_;
  std::vector<std::unordered_set<std::string>> keys_;  ///< per level of the stack; empty for objects with few keys
  std::string key_;
};

}  // namespace

std::string parse_error_reason(const nlohmann::detail::exception& error) {
  std::string reason = error.what();
  if (const std::size_t dash = reason.find(" - "); dash != std::string::npos) {
    reason = reason.substr(dash + 3);
  } else if (const std::size_t bracket = reason.find("] "); bracket != std::string::npos) {
    reason = reason.substr(bracket + 2);
  }
  std::replace_if(
      reason.begin(), reason.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  constexpr std::size_t longest = 200;
  return shortened(reason, longest);
}

Json parse_json(std::string_view text, const std::string& name) {
  StrictBuilder builder(text, name);
  Json::sax_parse(text, &builder);
  return builder.take();
}

Document Document::read(const std::filesystem::path& path) { return {parse_json(read_file(path), path.string()), path.string()}; }

void Document::mount(const JsonPointer& pointer, const Document& part) {
  root_[pointer] = part.root_;
  parts_.push_back({pointer.to_string(), part.file_});
}

void Document::set(const JsonPointer& pointer, const Json& value, const std::string& origin) try {
  for (JsonPointer above = pointer; !above.empty();) {
    above.pop_back();
    if (!root_.contains(above)) continue;
    const Json& parent = root_[above];
    // Elements of an array may be replaced but not added: a pointer past the end is most likely a mistake.
    if (parent.is_object() || (parent.is_array() && root_.contains(pointer))) break;
    fail_at(where(above.to_string()), fmt::format("cannot set {}: there is no such place in {}", pointer.to_string(), excerpt(parent)),
            origin);
  }
  if (!value.is_null() || pointer.empty()) {
    root_[pointer] = value;
  } else if (root_.contains(pointer)) {
    Json& parent = root_[pointer.parent_pointer()];
    parent.is_array() ? parent.erase(std::stoul(pointer.back())) : static_cast<void>(parent.erase(pointer.back()));
  }
  std::erase_if(parts_, [&](const Part& part) { return is_at_or_above(pointer.to_string(), part.pointer); });
  patches_.push_back({pointer.to_string(), origin});
} catch (const Json::exception&) {
  // An array index that is not a number, or out of range.
  fail_at(where(pointer.to_string()), "there is no such place", origin);
}

void Document::erase(const std::string& key) {
  if (root_.is_object()) root_.erase(key);
}

const Document::Part* Document::part_at(const std::string& pointer) const {
  const Part* found = nullptr;
  for (const Part& part : parts_) {
    if (is_at_or_above(part.pointer, pointer)) found = &part;
  }
  return found;
}

const Document::Patch* Document::patch_at(const std::string& pointer) const {
  const Patch* found = nullptr;
  for (const Patch& patch : patches_) {
    if (is_at_or_above(patch.pointer, pointer)) found = &patch;
  }
  return found;
}

const Document::Part* Document::unpatched_part_at(const std::string& pointer) const {
  const Part* part = part_at(pointer);
  const Patch* patch = patch_at(pointer);
  return part != nullptr && patch != nullptr && patch->pointer.size() > part->pointer.size() ? nullptr : part;
}

namespace {

/// The pointer that the user has to edit to change the value at `pointer`. It differs from `pointer` if that part was copied from another
/// place of the same file.
template <class Parts>
std::string source_of(const std::string& pointer, const Parts& parts, const std::string& file) {
  const std::string here = file + ": /";
  for (const auto& part : parts) {
    if (part.file.starts_with(here) && is_at_or_above(part.pointer, pointer))
      return part.file.substr(here.size() - 1) + pointer.substr(part.pointer.size());
  }
  return pointer;
}

}  // namespace

std::string Document::where(const std::string& shown_pointer) const {
  const std::string pointer = source_of(shown_pointer, parts_, file_);
  const auto show = [](const std::string& file, const std::string& place) {
    constexpr std::size_t longest = 200;
    return fmt::format("{}: {}", file, place.empty() ? "/" : shortened(place, longest));
  };
  const Part* part = unpatched_part_at(pointer);
  return part == nullptr ? show(file_, pointer) : show(part->file, pointer.substr(part->pointer.size()));
}

const std::string& Document::file_at(const std::string& pointer) const {
  const Part* part = unpatched_part_at(pointer);
  return part == nullptr ? file_ : part->file;
}

std::string Document::origin(const std::string& shown_pointer) const {
  const std::string pointer = source_of(shown_pointer, parts_, file_);
  const Patch* patch = patch_at(pointer);
  if (patch != nullptr) return patch->origin;
  const Part* part = part_at(pointer);
  return part == nullptr ? std::string() : fmt::format(" (named by {}: {})", file_, part->pointer);
}

std::string from_option(std::string_view option) { return fmt::format(" (from {})", option); }

void fail_at(const std::string& place, std::string_view message, const std::string& origin) {
  const std::string text = fmt::format("{}: {}{}", place, message, origin);
  if (origin.starts_with(" (from --")) throw UsageError(text);
  throw InputError(text);
}

std::string pretty(const Json& value) { return value.dump(1, ' ', false, Json::error_handler_t::replace) + '\n'; }

std::string excerpt(const Json& value) {
  constexpr std::size_t longest = 60;
  const bool is_long_text = value.is_string() && value.get_ref<const std::string&>().size() > longest;
  const Json shown = is_long_text ? Json(value.get_ref<const std::string&>().substr(0, longest)) : value;
  const std::string text = shown.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() > longest || is_long_text ? fmt::format("{}...", beginning(text, longest - 3)) : text;
}

bool is_at_or_above(const std::string& ancestor, const std::string& pointer) {
  return pointer.starts_with(ancestor) && (pointer.size() == ancestor.size() || pointer[ancestor.size()] == '/');
}

}  // namespace syncopate
