#include <fmt/format.h>
#include <mpi.h>

#include <array>

#include "capture/device.hpp"
#include "capture/net/peers.hpp"

// NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker): a request is begun in one function and waited for in another
namespace syncopate::capture {

namespace {

void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw DeviceError(fmt::format("{}: {}", what, text.data()));
}

class MpiMessage : public Pending {
 public:
  explicit MpiMessage(MPI_Request request) : request_(request) {}

  void wait() override { check(MPI_Wait(&request_, MPI_STATUS_IGNORE), "MPI_Wait"); }

 private:
  MPI_Request request_;
};

class MpiPeers : public Peers {
 public:
  explicit MpiPeers(MPI_Comm communicator) : communicator_(communicator) {
    check(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_rank(communicator_, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(communicator_, &size_), "MPI_Comm_size");
  }
  MpiPeers(const MpiPeers&) = delete;
  MpiPeers& operator=(const MpiPeers&) = delete;
  ~MpiPeers() override { MPI_Comm_free(&communicator_); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void all_reduce(std::span<float> values) override {
    check(MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_FLOAT, MPI_SUM, communicator_), "MPI_Allreduce");
  }

  void all_gather(std::span<const float> mine, std::span<float> all) override {
    const int count = static_cast<int>(mine.size());
    check(MPI_Allgather(mine.data(), count, MPI_FLOAT, all.data(), count, MPI_FLOAT, communicator_), "MPI_Allgather");
  }

  std::unique_ptr<Pending> send(int to, unsigned slot, std::span<float> values) override {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Isend(values.data(), static_cast<int>(values.size()), MPI_FLOAT, to, static_cast<int>(slot), communicator_, &request),
          "MPI_Isend");
    return std::make_unique<MpiMessage>(request);
  }

  std::unique_ptr<Pending> receive(int from, unsigned slot, std::span<float> values) override {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Irecv(values.data(), static_cast<int>(values.size()), MPI_FLOAT, from, static_cast<int>(slot), communicator_, &request),
          "MPI_Irecv");
    return std::make_unique<MpiMessage>(request);
  }

  void barrier() override { check(MPI_Barrier(communicator_), "MPI_Barrier"); }

  std::unique_ptr<Peers> another_channel() override { return duplicate(communicator_); }

  std::string library() const override {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    const std::string name(text.data());
    return name.substr(0, name.find_first_of(",\n"));
  }

  static std::unique_ptr<Peers> duplicate(MPI_Comm communicator) {
    MPI_Comm copy = MPI_COMM_NULL;
    check(MPI_Comm_dup(communicator, &copy), "MPI_Comm_dup");
    return std::make_unique<MpiPeers>(copy);
  }

 private:
  MPI_Comm communicator_;
  int rank_ = 0;
  int size_ = 0;
};

/// MPI, initialised at the first use and finalised at the end of the process.
class Mpi {
 public:
  Mpi() {
    int has = MPI_THREAD_SINGLE;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &has), "MPI_Init_thread");
    if (has < MPI_THREAD_MULTIPLE) throw DeviceError("this MPI does not support MPI_THREAD_MULTIPLE; use one that does");
  }
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;
  ~Mpi() { MPI_Finalize(); }
};

}  // namespace

bool has_mpi() { return true; }

std::unique_ptr<Peers> meet_by_mpi() {
  static const Mpi mpi;
  return MpiPeers::duplicate(MPI_COMM_WORLD);
}

void abandon_mpi(int code) {
  int is_up = 0;
  if (MPI_Initialized(&is_up) == MPI_SUCCESS && is_up != 0) MPI_Abort(MPI_COMM_WORLD, code);
}

}  // namespace syncopate::capture
// NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker)
