#include "fuzz/mutate.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

namespace syncopate::fuzz {

namespace {

using Json = nlohmann::ordered_json;

/// Values at which readers break.
constexpr std::array limits = {"0",
                               "-0.0",
                               "-1",
                               "1",
                               "2",
                               "4096",
                               "2147483647",
                               "2147483648",
                               "9007199254740993",
                               "1e-300",
                               "1e18",
                               "1e308",
                               "5e-324",
                               "0.1",
                               "null",
                               "true",
                               "[]",
                               "{}",
                               "\"\"",
                               "\"x\"",
                               "[0]",
                               "[[]]",
                               "{\"name\":\"x\"}",
                               "\"10Gbps\"",
                               "\"1e300s\"",
                               "\"-1us\"",
                               "\"0Bps\"",
                               "\"../../dev/null\"",
                               "\"=1+1\"",
                               "\"\\u0000\"",
                               "\"\\u001b[31m\"",
                               "\"\\ud83d\\ude00\"",
                               "\"a~1b/c~0d\""};

class Mutation {
 public:
  Mutation(Json root, std::uint32_t seed) : root_(std::move(root)), random_(seed) { collect(root_); }

  Json make() {
    Json& target = pick();
    switch (below(6)) {
      case 0: target = Json::parse(limits[below(limits.size())]); break;
      case 1: target = Json(pick()); break;
      case 2: scale(target); break;
      case 3: drop_from(target); break;
      case 4: add_to(target); break;
      default: shorten_or_repeat(target);
    }
    return root_;
  }

 private:
  void collect(Json& value) {
    all_.push_back(&value);
    if (!value.is_structured()) return;
    for (Json& part : value) collect(part);
  }

  std::size_t below(std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_); }
  Json& pick() { return *all_[below(all_.size())]; }

  void scale(Json& value) {
    constexpr std::array factors = {-1.0, 0.5, 1e-9, 1e9, 1.0 / 3.0, 1e3};
    if (value.is_number()) value = value.get<double>() * factors[below(factors.size())];
  }

  void drop_from(Json& value) {
    if (!value.is_structured() || value.empty()) return;
    auto place = value.begin();
    std::advance(place, static_cast<std::ptrdiff_t>(below(value.size())));
    value.erase(place);
  }

  void add_to(Json& value) {
    const Json other = pick();
    if (value.is_array()) {
      value.push_back(value.empty() || below(2) == 0 ? other : value[below(value.size())]);
    } else if (value.is_object() && other.is_object() && !other.empty()) {
      auto place = other.begin();
      std::advance(place, static_cast<std::ptrdiff_t>(below(other.size())));
      value[place.key()] = place.value();
    }
  }

  void shorten_or_repeat(Json& value) {
    if (value.is_array() && !value.empty()) {
      value.erase(value.begin() + static_cast<std::ptrdiff_t>(below(value.size())), value.end());
    } else if (value.is_string()) {
      auto& text = value.get_ref<std::string&>();
      constexpr std::size_t long_enough = 1000;
      if (text.empty() || below(2) == 0)
        text.resize(below(text.size() + 1));
      else if (text.size() < long_enough)
        text += text;
    }
  }

  Json root_;
  std::mt19937 random_;
  std::vector<Json*> all_;
};

}  // namespace

std::optional<std::string> mutate_json(std::string_view text, std::uint32_t seed) {
  Json root = Json::parse(text, nullptr, false);
  if (root.is_discarded()) return std::nullopt;
  return Mutation(std::move(root), seed).make().dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace syncopate::fuzz
