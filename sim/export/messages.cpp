#include "export/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/errors.hpp"
#include "base/indexed.hpp"

namespace syncopate {

namespace {

using Role = Lane::Role;
using Kind = Operand::Kind;
using Ids = std::vector<std::size_t>;
constexpr int no_stream = -1;

class Builder {
 public:
  explicit Builder(int ranks) { messages_.ranks = ranks; }

  std::uint32_t lane(int rank, int stream, Role role) {
    const auto [found, is_new] = lanes_.try_emplace({rank, stream, role}, static_cast<std::uint32_t>(messages_.lanes.size()));
    if (is_new) messages_.lanes.push_back({.rank = rank, .role = role});
    return found->second;
  }
  std::size_t add(std::uint32_t lane, Operand operand) {
    Lane& place = messages_.lanes[lane];
    operand.lane = lane;
    operand.position = static_cast<std::uint32_t>(place.operands.size());
    place.operands.push_back(messages_.operands.size());
    messages_.operands.push_back(std::move(operand));
    return messages_.operands.size() - 1;
  }
  std::size_t join(std::uint32_t lane, Ids after, Kind kind = Kind::join) { return add(lane, {.kind = kind, .after = std::move(after)}); }
  /// The lane's last operand, if it has any.
  std::optional<std::size_t> last(std::uint32_t lane) const {
    const Ids& operands = messages_.lanes[lane].operands;
    return operands.empty() ? std::nullopt : std::optional(operands.back());
  }
  Operand& operator[](std::size_t id) { return messages_.operands[id]; }
  Messages take() { return std::move(messages_); }

 private:
  Messages messages_;
  std::map<std::tuple<int, int, Role>, std::uint32_t> lanes_;
};

/// One collective: its messages, stage by stage.
class CollectiveBuilder {
 public:
  /// `posted`: by member, the operand after which it counts as posted, if there is any.
  CollectiveBuilder(const Plan& plan, const Communicator& members, int stream, Bytes part, SecondsPerByte gamma, Seconds host,
                    Builder& builder, const std::vector<std::optional<std::size_t>>& posted)
      : plan_(plan),
        members_(members),
        stream_(stream),
        part_(part),
        gamma_(gamma),
        builder_(builder),
        segments_(at(plan.protocol.segments)),
        arrivals_(at(plan.ranks) * at(plan.cells) * segments_),
        from_outside_(at(plan.ranks) * segments_) {
    for (int member = 0; member < plan.ranks; ++member) {
      Ids after = posted[at(member)] ? Ids{*posted[at(member)]} : Ids();
      if (host > Seconds(0)) {
        if (const auto ended = builder.last(lane(member, Role::send))) after.push_back(*ended);
        after = {builder.add(lane(member, Role::host), {.kind = Kind::compute, .length = host, .after = std::move(after)})};
      }
      starts_.push_back(builder.join(lane(member, Role::send), std::move(after)));
    }
    for (const PlanStep& step : plan.steps) {
      if (const auto* barrier = std::get_if<NodeBarrier>(&step)) {
        add_barrier(*barrier);
      } else {
        const auto& stage = std::get<Stage>(step);
        for (int repeat = 0; repeat < stage.repeats; ++repeat) add_round(stage);
      }
    }
  }

  /// By member: the operand with which it ends the collective.
  Ids ends() {
    Ids ends;
    for (int member = 0; member < plan_.ranks; ++member) {
      const std::uint32_t own = lane(member, Role::send);
      Ids after = arrived(own, member, 0, plan_.cells);
      if (const auto sent = inside_.find(member); sent != inside_.end()) after.push_back(sent->second);
      for (const Barrier& barrier : barriers_) after.push_back(barrier.passed[at(member / plan_.node_size)]);
      ends.push_back(builder_.join(own, std::move(after)));
    }
    return ends;
  }

 private:
  struct Barrier : NodeBarrier {
    Ids passed;  ///< by node
  };

  std::uint32_t lane(int member, Role role) { return builder_.lane(members_.rank(member), stream_, role); }
  Ids& arrivals(int member, int cell, std::size_t segment) {
    return arrivals_[(at(member) * at(plan_.cells) + at(cell)) * segments_ + segment];
  }

  /// What has arrived at a member in these cells and segments, as far as the lane has not waited for it before.
  Ids arrived(std::uint32_t lane, int member, int first_cell, int cells, std::optional<std::size_t> segment = {}) {
    std::set<std::size_t> found;
    for (int cell = first_cell; cell < first_cell + cells; ++cell) {
      for (std::size_t each = segment.value_or(0); each < (segment ? *segment + 1 : segments_); ++each) {
        const Ids& list = arrivals(member, cell, each);
        std::size_t& known = waited_[{lane, cell, each}];
        found.insert(list.begin() + static_cast<std::ptrdiff_t>(known), list.end());
        known = list.size();
      }
    }
    return {found.begin(), found.end()};
  }

  void add_barrier(const NodeBarrier& step) {
    Barrier barrier = {step, {}};
    for (int first = 0; first < plan_.ranks; first += plan_.node_size) {
      Ids all;
      for (int member = first; member < first + plan_.node_size; ++member) {
        const std::uint32_t own = lane(member, Role::arrivals);
        Ids after = arrived(own, member, step.first_cell, step.cells);
        after.push_back(starts_[at(member)]);
        all.push_back(builder_.join(own, std::move(after)));
      }
      barrier.passed.push_back(builder_.join(lane(first, Role::barrier), std::move(all)));
    }
    barriers_.push_back(std::move(barrier));
  }

  /// The last barrier in that cell.
  const Barrier* barrier_of(int cell) const {
    const auto found = std::find_if(barriers_.rbegin(), barriers_.rend(), [&](const Barrier& barrier) {
      return cell >= barrier.first_cell && cell < barrier.first_cell + barrier.cells;
    });
    return found == barriers_.rend() ? nullptr : &*found;
  }

  void add_round(const Stage& stage) {
    std::vector<std::tuple<const Message*, std::size_t, std::size_t>> moved;  // message, segment, what the receiver has then
    const auto segments = at(plan_.segments(stage));
    for (const Message& message : stage.messages) {
      for (std::size_t segment = 0; segment < segments; ++segment)
        moved.emplace_back(&message, segment, add_message(stage, message, segment, static_cast<double>(segments)));
    }
    for (const auto& [message, segment, id] : moved) {
      for (std::size_t each = stage.inside ? 0 : segment; each < (stage.inside ? segments_ : segment + 1); ++each)
        arrivals(message->to, message->cell, each).push_back(id);
      if (!stage.inside) from_outside_[at(message->to) * segments_ + segment].push_back(id);
    }
  }

  /// Returns the operand after which the receiver may use it.
  std::size_t add_message(const Stage& stage, const Message& message, std::size_t segment, double segments) {
    const Bytes bytes = static_cast<double>(message.parts) / segments * part_;
    const std::uint32_t from = lane(message.from, stage.inside ? Role::send_inside : Role::send);
    const std::uint32_t to = lane(message.to, stage.inside ? Role::receive_inside : Role::receive);
    Ids before_send = arrived(from, message.from, message.cell, 1, stage.inside ? std::nullopt : std::optional(segment));
    before_send.push_back(starts_[at(message.from)]);
    Ids before_receive = {starts_[at(message.to)]};
    if (const Barrier* barrier = barrier_of(message.cell)) {
      before_send.push_back(barrier->passed[at(message.from / plan_.node_size)]);
      if (barrier->gates_receives) before_receive.push_back(barrier->passed[at(message.to / plan_.node_size)]);
    }
    if (plan_.protocol.rendezvous && !stage.inside) {
      Ids known = {starts_[at(message.to)]};
      const Ids& earlier = from_outside_[at(message.to) * segments_ + segment];
      if (!earlier.empty()) known.push_back(earlier.back());
      before_send.push_back(builder_.join(lane(message.to, Role::notices), std::move(known), Kind::notice));
    }
    const std::size_t send = builder_.add(from, {.kind = Kind::send, .bytes = bytes, .after = std::move(before_send)});
    const std::size_t receive =
        builder_.add(to, {.kind = Kind::receive, .bytes = bytes, .partner = send, .after = std::move(before_receive)});
    builder_[send].partner = receive;
    if (stage.inside) inside_[message.from] = send;
    const Seconds reduction = stage.reduces ? gamma_ * bytes : Seconds(0);
    if (reduction == Seconds(0)) return receive;
    return builder_.add(lane(message.to, stage.inside ? Role::reduce_inside : Role::reduce),
                        {.kind = Kind::compute, .length = reduction, .after = {receive}});
  }

  const Plan& plan_;
  const Communicator& members_;
  int stream_;
  Bytes part_;
  SecondsPerByte gamma_;
  Builder& builder_;
  std::size_t segments_;
  Ids starts_;                     ///< by member
  std::vector<Ids> arrivals_;      ///< by member, cell and segment
  std::vector<Ids> from_outside_;  ///< by member and segment: from other nodes
  std::vector<Barrier> barriers_;
  std::map<int, std::size_t> inside_;  ///< by member: the last message that it sends inside its node
  std::map<std::tuple<std::uint32_t, int, std::size_t>, std::size_t> waited_;
};

/// Where a rank's program has come to.
struct Program {
  std::size_t next = 0;
  Ids awaited;  ///< ends of collectives that the next compute waits for
};

class Walk {
 public:
  Walk(const Iteration& iteration, PlannedCollectives& planned)
      : iteration_(iteration),
        planned_(planned),
        builder_(static_cast<int>(iteration.programs.size())),
        programs_(static_cast<int>(iteration.programs.size())),
        posted_(iteration.collectives.size()),
        ends_(iteration.collectives.size()) {}

  Messages walk() {
    require_few();
    // Collectives are in the order of posting within their streams. Each round builds at least the next one of a stream.
    std::size_t built = 0;
    while (true) {
      for (int rank = 0; rank < static_cast<int>(programs_.size()); ++rank) go_on(rank);
      const std::size_t before = built;
      for (std::size_t collective = 0; collective < ends_.size(); ++collective) {
        if (build(collective)) ++built;
      }
      if (built == before) break;
    }
    for (int rank = 0; rank < static_cast<int>(programs_.size()); ++rank) {
      Program& program = programs_[rank];
      if (program.next < iteration_.programs[at(rank)].size()) throw SimulationError("ranks wait for each other's collectives");
      if (!program.awaited.empty()) builder_.join(lane(rank), std::exchange(program.awaited, {}));
    }
    return builder_.take();
  }

 private:
  std::uint32_t lane(int rank) { return builder_.lane(rank, no_stream, Role::compute); }

  void require_few() {
    double messages = 0.0;
    for (const PostedCollective& each : iteration_.collectives) {
      const Communicator& members = iteration_.streams[at(each.stream)];
      messages += count_messages(planned_(each.operation, members, each.payload->bytes).plan());
    }
    if (messages <= most_messages) return;
    constexpr double million = 1e6;
    throw SimulationError(
        fmt::format("the iteration has {:.1f} million messages, over the limit of {:.0f} million; use fewer nodes, merge gradients "
                    "(mg-wfbp), or export with --to chakra, which has no messages",
                    messages / million, most_messages / million));
  }

  /// Goes on with a program until it waits for a collective that is not built yet.
  void go_on(int rank) {
    Program& program = programs_[rank];
    const std::vector<Action>& actions = iteration_.programs[at(rank)];
    for (; program.next < actions.size(); ++program.next) {
      const Action& action = actions[program.next];
      if (action.kind == Action::Kind::wait) {
        const Ids& ends = ends_[action.collective];
        if (ends.empty()) return;
        program.awaited.push_back(ends[at(communicator(action.collective).member(rank))]);
      } else if (action.kind == Action::Kind::post) {
        post(rank, action.collective);
      } else if (const auto last = builder_.last(lane(rank));
                 last && program.awaited.empty() && builder_[*last].kind == Kind::compute && !is_post_point(*last)) {
        builder_[*last].length += action.length;
      } else {
        builder_.add(lane(rank), {.kind = Kind::compute, .length = action.length, .after = std::exchange(program.awaited, {})});
      }
    }
  }

  const Communicator& communicator(std::size_t collective) const {
    return iteration_.streams[at(iteration_.collectives[collective].stream)];
  }
  bool is_post_point(std::size_t operand) const { return post_points_.contains(operand); }

  void post(int rank, std::size_t collective) {
    if (!programs_[rank].awaited.empty()) builder_.join(lane(rank), std::exchange(programs_[rank].awaited, {}));
    const std::optional<std::size_t> point = builder_.last(lane(rank));
    if (point) post_points_.insert(*point);
    const Communicator& members = communicator(collective);
    auto& posted = posted_[collective];
    posted.points.resize(at(members.size()));
    posted.points[at(members.member(rank))] = point;
    ++posted.count;
  }

  /// Builds a collective that all members have posted, after those before it in its stream. False where it cannot yet, or has been.
  bool build(std::size_t collective) {
    const PostedCollective& what = iteration_.collectives[collective];
    const Communicator& members = communicator(collective);
    const bool is_next = collective == 0 || iteration_.collectives[collective - 1].stream != what.stream || !ends_[collective - 1].empty();
    if (!is_next || !ends_[collective].empty() || posted_[collective].count < members.size()) return false;
    const Plan& plan = planned_(what.operation, members, what.payload->bytes).plan();
    const Bytes part = what.payload->bytes / static_cast<double>(plan.parts);
    const Seconds host = iteration_.host(*what.payload, members.size());
    ends_[collective] =
        CollectiveBuilder(plan, members, what.stream, part, planned_.gamma(), host, builder_, posted_[collective].points).ends();
    return true;
  }

  struct Posted {
    std::vector<std::optional<std::size_t>> points;  ///< by member
    int count = 0;
  };

  const Iteration& iteration_;
  PlannedCollectives& planned_;
  Builder builder_;
  Indexed<Program> programs_;   ///< by rank
  std::vector<Posted> posted_;  ///< by collective
  std::vector<Ids> ends_;       ///< by collective and member; empty until it is built
  std::set<std::size_t> post_points_;
};

}  // namespace

Messages messages_of(const Iteration& iteration, PlannedCollectives& planned) { return Walk(iteration, planned).walk(); }

}  // namespace syncopate
