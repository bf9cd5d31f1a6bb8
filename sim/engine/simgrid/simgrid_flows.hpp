#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cluster/network.hpp"
#include "engine/clock/actors.hpp"
#include "engine/clock/clock.hpp"
#include "engine/network/flows.hpp"
#include "engine/simgrid/communications.hpp"
#include "engine/simgrid/network_model.hpp"

namespace syncopate {

/// Messages as communications in SimGrid, on its links and its clock. A message over several connections is so many communications.
///
/// SimGrid counts whole bytes. Where its settings are exact (SimGridModel), bytes and bandwidths are 2^26 times as large; else bytes are
/// rounded.
class SimGridFlows : public Flows {
 public:
  /// `network`: with all links. Throws SimulationError if SimGrid refuses a setting of the model.
  SimGridFlows(Network& network, const SimGridModel& model, Clock& clock);
  /// Cancels what is under way.
  ~SimGridFlows() override;

  bool take_latency() const override { return !model_.fair; }
  void start(const Transfer& transfer, const Moment& now, Ended ended) override;
  void widen(std::size_t link, int width) override { widths_[link] = width; }

 private:
  /// Of a path: all of it, or what is before or after the place where messages are stored on their way.
  enum class Part { whole, before_storage, after_storage };
  struct Route {
    std::span<const std::size_t> crossed;  ///< links of the network
    std::vector<std::size_t> links;        ///< SimGrid's, of those that take time
    std::vector<std::size_t> back;         ///< the same of the path back, where acknowledgements may take bandwidth
    std::size_t from = 0;                  ///< SimGrid's hosts
    std::size_t to = 0;
  };
  struct Moving {
    const Path* path = nullptr;  ///< null: the place is unused
    const Route* route = nullptr;
    std::uint64_t number = 0;
    std::vector<std::size_t> communications;  ///< all begin at the same time with as many bytes
    std::size_t arrived = 0;                  ///< of these
    Seconds latency{};                        ///< that SimGrid is told
    double narrowest = 0.0;                   ///< bandwidth of the links when it began
    Seconds end{};
    Ended ended;
  };

  const Route& route_of(const Transfer& transfer, const Path& path, Part part);
  /// Moves bytes over a part of a path.
  void move(const Transfer& transfer, const Path& path, Part part, Ended ended);
  void send(std::size_t index, Bytes bytes, Seconds latency);
  std::vector<std::size_t> links_of(std::span<const std::size_t> links);
  double bandwidth(std::size_t link) const;
  double narrowest(const Route& route) const;
  std::size_t host(const Network* network, int rank);
  std::size_t limit(const Path& path);
  void change_links();
  void arrived(std::size_t index, std::size_t piece);
  void tell();

  static constexpr std::size_t has_arrived = std::numeric_limits<std::size_t>::max();

  Network& network_;
  SimGridModel model_;
  Clock& clock_;
  Communications& communications_;
  double scale_;
  std::array<std::unordered_map<const Path*, Route>, 3> routes_;  ///< by part
  std::map<std::pair<const Network*, int>, std::size_t> hosts_;   ///< by job's network and rank
  std::vector<std::optional<std::size_t>> links_;                 ///< by link of the network
  std::map<double, std::size_t> limits_;                          ///< links that limit each message to such a rate
  std::map<std::size_t, int> widths_;                             ///< by link; of others 1
  std::vector<Moving> moving_;
  std::vector<std::size_t> unused_;   ///< places in moving_
  std::vector<std::size_t> arrived_;  ///< at this instant
  std::uint64_t started_ = 0;
};

}  // namespace syncopate
