#include "capture/device.hpp"
#include "capture/net/peers.hpp"

namespace syncopate::capture {

std::unique_ptr<Peers> meet_by_gloo(const Meeting& /*meeting*/) { throw DeviceError("this build has no gloo (Debian: libgloo-dev)"); }

}  // namespace syncopate::capture
