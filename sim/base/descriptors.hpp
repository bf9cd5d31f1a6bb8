#pragma once

#include <csignal>
#include <string_view>
#include <utility>

#include <unistd.h>

namespace syncopate {

/// Closes a file when it goes out of scope.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { shut(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  int release() { return std::exchange(number_, -1); }
  /// Returns false, with errno set, if the written bytes did not reach the file.
  bool shut() {
    const int number = release();
    return number < 0 || close(number) == 0;
  }

 private:
  int number_;
};

/// Ignores SIGPIPE while in scope: writing to a pipe without a reader fails with EPIPE.
class NoPipeSignal {
 public:
  NoPipeSignal() : before_(std::signal(SIGPIPE, SIG_IGN)) {}
  ~NoPipeSignal() { std::signal(SIGPIPE, before_); }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  void (*before_)(int);
};

/// Returns false, with errno set, when some bytes could not be written.
bool write_all(int file, std::string_view text);

/// A new file in memory with this text, at its begin, which programs that are executed do not get; below 0, with errno set, if there is
/// none.
int file_in_memory(const char* name, std::string_view text = {});

}  // namespace syncopate
