#include "goodput/failures.hpp"

#include <array>
#include <cmath>
#include <functional>
#include <queue>

#include "base/random.hpp"

namespace syncopate {

namespace {

/// Draws two uniform numbers in (0, 1) for one failure.
std::array<double, 2> draw(std::uint64_t seed, std::size_t kind, std::uint32_t component, std::uint32_t index) {
  constexpr std::uint32_t of_failures = 0xFA11;  // all other draws have a 0 in this place
  return open_units(philox4x32({component, index, static_cast<std::uint32_t>(kind), of_failures},
                               {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U)}));
}

/// Exponential times are memoryless, so all components together are one Poisson process. Each failure hits a uniformly drawn component.
class Poisson : public FailureProcess {
 public:
  Poisson(const FailureKind& kind, std::size_t number, int nodes, std::uint64_t seed)
      : seed_(seed), kind_(number), components_(static_cast<double>(kind.components(nodes))), mean_(kind.mean / components_) {
    draw_next();
  }

  Seconds time() const override { return time_; }
  std::uint32_t component() const override { return component_; }
  void pass() override { draw_next(); }
  void renew(int /*node*/, Seconds /*now*/) override {}

 private:
  void draw_next() {
    const auto [gap, which] = draw(seed_, kind_, 0, index_++);
    time_ += -std::log(gap) * mean_;
    component_ = static_cast<std::uint32_t>(which * components_);
  }

  std::uint64_t seed_;
  std::size_t kind_;
  double components_;
  Seconds mean_;  ///< between two failures
  Seconds time_;
  std::uint32_t component_ = 0;
  std::uint32_t index_ = 0;
};

/// Draws the failures of each component separately.
class Weibull : public FailureProcess {
 public:
  Weibull(const FailureKind& kind, std::size_t number, int nodes, std::uint64_t seed)
      : seed_(seed),
        kind_(number),
        per_node_(kind.per_node),
        inverse_shape_(1.0 / kind.shape),
        scale_(kind.mean / std::tgamma(1.0 + inverse_shape_)),
        draws_(static_cast<std::size_t>(kind.components(nodes))) {
    std::vector<Next> all;
    all.reserve(draws_.size());
    for (std::uint32_t component = 0; component < draws_.size(); ++component) all.push_back(next(component, Seconds(0)));
    queue_ = Queue({}, std::move(all));
  }

  Seconds time() const override { return queue_.empty() ? never : queue_.top().time; }
  std::uint32_t component() const override { return queue_.top().component; }
  void pass() override {
    const Next passed = queue_.top();
    queue_.pop();
    if (per_node_ == 0) queue_.push(next(passed.component, passed.time));
    drop_outdated();
  }
  void renew(int node, Seconds now) override {
    for (int i = 0; i < per_node_; ++i) queue_.push(next(static_cast<std::uint32_t>(node * per_node_ + i), now));
    drop_outdated();
  }

 private:
  struct Next {
    Seconds time;
    std::uint32_t component;
    std::uint32_t draw;  ///< number of the component's draw; only the last one is valid
    bool operator>(const Next& other) const { return time > other.time; }
  };
  using Queue = std::priority_queue<Next, std::vector<Next>, std::greater<>>;

  Next next(std::uint32_t component, Seconds now) {
    const std::uint32_t index = draws_[component]++;
    const double uniform = draw(seed_, kind_, component, index)[0];
    return {now + std::pow(-std::log(uniform), inverse_shape_) * scale_, component, index + 1};
  }
  void drop_outdated() {
    while (!queue_.empty() && queue_.top().draw != draws_[queue_.top().component]) queue_.pop();
  }

  std::uint64_t seed_;
  std::size_t kind_;
  int per_node_;
  double inverse_shape_;
  Seconds scale_;
  std::vector<std::uint32_t> draws_;  ///< by component: how often its next failure was drawn
  Queue queue_;
};

}  // namespace

Seconds time_between_failures(const std::vector<FailureKind>& kinds, int nodes) {
  double per_second = 0.0;
  for (const FailureKind& kind : kinds) per_second += static_cast<double>(kind.components(nodes)) / kind.mean.value;
  return Seconds(1.0 / per_second);
}

Failures::Failures(const std::vector<FailureKind>& kinds, int nodes, std::uint64_t seed) : kinds_(kinds) {
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i].shape == 1.0) {
      processes_.push_back(std::make_unique<Poisson>(kinds[i], i, nodes, seed));
    } else {
      processes_.push_back(std::make_unique<Weibull>(kinds[i], i, nodes, seed));
    }
  }
  find_next();
}

Seconds Failures::time() const { return processes_.empty() ? never : processes_[next_]->time(); }

std::span<const int> Failures::nodes() const {
  const FailureKind& kind = kinds_[next_];
  if (kind.per_node > 0) return {&own_node_, 1};
  return kind.groups[processes_[next_]->component()];
}

void Failures::pass() {
  processes_[next_]->pass();
  find_next();
}

void Failures::renew(int node, Seconds now) {
  for (const auto& process : processes_) process->renew(node, now);
  find_next();
}

void Failures::find_next() {
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    if (i == 0 || processes_[i]->time() < processes_[next_]->time()) next_ = i;
  }
  if (time() == never) return;
  const int per_node = kinds_[next_].per_node;
  if (per_node > 0) own_node_ = static_cast<int>(processes_[next_]->component()) / per_node;
}

}  // namespace syncopate
