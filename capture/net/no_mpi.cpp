#include "capture/device.hpp"
#include "capture/net/peers.hpp"

namespace syncopate::capture {

bool has_mpi() { return false; }

std::unique_ptr<Peers> meet_by_mpi() { throw DeviceError("this build has no MPI (Debian: libopenmpi-dev)"); }

void abandon_mpi(int /*code*/) {}

}  // namespace syncopate::capture
