#pragma once

#include <string>

namespace simgrid::s4u {
class Engine;
class Host;
class NetZone;
}  // namespace simgrid::s4u

namespace syncopate {

/// SimGrid's engine, with exact settings and quiet; made at the first call. Its clock is global to the process.
simgrid::s4u::Engine& simgrid_engine();

/// simgrid_engine() has been called: SimGrid's clock, which is global to the process, may have moved.
bool is_simgrid_in_use();

/// So many actors can then be created.
void make_room_for_actors(int count);

/// The zone that all others are in. SimGrid takes the first zone made for it.
simgrid::s4u::NetZone* simgrid_world();

/// A host apart from the network. Actors do not compute in SimGrid's sense, so that it is home to all of them.
simgrid::s4u::Host* simgrid_home();

/// A zone made by one of SimGrid's functions, in the world.
simgrid::s4u::NetZone* in_world(simgrid::s4u::NetZone* (*make)(const std::string& name), const std::string& name);

}  // namespace syncopate
