#pragma once

#include <cstdint>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "engine/simgrid/communications.hpp"

namespace syncopate {

class RoutedZone;

/// Communications as SimGrid's, from host to host (Comm::sendto). The only zone asks for the route of a message when that is sent.
class SimGridCommunications : public Communications {
 public:
  /// `root`: whose models are used. It has no hosts but that of the actors.
  explicit SimGridCommunications(simgrid::s4u::NetZone* root);

  std::size_t add_host(const std::string& name) override;
  std::size_t add_link(const std::string& name, double bandwidth, bool is_shared) override;
  void set_bandwidth(std::size_t link, double bandwidth) override;
  std::size_t send(std::size_t from, std::size_t to, std::uint64_t bytes, const Route& route, Arrived arrived) override;
  double remaining(std::size_t number) override;
  void cancel(std::size_t number) override;
  void cancel_all() override;

 private:
  struct Sent {
    simgrid::s4u::CommPtr communication;  ///< kept until another one takes its place
    Arrived arrived;                      ///< empty: it has ended or was cancelled
  };

  std::string unused_name(std::string name);
  void end(const simgrid::s4u::Activity& activity);

  RoutedZone* zone_;
  std::vector<simgrid::s4u::Host*> hosts_;
  std::vector<simgrid::s4u::Link*> links_;
  std::vector<Sent> sent_;
  std::vector<std::size_t> unused_;               ///< places in sent_
  std::vector<simgrid::s4u::CommPtr> cancelled_;  ///< at this time; SimGrid goes on with them until the time is over
  double cancelled_at_ = -1.0;
  std::size_t names_ = 0;
};

}  // namespace syncopate
