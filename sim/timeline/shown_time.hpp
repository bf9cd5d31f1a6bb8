#pragma once

#include <optional>
#include <vector>

#include "base/units.hpp"

namespace syncopate {

/// When something of a run is shown: while a shown worker does a shown iteration. Becomes known as the run goes on.
class ShownTime {
 public:
  /// From 0 on, of the steps that a worker begins in the measured window.
  struct Iterations {
    int first = 0;
    int last = 0;
  };

  /// `shown`: workers. `iterations`: those that are shown; none: the whole run is.
  ShownTime(const std::vector<int>& shown, std::optional<Iterations> iterations);

  /// One of the shown workers begins a step.
  void begin_step(int worker, Seconds now);
  void open_window(Seconds now);

  bool is_now() const { return is_now_; }
  /// Nothing that begins at that time, or later, is shown.
  bool is_over_by(Seconds time) const { return over_ && time >= *over_; }

 private:
  struct Worker {
    int number = 0;
    int begun = 0;  ///< steps in the measured window
    Seconds last_begin{};
  };
  void look(Seconds now);

  std::vector<Worker> workers_;
  std::optional<Iterations> iterations_;
  bool is_now_;
  bool has_window_ = false;
  std::optional<Seconds> over_{};
};

}  // namespace syncopate
