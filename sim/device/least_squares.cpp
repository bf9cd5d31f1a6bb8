#include "device/least_squares.hpp"

#include <Eigen/Cholesky>
#include <limits>

namespace syncopate {

Terms non_negative_least_squares(const std::vector<Terms>& rows, const std::vector<double>& y) {
  const auto count = static_cast<Eigen::Index>(rows.size());
  Eigen::MatrixX4d a(count, 4);
  for (Eigen::Index i = 0; i < count; ++i) a.row(i) = Eigen::RowVector4d::Map(rows[static_cast<std::size_t>(i)].data());
  const Eigen::VectorXd b = Eigen::VectorXd::Map(y.data(), count);
  // Normalise the columns: their sizes differ too much (MACs against 1) for a stable elimination.
  const Eigen::Vector4d sizes = a.colwise().norm().cwiseMax(std::numeric_limits<double>::min());
  a *= sizes.cwiseInverse().asDiagonal();
  const Eigen::Matrix4d normal = a.transpose() * a;
  const Eigen::Vector4d right = a.transpose() * b;

  // The constrained optimum is the unconstrained one of some subset of the columns. Try all subsets, small ones first.
  Eigen::Vector4d best = Eigen::Vector4d::Zero();
  double best_residual = b.squaredNorm();
  const double indifferent = 1e-9 * best_residual;
  for (const unsigned subset : {0b0001U, 0b0010U, 0b0100U, 0b1000U, 0b0011U, 0b0101U, 0b0110U, 0b1001U, 0b1010U, 0b1100U, 0b0111U, 0b1011U,
                                0b1101U, 0b1110U, 0b1111U}) {
    const Eigen::Vector4d used(subset & 1U, subset >> 1U & 1U, subset >> 2U & 1U, subset >> 3U);
    Eigen::Matrix4d equations = used.asDiagonal() * normal * used.asDiagonal();
    equations.diagonal() += Eigen::Vector4d::Ones() - used;  // makes x = 0 for unused columns
    const Eigen::LDLT<Eigen::Matrix4d> factors(equations);
    if (factors.vectorD().minCoeff() < 1e-12) continue;  // linearly dependent columns
    const Eigen::Vector4d x = factors.solve(right.cwiseProduct(used));
    const double residual = (a * x - b).squaredNorm();
    if (x.minCoeff() >= 0 && residual < best_residual - indifferent) {
      best = x;
      best_residual = residual;
    }
  }
  best = best.cwiseQuotient(sizes);
  return {best[0], best[1], best[2], best[3]};
}

}  // namespace syncopate
