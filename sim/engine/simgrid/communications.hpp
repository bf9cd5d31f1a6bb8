#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace syncopate {

/// Communications of SimGrid between hosts, over routes that the sender names. Plain numbers, in bytes and seconds: the implementation is
/// in the library of the actors.
class Communications {
 public:
  /// Links there, links back (for models in which acknowledgements take bandwidth), and the latency of the way.
  struct Route {
    std::span<const std::size_t> links;
    std::span<const std::size_t> back;
    double latency = 0.0;
  };
  using Arrived = std::function<void()>;

  Communications() = default;
  Communications(const Communications&) = delete;
  Communications& operator=(const Communications&) = delete;
  virtual ~Communications() = default;

  /// Numbers count from 0 in the order of these calls. Names need not be unique.
  virtual std::size_t add_host(const std::string& name) = 0;
  /// `is_shared`: false: each communication has all of the bandwidth.
  virtual std::size_t add_link(const std::string& name, double bandwidth, bool is_shared) = 0;
  virtual void set_bandwidth(std::size_t link, double bandwidth) = 0;

  /// Starts a communication now. Returns its number, which later ones may have when it has ended. `arrived` is called, in SimGrid's midst,
  /// when the last byte is there.
  virtual std::size_t send(std::size_t from, std::size_t to, std::uint64_t bytes, const Route& route, Arrived arrived) = 0;
  /// Bytes that have not been moved.
  virtual double remaining(std::size_t number) = 0;
  /// `arrived` is not called any more.
  virtual void cancel(std::size_t number) = 0;
  virtual void cancel_all() = 0;
};

}  // namespace syncopate
