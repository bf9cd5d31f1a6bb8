#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/document.hpp"
#include "base/gzip.hpp"
#include "base/units.hpp"
#include "dataflow/values.hpp"

namespace syncopate {

/// What applies gradients.
enum class Optimizer { sgd, momentum, nesterov, adam, adamw };
constexpr std::array<std::string_view, 5> optimizer_names = {"sgd", "momentum", "nesterov", "adam", "adamw"};
constexpr std::string_view to_string(Optimizer optimizer) { return optimizer_names[static_cast<std::size_t>(optimizer)]; }

/// A piece of the model that moves by itself.
struct ModelPart {
  std::string name;
  Bytes bytes;
};

/// The record of one job: which gradient, computed on which model, entered which model, when. The format dataflow/1 is README.md's; it is
/// written as it comes, compressed.
class Dataflow {
 public:
  /// `parts`: in the order in which their gradients are ready.
  Dataflow(std::vector<ModelPart> parts, Optimizer optimizer, int workers);

  Optimizer optimizer() const { return optimizer_; }
  std::size_t parts() const { return parts_.size(); }
  const Values& initial() const { return initial_; }

  /// Of the loss at a model, over a worker's batch.
  Values gradient(int worker, int batch, const Values& model, Seconds time);
  /// Whether others make the same of the same values at about the same time, which then is one value.
  enum class Makers { one, many };
  /// The value of an expression.
  Values value(const Sum& sum, Makers makers = Makers::one);
  /// A function with state: all of its arguments have the same parts.
  std::vector<Values> apply(std::string_view function, const std::vector<Values>& arguments, std::size_t results, Makers makers);
  /// Error feedback: compresses `sent` and the residual, which becomes what is left. `way`: the function and what it needs, as members of
  /// a JSON object. An empty residual is zero.
  Values compress(std::string_view way, const Values& sent, Values& residual);
  /// A place where the model may be evaluated.
  void evaluate(int worker, const Values& model, Seconds time);
  /// That is zero from the begin: one value for each part.
  Values zero(std::size_t first_part, std::size_t count);

  /// The file's content. `about`: what the header says of the study; only once. Throws SimulationError where there is no gradient.
  std::string take(const Json& about);

 private:
  /// What the operation makes of which rest_ says all that decides it.
  ValueIds make(std::string_view operation, std::size_t part, std::size_t results, Makers makers);
  ValueIds make_new(std::string_view operation, std::size_t part, std::size_t results);
  ValueIds new_values(std::size_t count);
  void forget_old();
  struct Share;
  using Shares = boost::container::small_vector<Share, 4>;
  /// A part of a sum, every value once.
  static Shares collect(const Sum& sum, std::size_t part);
  ValueId combination(const Shares& shares, std::size_t part, Makers makers);
  void name_hyper(std::string_view name);
  void end_line();
  Json hyper() const;

  std::vector<ModelPart> parts_;
  Optimizer optimizer_;
  int workers_;
  Values initial_;
  ValueId next_ = 0;
  std::map<std::size_t, ValueId> zeros_;  ///< by part
  std::vector<std::string_view> hyper_;   ///< that are named
  std::int64_t operations_ = 0;
  std::int64_t gradients_ = 0;
  Seconds end_;
  std::string rest_;     ///< of a line that is being made
  std::string waiting_;  ///< lines that are not compressed yet
  GzipText file_;
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  /// What many make, of late, by the rest of the line.
  std::unordered_map<std::string, ValueIds, Hash, std::equal_to<>> known_;
  std::deque<const std::string*> known_in_order_;
  std::size_t known_bytes_ = 0;
};

}  // namespace syncopate
