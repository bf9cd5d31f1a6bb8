#include "store/program.hpp"

#include <filesystem>

#include "base/digest.hpp"
#include "base/files.hpp"
#include "base/version.hpp"
#include "engine/clock/actors.hpp"
#include "engine/simulate.hpp"

namespace syncopate {

const std::string& program_digest() {
  static const std::string digest = [] {
    std::string parts = version() + ' ' + simgrid_version();
    for (const std::filesystem::path& file : {std::filesystem::path("/proc/self/exe"), actors_file()}) {
      if (std::filesystem::exists(file)) parts += ' ' + sha256(read_file(file));
    }
    return sha256(parts);
  }();
  return digest;
}

}  // namespace syncopate
