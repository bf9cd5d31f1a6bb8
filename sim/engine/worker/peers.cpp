#include "engine/worker/peers.hpp"

#include "base/errors.hpp"
#include "engine/job_run.hpp"

namespace syncopate {

void Peers::send(const SharedPayload& payload, int to, int round, const Values& model, double weight) {
  worker_.count_post(1, payload->bytes, payload->bytes);
  worker_.job().peers().send({.from = worker_.rank(),
                              .to = to,
                              .round = round,
                              .payload = payload,
                              .posted = worker_.moment(),
                              .step = worker_.step() - 1,
                              .model = {.value = model, .weight = weight}});
}

void Peers::exchange(const SharedPayload& payload, int with, int round, const Values& model) {
  if (!worker_.job().job().asks_peers) throw SimulationError("a program asked a peer, but its job does not say so; set asks_peers");
  worker_.count_post(2, payload->bytes, 2.0 * payload->bytes);  // the message and its answer
  worker_.job().peers().send({.from = worker_.rank(),
                              .to = with,
                              .round = round,
                              .payload = payload,
                              .posted = worker_.moment(),
                              .step = worker_.step() - 1,
                              .kind = PeerLinks::Kind::question,
                              .model = {.value = model}});
}

Received Peers::receive(int round) {
  worker_.meet_clock();
  const PeerLinks::Message message = worker_.job().peers().receive(worker_.rank(), round);
  if (message.posted.time > worker_.now()) {
    worker_.set(message.posted);
    worker_.record(Phase::waiting);
  }
  if (message.arrival.time > worker_.now()) {
    worker_.advance_to(message.arrival);
    worker_.record(Phase::communicating);
  }
  return {.step = message.step, .model = message.model.value, .weight = message.model.weight};
}

}  // namespace syncopate
