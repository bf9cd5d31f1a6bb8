#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "capture/device.hpp"

namespace syncopate::capture {

struct RecordingOptions {
  int warmup = 10;
  int iterations = 30;
  bool graphs = false;                     ///< spans are of a CUDA graph, not of a free run
  std::function<void()> progress = [] {};  ///< called after each iteration
};

/// Seconds at every mark of an iteration since its first: after the forward of each layer and of the loss, after the
/// backward of the loss and of each layer in reverse, after the update. 2 (layers + 1) + 2 of them. What a mark takes is subtracted.
using Marks = std::vector<Seconds>;

/// Iterations of training, as a device's clock saw them.
struct Recording {
  int warmup = 0;            ///< iterations before these
  std::vector<Marks> busy;   ///< without launch gaps: an asynchronous device starts after the host has queued the work
  std::vector<Marks> spans;  ///< free runs of an asynchronous device, waits for the host included, or runs of a graph; else empty
  bool graphs = false;       ///< spans are of a graph
  Seconds floor;             ///< what a mark takes: the time between two with nothing in between
  Seconds span_floor;        ///< the same in `spans`
};

/// Trains a network that is set up: the warm-up, then `iterations`; then on an asynchronous device as many again, free running or as a
/// graph.
Recording record(Device& device, std::size_t layers, const RecordingOptions& options);

/// The median of repeated measurements and the quartiles around it.
struct Spread {
  Seconds median;
  Seconds first;
  Seconds third;
};

/// Needs at least one value.
Spread spread(std::vector<Seconds> values);

/// How long iterations lasted, and how steadily.
struct Steadiness {
  Spread iteration;
  std::size_t outliers = 0;  ///< iterations over a tenth longer than the median
  double drift = 0;          ///< median of the second half of the iterations / median of the first - 1
};

/// Medians over the iterations of a recording. Spans are those of `spans`, or of `busy` where there are none.
struct Summary {
  struct Layer {
    Spread forward;
    Spread backward;
    Seconds ready;  ///< span from the start of backward to the end of this layer's
  };
  std::vector<Layer> layers;  ///< the loss is the last
  Spread update;
  Seconds forward_busy;  ///< of the whole forward, in `busy`
  Seconds backward_busy;
  Seconds forward_span;
  Seconds backward_span;
  Steadiness busy;
  Steadiness span;
  Seconds sum_of_layers;  ///< of the medians, update included
  std::vector<std::string> warnings;
};

Summary summarize(const Recording& recording);

}  // namespace syncopate::capture
