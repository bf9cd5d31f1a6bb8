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

/// The optimiser that applies gradients.
enum class Optimizer { sgd, momentum, nesterov, adam, adamw };
constexpr std::array<std::string_view, 5> optimizer_names = {"sgd", "momentum", "nesterov", "adam", "adamw"};
constexpr std::string_view to_string(Optimizer optimizer) { return optimizer_names[static_cast<std::size_t>(optimizer)]; }

/// A piece of the model that is sent separately.
struct ModelPart {
  std::string name;
  Bytes bytes;
};

/// The dataflow record of one job: when each gradient was computed, on which model, and which models it entered. The format dataflow/1 is
/// described in dataflow/README.md. Lines are compressed as they are written.
class Dataflow {
 public:
  /// `parts`: in the order in which their gradients become ready.
  Dataflow(std::vector<ModelPart> parts, Optimizer optimizer, int workers);

  Optimizer optimizer() const { return optimizer_; }
  std::size_t parts() const { return parts_.size(); }
  const Values& initial() const { return initial_; }

  /// The gradient of the loss at `model`, over one batch of a worker.
  Values gradient(int worker, int batch, const Values& model, Seconds time);
  /// `many`: other makers compute the same from the same values at about the same time. The results are then recorded as one value.
  enum class Makers { one, many };
  /// The value of a linear combination.
  Values value(const Sum& sum, Makers makers = Makers::one);
  /// Applies a function with state. All arguments must have the same parts.
  std::vector<Values> apply(std::string_view function, const std::vector<Values>& arguments, std::size_t results, Makers makers);
  /// Compression with error feedback: compresses `sent` + `residual` and returns the result. `residual` becomes the compression error. An
  /// empty residual is zero. `way`: the function and its parameters, as members of a JSON object.
  Values compress(std::string_view way, const Values& sent, Values& residual);
  /// Marks a point at which a replay may evaluate the model.
  void evaluate(int worker, const Values& model, Seconds time);
  /// Zero values for `count` parts.
  Values zero(std::size_t first_part, std::size_t count);

  /// The file's content; call it once. `about`: the header's description of the study. Throws SimulationError if there is no gradient.
  std::string take(const Json& about);

 private:
  /// Records an operation whose arguments are in rest_. For Makers::many, reuses the result of an equal operation.
  ValueIds make(std::string_view operation, std::size_t part, std::size_t results, Makers makers);
  ValueIds make_new(std::string_view operation, std::size_t part, std::size_t results);
  ValueIds new_values(std::size_t count);
  void forget_old();
  struct Share;
  using Shares = boost::container::small_vector<Share, 4>;
  /// The terms of one part of a sum, with each value once.
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
  std::vector<std::string_view> hyper_;   ///< hyper-parameters used so far
  std::int64_t operations_ = 0;
  std::int64_t gradients_ = 0;
  Seconds end_;
  std::string rest_;     ///< arguments of the line that is being written
  std::string waiting_;  ///< lines not yet compressed
  GzipText file_;
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  /// Recent results of Makers::many, by the rest of their line.
  std::unordered_map<std::string, ValueIds, Hash, std::equal_to<>> known_;
  std::deque<const std::string*> known_in_order_;
  std::size_t known_bytes_ = 0;
};

}  // namespace syncopate
