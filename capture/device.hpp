#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/document.hpp"
#include "base/errors.hpp"
#include "base/units.hpp"
#include "capture/network.hpp"

namespace syncopate::capture {

/// One array of a network on a device. A layer in place (NetworkLayer::aliased) overwrites its input in forward. Where an input's
/// gradient shares the memory of the output's gradient, backward overwrites the latter.
struct Array {
  enum class Kind {
    input,               ///< the model's; ids are whole numbers
    output,              ///< of a layer
    output_gradient,     ///< of a layer, from its backward until a later step's takes the memory
    input_gradient,      ///< of a layer's input `index`, likewise
    parameter,           ///< tensor `index` of a layer
    parameter_gradient,  ///< likewise
  };
  Kind kind = Kind::input;
  std::size_t layer = 0;
  std::size_t index = 0;
};

/// What a trace says of its device.
struct DeviceDescription {
  std::string kind;  ///< trace/1's: "gpu" or "cpu"
  std::string name;
  std::string clock;
  Json software = Json::object();  ///< versions of libraries, driver and compiler
  Json clocks = Json::object();    ///< frequencies now
  Json kernels = Json::object();   ///< what the libraries chose, by layer
};

/// The device is missing, or has too little memory.
struct DeviceError : Error {
  explicit DeviceError(const std::string& message) : Error(ExitCode::cannot_write, message) {}
};

/// How the device does what the host queues.
enum class Run : std::uint8_t {
  queued,  ///< it waits, as far as possible, until the host has queued the work, so that the times have no launch gaps
  free,    ///< at once, as in training; it waits where the host is late
  graph    ///< as a CUDA graph: the host describes the iteration once, and launches all of it in one call
};

/// Trains one network. An iteration is begin(), forward() of every layer and of the loss, backward() of the loss and of the
/// layers in reverse, update(); mark() in between records points in time. Work may be queued: only collect() waits for it.
/// The loss, a cross entropy of softmax with random labels, is the layer after the last.
class Device {
 public:
  virtual ~Device() = default;

  /// Allocates memory and chooses algorithms. Called once, before everything else. Throws DeviceError when memory does not suffice;
  /// the message states the memory needed and present.
  virtual void set_up(const Network& network) = 0;

  /// Starts an iteration. Only an asynchronous device distinguishes the kinds of `run`.
  virtual void begin(Run run) = 0;
  virtual void forward(std::size_t layer) = 0;
  virtual void backward(std::size_t layer) = 0;
  /// One step of the network's optimizer on all parameters.
  virtual void update() = 0;
  virtual void mark() = 0;
  /// Seconds from the first mark since begin() to each, once the device has passed them all. Of a Run::graph every call launches the work,
  /// and times it, anew.
  virtual std::vector<Seconds> collect() = 0;

  /// Numbers in the order of model/1's shapes, sample by sample, whatever the device's own layout.
  virtual std::vector<float> read(const Array& array) = 0;
  virtual void write(const Array& array, std::span<const float> values) = 0;
  virtual double loss() = 0;  ///< of the last forward

  /// Whether the host queues work and goes on. Then there are launch gaps where the host is late.
  virtual bool asynchronous() const = 0;
  virtual DeviceDescription describe() const = 0;
};

}  // namespace syncopate::capture
