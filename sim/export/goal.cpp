#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "base/indexed.hpp"
#include "export/writers.hpp"

namespace syncopate {

namespace {

using Role = Lane::Role;
using Kind = Operand::Kind;

/// The text of the ranks' programs.
class GoalWriter {
 public:
  explicit GoalWriter(const Messages& messages)
      : messages_(messages),
        texts_(messages.ranks),
        labels_(messages.ranks),
        label_of_(messages.operands.size()),
        tag_of_(messages.operands.size()) {}

  std::string text() {
    // A message's tag is its number among those from its sender to its receiver, so that each has one of its own.
    for (std::size_t id = 0; id < messages_.operands.size(); ++id) {
      const Operand& operand = messages_.operands[id];
      if (operand.kind == Kind::send) tag_of_[id] = tag_of_[operand.partner] = next_tag(rank_of(id), rank_of(operand.partner));
    }
    for (const Lane& lane : messages_.lanes) write(lane);
    for (std::size_t id = 0; id < messages_.operands.size(); ++id) write_dependencies(id);
    std::string all = fmt::format("num_ranks {}\n", messages_.ranks);
    for (int rank = 0; rank < messages_.ranks; ++rank) {
      all += fmt::format("\nrank {} {{\n", rank);
      all += std::exchange(texts_[rank], {});
      all += "}\n";
    }
    return all;
  }

 private:
  const Lane& lane_of(std::size_t id) const { return messages_.lanes[messages_.operands[id].lane]; }
  int rank_of(std::size_t id) const { return lane_of(id).rank; }

  template <class... Values>
  void print(int rank, fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(texts_[rank]), format, std::forward<Values>(values)...);
  }

  static int cpu_of(const Lane& lane) {
    switch (lane.role) {
      case Role::compute: return 0;
      case Role::host: return 2;
      case Role::reduce: return 3;
      case Role::reduce_inside: return 4;
      default: return 1;
    }
  }

  void write(const Lane& lane) {
    WholeLengths nanoseconds(1e9);
    for (const std::size_t id : lane.operands) {
      const Operand& operand = messages_.operands[id];
      const std::size_t label = label_of_[id] = ++labels_[lane.rank];
      if (operand.kind == Kind::send || operand.kind == Kind::receive) {
        write_message(id, lane, label);
        continue;
      }
      print(lane.rank, "l{}: calc {} cpu {}\n", label, nanoseconds.next(operand.length), cpu_of(lane));
    }
  }

  void write_message(std::size_t id, const Lane& lane, std::size_t label) {
    const Operand& operand = messages_.operands[id];
    const bool sends = operand.kind == Kind::send;
    print(lane.rank, "l{}: {} {}b {} {} tag {} cpu 1 nic {}\n", label, sends ? "send" : "recv", bytes_of(operand), sends ? "to" : "from",
          rank_of(operand.partner), tag_of_[id], lane.is_inside() ? 1 : 0);
  }

  static long long bytes_of(const Operand& operand) { return std::max(1LL, std::llround(operand.bytes.value)); }
  std::size_t next_tag(int from, int to) { return last_tags_[{from, to}]++; }

  void write_dependencies(std::size_t id) {
    const Operand& operand = messages_.operands[id];
    const Lane& lane = lane_of(id);
    // What a rank receives comes in the order of its lane, but does not wait for the arrival of what came before.
    if (operand.position > 0 && operand.kind != Kind::receive)
      print(lane.rank, "l{} requires l{}\n", label_of_[id], label_of_[lane.operands[operand.position - 1]]);
    for (const std::size_t before : operand.after) {
      const int from = rank_of(before);
      std::size_t label = label_of_[before];
      if (from != lane.rank) {
        const std::size_t tag = next_tag(from, lane.rank);
        const std::size_t told = ++labels_[from];
        const int nic = messages_.operands[before].kind == Kind::notice ? 0 : 1;
        print(from, "l{}: send 1b to {} tag {} cpu 1 nic {}\nl{} requires l{}\n", told, lane.rank, tag, nic, told, label);
        label = ++labels_[lane.rank];
        print(lane.rank, "l{}: recv 1b from {} tag {} cpu 1 nic {}\n", label, from, tag, nic);
      }
      print(lane.rank, "l{} requires l{}\n", label_of_[id], label);
    }
  }

  const Messages& messages_;
  Indexed<std::string> texts_;
  Indexed<std::size_t> labels_;  ///< by rank: the last one
  std::vector<std::size_t> label_of_;
  std::vector<std::size_t> tag_of_;
  std::map<std::pair<int, int>, std::size_t> last_tags_;
};

}  // namespace

void write_goal(const Messages& messages, const WriteFile& write) { write("iteration.goal", GoalWriter(messages).text()); }

}  // namespace syncopate
