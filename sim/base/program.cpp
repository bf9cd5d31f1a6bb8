#include "base/program.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <exception>
#include <new>

#include "base/terminal.hpp"

namespace syncopate {

namespace {

/// Opens /dev/null in place of closed standard streams. Reading stdin and writing stdout still fail; stderr swallows everything.
void replace_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;  // NOLINT(cppcoreguidelines-pro-type-vararg): POSIX
    const int fails = stream == STDOUT_FILENO ? O_RDONLY : O_WRONLY;
    if (open("/dev/null", fails) != stream) return;  // NOLINT(cppcoreguidelines-pro-type-vararg): POSIX; it takes the lowest free number
  }
}

}  // namespace

void begin_program() {
  std::signal(SIGXFSZ, SIG_IGN);
  replace_closed_streams();
}

ExitCode tell_failure(const std::string& program, ExitCode otherwise) {
  try {
    throw;
  } catch (const Error& error) {
    complain("{}: {}", program, error.what());
    return error.code();
  } catch (const std::bad_alloc&) {
    complain("{}: {}", program, lack_of_memory);
  } catch (const std::exception& error) {
    complain("{}: internal error: {}", program, error.what());
  }
  return otherwise;
}

}  // namespace syncopate
