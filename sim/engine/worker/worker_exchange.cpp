// What a worker exchanges with parameter servers and other workers, and what is computed from what.

#include "engine/worker/worker.hpp"

#include "engine/job_run.hpp"

namespace syncopate {

Exchange Worker::push(const SharedPayload& payload, int round, Answer answer, const PushOptions& options) {
  PushOptions its = options;
  if (its.as_pushed == nullptr) its.as_pushed = payload;
  if (its.as_pulled == nullptr) its.as_pulled = payload;
  count_post(1, its.as_pushed->bytes, its.as_pushed->bytes);
  if (answer != Answer::none) count_post(1, its.as_pulled->bytes, Bytes(0));
  return job_.server().push(rank_, payload, round, answer, its, now_);
}

Exchange Worker::pull(const SharedPayload& payload, int round, const SharedPayload& as_pulled) {
  const SharedPayload& moved = as_pulled == nullptr ? payload : as_pulled;
  count_post(1, moved->bytes, Bytes(0));
  return job_.server().pull(rank_, payload, round, moved, now_);
}

Exchange Worker::join(const SharedPayload& payload, int round, const PushOptions& options) {
  count_post(1, options.as_pulled->bytes, Bytes(0));
  return job_.server().join(rank_, payload, round, options, now_);
}

void Worker::contribute(Exchange joined, double share, const PushOptions& options) {
  meet_clock();
  if (job_.server().contribute(rank_, joined, share, options, now_)) count_post(1, options.as_pushed->bytes, options.as_pushed->bytes);
}

void Worker::give_up_when_in(std::span<const Exchange> joined) {
  joined_.assign(joined.begin(), joined.end());
  job_.recorder().await_entry(rank_);
}

bool Worker::gives_up_before(const Moment& end) {
  if (joined_.empty()) return false;
  const std::optional<Moment> in = job_.server().wait_until(rank_, joined_, end);
  if (!in) return false;
  has_given_up_ = true;
  now_ = latest(now_, *in);
  return true;
}

Seconds Worker::wait(Exchange exchange) {
  const Moment end = job_.server().wait(rank_, exchange);
  unblock(end);
  return end.time;
}

void Worker::wait(std::span<const Exchange> exchanges) {
  for (std::size_t i = exchanges.size(); i-- > 0;) wait(exchanges[i]);
}

void Worker::send(const SharedPayload& payload, int to, int round, const Values& model, double weight) {
  count_post(1, payload->bytes, payload->bytes);
  job_.peers().send({.from = rank_,
                     .to = to,
                     .round = round,
                     .payload = payload,
                     .posted = now_,
                     .step = step_ - 1,
                     .model = {.value = model, .weight = weight}});
}

void Worker::exchange(const SharedPayload& payload, int with, int round, const Values& model) {
  count_post(2, payload->bytes, 2.0 * payload->bytes);  // the other one's, too
  job_.peers().send({.from = rank_,
                     .to = with,
                     .round = round,
                     .payload = payload,
                     .posted = now_,
                     .step = step_ - 1,
                     .kind = PeerLinks::Kind::question,
                     .model = {.value = model}});
}

Received Worker::receive(int round) {
  meet_clock();
  const PeerLinks::Message message = job_.peers().receive(rank_, round);
  if (message.posted.time > now()) {
    now_ = message.posted;
    record(Phase::waiting);
  }
  if (message.arrival.time > now()) {
    advance_to(message.arrival);
    record(Phase::communicating);
  }
  return {.step = message.step, .model = message.model.value, .weight = message.model.weight};
}

bool Worker::has_momentum() const {
  if (!is_recorded()) return false;
  const Optimizer optimizer = job_.job().dataflow->optimizer();
  return optimizer == Optimizer::momentum || optimizer == Optimizer::nesterov;
}

void Worker::compute_on_model() {
  computed_on_ = replica_.model();
  job_.evaluate(*this);
}

Values Worker::gradient() {
  if (is_recorded() && gradient_.empty()) gradient_ = job_.job().dataflow->gradient(rank_, step_, computed_on_, now());
  return gradient_;
}

Values Worker::value(const Sum& sum) const { return is_recorded() ? job_.job().dataflow->value(sum) : Values(); }

Values Worker::compress(std::string_view way, const Sum& sent, Values& residual) const {
  return is_recorded() ? job_.job().dataflow->compress(way, value(sent), residual) : Values();
}

Values Worker::mean_of(Handle handle) const { return job_.posted_values().mean(stream(handle.stream).index(), handle.ticket); }

Values Worker::mean_of(std::span<const Handle> handles) const {
  Values all;
  if (!is_recorded()) return all;
  for (const Handle handle : handles) all.append(mean_of(handle));
  return all;
}

Values Worker::pulled_by(Exchange exchange) const { return is_recorded() ? job_.server().take_pulled(rank_, exchange) : Values(); }

Values Worker::pulled_by(std::span<const Exchange> exchanges) const {
  Values all;
  if (!is_recorded()) return all;
  for (const Exchange exchange : exchanges) all.append(pulled_by(exchange));
  return all;
}

}  // namespace syncopate
