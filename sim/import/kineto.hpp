#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/interval_union.hpp"
#include "base/units.hpp"

namespace syncopate {

/// Numbers for repeated strings.
class StringPool {
 public:
  std::uint32_t number_of(const std::string& text);
  const std::string& operator[](std::uint32_t number) const { return texts_[number]; }

 private:
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

/// The part of a torch.profiler (Kineto) trace that an import needs, about 1% of the file. Times are on the file's clock, from its first
/// event.
struct KinetoTrace {
  static constexpr std::int64_t none = -1;
  static constexpr int most_shapes = 32;

  /// An operator on a CPU thread: autograd operators (with sequence number), AccumulateGrad, the optimiser's step.
  struct Operator {
    Seconds start;
    Seconds end;
    std::int64_t sequence = none;  ///< shared by a forward operator and its backward node
    std::uint32_t name = 0;
    std::uint32_t thread = 0;
    std::uint32_t process = 0;
    std::uint32_t shapes = 0;  ///< of the first inputs, at most `most_shapes`: "(32,3,224,224)(64,3,7,7)"; empty if not recorded
    std::uint32_t type = 0;    ///< of the first input: "float", ...; empty if not recorded, or if there is no such tensor
    /// For a backward node: autograd's number of the thread that ran forward. For a forward operator: 0.
    std::int64_t forward_thread = 0;
  };

  /// A call that launches work on a GPU.
  struct Launch {
    Seconds time;
    std::int64_t correlation = none;
    std::uint32_t thread = 0;
    std::uint32_t process = 0;
  };

  /// Work on a GPU: a kernel, a memset or a copy within the device.
  struct Kernel {
    Seconds start;
    Seconds end;
    std::int64_t correlation = none;
    std::int64_t device = 0;
    std::uint32_t name = 0;
    std::uint32_t process = 0;  ///< as the file has it, which is often the number of the GPU
    bool communication = false;
  };

  /// Something that a CPU thread does for a while.
  struct Stretch {
    Interval time;
    std::uint32_t thread = 0;
    std::uint32_t process = 0;
  };

  /// "ProfilerStep#7", the annotation of the profiled loop's step 7.
  struct Mark {
    Interval time;
    std::int64_t number = 0;
    std::uint32_t process = 0;
  };

  /// An NCCL all-reduce, as PyTorch 2.2 and later record it with its kernel.
  struct AllReduce {
    std::int64_t elements = 0;
    std::int64_t ranks = 0;
    std::string type;  ///< element type: "Float", "BFloat16", ...
    Seconds duration;
    std::uint32_t process = 0;  ///< as the kernel's
  };

  std::string file;
  StringPool strings;
  std::vector<Operator> operators;
  std::vector<Launch> launches;
  std::vector<Kernel> kernels;
  std::vector<AllReduce> all_reduces;
  std::vector<Mark> marks;                                ///< in the order of the file
  std::vector<Stretch> waits;                             ///< calls that wait for the GPU
  std::vector<Stretch> collective_calls;                  ///< operators that start a collective
  std::vector<Stretch> host_collectives;                  ///< collectives that CPU threads do (gloo, MPI)
  std::vector<std::string> devices;                       ///< names, by number
  std::unordered_map<std::uint32_t, std::string> labels;  ///< by process: its names and labels
  Seconds origin;                                         ///< subtracted from all times
  Seconds base_time;                                      ///< since 1970 at time 0 of the file's clock; 0 if that clock counts since 1970
  std::int64_t world_size = 0;                            ///< of a distributed run; else 0
  std::int64_t rank = none;                               ///< in a distributed run
  std::size_t events = 0;                                 ///< number of events in the file
  std::size_t cpu_operators = 0;                          ///< number of CPU operators of all kinds in the file
  std::string gpu_operator;                               ///< an operator whose name says that it runs on a GPU only, or empty
  std::string accelerator;                                ///< what did work that is not read: "MTIA", ...; or empty
  std::size_t mended = 0;                                 ///< number of places where the file's text was not JSON

  /// The profiler saw no GPU work. Then only the operators' own times are available.
  bool cpu_only() const { return kernels.empty() && launches.empty(); }

  /// Throws InputError: what the profile lacks, and how to record a profile that has it.
  [[noreturn]] void lacks(std::string_view what) const;
};

/// Reads a Kineto JSON file, plain or gzip. The file is not held in memory. Throws InputError if it is something else.
KinetoTrace read_kineto(const std::filesystem::path& path);
/// The same of an open file, which this closes. `name`: for messages.
KinetoTrace read_kineto(int file, const std::string& name);

}  // namespace syncopate
