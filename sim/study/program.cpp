#include "study/program.hpp"

#include "base/digest.hpp"
#include "base/files.hpp"
#include "base/version.hpp"
#include "engine/simulate.hpp"

namespace syncopate {

const std::string& program_digest() {
  static const std::string digest = sha256(version() + ' ' + simgrid_version() + ' ' + sha256(read_file("/proc/self/exe")));
  return digest;
}

}  // namespace syncopate
