#pragma once

#include <span>
#include <string>
#include <string_view>

#include "collective/payload.hpp"
#include "schedule/parameters.hpp"
#include "schedule/schedule.hpp"

namespace syncopate {

/// How gradients are sent: what of them, and whether what is sent can be added up on its way (an all-reduce) or every rank has to receive
/// what each of the others sends (an all-gather).
struct Compression {
  std::string_view name = "none";
  Operation operation = Operation::all_reduce;
  double share = 1.0;             ///< of the values that are sent
  double value_bits = 0.0;        ///< of one that is sent; 0: as it is, and never more than that
  int bits = 0;                   ///< of qsgd: of one by itself ...
  int bucket = 0;                 ///< ... and values that share a scale
  double index_bytes = 0.0;       ///< that say which value it is, for each sent
  double bytes_of_message = 0.0;  ///< besides, such as a scale
  SecondsPerByte encode{};        ///< time of a worker for each byte before compression, error feedback included
  SecondsPerByte decode{};        ///< for each byte before compression of each message that it receives

  bool is_none() const { return name == "none"; }

  bool pulls = false;  ///< over parameter servers: what is pulled is compressed, too

  /// As the parameter `compression`: a name, or an object with parameters; over parameter servers also whether that is for pulls.
  void declare(Parameters& parameters, bool over_servers = false);
  void read(const Field& field, bool over_servers = false);

  /// What is sent in a step, as a record of the dataflow has it (Dataflow::compress); empty where there is no compression.
  std::string way(int step) const;
  /// Why such a record cannot say it of gradients; empty where it can.
  std::string unrecorded() const;

  /// What stands for such bytes in a message. `value`: bytes of one value.
  Bytes sent(Bytes bytes, Bytes value) const;

  /// What the collective moves instead of a vector of such bytes.
  Bytes moved(Bytes bytes, Bytes value, int ranks) const;
  /// The same payload, compressed for that, or for a message; itself where there is no compression.
  SharedPayload operator()(const SharedPayload& payload, const ScheduleInput& input) const;
  SharedPayload as_message(const SharedPayload& payload, Bytes value) const;

  Seconds encode_time(Bytes bytes) const { return encode * bytes; }
  /// Of a whole collective's: an all-gather's ranks - 1 messages of others.
  Seconds decode_time(Bytes bytes, int ranks) const;

  /// What it costs to send bytes of gradients, by the cost of its operation and the bytes of the vector that this moves.
  CostCurve cost(const ScheduleInput& input) const;

 private:
  SharedPayload of(const SharedPayload& payload, Bytes bytes) const;
};

/// The table.
std::span<const Compression> compressions();

/// A payload as it is sent, and what a worker does for that.
struct CompressedPost {
  CompressedPost(const Compression& compression, const SharedPayload& whole, const ScheduleInput& input);

  /// Encodes and posts it; `value`: what it carries (Sender).
  Handle operator()(Worker& worker, int round, const Values& value) const;

  SharedPayload payload;
  Operation operation;
  Seconds encode;
  Seconds decode;  ///< of all messages that the worker receives
};

}  // namespace syncopate
