#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace syncopate {

/// Numbers for strings that repeat.
class StringPool {
 public:
  std::uint32_t number_of(const std::string& text);
  const std::string& operator[](std::uint32_t number) const { return texts_[number]; }

 private:
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

/// What an import needs of a torch.profiler (Kineto) trace; a hundredth of the file. Times are microseconds on the file's
/// clock.
struct KinetoTrace {
  static constexpr std::int64_t none = -1;

  /// An operator on a CPU thread: those of autograd (with a sequence number), AccumulateGrad and the optimiser's step.
  struct Operator {
    double start = 0;
    double end = 0;
    std::int64_t sequence = none;  ///< shared by a forward operator and its backward node
    std::uint32_t name = 0;
    std::uint32_t thread = 0;
    std::uint32_t shapes = 0;  ///< of its first two inputs: "(32,3,224,224)(64,3,7,7)", empty when not recorded
    std::uint32_t type = 0;    ///< of its first input: "float", ...
    /// Of a backward node: autograd's number of the thread that ran forward; 0 of a forward operator.
    std::int64_t forward_thread = 0;
  };

  /// A call that starts work on a GPU.
  struct Launch {
    double time = 0;
    std::int64_t correlation = none;
    std::uint32_t thread = 0;
  };

  /// Work on a GPU: a kernel, a memset or a copy within the device.
  struct Kernel {
    double start = 0;
    double end = 0;
    std::int64_t correlation = none;
    std::int64_t device = 0;
    std::uint32_t name = 0;
    bool communication = false;
  };

  /// An NCCL all-reduce, as PyTorch 2.2 and later describe it with its kernel.
  struct AllReduce {
    std::int64_t elements = 0;
    std::int64_t ranks = 0;
    std::string type;  ///< of the elements: "Float", "BFloat16", ...
    double duration = 0;
  };

  std::string file;
  StringPool strings;
  std::vector<Operator> operators;
  std::vector<Launch> launches;
  std::vector<Kernel> kernels;
  std::vector<AllReduce> all_reduces;
  std::vector<std::string> devices;  ///< names, by number
  double origin = 0;                 ///< microseconds that were taken off every time
  double base_time_s = 0;            ///< seconds since 1970 of the file's clock's 0, 0 when the clock itself counts from there
  std::int64_t world_size = 0;       ///< of a distributed run, else 0
  std::size_t events = 0;            ///< in the file
  std::size_t cpu_operators = 0;     ///< in the file, of all kinds
  std::string gpu_operator;          ///< one that runs on a GPU only, to judge by its name; else empty

  /// Whether the profiler saw no GPU at work: then the operators' own times are all there is.
  bool cpu_only() const { return kernels.empty() && launches.empty(); }

  /// Throws InputError: what the profile lacks, and how to record one that has it.
  [[noreturn]] void lacks(std::string_view what) const;
};

/// Reads a Kineto JSON file, gzip-compressed or plain, without holding it in memory. Throws InputError for anything that
/// is not one.
KinetoTrace read_kineto(const std::filesystem::path& path);

}  // namespace syncopate
