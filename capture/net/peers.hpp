#pragma once

#include <memory>
#include <span>
#include <string>

namespace syncopate::capture {

/// A message in flight. Its buffer must not be used before wait() returns.
class Pending {
 public:
  Pending() = default;
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  virtual ~Pending() = default;
  virtual void wait() = 0;
};

/// The processes of a job, seen by one of them, which is `rank` of `size`. One thread at a time may use it; others take another channel.
/// All throw DeviceError when a peer is gone or does not answer in time.
class Peers {
 public:
  Peers() = default;
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;
  virtual ~Peers() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Sums, in place.
  virtual void all_reduce(std::span<float> values) = 0;
  /// `all` has the values of rank 0, then of rank 1, ...; of each as many as `mine`.
  virtual void all_gather(std::span<const float> mine, std::span<float> all) = 0;
  /// Post receive() before the peer sends: this saves a copy. Messages of one slot between two ranks arrive in order.
  virtual std::unique_ptr<Pending> send(int to, unsigned slot, std::span<float> values) = 0;
  virtual std::unique_ptr<Pending> receive(int from, unsigned slot, std::span<float> values) = 0;
  virtual void barrier() = 0;
  /// A second set of connections between the same processes, independent of this one. All ranks must call it.
  virtual std::unique_ptr<Peers> another_channel() = 0;
  virtual std::string library() const = 0;  ///< and its version
};

/// Where the processes of a job find each other.
struct Meeting {
  int rank = 0;
  int size = 0;
  std::string place;      ///< an empty folder that all share, or tcp://HOST:PORT, where rank 0 listens on HOST
  std::string interface;  ///< such as eth0; empty: the one of this machine's name
};

/// Throws DeviceError when not all have come in 60 seconds.
std::unique_ptr<Peers> meet_by_gloo(const Meeting& meeting);

bool has_mpi();
/// For a process that mpirun has started.
std::unique_ptr<Peers> meet_by_mpi();
/// Ends all processes that met by MPI with this exit code. Returns if this process has not met others by MPI.
void abandon_mpi(int code);

}  // namespace syncopate::capture
