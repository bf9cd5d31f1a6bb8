#include "store/folder_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/errors.hpp"

namespace syncopate {

namespace {

using Lock = struct flock;

/// Bytes of the file, each with a lock of its own. Records of fcntl are taken, not flock(): they work over NFS, tell the holder's process,
/// and are not inherited by the processes that simulate points, some of which may outlive a killed run by an instant.
constexpr off_t entering = 0;  ///< held alone, for an instant
constexpr off_t at_work = 1;   ///< held together

Lock lock_of(short type, off_t byte) {
  Lock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

/// Returns false if another process holds a lock that excludes this one.
bool try_lock(int file, short type, off_t byte) {
  Lock lock = lock_of(type, byte);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): POSIX
  return fcntl(file, F_SETLK, &lock) == 0 || (errno != EAGAIN && errno != EACCES);
}

/// The process that holds a lock on the byte; 0 if its id is unknown.
std::optional<int> holder(int file, off_t byte) {
  Lock lock = lock_of(F_WRLCK, byte);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): POSIX
  if (fcntl(file, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return std::nullopt;
  return lock.l_pid > 0 ? lock.l_pid : 0;
}

}  // namespace

FolderLock::FolderLock(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / ".lock";
  constexpr mode_t permissions = 0666;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): POSIX
  file_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, permissions);
  if (file_ < 0)
    throw OutputError(fmt::format("{}: cannot be written: {}; choose another folder with -o", path.string(), std::strerror(errno)));
  constexpr std::chrono::milliseconds pause(20);
  constexpr std::chrono::minutes patience(1);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!try_lock(file_, F_WRLCK, entering)) {
    if (std::chrono::steady_clock::now() > deadline)
      throw UsageError(fmt::format("-o {}: another run{} prepares this folder, and does not get on; end it, or choose another folder",
                                   folder.string(), describe_process(holder(file_, entering).value_or(0))));
    std::this_thread::sleep_for(pause);
  }
}

FolderLock::~FolderLock() {
  if (file_ >= 0) close(file_);
}

std::optional<int> FolderLock::other() const { return holder(file_, at_work); }

void FolderLock::share() const {
  try_lock(file_, F_RDLCK, at_work);
  try_lock(file_, F_UNLCK, entering);
}

std::string describe_process(int process) { return process > 0 ? fmt::format(" (process {})", process) : ""; }

}  // namespace syncopate
