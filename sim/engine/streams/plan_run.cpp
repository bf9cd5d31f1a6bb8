#include "engine/streams/plan_run.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace syncopate {

std::size_t PlanOrder::port(const Turn& turn, int rank) const { return at(rank) + (plan_.stage(turn.stage).inside ? at(plan_.ranks) : 0); }

PlanOrder::PlanOrder(Plan given)
    : sends(2 * at(given.ranks)),
      receives(2 * at(given.ranks)),
      waits_for(given.steps.size()),
      receives_too(given.steps.size()),
      number(given.steps.size()),
      all_receives(at(given.ranks)),
      first_round(given.steps.size()),
      barriers_of_cell(at(given.cells)),
      plan_(std::move(given)) {
  const Plan& plan = plan_;
  std::vector<int> before(at(plan.ranks) * at(plan.cells));  // by rank and cell: messages received in earlier steps
  const auto received = [&](int rank, int cell) -> int& { return before[at(rank) * at(plan.cells) + at(cell)]; };
  int rounds = 0;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    if (const auto* node_barrier = std::get_if<NodeBarrier>(&plan.steps[s])) {
      Barrier barrier = {*node_barrier, static_cast<int>(s), std::vector<int>(at(plan.ranks / plan.node_size))};
      for (int cell = node_barrier->first_cell; cell < node_barrier->first_cell + node_barrier->cells; ++cell) {
        for (int rank = 0; rank < plan.ranks; ++rank) {
          barrier.receives[at(rank / plan.node_size)] += plan.protocol.segments * received(rank, cell);
        }
        barriers_of_cell[at(cell)].push_back(static_cast<int>(barriers.size()));
      }
      barriers.push_back(std::move(barrier));
      continue;
    }
    const auto& stage = std::get<Stage>(plan.steps[s]);
    first_round[s] = rounds;
    rounds += stage.repeats;
    std::vector<int> cell_received(at(plan.ranks), -1);
    for (const Message& message : stage.messages) cell_received[at(message.to)] = message.cell;
    for (int m = 0; m < static_cast<int>(stage.messages.size()); ++m) {
      const Message& message = stage.messages[at(m)];
      const Turn turn = {static_cast<int>(s), m};
      sends[port(turn, message.from)].push_back(turn);
      receives[port(turn, message.to)].push_back(turn);
      waits_for[s].push_back(received(message.from, message.cell));
      number[s].push_back(received(message.to, message.cell));
      receives_too[s].push_back(cell_received[at(message.from)] == message.cell ? 1 : 0);
    }
    for (const Message& message : stage.messages) {
      received(message.to, message.cell) += stage.repeats;
      all_receives[at(message.to)] += stage.repeats * plan.segments(stage);
    }
  }
}

PlanRun::PlanRun(const PlanOrder& order, Bytes data, bool follows_readiness, Events events, Clock& clock)
    : order_(order),
      plan_(order.plan()),
      part_(data / static_cast<double>(plan_.parts)),
      events_(std::move(events)),
      clock_(clock),
      sending_(order.sends.size()),
      receiving_(order.receives.size()),
      followed_(follows_readiness ? order.receives.size() : 0),
      started_(at(plan_.ranks)),
      ended_(at(plan_.ranks)),
      segments_(at(plan_.protocol.segments)),
      arrivals_(at(plan_.ranks) * at(plan_.cells) * segments_),
      to_come_(order.all_receives),
      received_(plan_.protocol.rendezvous ? at(plan_.ranks) * segments_ : 0),
      to_start_(at(plan_.ranks / plan_.node_size), plan_.node_size),
      running_(plan_.ranks) {}

const Message& PlanRun::message(PlanOrder::Turn turn) const { return plan_.stage(turn.stage).messages[at(turn.message)]; }

std::size_t PlanRun::cell_of(int rank, int cell) const { return (at(rank) * at(plan_.cells) + at(cell)) * segments_; }

Bytes PlanRun::size_of(PlanOrder::Turn turn) const {
  return static_cast<double>(message(turn).parts) / plan_.segments(plan_.stage(turn.stage)) * part_;
}

int PlanRun::number_of(const Position& position, PlanOrder::Turn turn) const {
  return position.repeat * plan_.segments(plan_.stage(turn.stage)) + position.segment;
}

void PlanRun::start(int rank, const Moment& now) {
  started_[at(rank)] = 1;
  if (!followed_.empty()) followed_[at(rank)].receives_since = followed_[at(rank) + at(plan_.ranks)].receives_since = now.time;
  if (!received_.empty()) std::fill_n(received_.begin() + static_cast<std::ptrdiff_t>(at(rank) * segments_), segments_, Received{0, now});
  const int node = rank / plan_.node_size;
  if (--to_start_[at(node)] == 0) {
    for (int each = node * plan_.node_size; each < (node + 1) * plan_.node_size; ++each) try_all_of(each, now);
  } else {
    try_all_of(rank, now);
  }
}

void PlanRun::try_all_of(int rank, const Moment& now) {
  for (const std::size_t port : {at(rank), at(rank) + at(plan_.ranks)}) {
    try_to_send(port, now);
    const Position& receiving = receiving_[port];
    if (receiving.turn < order_.receives[port].size()) {
      const PlanOrder::Turn next = order_.receives[port][receiving.turn];
      try_to_send(order_.port(next, message(next).from), now);
    }
  }
  check_end(rank, now);
}

bool PlanRun::is_passed(const PlanOrder::Barrier& barrier, int node) const {
  if (to_start_[at(node)] > 0) return false;
  int arrivals = 0;
  for (int rank = node * plan_.node_size; rank < (node + 1) * plan_.node_size; ++rank) {
    const auto first = arrivals_.begin() + static_cast<std::ptrdiff_t>(cell_of(rank, barrier.first_cell));
    arrivals = std::accumulate(first, first + static_cast<std::ptrdiff_t>(at(barrier.cells) * segments_), arrivals);
  }
  return arrivals >= barrier.receives[at(node)];
}

bool PlanRun::may_send(const Position& position, PlanOrder::Turn turn, const Message& message) const {
  const auto stage = at(turn.stage);
  const int needed = order_.waits_for[stage][at(turn.message)] + position.repeat * order_.receives_too[stage][at(turn.message)];
  const std::size_t carried = cell_of(message.from, message.cell);
  const bool is_inside = plan_.stage(turn.stage).inside;
  for (std::size_t segment = is_inside ? 0 : at(position.segment); segment < (is_inside ? segments_ : at(position.segment) + 1);
       ++segment) {
    if (arrivals_[carried + segment] < needed) return false;
  }
  const std::vector<int>& barriers = order_.barriers_of_cell[at(message.cell)];
  for (std::size_t i = barriers.size(); i-- > 0;) {
    const PlanOrder::Barrier& barrier = order_.barriers[at(barriers[i])];
    if (barrier.step > turn.stage) continue;
    const bool receiver_may = !barrier.gates_receives || is_passed(barrier, message.to / plan_.node_size);
    return receiver_may && is_passed(barrier, message.from / plan_.node_size);
  }
  return true;
}

void PlanRun::try_to_send(std::size_t port, const Moment& now) {
  Position& sending = sending_[port];
  if (sending.busy || sending.turn == order_.sends[port].size()) return;
  const PlanOrder::Turn turn = order_.sends[port][sending.turn];
  const Message& next = message(turn);
  const std::size_t receiver = order_.port(turn, next.to);
  Position& receiving = receiving_[receiver];
  if (!followed_.empty() && !followed_[port].sends_since && started_[at(next.from)] != 0 && may_send(sending, turn, next))
    followed_[port].sends_since = now.time;
  if (started_[at(next.from)] == 0 || started_[at(next.to)] == 0 || receiving.busy) return;
  const PlanOrder::Turn awaited = order_.receives[receiver][receiving.turn];
  const bool is_awaited = awaited.stage == turn.stage && awaited.message == turn.message && receiving.repeat == sending.repeat;
  if (!is_awaited || !may_send(sending, turn, next)) return;
  if (!received_.empty() && !plan_.stage(turn.stage).inside) {
    const std::optional<Moment> noticed = notice(receiving, turn);
    if (!noticed) return;
    if (noticed->time > now.time) {
      if (std::exchange(sending.noticed, noticed->time) != noticed->time)
        clock_.at(noticed->time, [this, port, time = *noticed] { try_to_send(port, time); });
      return;
    }
  }
  sending.busy = receiving.busy = true;
  const Readiness ready =
      followed_.empty() ? Readiness() : Readiness{followed_[port].sends_since.value_or(now.time), followed_[receiver].receives_since};
  events_.transfer(turn, number_of(sending, turn), size_of(turn), now, ready, [this, turn](const Moment& end) { transferred(turn, end); });
}

std::optional<Moment> PlanRun::notice(const Position& receiving, PlanOrder::Turn turn) const {
  const Received& before = received_[at(message(turn).to) * segments_ + at(receiving.segment)];
  if (before.messages < receiving.done) return std::nullopt;
  return events_.notice(turn, before.last);
}

void PlanRun::advance(Position& position, const std::vector<PlanOrder::Turn>& turns) const {
  const Stage& stage = plan_.stage(turns[position.turn].stage);
  position.busy = false;
  if (++position.segment < plan_.segments(stage)) return;
  position.segment = 0;
  ++position.done;
  if (++position.repeat < stage.repeats) return;
  position.repeat = 0;
  ++position.turn;
}

void PlanRun::transferred(PlanOrder::Turn turn, const Moment& now) {
  const Message& moved = message(turn);
  const std::size_t sender = order_.port(turn, moved.from);
  const std::size_t receiver = order_.port(turn, moved.to);
  const int repeat = sending_[sender].repeat;
  const int segment = sending_[sender].segment;
  const int number = number_of(sending_[sender], turn);
  advance(sending_[sender], order_.sends[sender]);
  advance(receiving_[receiver], order_.receives[receiver]);
  if (!followed_.empty()) {
    followed_[sender].sends_since.reset();
    followed_[receiver].receives_since = now.time;
  }
  const Moment arrival = events_.arrival(turn, number, size_of(turn), now);
  if (arrival.time > now.time) {
    clock_.at(arrival.time, [this, turn, repeat, segment, arrival] { arrived(turn, repeat, segment, arrival); });
  } else {
    arrived(turn, repeat, segment, now);
  }
  try_to_send(sender, now);
  if (receiving_[receiver].turn < order_.receives[receiver].size()) {
    const PlanOrder::Turn next = order_.receives[receiver][receiving_[receiver].turn];
    try_to_send(order_.port(next, message(next).from), now);
  }
  check_end(moved.from, now);
}

void PlanRun::count_arrival(std::size_t cell_segment, int number) {
  int& arrivals = arrivals_[cell_segment];
  if (number == arrivals) {
    ++arrivals;
    const auto early = early_.find(cell_segment);
    while (early != early_.end() && early->second.erase(arrivals) > 0) ++arrivals;
  } else {
    early_[cell_segment].insert(number);
  }
}

void PlanRun::arrived(PlanOrder::Turn turn, int repeat, int segment, const Moment& now) {
  const Message& message = this->message(turn);
  const std::size_t cell = cell_of(message.to, message.cell);
  const int number = order_.number[at(turn.stage)][at(turn.message)] + repeat;
  const bool is_inside = plan_.stage(turn.stage).inside;
  for (std::size_t s = is_inside ? 0 : at(segment); s < (is_inside ? segments_ : at(segment) + 1); ++s) count_arrival(cell + s, number);
  --to_come_[at(message.to)];
  if (!received_.empty() && !is_inside) {
    Received& received = received_[at(message.to) * segments_ + at(segment)];
    ++received.messages;
    received.last = now;
    if (order_.barriers.empty()) return try_all_of(message.to, now);
  }
  if (order_.barriers.empty()) {
    for (const std::size_t port : {at(message.to), at(message.to) + at(plan_.ranks)}) try_to_send(port, now);
    check_end(message.to, now);
    return;
  }
  const int node = message.to / plan_.node_size;
  for (int rank = node * plan_.node_size; rank < (node + 1) * plan_.node_size; ++rank) {
    try_all_of(rank, now);
  }
}

void PlanRun::check_end(int rank, const Moment& now) {
  if (started_[at(rank)] == 0 || ended_[at(rank)] != 0 || to_come_[at(rank)] > 0) return;
  for (const std::size_t port : {at(rank), at(rank) + at(plan_.ranks)}) {
    if (sending_[port].turn < order_.sends[port].size()) return;
  }
  const auto passed = [&](const PlanOrder::Barrier& barrier) { return is_passed(barrier, rank / plan_.node_size); };
  if (!std::all_of(order_.barriers.rbegin(), order_.barriers.rend(), passed)) return;
  ended_[at(rank)] = 1;
  --running_;
  events_.ended(rank, now);
}

}  // namespace syncopate
