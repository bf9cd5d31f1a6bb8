#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "base/indexed.hpp"
#include "base/json.hpp"
#include "export/writers.hpp"

namespace syncopate {

namespace {

/// Writes a message of Protocol Buffers: https://protobuf.dev/programming-guides/encoding
class Protobuf {
 public:
  Protobuf& number(unsigned field, std::uint64_t value) {
    add(field << 3U);
    add(value);
    return *this;
  }
  Protobuf& bytes(unsigned field, std::string_view value) {
    add((field << 3U) | 2U);
    delimited(value);
    return *this;
  }
  Protobuf& message(unsigned field, const Protobuf& value) { return bytes(field, value.text_); }
  Protobuf& numbers(unsigned field, const std::vector<std::uint64_t>& values) {
    Protobuf packed;
    for (const std::uint64_t value : values) packed.add(value);
    return values.empty() ? *this : message(field, packed);
  }
  /// Appends a value after its length.
  void delimited(std::string_view value) {
    add(value.size());
    text_ += value;
  }
  const std::string& text() const { return text_; }

 private:
  /// A varint: seven bits in each byte, the lowest first.
  void add(std::uint64_t value) {
    constexpr std::uint64_t more = 0x80;
    for (; value >= more; value >>= 7U) text_ += static_cast<char>((value & (more - 1)) | more);
    text_ += static_cast<char>(value);
  }

  std::string text_;
};

// Fields and values of et_def.proto:
namespace attribute {
constexpr unsigned name = 1, int64_val = 9, bool_val = 27, string_val = 29;
}
namespace node {
constexpr unsigned id = 1, name = 2, type = 3, ctrl_deps = 4, data_deps = 5, duration_micros = 7, attr = 10;
constexpr std::uint64_t comp = 4, comm_coll = 7;
}  // namespace node
constexpr unsigned metadata_version = 1;

std::uint64_t comm_type(Operation operation) {
  switch (operation) {
    case Operation::all_reduce: return 0;
    case Operation::all_gather: return 2;
    case Operation::broadcast: return 5;
    case Operation::reduce_scatter: return 7;
  }
  return 0;
}

Protobuf integer(std::string_view name, std::uint64_t value) {
  return Protobuf().bytes(attribute::name, name).number(attribute::int64_val, value);
}
Protobuf flag(std::string_view name, bool value) {
  return Protobuf().bytes(attribute::name, name).number(attribute::bool_val, value ? 1 : 0);
}
Protobuf text_attribute(std::string_view name, std::string_view value) {
  return Protobuf().bytes(attribute::name, name).bytes(attribute::string_val, value);
}

std::string name_of(const Action& action) {
  switch (action.phase) {
    case Phase::forward: return action.layer + ".forward";
    case Phase::backward: return action.layer + ".backward";
    default: return "update";
  }
}

/// ASTRA-sim keeps 0 for the group of all ranks.
std::string group_name(int stream) { return fmt::format("{}", stream + 1); }

/// The trace of one rank.
class RankWriter {
 public:
  RankWriter(const Iteration& iteration, int rank) : iteration_(iteration) {
    out_.delimited(Protobuf().bytes(metadata_version, "0.0.4").text());
    for (const Action& action : iteration.programs[at(rank)]) {
      if (action.kind == Action::Kind::wait) {
        awaited_.insert(node_of_.at(action.collective));
      } else if (action.kind == Action::Kind::post) {
        post(action.collective);
      } else {
        compute(action);
      }
    }
  }

  const std::string& text() const { return out_.text(); }

 private:
  void compute(const Action& action) {
    Protobuf node = begin(name_of(action), node::comp, last_compute_);
    node.number(node::duration_micros, static_cast<std::uint64_t>(microseconds_.next(action.length)));
    node.message(node::attr, flag("is_cpu_op", false));
    awaited_.clear();
    out_.delimited(node.text());
    last_compute_ = next_++;
  }

  void post(std::size_t number) {
    const PostedCollective& collective = iteration_.collectives[number];
    const auto before = last_in_stream_.find(collective.stream);
    Protobuf node = begin(collective.payload->label, node::comm_coll, before == last_in_stream_.end() ? none : before->second);
    node.message(node::attr, flag("is_cpu_op", false));
    node.message(node::attr, integer("comm_type", comm_type(collective.operation)));
    node.message(node::attr, integer("comm_size", comm_size(collective)));
    if (iteration_.streams.size() > 1) node.message(node::attr, text_attribute("pg_name", group_name(collective.stream)));
    out_.delimited(node.text());
    node_of_[number] = last_in_stream_[collective.stream] = next_++;
  }

  /// Bytes of the whole vector; of an all-gather, those of one rank, as ASTRA-sim counts them.
  std::uint64_t comm_size(const PostedCollective& collective) const {
    const double parts = collective.operation == Operation::all_gather ? iteration_.streams[at(collective.stream)].size() : 1.0;
    return static_cast<std::uint64_t>(std::llround(collective.payload->bytes.value / parts));
  }

  /// A node after what its rank awaits and has computed, and after the one `before` it in its order, if there is one.
  Protobuf begin(std::string_view name, std::uint64_t type, std::uint64_t before) const {
    Protobuf node;
    node.number(node::id, next_).bytes(node::name, name).number(node::type, type);
    if (before != none) node.numbers(node::ctrl_deps, {before});
    std::set<std::uint64_t> after = awaited_;
    for (const std::uint64_t other : {last_compute_, before}) {
      if (other != none) after.insert(other);
    }
    return node.numbers(node::data_deps, {after.begin(), after.end()});
  }

  static constexpr std::uint64_t none = ~std::uint64_t{0};
  const Iteration& iteration_;
  Protobuf out_;
  std::uint64_t next_ = 0;
  std::uint64_t last_compute_ = none;
  std::map<int, std::uint64_t> last_in_stream_;
  std::map<std::size_t, std::uint64_t> node_of_;  ///< by collective
  std::set<std::uint64_t> awaited_;               ///< collectives that the next compute waits for
  WholeLengths microseconds_{1e6};
};

}  // namespace

void write_chakra(const Iteration& iteration, const std::string& name, const WriteFile& write) {
  for (int rank = 0; rank < static_cast<int>(iteration.programs.size()); ++rank)
    write(fmt::format("{}.{}.et", name, rank), RankWriter(iteration, rank).text());
  if (iteration.streams.size() == 1) return;
  Json groups = Json::object();
  for (std::size_t stream = 0; stream < iteration.streams.size(); ++stream) {
    const Communicator& members = iteration.streams[stream];
    for (int member = 0; member < members.size(); ++member) groups[group_name(static_cast<int>(stream))].push_back(members.rank(member));
  }
  write(fmt::format("{}.groups.json", name), pretty(groups));
}

}  // namespace syncopate
