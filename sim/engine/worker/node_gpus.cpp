#include "engine/worker/node_gpus.hpp"

#include "engine/job_run.hpp"

namespace syncopate {

Seconds NodeGpus::all_reduce(const SharedPayload& payload, Seconds start) {
  const Job& job = worker_.job().job();
  if (job.gpus_per_rank == 1) return start;
  const Seconds end = start + job.within_node(payload->bytes);
  worker_.job().recorder().transfer(worker_.rank(), TransferSpan::Kind::within_node, worker_.step(), {start, end}, payload);
  return end;
}

Seconds NodeGpus::spread(const SharedPayload& payload, Seconds start) {
  const Job& job = worker_.job().job();
  if (job.gpus_per_rank == 1) return start;
  const Seconds end = start + job.servers->spread_latency + job.servers->spread * payload->bytes;
  worker_.job().recorder().transfer(worker_.rank(), TransferSpan::Kind::spread, worker_.step(), {start, end}, payload);
  return end;
}

void NodeGpus::wait_until(Seconds end) {
  if (end > worker_.now()) {
    worker_.advance_to(until(worker_.moment(), end, {.kind = PathClass::transfer, .worker = worker_.rank(), .link = Network::inside_node}));
  }
  worker_.record(Phase::communicating);
}

}  // namespace syncopate
