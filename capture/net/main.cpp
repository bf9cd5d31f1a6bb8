#include <fmt/chrono.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "base/files.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "capture/device.hpp"
#include "capture/net/probe.hpp"
#include "capture/program.hpp"

namespace syncopate::capture {

namespace {

struct Options {
  std::string backend;
  Meeting meeting;
  std::int64_t smallest = 1024;
  std::int64_t largest = 256 << 20;
  double longest = 1.0;
  double budget = 0.5;
  int servers = 0;
  std::string out;
  bool quiet = false;
};

constexpr std::int64_t bytes_of_a_float = sizeof(float);
constexpr std::int64_t fewest_bytes = 1 << 20;
constexpr std::int64_t most_bytes = std::int64_t{1} << 30;

void add_options(CLI::App& app, Options& options) {
  app.set_version_flag("--version", version());
  app.add_option("--backend", options.backend, "gloo, or mpi under mpirun [mpi under mpirun, else gloo]")
      ->check(CLI::IsMember({"gloo", "mpi"}));
  app.add_option("--rank", options.meeting.rank, "gloo: this rank's number, from 0")->check(CLI::NonNegativeNumber);
  app.add_option("--ranks", options.meeting.size, "gloo: number of ranks")->check(CLI::Range(2, 4096));
  app.add_option("--meet", options.meeting.place, "gloo: an empty folder that all ranks share, or tcp://HOST:PORT of rank 0's machine");
  app.add_option("--interface", options.meeting.interface, "gloo: network interface, such as eth0 [the one of the machine's name]");
  app.add_option("--smallest", options.smallest, "bytes of the smallest all-reduce [1KiB]")->transform(CLI::AsSizeValue(true));
  app.add_option("--largest", options.largest, "bytes of the largest all-reduce, such as 64MiB [256MiB]")
      ->transform(CLI::AsSizeValue(true));
  app.add_option("--longest", options.longest, "seconds; no larger size is measured after an all-reduce that takes so long")
      ->capture_default_str()
      ->check(CLI::Range(1e-6, 3600.0));
  app.add_option("--budget", options.budget, "seconds for the repetitions of one measurement, but always 3 to 50 repetitions")
      ->capture_default_str()
      ->check(CLI::Range(1e-6, 3600.0));
  app.add_option("--servers", options.servers, "also let the first ranks, so many, serve all others: pushes, pulls, and both at a time")
      ->check(CLI::PositiveNumber);
  app.add_option("-o", options.out, "network-probe/1 file that rank 0 writes");
  app.add_flag("--quiet", options.quiet, "print errors only");
  app.footer(
      "Exit codes: 0 done, 2 usage, 5 cannot write, a rank is missing or was lost.\n"
      "Examples: netprobe --rank 0 --ranks 4 --meet tcp://node0:29500 -o results/network.json   (and on the others --rank 1 to 3)\n"
      "          mpirun -n 4 netprobe -o results/network.json");
}

bool under_mpirun() {
  const auto is_set = [](const char* name) { return std::getenv(name) != nullptr; };  // NOLINT(concurrency-mt-unsafe): no other thread yet
  return is_set("OMPI_COMM_WORLD_SIZE") || is_set("PMI_SIZE");
}

/// Throws UsageError where no client is left.
void check_servers(int servers, int ranks) {
  if (servers < ranks) return;
  throw UsageError(fmt::format("--servers {}: of {} ranks at least one must be a client; use at most {}", servers, ranks, ranks - 1));
}

std::unique_ptr<Peers> meet(Options& options) {
  if (options.backend.empty()) options.backend = under_mpirun() && has_mpi() ? "mpi" : "gloo";
  if (options.backend == "mpi") {
    if (options.meeting.size > 0 || !options.meeting.place.empty())
      throw UsageError("--rank, --ranks and --meet are for gloo; leave them out under mpirun");
    if (!under_mpirun()) throw UsageError("--backend mpi: start it with mpirun, such as: mpirun -n 4 netprobe -o results/network.json");
    return meet_by_mpi();
  }
  if (options.meeting.size == 0) throw UsageError("--ranks is required: the number of ranks");
  if (options.meeting.place.empty())
    throw UsageError("--meet is required: a folder that all ranks share, or tcp://HOST:PORT of rank 0's machine");
  if (options.meeting.rank >= options.meeting.size) {
    throw UsageError(
        fmt::format("--rank {}: of {} ranks the last is {}", options.meeting.rank, options.meeting.size, options.meeting.size - 1));
  }
  check_servers(options.servers, options.meeting.size);
  return meet_by_gloo(options.meeting);
}

Json provenance(const Options& options, int ranks) {
  std::vector<std::string> words = {"netprobe",
                                    "--backend",
                                    options.backend,
                                    "--ranks",
                                    std::to_string(ranks),
                                    "--smallest",
                                    std::to_string(options.smallest),
                                    "--largest",
                                    std::to_string(options.largest),
                                    "--longest",
                                    fmt::format("{}", options.longest),
                                    "--budget",
                                    fmt::format("{}", options.budget)};
  if (options.servers > 0) words.insert(words.end(), {"--servers", std::to_string(options.servers)});
  if (!options.meeting.interface.empty()) words.insert(words.end(), {"--interface", options.meeting.interface});
  words.insert(words.end(), {"-o", options.out});
  return {{"kind", "measured"},
          {"source", fmt::format("netprobe {}", version())},
          {"utc", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
          {"command", command_line(words)}};
}

void probe(Options& options) {
  if (options.largest < fewest_bytes || options.largest > most_bytes) {
    throw UsageError(fmt::format("--largest {}: expected 1MiB to 1GiB", options.largest));
  }
  if (options.smallest < bytes_of_a_float || options.smallest > options.largest || options.smallest % bytes_of_a_float != 0) {
    throw UsageError(fmt::format("--smallest {}: expected a multiple of 4 B up to --largest", options.smallest));
  }
  check_output(options.out, {});
  const std::unique_ptr<Peers> peers = meet(options);
  if (peers->size() < 2)
    throw UsageError("one rank cannot communicate; start at least two, such as: mpirun -n 2 netprobe -o results/network.json");
  check_servers(options.servers, peers->size());
  if (peers->rank() == 0) require_writable(options.out);
  NetworkOptions measuring;
  measuring.smallest = options.smallest;
  measuring.largest = options.largest;
  measuring.longest = Seconds(options.longest);
  measuring.budget = Seconds(options.budget);
  measuring.servers = options.servers;
  if (peers->rank() == 0 && !options.quiet) {
    measuring.progress = [](const std::string& what) { display(stderr, "netprobe: {}\n", what); };
  }
  const NetworkMeasurements found = measure_network(*peers, measuring);
  if (peers->rank() == 0) {
    write_output(options.out, write_network(provenance(options, peers->size()), peers->library(), measuring, found));
    if (!options.quiet) display(stream_beside(options.out), "{}", format_network(found));
  }
  peers->barrier();
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Measures the network between this machine and others: all-reduces, all-gathers, latencies and bandwidths.", "netprobe");
  add_options(app, options);
  return run_program(app, argc, argv, [&options] { probe(options); });
}

}  // namespace

}  // namespace syncopate::capture

int main(int argc, char** argv) {
  const int code = syncopate::capture::run(argc, argv);
  if (code != 0) syncopate::capture::abandon_mpi(code);
  return code;
}
