#include "engine/streams/stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "base/errors.hpp"
#include "base/text.hpp"

namespace syncopate {

namespace {

constexpr Seconds never(std::numeric_limits<double>::infinity());

}  // namespace

Stream::Stream(int index, Communicator communicator, bool one_for_all, const StreamRules& rules, std::vector<Operation> operations,
               std::unique_ptr<Transport> transport, Latecomers::HandOver hand_over, Clock& clock)
    : index_(index),
      communicator_(std::move(communicator)),
      one_for_all_(one_for_all),
      rules_(rules),
      operations_(std::move(operations)),
      transport_(std::move(transport)),
      clock_(clock),
      lanes_(transport_->lanes()),
      foresees_(transport_->foresees()),
      goes_on_at_once_(transport_->goes_on_at_once() && !rules.by_priority && !rules.is_partial()),
      present_(one_for_all ? 1 : communicator_.size()),
      needed_(share_of(present_)),
      admission_(transport_->lanes(), rules),
      next_(one_for_all ? 1 : communicator_.size()),
      last_ends_(lanes_),
      starts_(lanes_) {
  if (rules.deadline) {
    const auto may_start = [this](const Moment& now) { posted(0, now); };
    latecomers_.emplace(communicator_, static_cast<int>(next_.size()), *rules.deadline, needed_, std::move(hand_over), may_start, clock);
  }
  transport_->when_ended([this](Ticket ticket, int lane, const Moment& now) { lane_ended(ticket, lane, now); });
}

int Stream::share_of(int ranks) const { return std::max(1, static_cast<int>(std::ceil(rules_.participants * ranks * (1.0 - rounding)))); }

void Stream::leave(int rank, const Moment& now) {
  if (!rules_.is_partial() || !has_member(rank)) return;
  needed_ = share_of(--present_);
  if (latecomers_) return latecomers_->leave(poster(rank), needed_, now);
  if (gathering_ < end_of_entries()) start_gathered(entry(gathering_), now);
}

void Stream::join(int rank) {
  if (!rules_.is_partial() || !has_member(rank)) return;
  needed_ = share_of(++present_);
  if (latecomers_) latecomers_->join(poster(rank), needed_);
}

bool Stream::has_missed(int rank) const { return latecomers_ && latecomers_->has_missed(poster(rank)); }

bool Stream::is_expected(int rank) const { return latecomers_ && latecomers_->is_expected(poster(rank)); }

void Stream::start_gathered(Entry& entry, const Moment& now) {
  if (entry.has_enough || entry.posts < needed_) return;
  entry.has_enough = true;
  clock_.at(now.time, [this, now] { posted(0, now); });
}

Movement Stream::movement(Ticket ticket) const {
  const Post& post = entry(ticket).post;
  return {ticket, post.operation, post.payload};
}

Ticket Stream::next_ticket(int rank) const {
  if (latecomers_) return latecomers_->next_ticket(poster(rank));
  return rules_.is_partial() ? gathering_ : next_[poster(rank)];
}

Ticket Stream::post(int rank, const Post& post, const Moment& at) {
  const int poster = this->poster(rank);
  const Ticket ticket = next_ticket(rank);
  if (has_missed(rank)) {
    const Moment end = has_entry(ticket) ? Moment(entry(ticket).ends[0]) : Moment();  // an end is known as soon as the collective starts
    next_[poster] = ticket + 1;
    return latecomers_->take_over(poster, post.payload, at, end);
  }
  if (ticket < next_[poster]) {
    throw SimulationError(fmt::format("rank {} posts again to stream {} before its post has started to move", rank, index_));
  }
  if (post.priority != 0.0 && !rules_.by_priority) {
    throw SimulationError(
        fmt::format("rank {} posted \"{}\" with a priority to stream {}, which serves in the order of posting; set "
                    "by_priority in the stream's rules",
                    rank, post.payload->label, index_));
  }
  next_[poster] = ticket + 1;
  if (ticket == end_of_entries()) {
    check_operation(rank, post);
    entries_.push_back({post, rank});
    entries_.back().ends.assign(lanes_, never);
  } else {
    if (!agrees(post, entry(ticket).post)) fail_for_disagreement(rank, post, entry(ticket), ticket);
  }
  Entry& collective = entry(ticket);
  collective.ready = collective.posts == 0 ? at : latest(collective.ready, at);
  ++collective.posts;
  if (latecomers_) {
    latecomers_->post(poster, at);
  } else if (foresees_) {
    if (collective.posts == 1) collective.posted.assign(lanes_, Seconds(0));
    collective.posted.set(lane(poster), at);
    collective.has_enough = collective.posts == needed_;
    if (collective.has_enough) foresee(ticket);
  } else if (lanes_ > 1) {
    collective.has_enough = collective.posts == needed_;
    clock_.at(at.time, [this, lane = poster, at] { posted(lane, at); });
  } else {
    start_gathered(collective, collective.ready);
  }
  return ticket;
}

void Stream::foresee(Ticket ticket) {
  Entry& collective = entry(ticket);
  starts_.assign_latest(collective.posted, last_ends_);
  transport_->foresee(movement(ticket), starts_, collective.ends);
  collective.posted = {};
  last_ends_ = collective.ends;
  collective.start = starts_.latest_time();
  const Seconds end = collective.ends.latest_time();
  spans_.push_back(span_of(ticket, end));
  if (lanes_ > 1) {
    for (const Waiter& waiter : std::exchange(collective.waiters, {})) {
      const Moment end_for_waiter = collective.ends[lane(waiter.poster)];
      clock_.at(end_for_waiter.time, [completion = waiter.completion, end_for_waiter] { completion->complete(end_for_waiter); });
    }
  }
  clock_.at(end, [this, ticket] { finish(ticket); });
  for (int lane = 0; lane < lanes_; ++lane) tell_followers(ticket, lane);
}

void Stream::posted(int lane, const Moment& now) {
  // Calls at the same instant come in any order, so take the lane's next post, which may not be the one that caused this call.
  const Ticket ticket = admission_.next_to_post(lane);
  const Post& post = entry(ticket).post;
  const bool by_all = admission_.post(lane, post.priority, uncompressed(*post.payload));
  if (!rules_.by_priority) return admit_at(lane, now);
  // Decide after all posts of this instant.
  clock_.after(now.time, [this, lane, by_all, now] { by_all ? admit_all(now) : admit(lane, now); });
}

void Stream::admit(int lane, const Moment& now) {
  const std::size_t decided = admission_.decided();
  admit_at(lane, now);
  if (admission_.decided() > decided) admit_all(now);
}

void Stream::admit_all(const Moment& now) {
  std::size_t decided = 0;
  do {
    decided = admission_.decided();
    for (int lane = 0; lane < lanes_; ++lane) admit_at(lane, now);
  } while (admission_.decided() > decided);
}

void Stream::admit_at(int lane, const Moment& now) {
  while (const auto next = admission_.next(lane)) {
    if (recall(*next, now)) return;
    start(*next, lane, now);
  }
}

bool Stream::recall(Ticket ticket, const Moment& now) {
  Entry& collective = entry(ticket);
  if (lanes_ == 1 || !collective.has_enough || collective.ready.time > now.time * (1.0 + rounding)) return false;
  for (int lane = 0; lane < lanes_; ++lane) {
    if (!admission_.is_idle_before(lane, ticket) || admission_.next_to_post(lane) <= ticket) return false;
  }
  const auto end = transport_->recall(movement(ticket), now);
  if (!end) return false;
  for (int lane = 0; lane < lanes_; ++lane) admission_.start(lane);
  collective.start = now.time;
  collective.lanes_started = lanes_;
  for (int lane = 0; lane < lanes_; ++lane) collective.ends.set(lane, *end);
  for (int lane = 0; lane < lanes_; ++lane) tell_followers(ticket, lane);
  clock_.at(end->time, [this, ticket, end = *end] {
    finish(ticket);
    for (int lane = 0; lane < lanes_; ++lane) admission_.end(lane, ticket);
    if (rules_.by_priority) {
      clock_.after(end.time, [this, end] { admit_all(end); });
    } else {
      admit_all(end);
    }
  });
  return true;
}

void Stream::start(Ticket ticket, int lane, const Moment& now) {
  Entry& collective = entry(ticket);
  collective.start = std::max(collective.start, now.time);
  ++collective.lanes_started;
  admission_.start(lane);
  if (rules_.is_partial()) gathering_ = ticket + 1;
  if (latecomers_) {
    latecomers_->start();
    collective.has_enough = true;
  }
  if (const auto end = transport_->start(movement(ticket), lane, now)) {
    collective.ends.set(lane, *end);
    clock_.at(end->time, [this, ticket, lane, end = *end] { lane_ended(ticket, lane, end); });
    tell_followers(ticket, lane);
  }
}

void Stream::lane_ended(Ticket ticket, int lane, const Moment& now) {
  Entry& collective = entry(ticket);
  collective.ends.set(lane, now);
  tell_followers(ticket, lane);
  if (++collective.lanes_ended == lanes_) {
    finish(ticket);
  } else {
    wake(collective, lane);
  }
  admission_.end(lane, ticket);
  if (goes_on_at_once_) {
    admit(lane, now);
  } else {
    const double instant = latecomers_ ? 1.0 + 2 * rounding : 1.0;  // wait for members that first look who has posted
    clock_.after(now.time * instant, [this, lane, now] { admit(lane, now); });
  }
}

void Stream::finish(Ticket ticket) {
  Entry& collective = entry(ticket);
  collective.lanes_ended = lanes_;
  if (!foresees_) spans_.push_back(span_of(ticket, collective.ends.latest_time()));
  for (const Waiter& waiter : std::exchange(collective.waiters, {})) waiter.completion->complete(collective.ends[lane(waiter.poster)]);
  for (; !entries_.empty() && entries_.front().lanes_ended == lanes_; entries_.pop_front()) ++forgotten_;
}

void Stream::wake(Entry& entry, int lane) {
  const auto waiter = std::find_if(entry.waiters.begin(), entry.waiters.end(), [&](const Waiter& each) { return each.poster == lane; });
  if (waiter == entry.waiters.end()) return;
  waiter->completion->complete(entry.ends[lane]);
  entry.waiters.erase(waiter);
}

void Stream::when_known(int rank, Ticket ticket, Follow follow) {
  const int poster = poster_of(rank, ticket);
  if (const Moment* const end = taken_over(poster, ticket)) return follow(*end);
  const Moment end = has_entry(ticket) ? Moment(entry(ticket).ends[lane(poster)]) : Moment();
  if (end.time < never) return follow(end);
  entry(ticket).followers.push_back({poster, std::move(follow)});
}

void Stream::tell_followers(Ticket ticket, int lane) {
  std::vector<Follower>& followers = entry(ticket).followers;
  if (followers.empty()) return;
  const Moment end = entry(ticket).ends[lane];
  const auto told =
      std::stable_partition(followers.begin(), followers.end(), [&](const Follower& each) { return this->lane(each.poster) != lane; });
  const std::vector<Follower> followers_of_lane(std::make_move_iterator(told), std::make_move_iterator(followers.end()));
  followers.erase(told, followers.end());
  for (const Follower& follower : followers_of_lane) follower.follow(end);
}

int Stream::poster_of(int rank, Ticket ticket) const {
  const int poster = this->poster(rank);
  if (ticket < next_[poster]) return poster;
  throw SimulationError(fmt::format("rank {} waits for collective {} of stream {}, which it has not posted", rank, ticket, index_));
}

Moment Stream::wait(int rank, Ticket ticket) {
  const int poster = poster_of(rank, ticket);
  if (const Moment* const end = taken_over(poster, ticket)) return wait_until(*end);
  if (!has_entry(ticket)) return {};
  Entry& collective = entry(ticket);
  Moment end = collective.ends[lane(poster)];
  if (collective.lanes_ended == lanes_ || end.time <= clock_.now()) return end;
  if (foresees_ && lanes_ > 1 && end.time < never) return wait_until(end);
  Completion completion(clock_);
  collective.waiters.push_back({poster, &completion});
  return completion.wait();
}

Moment Stream::wait_until(const Moment& end) {
  if (end.time <= clock_.now()) return end;
  Completion completion(clock_);
  clock_.at(end.time, [&completion, end] { completion.complete(end); });
  return completion.wait();
}

bool Stream::has_ended(int rank, Ticket ticket, Seconds time) const {
  const int poster = poster_of(rank, ticket);
  if (const Moment* const end = taken_over(poster, ticket)) return end->time <= time * (1.0 + rounding);
  return !has_entry(ticket) || entry(ticket).ends.time(lane(poster)) <= time * (1.0 + rounding);
}

bool Stream::moves(Ticket ticket, int poster, Seconds time) const {
  const Entry& collective = entry(ticket);
  if (latecomers_ && !latecomers_->takes_part(poster, ticket)) return false;
  return collective.has_enough && collective.ready.time <= time && collective.ends.time(lane(poster)) > time;
}

bool Stream::is_busy(int rank, Seconds time) const {
  const int poster = this->poster(rank);
  for (Ticket ticket = forgotten_; ticket < end_of_entries() && entry(ticket).has_enough; ++ticket) {
    const bool has_end = entry(ticket).ends.time(lane(poster)) < never;
    if (moves(ticket, poster, time) && (has_end || transport_->takes_time(movement(ticket)))) return true;
  }
  return false;
}

Seconds Stream::busy_until(int rank, Seconds time) const {
  const int poster = this->poster(rank);
  for (Ticket ticket = forgotten_; ticket < end_of_entries() && entry(ticket).has_enough; ++ticket) {
    const Seconds end = entry(ticket).ends.time(lane(poster));
    if (end < never && moves(ticket, poster, time)) time = end;
  }
  return time;
}

bool Stream::is_idle(int rank, Seconds time) const {
  if (rules_.is_partial()) return false;
  const int poster = this->poster(rank);
  for (Ticket ticket = next_[poster]; ticket-- > forgotten_;) {
    if (entry(ticket).ends.time(lane(poster)) > time) return false;
  }
  return true;
}

double Stream::use(int rank, Seconds time, const std::function<double(const Post&)>& share) const {
  const int poster = this->poster(rank);
  double all = 0.0;
  if (!rules_.by_priority) {
    int in_flight = 0;
    for (Ticket ticket = forgotten_; ticket < end_of_entries() && in_flight < rules_.channels && entry(ticket).has_enough; ++ticket) {
      if (!moves(ticket, poster, time)) continue;
      ++in_flight;
      all += share(entry(ticket).post);
    }
    return all;
  }
  const int lane = this->lane(poster);
  int in_flight = admission_.in_flight(lane);
  const std::span<const Ticket> started = admission_.started(lane);
  for (std::size_t i = started.size(); i-- > 0 && in_flight > 0;) {
    if (!has_entry(started[i]) || entry(started[i]).ends.time(lane) <= time) continue;
    --in_flight;
    if (moves(started[i], poster, time)) all += share(entry(started[i]).post);
  }
  return all;
}

CollectiveSpan Stream::span_of(Ticket ticket, Seconds end) const {
  const Entry& collective = entry(ticket);
  return {.start = collective.start,
          .end = end,
          .stream = index_,
          .round = collective.post.round,
          .payload = collective.post.payload,
          .ready = collective.ready.time,
          .operation = collective.post.operation,
          .number = static_cast<std::int32_t>(ticket)};
}

std::vector<CollectiveSpan> Stream::take_spans() {
  if (!foresees_) {
    for (Ticket ticket = forgotten_; ticket < end_of_entries(); ++ticket) {
      const Entry& collective = entry(ticket);
      if (collective.lanes_started < lanes_ || collective.lanes_ended == lanes_) continue;
      const Seconds end = collective.ends.latest_time();
      spans_.push_back(span_of(ticket, end < never ? end : std::max(collective.start, clock_.now())));
      spans_.back().is_cut_off = end == never;
    }
  }
  return std::move(spans_);
}

void Stream::fail_for_stranger(int rank) const {
  throw SimulationError(fmt::format("rank {} is not a member of the communicator of stream {}", rank, index_));
}

void Stream::check_operation(int rank, const Post& post) const {
  if (operations_.empty() || std::find(operations_.begin(), operations_.end(), post.operation) != operations_.end()) return;
  throw SimulationError(fmt::format("rank {} posted {} of \"{}\" to stream {}, whose traffic does not list this operation; add it there",
                                    rank, to_string(post.operation), post.payload->label, index_));
}

void Stream::fail_for_disagreement(int rank, const Post& post, const Entry& entry, Ticket ticket) const {
  const Post& first = entry.post;
  if (first.priority != post.priority) {
    throw SimulationError(
        fmt::format("ranks disagree on collective {} of stream {} (\"{}\", round {}): rank {} posted it with priority {}, "
                    "rank {} with priority {}; give it the same on every rank",
                    ticket, index_, first.payload->label, first.round, entry.first_rank, first.priority, rank, post.priority));
  }
  throw SimulationError(
      fmt::format("ranks disagree on collective {} of stream {}: rank {} posted {} of \"{}\" in round {}, rank {} posted {} of \"{}\" in "
                  "round {}; every rank must post the same collectives in the same order",
                  ticket, index_, entry.first_rank, to_string(first.operation), first.payload->label, first.round, rank,
                  to_string(post.operation), post.payload->label, post.round));
}

bool Stream::is_awaited_from(int rank) const {
  for (Ticket ticket = std::max(forgotten_, next_[poster(rank)]); ticket < end_of_entries(); ++ticket) {
    if (!entry(ticket).waiters.empty()) return true;
  }
  return false;
}

std::string Stream::describe_waits() const {
  std::string text;
  for (Ticket ticket = forgotten_; ticket < end_of_entries(); ++ticket) {
    const Entry& collective = entry(ticket);
    if (collective.waiters.empty()) continue;
    std::vector<int> waiting;
    for (const Waiter& waiter : collective.waiters) waiting.push_back(communicator_.rank(waiter.poster));
    std::sort(waiting.begin(), waiting.end());
    std::vector<int> posted;
    std::vector<int> missing;
    for (int poster = 0; poster < static_cast<int>(next_.size()); ++poster) {
      (next_[poster] > ticket ? posted : missing).push_back(communicator_.rank(poster));
    }
    const Payload& payload = *collective.post.payload;
    text += fmt::format("{}{} {} of stream {} (\"{}\", {} B, round {}) is awaited by {}, posted by {}, not posted by {}",
                        text.empty() ? "" : "; ", to_string(collective.post.operation), ticket, index_, payload.label, payload.bytes.value,
                        collective.post.round, describe_ranks(waiting), describe_ranks(posted), describe_ranks(missing));
  }
  return text;
}

}  // namespace syncopate
