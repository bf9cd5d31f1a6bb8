#include "base/descriptors.hpp"

#include <sys/mman.h>

#include <cerrno>

namespace syncopate {

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(file, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

int file_in_memory(const char* name, std::string_view text) {
  Descriptor file(memfd_create(name, MFD_CLOEXEC));
  if (!file.is_open() || !write_all(file.number(), text) || lseek(file.number(), 0, SEEK_SET) != 0) return -1;
  return file.release();
}

}  // namespace syncopate
