/// One process of a training job that sleeps where a GPU would compute, and moves real bytes: what `simctl` predicts, measured.
///
/// worker PLAN RANK RANKS MEETING INTERFACE OUT: does every run of the plan with the others, and writes when its steps ended, on the
/// machine's clock. The plan's keys are those of plan_of in tests/validation/validate.py.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "capture/net/peers.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;
using syncopate::capture::Peers;
using syncopate::capture::Pending;

double seconds_of(Clock::time_point time) { return std::chrono::duration<double>(time.time_since_epoch()).count(); }

/// Does one thing after the other, in a thread of its own.
class Channel {
 public:
  explicit Channel(std::unique_ptr<Peers> peers) : peers_(std::move(peers)), thread_([this] { work(); }) {}
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel() {
    post([this](Peers&) { ends_ = true; }).wait();
    thread_.join();
  }

  std::future<void> post(const std::function<void(Peers&)>& task) {
    std::packaged_task<void(Peers&)> packaged(task);
    std::future<void> done = packaged.get_future();
    {
      const std::scoped_lock lock(mutex_);
      tasks_.push_back(std::move(packaged));
    }
    posted_.notify_one();
    return done;
  }

 private:
  void work() {
    while (!ends_) {
      std::unique_lock lock(mutex_);
      posted_.wait(lock, [this] { return !tasks_.empty(); });
      std::packaged_task<void(Peers&)> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task(*peers_);
    }
  }

  std::unique_ptr<Peers> peers_;
  std::mutex mutex_;
  std::condition_variable posted_;
  std::deque<std::packaged_task<void(Peers&)>> tasks_;
  bool ends_ = false;
  std::thread thread_;
};

struct Group {
  double ready_s = 0;
  std::size_t values = 0;
  std::size_t first = 0;  ///< of the model's values
};

struct Plan {
  std::string schedule;
  int clients = 0;
  int steps = 0;   ///< lasgd: rounds
  int warmup = 0;  ///< of these
  double forward_s = 0;
  double backward_s = 0;
  double update_s = 0;
  std::vector<Group> groups;  ///< in the order of posting
  std::size_t values = 0;
  int interval = 1;
  int delay = 0;
  int period = 1;
  int tau_max = 1;
  std::size_t channels = 1;  ///< of synchronous: all-reduces take turns on them

  Plan(const Json& json, int rank)
      : schedule(json.at("schedule")), clients(json.at("clients")), steps(json.at("steps")), warmup(json.at("warmup")) {
    const double factor = rank < clients ? json.at("factors").at(static_cast<std::size_t>(rank)).get<double>() : 1.0;
    forward_s = factor * json.at("forward_s").get<double>();
    backward_s = factor * json.at("backward_s").get<double>();
    update_s = factor * json.at("update_s").get<double>();
    for (const Json& group : json.at("groups")) {
      groups.push_back({factor * group.at("ready_s").get<double>(), group.at("bytes").get<std::size_t>() / sizeof(float), values});
      values += groups.back().values;
    }
    interval = json.value("interval", 1);
    delay = json.value("delay", 0);
    period = json.value("period", 1);
    tau_max = json.value("tau_max", 1);
    channels = json.value("channels", std::size_t{1});
  }
};

/// When steps ended, on the machine's clock.
struct Times {
  double begin = 0;
  double warm = 0;  ///< when the last step of warm-up ended
  std::vector<double> ends;
  std::vector<std::size_t> rounds;  ///< numbers of the steps that end one, which is every step but in lasgd
};

class Worker {
 public:
  Worker(Peers& peers, std::vector<std::unique_ptr<Channel>>& channels, const Plan& plan)
      : peers_(peers), channels_(channels), plan_(plan), model_(plan.values), time_(Clock::now()) {}

  Times run() {
    peers_.barrier();
    time_ = Clock::now();
    times_.begin = seconds_of(time_);
    if (plan_.schedule == "synchronous") synchronous();
    if (plan_.schedule == "local") local();
    if (plan_.schedule == "dts") dts();
    if (plan_.schedule == "lasgd") lasgd();
    if (plan_.schedule == "servers") client();
    return times_;
  }

 private:
  /// Goes on from where the worker was, so that what a sleep is late by does not add up.
  void compute(double seconds) {
    time_ += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    std::this_thread::sleep_until(time_);
  }

  void wait(std::future<void>& done) {
    done.get();
    time_ = std::max(time_, Clock::now());
  }

  void end_step(bool ends_round = true) {
    time_ = std::max(time_, Clock::now());
    if (ends_round) times_.rounds.push_back(times_.ends.size());
    times_.ends.push_back(seconds_of(time_));
    if (times_.warm == 0 && times_.rounds.size() == static_cast<std::size_t>(plan_.warmup)) times_.warm = seconds_of(time_);
  }

  std::span<float> values(const Group& group) { return std::span(model_).subspan(group.first, group.values); }

  std::future<void> all_reduce(std::span<float> what, std::size_t channel = 0) {
    return channels_.at(channel)->post([what](Peers& peers) { peers.all_reduce(what); });
  }

  /// Forward and backward; `post` gets each group when it is ready.
  template <class Post>
  void pass(Post post) {
    compute(plan_.forward_s);
    double at = 0;
    for (const Group& group : plan_.groups) {
      compute(std::max(0.0, group.ready_s - at));
      at = std::max(at, group.ready_s);
      post(group);
    }
    compute(plan_.backward_s - at);
  }

  void synchronous() {
    for (int step = 0; step < plan_.steps; ++step) {
      std::vector<std::future<void>> moving;
      pass([&](const Group& group) { moving.push_back(all_reduce(values(group), moving.size() % plan_.channels)); });
      for (std::future<void>& message : moving) wait(message);
      compute(plan_.update_s);
      end_step();
    }
  }

  void local() {
    for (int step = 0; step < plan_.steps; ++step) {
      pass([](const Group&) {});
      if ((step + 1) % plan_.interval == 0) {
        std::future<void> moving = all_reduce(model_);
        wait(moving);
      }
      compute(plan_.update_s);
      end_step();
    }
  }

  void dts() {
    std::vector<std::vector<float>> sent(channels_.size(), model_);
    std::vector<std::future<void>> launched(static_cast<std::size_t>(plan_.steps));
    for (int step = 0; step < plan_.steps; ++step) {
      pass([](const Group&) {});
      if (step >= plan_.delay && launched[static_cast<std::size_t>(step - plan_.delay)].valid()) {
        wait(launched[static_cast<std::size_t>(step - plan_.delay)]);
      }
      if (step % plan_.period == 0) {
        const std::size_t channel = static_cast<std::size_t>(step / plan_.period) % channels_.size();
        launched[static_cast<std::size_t>(step)] = all_reduce(sent[channel], channel);
      }
      compute(plan_.update_s);
      end_step();
    }
    for (std::future<void>& rest : launched) {
      if (rest.valid()) rest.wait();
    }
  }

  void lasgd() {
    std::future<void> moving;
    int local_steps = 0;
    for (int round = 0; round <= plan_.steps;) {
      pass([](const Group&) {});
      compute(plan_.update_s);
      ++local_steps;
      const bool has_ended = moving.valid() && moving.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
      if (!moving.valid() || has_ended || local_steps == plan_.tau_max) {
        if (moving.valid()) wait(moving);
        if (round < plan_.steps) moving = all_reduce(model_);
        ++round;
        local_steps = 0;
      }
      end_step(local_steps == 0);
    }
  }

  void client() {
    const int server = plan_.clients;
    std::vector<std::unique_ptr<Pending>> pulls(plan_.groups.size());
    const auto expect = [&](std::size_t group) {
      pulls[group] = peers_.receive(server, static_cast<unsigned>(2 * group + 1), values(plan_.groups[group]));
    };
    for (std::size_t i = 0; i < pulls.size(); ++i) expect(i);
    std::vector<float> gradients = model_;
    for (int step = 0; step < plan_.steps; ++step) {
      unsigned next = 0;
      std::vector<std::future<void>> pushes;
      pass([&](const Group& group) {
        const std::span<float> pushed = std::span(gradients).subspan(group.first, group.values);
        pushes.push_back(channels_.front()->post([&, pushed, slot = 2 * next++](Peers&) { peers_.send(server, slot, pushed)->wait(); }));
      });
      for (std::future<void>& push : pushes) push.get();
      for (std::size_t i = 0; i < pulls.size(); ++i) {
        pulls[i]->wait();
        if (step + 1 < plan_.steps) expect(i);
      }
      end_step();
    }
  }

  Peers& peers_;
  std::vector<std::unique_ptr<Channel>>& channels_;
  const Plan& plan_;
  std::vector<float> model_;
  Clock::time_point time_;
  Times times_;
};

/// A parameter server: adds what comes, and answers each push itself, or all of a group together when the last has come.
class Server {
 public:
  Server(Peers& peers, const Plan& plan, bool waits_for_all)
      : peers_(peers), plan_(plan), waits_for_all_(waits_for_all), model_(plan.values), handled_(plan.groups.size()) {}

  void run() {
    const auto clients = static_cast<std::size_t>(plan_.clients);
    std::vector<std::vector<float>> pushed(clients, model_);
    std::vector<std::vector<std::unique_ptr<Pending>>> expected(clients);
    const auto expect = [&](std::size_t client, std::size_t group) {
      const Group& part = plan_.groups[group];
      return peers_.receive(static_cast<int>(client), static_cast<unsigned>(2 * group),
                            std::span(pushed[client]).subspan(part.first, part.values));
    };
    for (std::size_t client = 0; client < clients; ++client) {
      for (std::size_t group = 0; group < plan_.groups.size(); ++group) expected[client].push_back(expect(client, group));
    }
    peers_.barrier();
    std::vector<std::future<void>> served;
    for (std::size_t client = 0; client < clients; ++client) {
      served.push_back(std::async(std::launch::async, [&, client] {
        for (int step = 0; step < plan_.steps; ++step) {
          for (std::size_t group = 0; group < plan_.groups.size(); ++group) {
            expected[client][group]->wait();
            handle(client, group, pushed[client]);
            const std::scoped_lock lock(mutex_);
            if (step + 1 < plan_.steps) expected[client][group] = expect(client, group);
          }
        }
      }));
    }
    for (std::future<void>& one : served) one.get();
    for (const std::unique_ptr<Pending>& answer : answers_) answer->wait();
  }

 private:
  void handle(std::size_t client, std::size_t group, const std::vector<float>& pushed) {
    const std::scoped_lock lock(mutex_);
    const Group& part = plan_.groups[group];
    for (std::size_t i = part.first; i < part.first + part.values; ++i) model_[i] += pushed[i];
    if (!waits_for_all_) return answer(client, group);
    if (++handled_[group] < plan_.clients) return;
    handled_[group] = 0;
    for (std::size_t other = 0; other < static_cast<std::size_t>(plan_.clients); ++other) answer(other, group);
  }

  void answer(std::size_t client, std::size_t group) {
    const Group& part = plan_.groups[group];
    answers_.push_back(
        peers_.send(static_cast<int>(client), static_cast<unsigned>(2 * group + 1), std::span(model_).subspan(part.first, part.values)));
  }

  Peers& peers_;
  const Plan& plan_;
  bool waits_for_all_;
  std::mutex mutex_;
  std::vector<float> model_;
  std::vector<int> handled_;
  std::vector<std::unique_ptr<Pending>> answers_;
};

void work(std::span<char*> arguments) {
  std::ifstream file(arguments[1]);
  const Json plans = Json::parse(file);
  const int rank = std::stoi(arguments[2]);
  const std::unique_ptr<Peers> peers = syncopate::capture::meet_by_gloo({rank, std::stoi(arguments[3]), arguments[4], arguments[5]});
  std::vector<std::unique_ptr<Channel>> channels;
  channels.resize(plans.at("channels").get<std::size_t>());
  for (std::unique_ptr<Channel>& channel : channels) channel = std::make_unique<Channel>(peers->another_channel());
  Json written = Json::array();
  for (const Json& json : plans.at("runs")) {
    const Plan plan(json, rank);
    Times times;
    if (rank < plan.clients) {
      times = Worker(*peers, channels, plan).run();
    } else {
      Server(*peers, plan, json.at("waits_for_all")).run();
    }
    written.push_back({{"begin", times.begin}, {"warm", times.warm}, {"ends", times.ends}, {"rounds", times.rounds}});
    peers->barrier();
  }
  std::ofstream(arguments[6]) << written.dump();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 7) throw std::invalid_argument("usage: worker PLAN RANK RANKS MEETING INTERFACE OUT");
    work(std::span(argv, static_cast<std::size_t>(argc)));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "worker: {}\n", error.what());
    return 1;
  }
}
