// Normalizations that oneDNN lacks.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "capture/cpu/makers.hpp"

namespace syncopate::capture {

namespace {

constexpr float own_epsilon = 1e-5F;

/// The sum of term(0) to term(count - 1), in several sums that the compiler computes at once.
template <class Term>
float sum_of(std::int64_t count, Term term) {
  constexpr std::int64_t lanes = 16;
  std::array<float, lanes> sums = {};
  const std::int64_t whole = count / lanes * lanes;
  for (std::int64_t first = 0; first < whole; first += lanes) {
    for (std::int64_t lane = 0; lane < lanes; ++lane) sums[static_cast<std::size_t>(lane)] += term(first + lane);
  }
  for (std::int64_t i = whole; i < count; ++i) sums[0] += term(i);
  return std::accumulate(sums.begin(), sums.end(), 0.0F);
}

/// Layer normalization without mean and bias. B. Zhang, R. Sennrich, "Root mean square layer normalization", NeurIPS'19.
class RmsNorm : public CpuOp {
 public:
  explicit RmsNorm(const CpuLayer& layer) : CpuOp(layer) {
    add_parameter(flat_desc(width_), {width_});
    inverses_.resize(static_cast<std::size_t>(layer.rows()));
  }

  void forward() override {
    const float* scale = data(parameters_[0].value);
    for (std::int64_t row = 0; row < layer_.rows(); ++row) {
      const float* x = layer_.inputs[0] + row * width_;
      float* output = layer_.output + row * width_;
      const float mean_square = sum_of(width_, [=](std::int64_t i) { return x[i] * x[i]; }) / static_cast<float>(width_);
      const float inverse = 1.0F / std::sqrt(mean_square + own_epsilon);
      for (std::int64_t i = 0; i < width_; ++i) output[i] = x[i] * inverse * scale[i];
      inverses_[static_cast<std::size_t>(row)] = inverse;
    }
  }

  void backward() override {
    const float* scale = data(parameters_[0].value);
    float* scale_gradient = data(parameters_[0].gradient);
    std::fill_n(scale_gradient, width_, 0.0F);
    for (std::int64_t row = 0; row < layer_.rows(); ++row) {
      const float* x = layer_.inputs[0] + row * width_;
      const float* g = layer_.output_gradient + row * width_;
      const float inverse = inverses_[static_cast<std::size_t>(row)];
      for (std::int64_t i = 0; i < width_; ++i) scale_gradient[i] += g[i] * x[i] * inverse;
      if (layer_.input_gradients[0] == nullptr) continue;
      float* gradient = layer_.input_gradients[0] + row * width_;
      const float products = sum_of(width_, [=](std::int64_t i) { return g[i] * scale[i] * x[i]; });
      const float pull = products * inverse * inverse / static_cast<float>(width_);
      for (std::int64_t i = 0; i < width_; ++i) gradient[i] = inverse * (g[i] * scale[i] - pull * x[i]);
    }
  }

 private:
  std::int64_t width_ = layer_.layer.output.back();
  std::vector<float> inverses_;  // of the root of the mean square, by row
};

/// Y. Wu, K. He, "Group normalization", ECCV'18.
class GroupNorm : public CpuOp {
 public:
  explicit GroupNorm(const CpuLayer& layer) : CpuOp(layer) {
    add_parameter(flat_desc(channels_), {channels_});
    add_parameter(flat_desc(channels_), {channels_});
    means_.resize(static_cast<std::size_t>(layer.batch * channels_));
    inverses_.resize(means_.size());
  }

  void forward() override {
    const float* scale = data(parameters_[0].value);
    const float* shift = data(parameters_[1].value);
    for (std::int64_t sample = 0; sample < layer_.batch; ++sample) {
      const float* x = layer_.inputs[0] + sample * pixels_ * channels_;
      float* output = layer_.output + sample * pixels_ * channels_;
      float* means = means_.data() + sample * channels_;
      float* inverses = inverses_.data() + sample * channels_;
      std::vector<double> sums = sums_of([=](std::int64_t place, std::int64_t /*channel*/) { return x[place]; });
      average_groups(sums);
      std::copy(sums.begin(), sums.end(), means);
      std::vector<double> squares = sums_of([=](std::int64_t place, std::int64_t channel) {
        const float distance = x[place] - means[channel];
        return distance * distance;
      });
      average_groups(squares);
      std::transform(squares.begin(), squares.end(), inverses,
                     [](double square) { return static_cast<float>(1.0 / std::sqrt(square + static_cast<double>(own_epsilon))); });
      for_each_place([=](std::int64_t place, std::int64_t channel) {
        output[place] = (x[place] - means[channel]) * inverses[channel] * scale[channel] + shift[channel];
      });
    }
  }

  void backward() override {
    const float* scale = data(parameters_[0].value);
    float* scale_gradient = data(parameters_[0].gradient);
    float* shift_gradient = data(parameters_[1].gradient);
    std::fill_n(scale_gradient, channels_, 0.0F);
    std::fill_n(shift_gradient, channels_, 0.0F);
    for (std::int64_t sample = 0; sample < layer_.batch; ++sample) {
      const float* x = layer_.inputs[0] + sample * pixels_ * channels_;
      const float* g = layer_.output_gradient + sample * pixels_ * channels_;
      const float* means = means_.data() + sample * channels_;
      const float* inverses = inverses_.data() + sample * channels_;
      const auto normalized = [=](std::int64_t place, std::int64_t channel) { return (x[place] - means[channel]) * inverses[channel]; };
      std::vector<double> sums = sums_of([=](std::int64_t place, std::int64_t /*channel*/) { return g[place]; });
      std::vector<double> products =
          sums_of([=](std::int64_t place, std::int64_t channel) { return g[place] * normalized(place, channel); });
      for (std::int64_t channel = 0; channel < channels_; ++channel) {
        const auto i = static_cast<std::size_t>(channel);
        shift_gradient[channel] += static_cast<float>(sums[i]);
        scale_gradient[channel] += static_cast<float>(products[i]);
        sums[i] *= static_cast<double>(scale[channel]);
        products[i] *= static_cast<double>(scale[channel]);
      }
      if (layer_.input_gradients[0] == nullptr) continue;
      float* gradient = layer_.input_gradients[0] + sample * pixels_ * channels_;
      average_groups(sums);
      average_groups(products);
      const std::vector<float> mean_gradients(sums.begin(), sums.end());
      const std::vector<float> mean_products(products.begin(), products.end());
      for_each_place([=, a = mean_gradients.data(), b = mean_products.data()](std::int64_t place, std::int64_t channel) {
        gradient[place] = inverses[channel] * (g[place] * scale[channel] - a[channel] - normalized(place, channel) * b[channel]);
      });
    }
  }

 private:
  /// Calls visit(place in the sample, channel).
  template <class Visit>
  void for_each_place(Visit visit) const {
    for (std::int64_t pixel = 0; pixel < pixels_; ++pixel) {
      for (std::int64_t channel = 0; channel < channels_; ++channel) visit(pixel * channels_ + channel, channel);
    }
  }

  /// The sum of term(place in the sample, channel) over the pixels, by channel.
  template <class Term>
  std::vector<double> sums_of(Term term) const {
    std::vector<double> sums(static_cast<std::size_t>(channels_));
    for_each_place([=, to = sums.data()](std::int64_t place, std::int64_t channel) { to[channel] += term(place, channel); });
    return sums;
  }

  /// From a sum over pixels for each channel to the mean over its group, for each channel of the group.
  void average_groups(std::vector<double>& sums) const {
    const std::int64_t width = channels_ / layer_.attributes().groups;
    for (auto group = sums.begin(); group != sums.end(); group += width)
      std::fill_n(group, width, std::accumulate(group, group + width, 0.0) / static_cast<double>(width * pixels_));
  }

  std::int64_t channels_ = layer_.layer.output[0];
  std::int64_t pixels_ = layer_.rows() / layer_.batch;
  std::vector<float> means_;     // of the group, by sample and channel
  std::vector<float> inverses_;  // likewise, of the standard deviation
};

}  // namespace

std::unique_ptr<CpuOp> make_group_norm(const CpuLayer& layer) { return std::make_unique<GroupNorm>(layer); }
std::unique_ptr<CpuOp> make_rms_norm(const CpuLayer& layer) { return std::make_unique<RmsNorm>(layer); }

}  // namespace syncopate::capture
