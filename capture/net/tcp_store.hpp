#pragma once

#include <gloo/rendezvous/store.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace syncopate::capture {

/// A store of keys and values, shared by processes over TCP. One of the processes serves it, in threads of its own.
class TcpStore : public gloo::rendezvous::Store {
 public:
  /// `address` is HOST:PORT. The one that serves binds to it, the others try until `patience` is over. Throws DeviceError.
  TcpStore(const std::string& address, bool serves, std::chrono::milliseconds patience);
  TcpStore(const TcpStore&) = delete;
  TcpStore& operator=(const TcpStore&) = delete;
  ~TcpStore() override;

  void set(const std::string& key, const std::vector<char>& data) override;
  std::vector<char> get(const std::string& key) override;
  void wait(const std::vector<std::string>& keys) override;
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) override;

 private:
  class Server;

  std::unique_ptr<Server> server_;
  int socket_ = -1;
};

}  // namespace syncopate::capture
