#include "dataflow/dataflow.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/errors.hpp"
#include "base/version.hpp"

namespace syncopate {

namespace {

/// Appends one value, or the values of all parts as a list.
void append_values(std::string& text, const ValueIds& values, bool is_list) {
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

/// Appends a number as JSON without loss of precision.
void append_number(std::string& text, double number) { fmt::format_to(std::back_inserter(text), FMT_COMPILE("{}"), number); }

std::vector<std::string_view> hyper_of(std::string_view function) {
  if (function == "momentum" || function == "nesterov") return {"lr", "mu"};
  if (function == "adam") return {"lr", "beta1", "beta2", "epsilon"};
  if (function == "adamw") return {"lr", "beta1", "beta2", "epsilon", "weight_decay"};
  return {"lr", "lambda"};  // DC-ASGD
}

constexpr int fast = 1;  ///< a compression level of zlib

}  // namespace

/// A term of a linear combination: a value and its factor.
struct Dataflow::Share {
  Coefficient factor;
  ValueId value;
};

Dataflow::Shares Dataflow::collect(const Sum& sum, std::size_t part) {
  Shares shares;
  for (const Sum::Term& term : sum.terms()) shares.push_back({term.factor, term.values[part]});
  boost::container::small_vector<std::size_t, 4> order(shares.size());
  std::iota(order.begin(), order.end(), 0);
  const auto name = [&](std::size_t i) { return std::tie(shares[i].value, shares[i].factor.powers()); };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return shares[a].value != shares[b].value ? shares[a].value < shares[b].value
                                              : std::tie(shares[a].factor.powers(), a) < std::tie(shares[b].factor.powers(), b);
  });
  for (std::size_t i = 1, first = 0; i < order.size(); ++i) {
    if (name(order[i]) != name(order[first])) {
      first = i;
      continue;
    }
    shares[order[first]].factor.add(shares[order[i]].factor.number());
    shares[order[i]].factor = 0.0;
  }
  shares.erase(std::remove_if(shares.begin(), shares.end(), [](const Share& share) { return share.factor.number() == 0.0; }), shares.end());
  return shares;
}

Dataflow::Dataflow(std::vector<ModelPart> parts, Optimizer optimizer, int workers)
    : parts_(std::move(parts)), optimizer_(optimizer), workers_(workers), file_(fast) {
  initial_ = Values(0, new_values(parts_.size()));
}

ValueIds Dataflow::new_values(std::size_t count) {
  ValueIds values(count, boost::container::default_init);
  for (ValueId& value : values) value = next_++;
  return values;
}

Values Dataflow::gradient(int worker, int batch, const Values& model, Seconds time) {
  ValueIds made = new_values(parts_.size());
  const bool is_list = parts_.size() > 1;
  waiting_ += R"({"o":"G","v":)";
  append_values(waiting_, made, is_list);
  waiting_ += R"(,"x":)";
  append_values(waiting_, model.values(), is_list);
  fmt::format_to(std::back_inserter(waiting_), FMT_COMPILE(R"(,"w":{},"k":{},"t":{}}})"), worker, batch, time.value);
  end_line();
  ++gradients_;
  end_ = std::max(end_, time);
  return {0, std::move(made)};
}

Values Dataflow::value(const Sum& sum, Makers makers) {
  if (sum.empty()) return {};
  const Values& like = sum.terms().front().values;
  ValueIds values;
  values.reserve(like.size());
  for (std::size_t part = like.first(); part < like.first() + like.size(); ++part)
    values.push_back(combination(collect(sum, part), part, makers));
  return {like.first(), std::move(values)};
}

ValueId Dataflow::combination(const Shares& shares, std::size_t part, Makers makers) {
  if (shares.empty()) return zero(part, 1)[part];
  if (shares.size() == 1 && shares.front().factor == Coefficient(1.0)) return shares.front().value;
  rest_ = R"("of":[)";
  for (const Share& share : shares) {
    rest_ += rest_.back() == '[' ? "[" : ",[";
    append_number(rest_, share.factor.number());
    fmt::format_to(std::back_inserter(rest_), FMT_COMPILE(",{}"), share.value);
    for (std::size_t i = 0; i < hyper_count; ++i) {
      const int power = static_cast<int>(share.factor.powers()[i]);  // NOLINT(bugprone-signed-char-misuse): a number
      if (power != 0) name_hyper(hyper_names[i]);
      for (int j = 0; j < std::abs(power); ++j)
        fmt::format_to(std::back_inserter(rest_), FMT_COMPILE(R"(,"{}{}")"), power < 0 ? "1/" : "", hyper_names[i]);
    }
    rest_ += ']';
  }
  rest_ += ']';
  return make("L", part, 1, makers).front();
}

std::vector<Values> Dataflow::apply(std::string_view function, const std::vector<Values>& arguments, std::size_t results, Makers makers) {
  for (const std::string_view name : hyper_of(function)) name_hyper(name);
  const std::size_t first = arguments.front().first();
  boost::container::small_vector<ValueIds, 4> made(results);
  for (std::size_t part = first; part < first + arguments.front().size(); ++part) {
    ValueIds of;
    for (const Values& argument : arguments) of.push_back(argument[part]);
    rest_.clear();
    fmt::format_to(std::back_inserter(rest_), FMT_COMPILE(R"("f":"{}","of":)"), function);
    append_values(rest_, of, true);
    const ValueIds values = make("S", part, results, makers);
    for (std::size_t i = 0; i < results; ++i) made[i].push_back(values[i]);
  }
  std::vector<Values> all;
  all.reserve(results);
  for (ValueIds& values : made) all.emplace_back(first, std::move(values));
  return all;
}

Values Dataflow::compress(std::string_view way, const Values& sent, Values& residual) {
  if (residual.empty()) residual = zero(sent.first(), sent.size());
  ValueIds messages;
  ValueIds left;
  for (std::size_t part = sent.first(); part < sent.first() + sent.size(); ++part) {
    rest_.clear();
    fmt::format_to(std::back_inserter(rest_), FMT_COMPILE(R"({},"of":[{},{}])"), way, sent[part], residual[part]);
    const ValueIds made = make_new("C", part, 2);
    messages.push_back(made.front());
    left.push_back(made.back());
  }
  residual = Values(sent.first(), std::move(left));
  return {sent.first(), std::move(messages)};
}

void Dataflow::evaluate(int worker, const Values& model, Seconds time) {
  waiting_ += R"({"o":"E","x":)";
  append_values(waiting_, model.values(), parts_.size() > 1);
  fmt::format_to(std::back_inserter(waiting_), FMT_COMPILE(R"(,"w":{},"t":{},"n":{}}})"), worker, time.value, gradients_);
  end_line();
  end_ = std::max(end_, time);
}

Values Dataflow::zero(std::size_t first_part, std::size_t count) {
  ValueIds values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto [zero, is_new] = zeros_.try_emplace(first_part + i, next_);
    if (is_new) ++next_;
    values[i] = zero->second;
  }
  return {first_part, std::move(values)};
}

ValueIds Dataflow::make(std::string_view operation, std::size_t part, std::size_t results, Makers makers) {
  if (makers == Makers::one) return make_new(operation, part, results);
  const auto known = known_.find(std::string_view(rest_));
  if (known != known_.end()) return known->second;
  ValueIds made = make_new(operation, part, results);
  known_in_order_.push_back(&known_.emplace(rest_, made).first->first);
  known_bytes_ += rest_.size();
  forget_old();
  return made;
}

void Dataflow::forget_old() {
  // Ranks that compute the same value do so within a few steps of each other, so old entries are not needed.
  const std::size_t most = 64 + 4 * static_cast<std::size_t>(workers_) * parts_.size();
  constexpr std::size_t most_bytes = 32 << 20;
  while (known_in_order_.size() > most || known_bytes_ > most_bytes) {
    const auto oldest = known_.find(*known_in_order_.front());
    known_bytes_ -= oldest->first.size();
    known_.erase(oldest);
    known_in_order_.pop_front();
  }
}

ValueIds Dataflow::make_new(std::string_view operation, std::size_t part, std::size_t results) {
  ValueIds made = new_values(results);
  fmt::format_to(std::back_inserter(waiting_), FMT_COMPILE(R"({{"o":"{}","v":)"), operation);
  append_values(waiting_, made, operation != "L");
  waiting_ += ',';
  waiting_ += rest_;
  if (parts_.size() > 1) fmt::format_to(std::back_inserter(waiting_), FMT_COMPILE(R"(,"part":{})"), part);
  waiting_ += '}';
  end_line();
  return made;
}

void Dataflow::end_line() {
  constexpr std::size_t enough = 1 << 16;
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
  // SSD-SGD uses 4 lr with momentum at the servers, where momentum 0.9 makes a gradient count ten times.
  const double local = optimizer_ == Optimizer::sgd ? 1.0 : 4.0;
  const std::map<std::string_view, Json> defaults = {{"lr", nullptr},
                                                     {"mu", {0.9}},
                                                     {"beta1", {0.9}},
                                                     {"beta2", {0.999}},
                                                     {"epsilon", {1e-8}},
                                                     {"weight_decay", {0.01}},
                                                     {"alpha", {0.5}},
                                                     {"beta", {0.5}},
                                                     {"lr_loc", {local, "lr"}},
                                                     {"wd", {0.0}},
                                                     {"gamma_p", {1.0 / workers_, "lr"}},
                                                     {"rho", {0.9 / workers_}},
                                                     {"lambda", {0.04}}};
  Json json = {{"lr", nullptr}};
  for (const std::string_view name : hyper_) json[std::string(name)] = defaults.at(name);
  return json;
}

std::string Dataflow::take(const Json& about) {
  if (gradients_ == 0) {
    throw SimulationError("its dataflow cannot be recorded: the schedule's program does not compute values (Worker::dataflow)");
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
  // The header is known only at the end. It is a gzip member of its own, put before the rest.
  return gzip(header.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n') + file_.take();
}

}  // namespace syncopate
