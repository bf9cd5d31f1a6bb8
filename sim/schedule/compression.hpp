#pragma once

#include <span>
#include <string>
#include <string_view>

#include "collective/payload.hpp"
#include "schedule/parameters.hpp"
#include "schedule/schedule.hpp"

namespace syncopate {

/// How gradients are compressed for sending. Either messages can be added up on their way (an all-reduce), or every rank has to receive
/// every other rank's message (an all-gather).
struct Compression {
  std::string_view name = "none";
  Operation operation = Operation::all_reduce;
  double share = 1.0;             ///< of the values, how many are sent
  double value_bits = 0.0;        ///< bits of a value that is sent, at most those that it has; 0: all of them
  int bits = 0;                   ///< of qsgd: bits of a value without the scale's ...
  int bucket = 0;                 ///< ... and how many values share a scale
  double index_bytes = 0.0;       ///< for each value that is sent: bytes that say which one it is
  double bytes_of_message = 0.0;  ///< for each message, such as a scale
  SecondsPerByte encode{};        ///< worker's time for each byte before compression, with error feedback
  SecondsPerByte decode{};        ///< worker's time for each byte before compression of each message that it receives

  bool is_none() const { return name == "none"; }

  bool pulls = false;  ///< over parameter servers: pulls are compressed, too

  /// Declares the parameter `compression`: a name, or an object with parameters; over parameter servers also whether it applies to pulls.
  void declare(Parameters& parameters, bool over_servers = false);
  void read(const Field& field, bool over_servers = false);

  /// The name of the compression in a step, for a record of the dataflow (Dataflow::compress); empty without compression.
  std::string way(int step) const;
  /// Why a record of the dataflow cannot have this compression of gradients; empty where it can.
  std::string unrecorded() const;

  /// The bytes of a message for `bytes` before compression. `value`: bytes of one value.
  Bytes sent(Bytes bytes, Bytes value) const;

  /// The bytes that a collective moves in place of a vector of `bytes`.
  Bytes moved(Bytes bytes, Bytes value, int ranks) const;
  /// The payload compressed for a collective, or for a message; the same payload without compression.
  SharedPayload operator()(const SharedPayload& payload, const ScheduleInput& input) const;
  SharedPayload as_message(const SharedPayload& payload, Bytes value) const;

  Seconds encode_time(Bytes bytes) const { return encode * bytes; }
  /// Worker's time to decode a whole collective: of an all-gather, ranks - 1 messages.
  Seconds decode_time(Bytes bytes, int ranks) const;

  /// The cost of sending bytes of gradients, from the cost of the operation and the bytes that it moves.
  CostCurve cost(const ScheduleInput& input) const;

 private:
  SharedPayload of(const SharedPayload& payload, Bytes bytes) const;
};

/// The table.
std::span<const Compression> compressions();

/// A compressed payload, with the worker's times for it.
struct CompressedPost {
  CompressedPost(const Compression& compression, const SharedPayload& whole, const ScheduleInput& input);

  /// Encodes and posts the payload. `value`: what it carries (Sender).
  Handle operator()(Worker& worker, int round, const Values& value) const;

  SharedPayload payload;
  Operation operation;
  Seconds encode;
  Seconds decode;  ///< for all messages that the worker receives
};

}  // namespace syncopate
