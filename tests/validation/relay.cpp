/// A switch whose ports are far from each other: carries Ethernet frames between TAP devices, each after the delay of its way and no
/// faster than the receiver's rate. For kernels without netem.
///
/// relay MTU RATE QUEUE PID... -- DELAY...: a port eth0 in the network namespace of each process; RATE in bytes/s, QUEUE in bytes that
/// may wait at a receiver (what comes beyond is dropped), DELAY in seconds for every pair, row by row. Frames go by the last byte of
/// their destination's address, which is the port's number from 1. Prints "ready".

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <optional>
#include <queue>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

Clock::duration duration_of(double seconds) { return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)); }

struct Frame {
  Clock::time_point due;
  std::vector<unsigned char> bytes;
};

/// Frames of one sender to one receiver, in their order.
using Way = std::deque<Frame>;

struct Port {
  int tap = -1;
  Clock::time_point free_at;  ///< when the last byte that was passed on has left the port
  std::vector<Way> ways;      ///< by sender
};

int open_tap(const std::string& process) {
  const int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  const int there = open(fmt::format("/proc/{}/ns/net", process).c_str(), O_RDONLY | O_CLOEXEC);
  if (there < 0 || setns(there, CLONE_NEWNET) != 0)
    throw std::runtime_error(fmt::format("namespace of {}: {}", process, std::strerror(errno)));
  const int tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  ifreq request{};
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  std::strncpy(request.ifr_name, "eth0", IFNAMSIZ - 1);
  if (tap < 0 || ioctl(tap, TUNSETIFF, &request) != 0) throw std::runtime_error(fmt::format("TAP device: {}", std::strerror(errno)));
  setns(home, CLONE_NEWNET);
  close(there);
  close(home);
  return tap;
}

class Relay {
 public:
  Relay(std::size_t mtu, double rate, double queue, const std::vector<std::string>& processes, const std::vector<double>& delays)
      : rate_(rate), queue_(duration_of(queue / rate)), ports_(processes.size()), buffer_(mtu + header_bytes) {
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      ports_[i].tap = open_tap(processes[i]);
      ports_[i].ways.resize(ports_.size());
      polled_.push_back({.fd = ports_[i].tap, .events = POLLIN, .revents = 0});
    }
    for (const double delay : delays) delays_.push_back(duration_of(delay));
  }

  [[noreturn]] void run() {
    while (true) {
      const std::optional<Clock::time_point> next = deliver(Clock::now());
      timespec left{};
      if (next) {
        const auto wait = std::max(std::chrono::nanoseconds(0), std::chrono::nanoseconds(*next - Clock::now()));
        left = {.tv_sec = wait.count() / 1'000'000'000, .tv_nsec = wait.count() % 1'000'000'000};
      }
      if (ppoll(polled_.data(), polled_.size(), next ? &left : nullptr, nullptr) < 0 && errno != EINTR)
        throw std::runtime_error(std::strerror(errno));
      for (std::size_t i = 0; i < ports_.size(); ++i) {
        if ((polled_[i].revents & POLLIN) != 0) take(i);
      }
    }
  }

 private:
  static constexpr std::size_t header_bytes = 64;
  static constexpr int frames_at_once = 16;

  void take(std::size_t from) {
    for (int i = 0; i < frames_at_once; ++i) {
      const ssize_t got = read(ports_[from].tap, buffer_.data(), buffer_.size());
      if (got <= 0) return;
      const std::size_t to = buffer_[5] - std::size_t{1};
      if (to >= ports_.size() || to == from) continue;  // multicasts of IPv6
      const Clock::time_point due = Clock::now() + delays_[from * ports_.size() + to];
      ports_[to].ways[from].push_back({due, {buffer_.begin(), buffer_.begin() + got}});
    }
  }

  /// Passes on what is due; returns when something is next.
  std::optional<Clock::time_point> deliver(Clock::time_point now) {
    std::optional<Clock::time_point> next;
    for (Port& port : ports_) {
      while (true) {
        const auto first = std::min_element(port.ways.begin(), port.ways.end(), [](const Way& a, const Way& b) {
          return !a.empty() && (b.empty() || a.front().due < b.front().due);
        });
        if (first->empty()) break;
        Frame& frame = first->front();
        const auto lasts = duration_of(static_cast<double>(frame.bytes.size()) / rate_);
        const Clock::time_point leaves = std::max(frame.due, port.free_at) + lasts;
        if (leaves - frame.due <= queue_ && leaves > now) {
          next = std::min(next.value_or(leaves), leaves);
          break;
        }
        if (leaves - frame.due <= queue_) {
          port.free_at = leaves;
          [[maybe_unused]] const ssize_t put = write(port.tap, frame.bytes.data(), frame.bytes.size());
        }
        first->pop_front();
      }
    }
    return next;
  }

  double rate_;
  Clock::duration queue_;
  std::vector<Port> ports_;
  std::vector<Clock::duration> delays_;
  std::vector<pollfd> polled_;
  std::vector<unsigned char> buffer_;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    const auto separator = std::find(arguments.begin(), arguments.end(), "--");
    if (separator - arguments.begin() < 5) throw std::invalid_argument("usage: relay MTU RATE QUEUE PID... -- DELAY...");
    const std::vector<std::string> processes(arguments.begin() + 3, separator);
    std::vector<double> delays;
    for (auto delay = separator + 1; delay != arguments.end(); ++delay) delays.push_back(std::stod(*delay));
    if (delays.size() != processes.size() * processes.size())
      throw std::invalid_argument("relay: a delay for every pair of ports is required");
    Relay relay(std::stoul(arguments[0]), std::stod(arguments[1]), std::stod(arguments[2]), processes, delays);
    fmt::print("ready\n");
    std::fflush(stdout);
    relay.run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "relay: {}\n", error.what());
    return 1;
  }
}
