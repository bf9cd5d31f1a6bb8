#include "engine/worker/servers.hpp"

#include <optional>

#include "engine/job_run.hpp"

namespace syncopate {

Exchange Servers::push(const SharedPayload& payload, int round, Answer answer, const PushOptions& options) {
  PushOptions complete = options;
  if (complete.as_pushed == nullptr) complete.as_pushed = payload;
  if (complete.as_pulled == nullptr) complete.as_pulled = payload;
  worker_.count_post(1, complete.as_pushed->bytes, complete.as_pushed->bytes);
  if (answer != Answer::none) worker_.count_post(1, complete.as_pulled->bytes, Bytes(0));
  return worker_.job().server().push(worker_.rank(), payload, round, answer, complete, worker_.moment());
}

Exchange Servers::pull(const SharedPayload& payload, int round, const SharedPayload& as_pulled) {
  const SharedPayload& moved = as_pulled == nullptr ? payload : as_pulled;
  worker_.count_post(1, moved->bytes, Bytes(0));
  return worker_.job().server().pull(worker_.rank(), payload, round, moved, worker_.moment());
}

Seconds Servers::wait(Exchange exchange) {
  const Moment end = worker_.job().server().wait(worker_.rank(), exchange);
  worker_.unblock(end);
  return end.time;
}

void Servers::wait(std::span<const Exchange> exchanges) {
  for (std::size_t i = exchanges.size(); i-- > 0;) wait(exchanges[i]);
}

Values Servers::pulled_by(Exchange exchange) const {
  return worker_.is_recorded() ? worker_.job().server().take_pulled(worker_.rank(), exchange) : Values();
}

Values Servers::pulled_by(std::span<const Exchange> exchanges) const {
  Values all;
  if (!worker_.is_recorded()) return all;
  for (const Exchange exchange : exchanges) all.append(pulled_by(exchange));
  return all;
}

Exchange Servers::join(const SharedPayload& payload, int round, const PushOptions& options) {
  worker_.count_post(1, options.as_pulled->bytes, Bytes(0));
  return worker_.job().server().join(worker_.rank(), payload, round, options, worker_.moment());
}

void Servers::contribute(Exchange joined, double share, const PushOptions& options) {
  worker_.meet_clock();
  const bool is_pushed = worker_.job().server().contribute(worker_.rank(), joined, share, options, worker_.moment());
  if (is_pushed) worker_.count_post(1, options.as_pushed->bytes, options.as_pushed->bytes);
}

void Servers::give_up_when_in(std::span<const Exchange> joined) {
  joined_.assign(joined.begin(), joined.end());
  worker_.job().recorder().await_entry(worker_.rank());
}

void Servers::begin_step() {
  joined_.clear();
  has_given_up_ = false;
}

bool Servers::gives_up_before(const Moment& end) {
  if (joined_.empty()) return false;
  const std::optional<Moment> in = worker_.job().server().wait_until(worker_.rank(), joined_, end);
  if (!in) return false;
  has_given_up_ = true;
  worker_.set(latest(worker_.moment(), *in));
  return true;
}

}  // namespace syncopate
