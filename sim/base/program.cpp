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

/// Whoever reads or writes it then fails, as with the closed one; only stderr, with which nobody could say so, takes all.
void replace_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;  // NOLINT(cppcoreguidelines-pro-type-vararg): they are declared so
    const int fails = stream == STDOUT_FILENO ? O_RDONLY : O_WRONLY;
    if (open("/dev/null", fails) != stream) return;  // NOLINT(cppcoreguidelines-pro-type-vararg): the lowest number that is free
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
