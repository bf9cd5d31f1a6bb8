#include "dataflow/dataflow.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/errors.hpp"
#include "base/version.hpp"

namespace syncopate {

namespace {

/// A value, or those of all parts as a list.
void append_values(std::string& text, const std::vector<ValueId>& values, bool is_list) {
  if (!is_list) {
    fmt::format_to(std::back_inserter(text), FMT_COMPILE("{}"), values.front());
    return;
  }
  char before = '[';
  for (const ValueId value : values) {
    fmt::format_to(std::back_inserter(text), FMT_COMPILE("{}{}"), before, value);
    before = ',';
  }
  text += ']';
}

/// As JSON has numbers, to the last bit.
void append_number(std::string& text, double number) { fmt::format_to(std::back_inserter(text), FMT_COMPILE("{}"), number); }

std::vector<std::string_view> hyper_of(std::string_view function) {
  if (function == "momentum" || function == "nesterov") return {"lr", "mu"};
  if (function == "adam") return {"lr", "beta1", "beta2", "epsilon"};
  if (function == "adamw") return {"lr", "beta1", "beta2", "epsilon", "weight_decay"};
  return {"lr", "lambda"};  // delay-compensated
}

constexpr int fast = 1;  ///< of zlib's levels

}  // namespace

/// A value with its factor in a combination.
struct Dataflow::Share {
  Coefficient factor;
  ValueId value;
};

std::vector<Dataflow::Share> Dataflow::collect(const Sum& sum, std::size_t part) {
  std::vector<Share> shares;
  shares.reserve(sum.terms().size());
  std::map<std::pair<ValueId, Coefficient::Powers>, std::size_t> places;
  for (const Sum::Term& term : sum.terms()) {
    const ValueId value = term.values[part];
    const auto [place, is_new] = places.try_emplace({value, term.factor.powers()}, shares.size());
    if (is_new) {
      shares.push_back({term.factor, value});
    } else {
      shares[place->second].factor.add(term.factor.number());
    }
  }
  std::erase_if(shares, [](const Share& share) { return share.factor.number() == 0.0; });
  return shares;
}

Dataflow::Dataflow(std::vector<ModelPart> parts, Optimizer optimizer, int workers)
    : parts_(std::move(parts)), optimizer_(optimizer), workers_(workers), file_(fast) {
  std::vector<ValueId> values(parts_.size());
  for (ValueId& value : values) value = next_++;
  initial_ = Values(0, std::move(values));
}

Values Dataflow::gradient(int worker, int batch, const Values& model, Seconds time) {
  std::vector<ValueId> made(parts_.size());
  for (ValueId& value : made) value = next_++;
  const bool is_list = parts_.size() > 1;
  text_ = R"({"o":"G","v":)";
  append_values(text_, made, is_list);
  text_ += R"(,"x":)";
  append_values(text_, model.values(), is_list);
  fmt::format_to(std::back_inserter(text_), FMT_COMPILE(R"(,"w":{},"k":{},"t":)"), worker, batch);
  append_number(text_, time.value);
  text_ += '}';
  write(text_);
  ++gradients_;
  end_ = std::max(end_, time);
  return {0, std::move(made)};
}

Values Dataflow::value(const Sum& sum) {
  if (sum.empty()) return {};
  const Values& like = sum.terms().front().values;
  std::vector<ValueId> values;
  values.reserve(like.size());
  for (std::size_t part = like.first(); part < like.first() + like.size(); ++part) values.push_back(combination(collect(sum, part), part));
  return {like.first(), std::move(values)};
}

ValueId Dataflow::combination(const std::vector<Share>& shares, std::size_t part) {
  if (shares.empty()) return zero(part, 1)[part];
  if (shares.size() == 1 && shares.front().factor == Coefficient(1.0)) return shares.front().value;
  std::string of = R"("of":[)";
  for (const Share& share : shares) {
    of += of.back() == '[' ? "[" : ",[";
    append_number(of, share.factor.number());
    fmt::format_to(std::back_inserter(of), FMT_COMPILE(",{}"), share.value);
    for (std::size_t i = 0; i < hyper_count; ++i) {
      const int power = share.factor.powers()[i];
      if (power != 0) name_hyper(hyper_names[i]);
      for (int j = 0; j < std::abs(power); ++j)
        fmt::format_to(std::back_inserter(of), FMT_COMPILE(R"(,"{}{}")"), power < 0 ? "1/" : "", hyper_names[i]);
    }
    of += ']';
  }
  of += ']';
  return known_or_new("L", of, part, 1).front();
}

std::vector<Values> Dataflow::apply(std::string_view function, const std::vector<Values>& arguments, std::size_t results) {
  for (const std::string_view name : hyper_of(function)) name_hyper(name);
  const std::size_t first = arguments.front().first();
  std::vector<std::vector<ValueId>> made(results);
  for (std::size_t part = first; part < first + arguments.front().size(); ++part) {
    std::vector<ValueId> of;
    of.reserve(arguments.size());
    for (const Values& argument : arguments) of.push_back(argument[part]);
    std::string key = fmt::format(R"("f":"{}","of":)", function);
    append_values(key, of, true);
    const std::vector<ValueId> values = known_or_new("S", key, part, results);
    for (std::size_t i = 0; i < results; ++i) made[i].push_back(values[i]);
  }
  std::vector<Values> all;
  all.reserve(results);
  for (std::vector<ValueId>& values : made) all.emplace_back(first, std::move(values));
  return all;
}

Values Dataflow::compress(std::string_view way, const Values& sent, Values& residual) {
  if (residual.empty()) residual = zero(sent.first(), sent.size());
  std::vector<ValueId> messages;
  std::vector<ValueId> left;
  for (std::size_t part = sent.first(); part < sent.first() + sent.size(); ++part) {
    const ValueId message = next_++;
    const ValueId rest = next_++;
    write_value("C", {message, rest}, fmt::format(R"({},"of":[{},{}])", way, sent[part], residual[part]), part, true);
    messages.push_back(message);
    left.push_back(rest);
  }
  residual = Values(sent.first(), std::move(left));
  return {sent.first(), std::move(messages)};
}

void Dataflow::evaluate(int worker, const Values& model, Seconds time) {
  text_ = R"({"o":"E","x":)";
  append_values(text_, model.values(), parts_.size() > 1);
  fmt::format_to(std::back_inserter(text_), FMT_COMPILE(R"(,"w":{},"t":)"), worker);
  append_number(text_, time.value);
  fmt::format_to(std::back_inserter(text_), FMT_COMPILE(R"(,"n":{}}})"), gradients_);
  write(text_);
  end_ = std::max(end_, time);
}

Values Dataflow::zero(std::size_t first_part, std::size_t count) {
  std::vector<ValueId> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto [zero, is_new] = zeros_.try_emplace(first_part + i, next_);
    if (is_new) ++next_;
    values[i] = zero->second;
  }
  return {first_part, std::move(values)};
}

std::vector<ValueId> Dataflow::known_or_new(std::string_view operation, std::string_view key, std::size_t part, std::size_t results) {
  const auto [place, is_new] = known_.try_emplace(std::string(key));
  if (!is_new) return place->second;
  place->second.resize(results);
  for (ValueId& value : place->second) value = next_++;
  const std::vector<ValueId> made = place->second;
  write_value(operation, made, key, part, results > 1 || operation != "L");
  // Ranks that do the same do it within a few steps of each other.
  const std::size_t most = 64 + 4 * static_cast<std::size_t>(workers_) * parts_.size();
  known_in_order_.push_back(&place->first);
  if (known_in_order_.size() > most) {
    known_.erase(known_.find(*known_in_order_.front()));
    known_in_order_.pop_front();
  }
  return made;
}

void Dataflow::write_value(std::string_view operation, const std::vector<ValueId>& made, std::string_view rest, std::size_t part,
                           bool is_list) {
  text_.clear();
  fmt::format_to(std::back_inserter(text_), FMT_COMPILE(R"({{"o":"{}","v":)"), operation);
  append_values(text_, made, is_list);
  text_ += ',';
  text_ += rest;
  if (parts_.size() > 1) fmt::format_to(std::back_inserter(text_), FMT_COMPILE(R"(,"part":{})"), part);
  text_ += '}';
  write(text_);
}

void Dataflow::write(std::string_view line) {
  constexpr std::size_t enough = 1 << 16;
  waiting_ += line;
  waiting_ += '\n';
  ++operations_;
  if (waiting_.size() < enough) return;
  file_.append(waiting_);
  waiting_.clear();
}

void Dataflow::name_hyper(std::string_view name) {
  if (std::find(hyper_.begin(), hyper_.end(), name) == hyper_.end()) hyper_.push_back(name);
}

Json Dataflow::hyper() const {
  // SSD-SGD takes 4 lr beside servers with momentum, whose steps add up to ten times that.
  const double local = optimizer_ == Optimizer::sgd ? 1.0 : 4.0;
  const std::map<std::string_view, Json> defaults = {
      {"lr", nullptr},           {"mu", {0.9}},     {"beta1", {0.9}}, {"beta2", {0.999}},        {"epsilon", {1e-8}},
      {"weight_decay", {0.01}},  {"alpha", {0.5}},  {"beta", {0.5}},  {"lr_loc", {local, "lr"}}, {"gamma_p", {1.0 / workers_, "lr"}},
      {"rho", {0.9 / workers_}}, {"lambda", {0.04}}};
  Json json = {{"lr", nullptr}};
  for (const std::string_view name : hyper_) json[std::string(name)] = defaults.at(name);
  return json;
}

std::string Dataflow::take(Json about) {
  if (gradients_ == 0) {
    throw SimulationError(
        "there is no record of its dataflow: the schedule's program does not say what its steps do to models (Worker::replica, "
        "Worker::gradient)");
  }
  Json header = {{"format", "dataflow/1"}, {"program", version()}};
  header.update(about);
  header["optimizer"] = to_string(optimizer_);
  header["workers"] = workers_;
  for (const ModelPart& part : parts_) header["parts"].push_back({{"name", part.name}, {"bytes", part.bytes.value}});
  header["initial"] = initial_.values();
  header["zeros"] = header["zero_parts"] = Json::array();
  for (const auto& [part, value] : zeros_) {
    header["zeros"].push_back(value);
    header["zero_parts"].push_back(part);
  }
  header["hyper"] = hyper();
  header["operations"] = operations_;
  header["end_s"] = end_.value;
  file_.append(waiting_);
  // Its header, of which much is known only now, is a gzip member of its own.
  return gzip(header.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n') + file_.take();
}

}  // namespace syncopate
