#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/errors.hpp"
#include "base/units.hpp"

namespace syncopate {

/// A link of so much limits no message.
constexpr Rate unlimited_bandwidth(1e30);

/// The error in what SimGrid has logged, without its prefix.
std::string logged_reason(const std::string& log);

/// What is wrong with a platform: the file, and the element or what SimGrid says.
class PlatformError : public InputError {
 public:
  using InputError::InputError;
};

/// A SimGrid platform: hosts, links and the routes between hosts. SimGrid reads it, in a process of its own (platform_reader.cpp).
class Platform {
 public:
  struct Host {
    std::string name;
    double speed = 0.0;  ///< as the file says it, in flops per second
  };
  /// A link as SimGrid has it: a link of two directions, SPLITDUPLEX, is two, NAME_UP and NAME_DOWN.
  struct Link {
    std::string name;
    Rate bandwidth;
    Seconds latency;
    bool is_shared = true;  ///< false (FATPIPE): every message has all of the bandwidth
    std::string cable{};    ///< NAME, of a direction of a SPLITDUPLEX link; else empty
  };
  struct Route {
    std::vector<int> links;  ///< as SimGrid orders them: not always in the order of crossing (Dijkstra zones within others)
    Seconds latency;
  };

  /// `xml`: the platform itself; `name`: of its file. Throws PlatformError.
  Platform(std::string xml, std::string name);
  Platform(const Platform&) = delete;
  Platform& operator=(const Platform&) = delete;
  ~Platform();

  const std::string& name() const { return name_; }
  const std::vector<Host>& hosts() const { return hosts_; }
  const std::vector<Link>& links() const { return links_; }
  /// The route between two hosts, by their numbers. Kept. Throws PlatformError where there is none, or one without links.
  const Route& route(int from, int to);

 private:
  class Reader;

  void start();
  [[noreturn]] void fail(std::string reason) const;

  std::string xml_;
  std::string name_;
  std::vector<Host> hosts_;
  std::vector<Link> links_;
  std::unordered_map<long, Route> routes_;
  std::unique_ptr<Reader> reader_;
};

/// The platform of this text, which clusters share.
std::shared_ptr<Platform> shared_platform(const std::string& xml, const std::string& name);

}  // namespace syncopate
