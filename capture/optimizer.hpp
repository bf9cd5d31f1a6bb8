#pragma once

#include <cmath>
#include <string_view>

namespace syncopate::capture {

/// Stochastic gradient descent with momentum, or Adam (D. P. Kingma and J. Ba, ICLR'15, Algorithm 1).
enum class Optimizer { sgd, adam };

/// Numbers of state per parameter: a momentum, or Adam's two moments.
constexpr int optimizer_states(Optimizer optimizer) { return optimizer == Optimizer::adam ? 2 : 1; }

constexpr std::string_view name_of(Optimizer optimizer) { return optimizer == Optimizer::adam ? "adam" : "sgd"; }

/// Small, so that training on random numbers stays finite.
inline constexpr float learning_rate = 1e-4F;
inline constexpr float momentum = 0.9F;

/// Adam's own constants, as in the paper.
inline constexpr float adam_beta1 = 0.9F;
inline constexpr float adam_beta2 = 0.999F;
inline constexpr float adam_epsilon = 1e-8F;

/// One step of Adam: value -= rate m / (scale sqrt(v) + epsilon), with the moments m and v.
struct AdamStep {
  float rate;   ///< learning_rate / (1 - beta1^t)
  float scale;  ///< 1 / sqrt(1 - beta2^t)
};

/// The t-th step, from 1.
inline AdamStep adam_step(int t) {
  const double first = 1 - std::pow(static_cast<double>(adam_beta1), t);
  const double second = 1 - std::pow(static_cast<double>(adam_beta2), t);
  return {static_cast<float>(learning_rate / first), static_cast<float>(1 / std::sqrt(second))};
}

}  // namespace syncopate::capture
