#include "device/least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>

namespace syncopate {

namespace {

constexpr std::size_t terms = std::tuple_size_v<Terms>;
using Equations = std::array<Terms, terms>;

/// Solves a symmetric positive definite system whose diagonal is 1, or 0 for a column without values. Nullopt if its columns are linearly
/// dependent.
std::optional<Terms> solve(Equations a, Terms right) {
  for (std::size_t i = 0; i < terms; ++i) {
    if (a[i][i] < 1e-12) return std::nullopt;
    for (std::size_t row = i + 1; row < terms; ++row) {
      const double factor = a[row][i] / a[i][i];
      for (std::size_t j = i; j < terms; ++j) a[row][j] -= factor * a[i][j];
      right[row] -= factor * right[i];
    }
  }
  for (std::size_t i = terms; i-- > 0;) {
    for (std::size_t j = i + 1; j < terms; ++j) right[i] -= a[i][j] * right[j];
    right[i] /= a[i][i];
  }
  return right;
}

}  // namespace

Terms non_negative_least_squares(const std::vector<Terms>& rows, const std::vector<double>& y) {
  // Normalise the columns: their sizes differ too much (MACs against 1) for a stable elimination.
  Terms sizes{};
  for (const Terms& row : rows) {
    for (std::size_t j = 0; j < terms; ++j) sizes[j] = std::hypot(sizes[j], row[j]);
  }
  for (double& size : sizes) size = std::max(size, std::numeric_limits<double>::min());
  Equations normal{};
  Terms right{};
  const auto scaled = [&](std::size_t row, std::size_t j) { return rows[row][j] / sizes[j]; };
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t i = 0; i < terms; ++i) {
      for (std::size_t j = 0; j < terms; ++j) normal[i][j] += scaled(row, i) * scaled(row, j);
      right[i] += scaled(row, i) * y[row];
    }
  }
  const auto residual_of = [&](const Terms& x) {
    double sum = 0.0;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      double error = -y[row];
      for (std::size_t j = 0; j < terms; ++j) error += scaled(row, j) * x[j];
      sum += error * error;
    }
    return sum;
  };

  // The constrained optimum is the unconstrained one of some subset of the columns. Try all subsets, small ones first.
  Terms best{};
  double best_residual = residual_of(best);
  const double indifferent = 1e-9 * best_residual;
  for (const unsigned subset : {0b0001U, 0b0010U, 0b0100U, 0b1000U, 0b0011U, 0b0101U, 0b0110U, 0b1001U, 0b1010U, 0b1100U, 0b0111U, 0b1011U,
                                0b1101U, 0b1110U, 0b1111U}) {
    const auto is_used = [subset](std::size_t j) { return (subset >> j & 1U) != 0; };
    Equations equations{};
    Terms of_used{};
    for (std::size_t i = 0; i < terms; ++i) {
      equations[i][i] = 1.0;  // makes x = 0 for unused columns
      if (!is_used(i)) continue;
      of_used[i] = right[i];
      for (std::size_t j = 0; j < terms; ++j) equations[i][j] = is_used(j) ? normal[i][j] : 0.0;
    }
    const std::optional<Terms> x = solve(equations, of_used);
    if (!x || *std::ranges::min_element(*x) < 0) continue;
    const double residual = residual_of(*x);
    if (!(residual < best_residual - indifferent)) continue;
    best = *x;
    best_residual = residual;
  }
  for (std::size_t j = 0; j < terms; ++j) best[j] /= sizes[j];
  return best;
}

}  // namespace syncopate
