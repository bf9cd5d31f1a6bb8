#include "engine/simgrid/simgrid_communications.hpp"

#include <algorithm>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <utility>

namespace syncopate {

namespace s4u = simgrid::s4u;
namespace routing = simgrid::kernel::routing;

/// A zone that does not know its routes beforehand. It is never sealed: hosts and links may be added between and during runs. SimGrid has
/// it beside the root zone, whose models it takes.
class RoutedZone : public routing::NetZoneImpl {
 public:
  explicit RoutedZone(const NetZoneImpl& root) : NetZoneImpl("cluster") {
    set_network_model(root.get_network_model());
    set_cpu_pm_model(root.get_cpu_pm_model());
    set_cpu_vm_model(root.get_cpu_vm_model());
    set_disk_model(root.get_disk_model());
    set_host_model(root.get_host_model());
  }

  /// The route of what is sent next.
  void set_route(const s4u::Host* from, const Communications::Route& route, const std::vector<s4u::Link*>& links) {
    from_ = from->get_netpoint();
    route_ = &route;
    links_ = &links;
  }

 protected:
  void get_local_route(const routing::NetPoint* from, const routing::NetPoint* /*to*/, routing::Route* into, double* latency) override {
    for (const std::size_t link : from == from_ ? route_->links : route_->back) into->link_list_.push_back((*links_)[link]->get_impl());
    if (latency != nullptr) *latency += route_->latency;
  }

 private:
  const routing::NetPoint* from_ = nullptr;
  const Communications::Route* route_ = nullptr;
  const std::vector<s4u::Link*>* links_ = nullptr;
};

// NOLINTNEXTLINE(cppcoreguidelines-owning-memory): SimGrid's zones live as long as the process
SimGridCommunications::SimGridCommunications(s4u::NetZone* root) : zone_(new RoutedZone(*root->get_impl())) {
  s4u::Comm::on_completion_cb([this](const s4u::Activity& activity) { end(activity); });
}

std::string SimGridCommunications::unused_name(std::string name) {
  std::replace(name.begin(), name.end(), '"', '\'');  // which end a name in a file of Paje
  return name.append("#").append(std::to_string(names_++));
}

std::size_t SimGridCommunications::add_host(const std::string& name) {
  hosts_.push_back(zone_->create_host(unused_name(name), {1.0})->seal());
  return hosts_.size() - 1;
}

std::size_t SimGridCommunications::add_link(const std::string& name, double bandwidth, bool is_shared) {
  s4u::Link* const link = zone_->create_link(unused_name(name), {bandwidth});
  if (!is_shared) link->set_sharing_policy(s4u::Link::SharingPolicy::FATPIPE);
  links_.push_back(link->seal());
  return links_.size() - 1;
}

void SimGridCommunications::set_bandwidth(std::size_t link, double bandwidth) { links_[link]->set_bandwidth(bandwidth); }

std::size_t SimGridCommunications::send(std::size_t from, std::size_t to, std::uint64_t bytes, const Route& route, Arrived arrived) {
  if (unused_.empty()) {
    unused_.push_back(sent_.size());
    sent_.emplace_back();
  }
  const std::size_t number = unused_.back();
  unused_.pop_back();
  zone_->set_route(hosts_[from], route, links_);
  const s4u::CommPtr communication = s4u::Comm::sendto_init(hosts_[from], hosts_[to]);
  communication->set_payload_size(bytes);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast,performance-no-int-to-ptr): a number in place of a pointer
  communication->set_data(reinterpret_cast<void*>(number + 1));
  sent_[number] = {communication, std::move(arrived)};
  communication->start();
  return number;
}

void SimGridCommunications::end(const s4u::Activity& activity) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-static-cast-downcast): a signal of communications
  const auto& communication = static_cast<const s4u::Comm&>(activity);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): see send()
  const std::size_t number = reinterpret_cast<std::size_t>(communication.get_data<void>()) - 1;
  if (number >= sent_.size() || sent_[number].communication.get() != &communication || !sent_[number].arrived) return;
  // SimGrid goes on with the communication after this call.
  const Arrived arrived = std::exchange(sent_[number].arrived, nullptr);
  unused_.push_back(number);
  arrived();
}

double SimGridCommunications::remaining(std::size_t number) { return sent_[number].communication->get_remaining(); }

void SimGridCommunications::cancel(std::size_t number) {
  if (const double now = s4u::Engine::get_clock(); now > cancelled_at_) {
    cancelled_.clear();
    cancelled_at_ = now;
  }
  cancelled_.push_back(std::move(sent_[number].communication));
  sent_[number].arrived = nullptr;
  unused_.push_back(number);
  cancelled_.back()->cancel();
}

void SimGridCommunications::cancel_all() {
  for (std::size_t number = 0; number < sent_.size(); ++number) {
    if (sent_[number].arrived) cancel(number);
  }
}

}  // namespace syncopate
