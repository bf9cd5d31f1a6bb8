#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/document.hpp"
#include "import/import.hpp"

namespace syncopate {

/// The profile of one rank of a job.
struct RankProfile {
  std::int64_t rank = 0;
  std::string file;
  Imported imported;
  std::size_t mended = 0;  ///< number of places where the file's text was not JSON
};

/// The profiles that are given: files as they are, and of a folder all .json and .json.gz files, by name. Throws InputError if a folder has
/// none, or if a file is an archive.
std::vector<std::filesystem::path> profile_files(const std::vector<std::string>& files_and_folders);

/// Imports the profiles of a job's ranks, in the order of the ranks. A rank is the one that the file tells (distributedInfo, or a process's
/// label), else the number in the file's name after "rank" or "worker", else the position in `files`. A file of several processes has as
/// many ranks. Throws InputError, also where a rank is there twice, or ranks have other layers or gradients than the first one.
std::vector<RankProfile> import_ranks(const std::vector<std::filesystem::path>& files, const ImportSettings& settings);

/// What the ranks of a job tell beside one of them. Compute is forward, backward and update, without waits for communication.
struct RankComparison {
  /// A step of a rank is slow if its compute takes so many times the median of the ranks in the same step.
  static constexpr double slow = 1.05;

  struct Layer {
    std::string name;
    Seconds more;       ///< forward and backward kernels, beyond the median of the ranks
    double factor = 1;  ///< of that median
  };
  struct Rank {
    std::int64_t rank = 0;
    Seconds compute;                        ///< median over steps
    double factor = 1;                      ///< of the median of the ranks; the median over steps
    std::array<Seconds, 3> passes;          ///< medians of forward, backward and update, since it is slow
    double device_factor = 1;               ///< the same of the layers' kernels
    std::optional<Seconds> waited;          ///< per step, in collectives until the last rank came; the median over steps
    std::optional<std::size_t> slow_since;  ///< the first slow step, from 0, if four of five are slow from there on
    std::vector<Layer> layers;              ///< of a slow rank: those that take longest beyond the others, at most three
  };

  std::size_t steps = 0;              ///< that all ranks have
  std::vector<std::int64_t> numbers;  ///< N of each step's "ProfilerStep#N"; empty if steps are matched by position
  std::vector<Rank> ranks;
  std::size_t median = 0;                     ///< index of the rank whose compute is the median (the lower one of two)
  std::optional<Seconds> communication;       ///< per step: the collectives' own time, from the last rank to come to the end
  std::size_t steps_without_collectives = 0;  ///< in which ranks have different numbers of them, so that they cannot be matched
  std::size_t collectives = 0;                ///< per step
  std::vector<double> variation;              ///< compute of each rank and step, as a factor of the rank's median; sorted
};

/// Compares the ranks of a job. Collectives are matched by their order, in steps in which all ranks have as many. Steps are matched by
/// the N of their "ProfilerStep#N". If some rank has no such numbers, they are matched by position, from the last one on. Throws InputError
/// if no step is in all ranks.
RankComparison compare_ranks(const std::vector<RankProfile>& ranks);

/// The scenario's "workers" that the comparison tells: "slow" with the factors of the ranks, by pass where these differ by more than 2%,
/// and "jitter" with the spread over steps.
Json workers_of(const RankComparison& comparison);

}  // namespace syncopate
