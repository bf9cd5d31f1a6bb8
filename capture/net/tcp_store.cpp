#include "capture/net/tcp_store.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "capture/device.hpp"

namespace syncopate::capture {

namespace {

[[noreturn]] void fail(const std::string& what) { throw DeviceError(fmt::format("{}: {}", what, std::strerror(errno))); }

struct AddressList {
  addrinfo* first = nullptr;

  /// `to_bind`: all addresses of this machine. Its name may resolve to an address that other machines cannot reach.
  AddressList(const std::string& address, bool to_bind) {
    const std::size_t colon = address.rfind(':');
    if (colon == std::string::npos) throw DeviceError(fmt::format("tcp://{}: expected tcp://HOST:PORT", address));
    std::string host = address.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = to_bind ? AI_PASSIVE : 0;
    const int error = getaddrinfo(to_bind ? nullptr : host.c_str(), address.substr(colon + 1).c_str(), &wanted, &first);
    if (error != 0) throw DeviceError(fmt::format("tcp://{}: {}", address, gai_strerror(error)));
  }
  AddressList(const AddressList&) = delete;
  AddressList& operator=(const AddressList&) = delete;
  ~AddressList() { freeaddrinfo(first); }
};

/// A socket for the first address with which `use` succeeds. Returns -1, with errno set, if there is none.
template <class Use>
int first_socket(const AddressList& addresses, Use use) {
  int reason = EADDRNOTAVAIL;
  for (const addrinfo* address = addresses.first; address != nullptr; address = address->ai_next) {
    const int one = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (one >= 0 && use(one, *address)) return one;
    reason = errno;
    if (one >= 0) close(one);
  }
  errno = reason;
  return -1;
}

int listen_at(const std::string& address) {
  const int listener = first_socket(AddressList(address, true), [](int one, const addrinfo& at) {
    const int yes = 1;
    setsockopt(one, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    return bind(one, at.ai_addr, at.ai_addrlen) == 0 && listen(one, SOMAXCONN) == 0;
  });
  if (listener < 0) fail(fmt::format("cannot listen at tcp://{}", address));
  return listener;
}

int connect_to(const std::string& address, std::chrono::milliseconds patience) {
  const AddressList found(address, false);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (true) {
    const int connection = first_socket(found, [](int one, const addrinfo& at) {
      const timeval limit{.tv_sec = 5, .tv_usec = 0};
      setsockopt(one, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));  // also limits connect()
      return connect(one, at.ai_addr, at.ai_addrlen) == 0;
    });
    if (connection >= 0) return connection;
    if (std::chrono::steady_clock::now() > deadline) fail(fmt::format("no answer at tcp://{}", address));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

/// False at the end of the stream.
bool read_all(int from, void* to, std::size_t bytes) {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = read(from, at, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

bool write_all(int to, const void* from, std::size_t bytes) {
  const auto* at = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t put = ::send(to, at, bytes, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    at += put;
    bytes -= static_cast<std::size_t>(put);
  }
  return true;
}

using Size = std::uint32_t;
constexpr Size most_bytes = 1 << 20;  // of a key or value; addresses take a few hundred bytes

bool write_text(int to, const char* text, std::size_t size) {
  const auto bytes = static_cast<Size>(size);
  return write_all(to, &bytes, sizeof(bytes)) && write_all(to, text, size);
}

template <class Text>
bool read_text(int from, Text& text) {
  Size bytes = 0;
  if (!read_all(from, &bytes, sizeof(bytes)) || bytes > most_bytes) return false;
  text.resize(bytes);
  return read_all(from, text.data(), bytes);
}

constexpr char set_request = 's';
constexpr char get_request = 'g';

}  // namespace

/// One thread accepts connections, and each connection has a thread. A get blocks until its key has been set.
class TcpStore::Server {
 public:
  explicit Server(const std::string& address) : listener_(listen_at(address)), accepting_([this] { accept_all(); }) {}
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  ~Server() {
    {
      const std::scoped_lock lock(mutex_);
      ends_ = true;
      for (const int connection : connections_) shutdown(connection, SHUT_RDWR);
    }
    changed_.notify_all();
    shutdown(listener_, SHUT_RDWR);
    accepting_.join();
    for (std::thread& thread : serving_) thread.join();
    for (const int connection : connections_) close(connection);
    close(listener_);
  }

 private:
  void accept_all() {
    while (true) {
      const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0 && errno == EINTR) continue;
      if (connection < 0) return;
      const std::scoped_lock lock(mutex_);
      if (ends_) shutdown(connection, SHUT_RDWR);
      connections_.push_back(connection);
      serving_.emplace_back([this, connection] { serve(connection); });
    }
  }

  void serve(int connection) {
    char request = 0;
    std::string key;
    std::vector<char> value;
    while (read_all(connection, &request, 1) && read_text(connection, key)) {
      if (request == set_request) {
        if (!read_text(connection, value)) return;
        {
          const std::scoped_lock lock(mutex_);
          values_[key] = value;
        }
        changed_.notify_all();
        if (!write_text(connection, "", 0)) return;
      } else {
        {
          std::unique_lock lock(mutex_);
          changed_.wait(lock, [&] { return ends_ || values_.contains(key); });
          if (ends_) return;
          value = values_[key];
        }
        if (!write_text(connection, value.data(), value.size())) return;
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  std::map<std::string, std::vector<char>> values_;
  std::vector<int> connections_;
  std::vector<std::thread> serving_;
  int listener_;
  std::thread accepting_;
};

TcpStore::TcpStore(const std::string& address, bool serves, std::chrono::milliseconds patience) {
  if (serves) server_ = std::make_unique<Server>(address);
  socket_ = connect_to(address, patience);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience);
  const timeval limit{.tv_sec = seconds.count(), .tv_usec = 0};
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

TcpStore::~TcpStore() { close(socket_); }

void TcpStore::set(const std::string& key, const std::vector<char>& data) {
  std::string answer;
  if (!write_all(socket_, &set_request, 1) || !write_text(socket_, key.data(), key.size()) ||
      !write_text(socket_, data.data(), data.size()) || !read_text(socket_, answer)) {
    throw DeviceError("lost the connection to rank 0");
  }
}

std::vector<char> TcpStore::get(const std::string& key) {
  std::vector<char> value;
  if (!write_all(socket_, &get_request, 1) || !write_text(socket_, key.data(), key.size()) || !read_text(socket_, value)) {
    throw DeviceError("not all ranks have connected");
  }
  return value;
}

void TcpStore::wait(const std::vector<std::string>& keys) {
  for (const std::string& key : keys) get(key);
}

void TcpStore::wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& /*timeout*/) { wait(keys); }

}  // namespace syncopate::capture
