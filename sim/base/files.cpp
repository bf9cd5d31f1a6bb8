#include "base/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include "base/descriptors.hpp"
#include "base/errors.hpp"
#include "base/text.hpp"

namespace syncopate {

namespace fs = std::filesystem;

namespace {

using Status = struct stat;

constexpr const char* standard_output = "-";
constexpr const char* temporary_prefix = ".syncopate-";
constexpr const char* temporary_suffix = ".tmp";

std::optional<Status> status_of(const fs::path& path) {
  Status status = {};
  return stat(path.c_str(), &status) == 0 ? std::optional(status) : std::nullopt;
}

int open_file(const fs::path& path, int flags, mode_t mode = 0) {
  return open(path.c_str(), flags | O_CLOEXEC, mode);  // NOLINT(cppcoreguidelines-pro-type-vararg): that is how it is declared
}

/// Opens a named pipe. Waits up to 5 s for a process at the other end, then fails with EINTR.
int open_pipe(const fs::path& path, int flags) {
  constexpr unsigned patience_s = 5;
  struct sigaction before = {};
  struct sigaction wake_up = {};
  wake_up.sa_handler = [](int) {};  // without SA_RESTART: open() returns EINTR
  sigaction(SIGALRM, &wake_up, &before);
  alarm(patience_s);
  const int file = open_file(path, flags);
  const int reason = errno;
  alarm(0);
  sigaction(SIGALRM, &before, nullptr);
  errno = reason;
  return file;
}

/// Reads a file from its current position to its end. Throws InputError.
std::string read_all(int file, const std::string& name, std::size_t expected, std::size_t most) {
  constexpr std::size_t piece = 1 << 16;
  std::string text;
  std::size_t size = 0;
  while (true) {
    if (text.size() == size) text.resize(size == 0 && expected > 0 ? expected + 1 : size + std::max(piece, size / 2));
    const ssize_t count = read(file, text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw InputError(fmt::format("{}: reading failed: {}", name, std::strerror(errno)));
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
    if (size > most) throw InputError(fmt::format("{}: too large: more than {} MiB", name, most >> 20U));
  }
  text.resize(size);
  return text;
}

[[noreturn]] void fail_to_write(const fs::path& path, int reason) {
  if (reason == EINTR) throw OutputError(fmt::format("{}: cannot be written: nobody reads this pipe", path.string()));
  throw OutputError(fmt::format("{}: cannot be written: {}; choose another place with -o", path.string(), std::strerror(reason)));
}

bool is_stdout(const Status& status) {
  Status stdout_status = {};
  return fstat(STDOUT_FILENO, &stdout_status) == 0 && stdout_status.st_dev == status.st_dev && stdout_status.st_ino == status.st_ino;
}

bool is_stdout(const fs::path& out) {
  if (out == standard_output) return true;
  const auto status = status_of(out);
  return status && is_stdout(*status);
}

fs::path folder_of_file(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

/// The descriptor number behind a path such as /proc/self/fd/3.
std::optional<int> descriptor_at(const fs::path& path) {
  std::error_code error;
  const fs::path folder = fs::canonical(folder_of_file(path), error);
  if (error || folder != fs::canonical("/proc/self/fd", error)) return std::nullopt;
  const std::string name = path.filename().string();
  int number = -1;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
  return problem == std::errc() && *end == '\0' && number >= 0 ? std::optional(number) : std::nullopt;
}

/// Resolves symbolic links. The target may be missing. Stops at a descriptor of this process (/proc/self/fd/N).
fs::path follow_links(fs::path path) {
  constexpr int most = 40;  // Linux's limit
  for (int i = 0; i < most; ++i) {
    std::error_code is_none;
    const fs::path target = fs::read_symlink(path, is_none);
    if (is_none || descriptor_at(path)) return path;
    path = path.parent_path() / target;
  }
  fail_to_write(path, ELOOP);
}

void write_to_stdout(std::string_view text) {
  std::fflush(stdout);
  const std::string shown = isatty(STDOUT_FILENO) == 1 ? printable(text, true) : "";
  if (!write_all(STDOUT_FILENO, shown.empty() ? text : shown))
    throw OutputError(fmt::format("standard output cannot be written: {}", std::strerror(errno)));
}

/// `path`: the path that descriptor_at resolved, for messages.
void write_to_descriptor(int descriptor, const fs::path& path, std::string_view text) {
  if (descriptor == STDOUT_FILENO) return write_to_stdout(text);
  const NoPipeSignal none;
  if (!write_all(descriptor, text)) fail_to_write(path, errno);
}

/// Writes into a device or a pipe, which must not be replaced by a file.
void write_through(const fs::path& path, const Status& status, std::string_view text) {
  const NoPipeSignal none;
  const Descriptor file(S_ISFIFO(status.st_mode) ? open_pipe(path, O_WRONLY) : open_file(path, O_WRONLY));
  if (!file.is_open() || !write_all(file.number(), text)) fail_to_write(path, errno);
}

/// A new file with a random name. The destructor removes it unless `become` has renamed it.
class TemporaryFile {
 public:
  /// is_open() is false, with errno set, if the file cannot be created.
  explicit TemporaryFile(const fs::path& folder)
      : path_(folder / random_name()),
        file_(open_file(path_, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666)),
        is_there_(file_.is_open()) {}
  ~TemporaryFile() {
    if (is_there_) unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  bool is_open() const { return file_.is_open(); }

  /// Copies the permissions of the file that it will replace. All three operations return false, with errno set, on failure.
  bool take_permissions(const Status& replaced) const {
    constexpr mode_t permissions = 07777;
    return fchmod(file_.number(), replaced.st_mode & permissions) == 0 || errno == EPERM;
  }

  bool write(std::string_view text, Durability durability) {
    return write_all(file_.number(), text) && (durability == Durability::cached || fsync(file_.number()) == 0) && file_.shut();
  }

  bool become(const fs::path& path) {
    is_there_ = rename(path_.c_str(), path.c_str()) != 0;
    return !is_there_;
  }

 private:
  static std::string random_name() {
    std::uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != sizeof number) throw OutputError("the system has no random numbers for a file's name");
    return fmt::format("{}{:016x}{}", temporary_prefix, number, temporary_suffix);
  }

  fs::path path_;
  Descriptor file_;
  bool is_there_;
};

/// Replaces `path` by a new file with this text. Keeps the permissions of `existing`. Returns false, with errno set, on
/// failure.
bool replace(const fs::path& path, const std::optional<Status>& existing, std::string_view text, Durability durability) {
  const fs::path folder = folder_of_file(path);
  std::optional<TemporaryFile> file(std::in_place, folder);
  if (!file->is_open() && (errno == ENOENT || errno == ENOTDIR)) {
    make_writable_folder(folder);
    file.emplace(folder);
  }
  return file->is_open() && (!existing || file->take_permissions(*existing)) && file->write(text, durability) && file->become(path);
}

}  // namespace

std::string way_from(const fs::path& folder, const fs::path& file) {
  const fs::path here = fs::current_path();  // an empty folder is this one
  return (here / file).lexically_normal().lexically_proximate((here / folder).lexically_normal()).string();
}

void require_readable_file(const fs::path& path) {
  const auto status = status_of(path);
  if (!status && errno == ENOENT) throw InputError(fmt::format("{}: no such file", path.string()));
  if (!status) throw InputError(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)));
  if (S_ISDIR(status->st_mode)) throw InputError(fmt::format("{}: expected a file, got a folder", path.string()));
  if (S_ISCHR(status->st_mode) || S_ISBLK(status->st_mode))
    throw InputError(fmt::format("{}: expected a file, got a device", path.string()));
}

int open_to_read(const fs::path& path) {
  require_readable_file(path);
  const auto status = status_of(path);
  // Non-blocking, because opening some system files would wait for ever.
  const int file = status && S_ISFIFO(status->st_mode) ? open_pipe(path, O_RDONLY) : open_file(path, O_RDONLY | O_NONBLOCK);
  if (file >= 0) return file;
  throw InputError(
      fmt::format("{}: cannot be read: {}", path.string(), errno == EINTR ? "nobody writes to this pipe" : std::strerror(errno)));
}

int open_to_reread(const fs::path& path) {
  Descriptor file(open_to_read(path));
  if (lseek(file.number(), 0, SEEK_CUR) >= 0) return file.release();
  const std::string text = read_all(file.number(), path.string(), 0, most_read_bytes);
  Descriptor copy(file_in_memory("pipe", text));
  if (!copy.is_open())
    throw InputError(fmt::format("{}: cannot be kept in memory: {}; give a file instead of a pipe", path.string(), std::strerror(errno)));
  return copy.release();
}

std::string read_file(const fs::path& path, std::size_t most) { return read_file(open_to_read(path), path.string(), most); }

std::string read_file(int open_file, const std::string& name, std::size_t most) {
  const Descriptor file(open_file);
  Status status = {};
  fstat(file.number(), &status);
  const auto size = S_ISREG(status.st_mode) ? static_cast<std::size_t>(status.st_size) : 0;
  if (size > most) throw InputError(fmt::format("{}: too large: {} MiB, of at most {} MiB", name, size >> 20U, most >> 20U));
  return read_all(file.number(), name, size, most);
}

const std::string& read_stdin() {
  static const std::string text = read_all(STDIN_FILENO, "stdin", 0, most_read_bytes);
  return text;
}

void write_file(const fs::path& path, std::string_view text, Durability durability) {
  const fs::path target = follow_links(path);
  if (const auto descriptor = descriptor_at(target)) return write_to_descriptor(*descriptor, path, text);
  const auto existing = status_of(path);
  if (existing && is_stdout(*existing)) return write_to_stdout(text);
  if (existing && S_ISDIR(existing->st_mode)) fail_to_write(path, EISDIR);
  if (existing && !S_ISREG(existing->st_mode)) return write_through(path, *existing, text);
  if (!replace(target, existing, text, durability)) fail_to_write(path, errno);
}

void replace_file(const fs::path& path, std::string_view text, Durability durability) {
  if (!replace(path, std::nullopt, text, durability)) fail_to_write(path, errno);
}

void remove_unfinished(const fs::path& folder, std::chrono::seconds unchanged) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    const bool is_temporary = name.starts_with(temporary_prefix) && name.ends_with(temporary_suffix);
    if (is_temporary && fs::file_time_type::clock::now() - entry.last_write_time(ignored) >= unchanged) fs::remove(entry.path(), ignored);
  }
}

void make_writable_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(follow_links(folder), error);
  std::error_code ignored;
  if (error || !fs::is_directory(folder, ignored)) {
    const std::string reason = error ? error.message() : "it is a file";
    throw OutputError(fmt::format("{}: cannot be used as an output folder: {}; choose another with -o", folder.string(), reason));
  }
  if (!TemporaryFile(folder).is_open()) fail_to_write(folder, errno);
}

void require_writable(const fs::path& out) {
  if (is_stdout(out)) return;
  const fs::path target = follow_links(out);
  if (const auto descriptor = descriptor_at(target)) {
    if (write(*descriptor, "", 0) != 0) fail_to_write(out, errno);
    return;
  }
  const auto existing = status_of(out);
  if (existing && !S_ISREG(existing->st_mode)) {
    if (access(out.c_str(), W_OK) != 0) fail_to_write(out, errno);
  } else {
    make_writable_folder(folder_of_file(target));
  }
}

void write_output(const fs::path& out, std::string_view text) {
  if (out == standard_output) return write_to_stdout(text);
  write_file(out, text);
}

std::FILE* stream_beside(const fs::path& out) { return is_stdout(out) ? stderr : stdout; }

void check_output(const fs::path& out, const std::vector<std::string>& inputs) {
  if (out.empty()) throw UsageError("-o: the name of a file is missing");
  if (out == standard_output) return;
  std::error_code ignored;
  if (!out.has_filename() || fs::is_directory(out, ignored))
    throw UsageError(fmt::format("-o {}: this is a folder; name a file in it", out.string()));
  for (const std::string& input : inputs) {
    if (fs::equivalent(out, input, ignored))
      throw UsageError(fmt::format("-o {}: this would overwrite an input file; choose another name", out.string()));
  }
}

}  // namespace syncopate
