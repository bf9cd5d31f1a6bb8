#include "run/path_shares.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace syncopate {

namespace {

std::string name_of(PathClass kind) {
  switch (kind) {
    case PathClass::forward:
    case PathClass::backward: return "compute";
    case PathClass::update: return "update";
    case PathClass::compression: return "compression";
    case PathClass::latency: return "latency";
    case PathClass::transfer: return "transfer";
    case PathClass::reduce: return "reduce";
    case PathClass::host: return "host";
    case PathClass::server: return "server";
    case PathClass::queue: return "queue";
    case PathClass::straggler: return "straggler";
    case PathClass::jitter: return "jitter";
    case PathClass::overlap: return "overlap_slowdown";
    case PathClass::pause: return "pause";
  }
  return "";
}

std::string what(const PathPiece& piece, const Setup& setup) {
  switch (piece.kind) {
    case PathClass::forward:
    case PathClass::backward: {
      const char* const pass = piece.kind == PathClass::forward ? "forward" : "backward";
      const std::vector<StepProfile::LayerTimes>& layers = setup.profile().layers;
      return piece.layer < 0 ? pass : fmt::format("layers.{}.{}", layers[static_cast<std::size_t>(piece.layer)].name, pass);
    }
    case PathClass::latency:
    case PathClass::transfer: return setup.network().group_name(piece.link);
    case PathClass::straggler:
    case PathClass::jitter:
    case PathClass::overlap:
    case PathClass::pause: return piece.worker < 0 || piece.payload != nullptr ? "" : fmt::format("worker {}", piece.worker);
    default: return "";
  }
}

}  // namespace

std::vector<PathShare> path_shares(const JobTimeline& timeline, const Setup& setup, Seconds iteration) {
  const double scale = iteration / (timeline.window.close - timeline.window.open);
  const auto alike = [](const PathPiece& piece) {
    const bool moves = piece.payload != nullptr;
    return std::tuple(piece.kind, moves, moves ? -1 : piece.worker, piece.layer, piece.link);
  };
  std::map<decltype(alike({})), PathPiece> pieces;  // of a kind, together
  for (const PathPiece& piece : timeline.critical_path) {
    const auto [same, is_first] = pieces.try_emplace(alike(piece), piece);
    if (!is_first) same->second.length += piece.length;
  }
  std::vector<PathShare> shares;
  shares.reserve(pieces.size());
  for (const auto& [key, piece] : pieces) shares.push_back({name_of(piece.kind), what(piece, setup), scale * piece.length});
  return summed(shares);
}

std::vector<PathShare> summed(const std::vector<PathShare>& shares) {
  std::map<std::pair<std::string, std::string>, Seconds> sums;
  for (const PathShare& share : shares) sums[{share.kind, share.what}] += share.seconds;
  std::vector<PathShare> all;
  all.reserve(sums.size());
  for (const auto& [name, seconds] : sums) all.push_back({name.first, name.second, seconds});
  std::stable_sort(all.begin(), all.end(), [](const PathShare& a, const PathShare& b) { return a.seconds > b.seconds; });
  return all;
}

std::vector<PathSlice> path_slices(const JobTimeline& timeline, const Setup& setup) {
  std::vector<PathSlice> slices;
  Seconds end = timeline.window.open;
  Seconds shown = end;  // until here; a piece below 0 takes from the next one
  for (const PathPiece& piece : timeline.critical_path) {
    end += piece.length;
    if (end <= shown) continue;
    const std::string its_what = what(piece, setup);
    std::string name = name_of(piece.kind);
    if (!its_what.empty()) name = piece.layer < 0 ? fmt::format("{}, {}", name, its_what) : its_what;
    if (piece.payload != nullptr) name += fmt::format(", {}", piece.payload->label);
    const bool computes = piece.worker >= 0 && piece.payload == nullptr;
    slices.push_back({{shown, end}, std::move(name), piece.worker, computes});
    shown = end;
  }
  return slices;
}

Json to_json(const std::vector<PathShare>& shares) {
  Json json = Json::array();
  for (const PathShare& share : shares) json.push_back({{"class", share.kind}, {"what", share.what}, {"s", share.seconds.value}});
  return json;
}

std::vector<PathShare> path_shares_of(const Json& json) {
  std::vector<PathShare> shares;
  for (const Json& share : json) shares.push_back({share["class"], share["what"], Seconds(share["s"].get<double>())});
  return shares;
}

}  // namespace syncopate
