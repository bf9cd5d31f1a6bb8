#include "import/processes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <unordered_map>

#include "base/errors.hpp"
#include "base/text.hpp"

namespace syncopate {

namespace {

using Kernel = KinetoTrace::Kernel;

/// 3 of "python, rank 3" and of "[rank3]".
std::optional<std::int64_t> rank_in(const std::string& label) {
  std::string lower = label;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::size_t word = lower.find("rank");
  if (word == std::string::npos) return std::nullopt;
  const std::size_t digits = lower.find_first_not_of(" _-:=", word + 4);
  if (digits == std::string::npos) return std::nullopt;
  std::int64_t rank = 0;
  const auto [end, error] = std::from_chars(lower.data() + digits, lower.data() + lower.size(), rank);
  return error == std::errc() && rank >= 0 ? std::optional(rank) : std::nullopt;
}

std::string describe(const TrainingProcess& process) {
  std::string text = fmt::format("pid {}", shortened(process.pid, 40));
  if (process.rank) text += fmt::format(" (rank {})", *process.rank);
  return text;
}

/// Finds the kernels of each process by the calls that launched them. Numbers of calls may be the same in two processes, and kernels of one
/// GPU have the same process in the file; those that several processes may have launched go where most of their GPU's go. Where that does
/// not tell either, the GPUs belong to the processes in the order of the file.
class KernelOwners {
 public:
  KernelOwners(const KinetoTrace& profile, const std::vector<TrainingProcess>& processes) {
    for (const KinetoTrace::Launch& launch : profile.launches) launches_[launch.process].emplace(launch.correlation, launch.time);
    std::map<std::uint32_t, std::map<std::uint32_t, std::size_t>> sure;  // by GPU, by process
    std::vector<std::uint32_t> gpus;
    for (const Kernel& kernel : profile.kernels) {
      if (std::find(gpus.begin(), gpus.end(), kernel.process) == gpus.end()) gpus.push_back(kernel.process);
      const std::vector<std::uint32_t> owners = possible(kernel, processes);
      if (owners.size() == 1) ++sure[kernel.process][owners.front()];
    }
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const auto& counts = sure[gpus[i]];
      const auto most = std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
      of_gpu_[gpus[i]] = most != counts.end() ? most->first : processes[std::min(i, processes.size() - 1)].process;
    }
  }

  /// The process that may have launched it, among several the one of its GPU.
  std::optional<std::uint32_t> of(const Kernel& kernel, const std::vector<TrainingProcess>& processes) const {
    const std::vector<std::uint32_t> owners = possible(kernel, processes);
    if (owners.empty()) return std::nullopt;
    const std::uint32_t usual = of_gpu_.at(kernel.process);
    return std::find(owners.begin(), owners.end(), usual) != owners.end() ? usual : owners.front();
  }

  std::uint32_t of_gpu(std::uint32_t gpu) const { return of_gpu_.at(gpu); }

 private:
  std::vector<std::uint32_t> possible(const Kernel& kernel, const std::vector<TrainingProcess>& processes) const {
    std::vector<std::uint32_t> owners;
    for (const TrainingProcess& process : processes) {
      const auto calls = launches_.find(process.process);
      if (calls == launches_.end()) continue;
      const auto call = calls->second.find(kernel.correlation);
      if (call != calls->second.end() && call->second <= kernel.start) owners.push_back(process.process);
    }
    return owners;
  }

  std::unordered_map<std::uint32_t, std::unordered_map<std::int64_t, Seconds>> launches_;  // by process, by number of the call
  std::unordered_map<std::uint32_t, std::uint32_t> of_gpu_;
};

}  // namespace

std::vector<TrainingProcess> training_processes(const KinetoTrace& profile) {
  std::vector<TrainingProcess> processes;
  for (const KinetoTrace::Operator& op : profile.operators) {
    const bool trains = op.forward_thread != 0 && op.sequence != KinetoTrace::none;
    const auto is_known = [&op](const TrainingProcess& process) { return process.process == op.process; };
    if (!trains || std::any_of(processes.begin(), processes.end(), is_known)) continue;
    const auto label = profile.labels.find(op.process);
    processes.push_back({op.process, profile.strings[op.process], label == profile.labels.end() ? "" : label->second, std::nullopt});
    processes.back().rank = rank_in(processes.back().label);
  }
  if (processes.size() == 1 && !processes.front().rank && profile.rank != KinetoTrace::none) processes.front().rank = profile.rank;
  return processes;
}

void keep_process(KinetoTrace& profile, const ProcessChoice& choice) {
  const std::vector<TrainingProcess> processes = training_processes(profile);
  if (processes.empty()) return;  // what is missing will be said
  std::vector<TrainingProcess> chosen;
  std::copy_if(processes.begin(), processes.end(), std::back_inserter(chosen), [&choice](const TrainingProcess& process) {
    return (!choice.pid || *choice.pid == process.pid) && (!choice.rank || choice.rank == process.rank);
  });
  std::vector<std::string> known;
  for (const TrainingProcess& process : processes) known.push_back(describe(process));
  if (chosen.empty()) {
    const std::string asked = choice.pid ? fmt::format("--pid {}", shortened(*choice.pid, 40)) : fmt::format("--rank {}", *choice.rank);
    throw InputError(fmt::format("{}: no process of it is {}; it has {}", profile.file, asked, fmt::join(known, ", ")));
  }
  if (chosen.size() > 1) {
    throw InputError(fmt::format("{}: {} processes trained in it: {}; choose one with {}", profile.file, processes.size(),
                                 fmt::join(known, ", "), processes.front().rank ? "--rank" : "--pid"));
  }
  if (processes.size() == 1) return;

  const std::uint32_t kept = chosen.front().process;
  const KernelOwners owners(profile, processes);
  const auto is_other = [kept](const auto& event) { return event.process != kept; };
  std::erase_if(profile.kernels, [&](const Kernel& kernel) { return owners.of(kernel, processes) != kept; });
  std::erase_if(profile.all_reduces, [&](const auto& all_reduce) { return owners.of_gpu(all_reduce.process) != kept; });
  std::erase_if(profile.operators, is_other);
  std::erase_if(profile.launches, is_other);
  std::erase_if(profile.marks, is_other);
  std::erase_if(profile.waits, is_other);
  std::erase_if(profile.collective_calls, is_other);
  std::erase_if(profile.host_collectives, is_other);
}

}  // namespace syncopate
