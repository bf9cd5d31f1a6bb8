#pragma once

#include <array>
#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace syncopate {

/// Identifies a value of a record: a vector of the size of the model, or of a part of it.
using ValueId = std::int64_t;

/// Usually one value: most models have one part.
using ValueIds = boost::container::small_vector<ValueId, 1>;

/// Hyper-parameters that a replay sets.
enum class Hyper { lr, mu, alpha, beta, lr_loc, wd, gamma_p, rho };
constexpr std::size_t hyper_count = 8;
constexpr std::array<std::string_view, hyper_count> hyper_names = {"lr", "mu", "alpha", "beta", "lr_loc", "wd", "gamma_p", "rho"};

/// A number times powers of hyper-parameters.
class Coefficient {
 public:
  using Powers = std::array<std::int8_t, hyper_count>;

  constexpr Coefficient(double number) : number_(number) {}  // NOLINT(google-explicit-constructor): 2 * lr
  constexpr Coefficient(Hyper hyper) : number_(1.0) {
    powers_[static_cast<std::size_t>(hyper)] = 1;
  }  // NOLINT(google-explicit-constructor)

  constexpr double number() const { return number_; }
  const Powers& powers() const { return powers_; }
  /// Adds to the number.
  void add(double number) { number_ += number; }

  bool operator==(const Coefficient&) const = default;

  friend constexpr Coefficient operator*(Coefficient a, const Coefficient& b) {
    a.number_ *= b.number_;
    for (std::size_t i = 0; i < hyper_count; ++i) a.powers_[i] = static_cast<std::int8_t>(a.powers_[i] + b.powers_[i]);
    return a;
  }
  friend constexpr Coefficient operator/(Coefficient a, const Coefficient& b) {
    a.number_ /= b.number_;
    for (std::size_t i = 0; i < hyper_count; ++i) a.powers_[i] = static_cast<std::int8_t>(a.powers_[i] - b.powers_[i]);
    return a;
  }

 private:
  double number_;
  Powers powers_{};
};

/// Named as in the papers.
namespace hyper {
inline constexpr Coefficient lr = Hyper::lr;            ///< eta
inline constexpr Coefficient mu = Hyper::mu;            ///< momentum
inline constexpr Coefficient alpha = Hyper::alpha;      ///< SSD-SGD, Eq. 8
inline constexpr Coefficient beta = Hyper::beta;        ///< SSD-SGD, Eq. 8
inline constexpr Coefficient lr_loc = Hyper::lr_loc;    ///< SSD-SGD, Eq. 8
inline constexpr Coefficient wd = Hyper::wd;            ///< SSD-SGD, Eq. 8: weight decay
inline constexpr Coefficient gamma_p = Hyper::gamma_p;  ///< SASGD, Algorithm 1
inline constexpr Coefficient rho = Hyper::rho;          ///< elastic averaging
}  // namespace hyper

/// Values of consecutive parts of a model: of the model itself, a gradient or a message. Empty without recording.
class Values {
 public:
  Values() = default;
  Values(std::size_t first_part, ValueIds values) : first_(first_part), values_(std::move(values)) {}

  bool empty() const { return values_.empty(); }
  std::size_t first() const { return first_; }
  std::size_t size() const { return values_.size(); }
  /// `part` is an index into the model's parts.
  ValueId operator[](std::size_t part) const { return values_[part - first_]; }
  const ValueIds& values() const { return values_; }

  Values parts(std::size_t first, std::size_t count) const;
  Values part(std::size_t part) const { return empty() ? Values() : parts(part, 1); }
  /// Overwrites the parts that `other` has.
  void replace(const Values& other);
  /// Appends parts that follow directly.
  void append(const Values& other);

 private:
  std::size_t first_ = 0;
  ValueIds values_;
};

/// A linear combination of values of the same parts. Empty without recording.
class Sum {
 public:
  struct Term {
    Coefficient factor;
    Values values;
  };

  Sum() = default;
  Sum(const Values& values) : Sum(Coefficient(1.0), values) {}  // NOLINT(google-explicit-constructor): a sum of one
  Sum(const Coefficient& factor, const Values& values) { add(factor, values); }

  void add(const Coefficient& factor, const Values& values) {
    if (!values.empty()) terms_.push_back({factor, values});
  }

  using Terms = boost::container::small_vector<Term, 4>;

  const Terms& terms() const { return terms_; }
  bool empty() const { return terms_.empty(); }
  Sum part(std::size_t part) const;

  Sum& operator+=(const Sum& other);
  Sum& operator*=(const Coefficient& factor);

 private:
  Terms terms_;
};

inline Sum operator+(Sum a, const Sum& b) { return a += b; }
inline Sum operator*(const Coefficient& factor, Sum sum) { return sum *= factor; }
inline Sum operator/(Sum sum, const Coefficient& factor) { return sum *= 1.0 / factor; }
inline Sum operator-(Sum a, const Sum& b) { return a += -1.0 * b; }

Sum mean(const std::vector<Values>& all);

}  // namespace syncopate
