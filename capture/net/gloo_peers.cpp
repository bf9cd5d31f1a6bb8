#include <fmt/format.h>
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/config.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/tcp/device.h>

#include <filesystem>
#include <utility>

#include "capture/device.hpp"
#include "capture/net/peers.hpp"
#include "capture/net/tcp_store.hpp"

namespace syncopate::capture {

namespace {

constexpr std::chrono::seconds patience(60);

/// Turns gloo's exceptions for a lost peer into DeviceError.
template <class Work>
auto translated(Work work) {
  try {
    return work();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw DeviceError(fmt::format("gloo: {}", error.what()));
  }
}

class GlooMessage : public Pending {
 public:
  GlooMessage(std::unique_ptr<gloo::transport::UnboundBuffer> buffer, bool sent) : buffer_(std::move(buffer)), sent_(sent) {}

  void wait() override {
    const bool done = translated([this] { return sent_ ? buffer_->waitSend(patience) : buffer_->waitRecv(patience); });
    if (!done) throw DeviceError("gloo: a message was aborted");
  }

 private:
  std::unique_ptr<gloo::transport::UnboundBuffer> buffer_;
  bool sent_;
};

/// State that all channels of a process share.
struct Rendezvous {
  Meeting meeting;
  std::unique_ptr<gloo::rendezvous::Store> store;
  std::shared_ptr<gloo::transport::Device> device;
  int channels = 0;
};

class GlooPeers : public Peers {
 public:
  explicit GlooPeers(std::shared_ptr<Rendezvous> rendezvous) : rendezvous_(std::move(rendezvous)) {
    translated([this] {
      gloo::rendezvous::PrefixStore store(fmt::format("channel{}", rendezvous_->channels++), *rendezvous_->store);
      const auto context = std::make_shared<gloo::rendezvous::Context>(rendezvous_->meeting.rank, rendezvous_->meeting.size);
      context->setTimeout(patience);
      context->connectFullMesh(store, rendezvous_->device);
      context_ = context;
    });
  }

  int rank() const override { return context_->rank; }
  int size() const override { return context_->size; }

  void all_reduce(std::span<float> values) override {
    translated([&] {
      gloo::AllreduceOptions options(context_);
      options.setOutput(values.data(), values.size());
      options.setReduceFunction([](void* sum, const void* a, const void* b, std::size_t count) { gloo::sum<float>(sum, a, b, count); });
      options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
      gloo::allreduce(options);
    });
  }

  void all_gather(std::span<const float> mine, std::span<float> all) override {
    translated([&] {
      gloo::AllgatherOptions options(context_);
      options.setInput(const_cast<float*>(mine.data()), mine.size());  // NOLINT(cppcoreguidelines-pro-type-const-cast): only read
      options.setOutput(all.data(), all.size());
      gloo::allgather(options);
    });
  }

  std::unique_ptr<Pending> send(int to, unsigned slot, std::span<float> values) override {
    return translated([&] {
      auto buffer = context_->createUnboundBuffer(values.data(), values.size_bytes());
      buffer->send(to, own_slots + slot);
      return std::make_unique<GlooMessage>(std::move(buffer), true);
    });
  }

  std::unique_ptr<Pending> receive(int from, unsigned slot, std::span<float> values) override {
    return translated([&] {
      auto buffer = context_->createUnboundBuffer(values.data(), values.size_bytes());
      buffer->recv(from, own_slots + slot);
      return std::make_unique<GlooMessage>(std::move(buffer), false);
    });
  }

  void barrier() override {
    translated([&] {
      gloo::BarrierOptions options(context_);
      gloo::barrier(options);
    });
  }

  std::unique_ptr<Peers> another_channel() override { return std::make_unique<GlooPeers>(rendezvous_); }

  std::string library() const override {
    return fmt::format("gloo {}.{}.{} over TCP", GLOO_VERSION_MAJOR, GLOO_VERSION_MINOR, GLOO_VERSION_PATCH);
  }

 private:
  static constexpr std::uint64_t own_slots = std::uint64_t{1} << 32;  // above the slots that gloo's collectives use

  std::shared_ptr<Rendezvous> rendezvous_;
  std::shared_ptr<gloo::Context> context_;
};

std::unique_ptr<gloo::rendezvous::Store> open_store(const Meeting& meeting) {
  constexpr std::string_view tcp = "tcp://";
  if (meeting.place.starts_with(tcp)) return std::make_unique<TcpStore>(meeting.place.substr(tcp.size()), meeting.rank == 0, patience);
  if (!std::filesystem::is_directory(meeting.place)) {
    throw DeviceError(fmt::format("--meet {}: no such folder; make one that all ranks share, or give tcp://HOST:PORT of rank 0's machine",
                                  meeting.place));
  }
  return std::make_unique<gloo::rendezvous::FileStore>(meeting.place);
}

}  // namespace

std::unique_ptr<Peers> meet_by_gloo(const Meeting& meeting) {
  try {
    auto rendezvous = std::make_shared<Rendezvous>();
    rendezvous->meeting = meeting;
    rendezvous->store = open_store(meeting);
    gloo::transport::tcp::attr attributes;
    attributes.iface = meeting.interface;
    rendezvous->device = gloo::transport::tcp::CreateDevice(attributes);
    return std::make_unique<GlooPeers>(rendezvous);
  } catch (const std::exception& error) {
    throw DeviceError(
        fmt::format("rank {} of {} did not meet all other ranks at {}: {}; start all ranks within {} s, and use a new --meet for each run",
                    meeting.rank, meeting.size, meeting.place, error.what(), patience.count()));
  }
}

}  // namespace syncopate::capture
