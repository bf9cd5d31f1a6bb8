#include "schedule/compression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/choice.hpp"

namespace syncopate {

namespace {

constexpr auto all_gather = Operation::all_gather;

/// Bits of a value, including its share of the bucket's 32-bit scale.
constexpr double qsgd_bits(double bits, double bucket) { return bits + 32.0 / bucket; }

constexpr std::array table = {
    Compression{.name = "none"},
    // P. Micikevicius et al., "Mixed precision training", ICLR'18.
    Compression{.name = "fp16", .value_bits = 16.0},
    // One bit per value and one scale per message: F. Seide et al., "1-bit stochastic gradient descent", INTERSPEECH'14.
    Compression{.name = "sign", .operation = all_gather, .value_bits = 1.0, .bytes_of_message = 4.0},
    // -1, 0 or 1 per value and one scale per message: W. Wen et al., "TernGrad", NIPS'17.
    Compression{.name = "terngrad", .operation = all_gather, .value_bits = 2.0, .bytes_of_message = 4.0},
    // A few bits per value and one scale per bucket of values: D. Alistarh et al., "QSGD", NIPS'17.
    Compression{.name = "qsgd", .operation = all_gather, .value_bits = qsgd_bits(4.0, 512.0), .bits = 4, .bucket = 512},
    // The largest values with their indices: Y. Lin et al., "Deep gradient compression", ICLR'18.
    Compression{.name = "top-k", .operation = all_gather, .share = 0.01, .index_bytes = 4.0},
    // top-k, where every hop reduces to k values again: S. Shi et al., "A distributed synchronous SGD algorithm with global top-k
    // sparsification", ICDCS'19.
    Compression{.name = "gtop-k", .share = 0.01, .index_bytes = 4.0},
    // All ranks send the same random indices, which need not be sent: S. Stich et al., "Sparsified SGD with memory", NeurIPS'18.
    Compression{.name = "random-k", .share = 0.01},
};

}  // namespace

std::span<const Compression> compressions() { return table; }

void Compression::declare(Parameters& parameters, bool over_servers) {
  parameters.declare({.name = "compression",
                      .meaning = "how gradients are compressed: a name, or an object with its parameters",
                      .kind = ParameterInfo::Kind::compression,
                      .default_value = "none"},
                     [this, over_servers](const Field& field) { read(field, over_servers); });
}

void Compression::read(const Field& field, bool over_servers) {
  if (!field.is_object()) {
    *this = choose<Compression>(field, table);
    return;
  }
  Object fields(field);
  *this = choose<Compression>(fields.at("name"), table);
  if (share < 1.0) {
    if (const auto ratio = fields.find("ratio")) share = ratio->positive(1.0);
  }
  if (index_bytes > 0.0) {
    if (const auto bytes = fields.find("index_bytes")) index_bytes = bytes->number(0.0, 1024.0);
  }
  if (name == "qsgd") {
    constexpr std::int64_t most_bits = 16;
    constexpr std::int64_t largest_bucket = 1'000'000'000;
    if (const auto field_of_bits = fields.find("bits")) bits = static_cast<int>(field_of_bits->integer(1, most_bits));
    if (const auto field_of_bucket = fields.find("bucket")) bucket = static_cast<int>(field_of_bucket->integer(1, largest_bucket));
    value_bits = qsgd_bits(bits, bucket);
  }
  if (const auto time = fields.find("encode_s_per_B")) encode = time->seconds_per_byte();
  if (const auto time = fields.find("decode_s_per_B")) decode = time->seconds_per_byte();
  if (over_servers) {
    if (const auto pull = fields.find("pull")) pulls = choose_name(*pull, {"whole", "compressed"}) == "compressed";
  }
  fields.finish();
}

std::string Compression::way(int step) const {
  if (is_none()) return "";
  if (name == "qsgd") return fmt::format(R"("f":"qsgd","bits":{},"bucket":{})", bits, bucket);
  if (name == "sparse" || name == "top-k") return fmt::format(R"("f":"top-k","k":{})", share);
  if (name == "random-k") return fmt::format(R"("f":"random-k","k":{},"n":{})", share, step);
  return fmt::format(R"("f":"{}")", name);
}

std::string Compression::unrecorded() const {
  if (name == "gtop-k") return "gtop-k selects anew on every hop of its all-reduce";
  if (pulls) return R"(no paper says what "pull": "compressed" does to models)";
  return "";
}

Bytes Compression::sent(Bytes bytes, Bytes value) const {
  const Bytes sent_value = value_bits > 0.0 ? std::min(value, Bytes(value_bits / bits_per_byte)) : value;
  const double values = bytes / value;
  return share * values * (sent_value + Bytes(index_bytes)) + Bytes(bytes_of_message);
}

Bytes Compression::moved(Bytes bytes, Bytes value, int ranks) const {
  return (operation == Operation::all_gather ? static_cast<double>(ranks) : 1.0) * sent(bytes, value);
}

SharedPayload Compression::operator()(const SharedPayload& payload, const ScheduleInput& input) const {
  return of(payload, moved(payload->bytes, input.value, input.ranks));
}

SharedPayload Compression::as_message(const SharedPayload& payload, Bytes value) const { return of(payload, sent(payload->bytes, value)); }

SharedPayload Compression::of(const SharedPayload& payload, Bytes bytes) const {
  if (is_none()) return payload;
  auto compressed = std::make_shared<Payload>(*payload);
  compressed->label = fmt::format("{} of {}", name, payload->label);
  compressed->bytes = bytes;
  return compressed;
}

Seconds Compression::decode_time(Bytes bytes, int ranks) const {
  return (operation == Operation::all_gather ? ranks - 1.0 : 1.0) * (decode * bytes);
}

CostCurve Compression::cost(const ScheduleInput& input) const {
  const Bytes none = moved(Bytes(0), input.value, input.ranks);
  const Bytes million = moved(Bytes(1e6), input.value, input.ranks) - none;
  const SecondsPerByte own = encode + (operation == Operation::all_gather ? input.ranks - 1.0 : 1.0) * decode;
  return CostCurve([none, share = million / Bytes(1e6), own, collective = input.collective](Bytes bytes) {
    const CostLine there = collective.tangent(none + share * bytes);
    return CostLine{there(none), share * there.b + own};
  });
}

CompressedPost::CompressedPost(const Compression& compression, const SharedPayload& whole, const ScheduleInput& input)
    : payload(compression(whole, input)),
      operation(compression.operation),
      encode(compression.encode_time(whole->bytes)),
      decode(compression.decode_time(whole->bytes, input.ranks)) {}

Handle CompressedPost::operator()(Worker& worker, int round, const Values& value) const {
  worker.spend(encode);
  return worker.collectives().post(payload, round, {.operation = operation, .value = value});
}

}  // namespace syncopate
