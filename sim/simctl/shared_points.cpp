#include "simctl/shared_points.hpp"

#include <utility>

namespace syncopate {

SharedPoints::SharedPoints(const Study& study, const SharingOptions& options, const std::string& folder, bool shortcuts,
                           std::function<bool(int)> lacks_file)
    : options_(options), lacks_file_(std::move(lacks_file)), shard_(read_shard(options.shard)), has_ended_(study.points.size()) {
  const Seconds stale = read_stale(options.stale);
  if (folder.empty()) return;
  folder_.emplace(folder, study, shortcuts);
  folder_->enter(entry_of(options));
  if (options.claim) claims_.emplace(folder_->points(), stale);
}

SharedPoints::Ended SharedPoints::begin() { return take(true, options_.retry_failed); }

std::vector<int> SharedPoints::waiting() const { return not_ended(true); }

std::vector<int> SharedPoints::free() const {
  std::vector<int> points = waiting();
  if (claims_) std::erase_if(points, [this](int point) { return claims_->is_others(folder_->key(point)); });
  return points;
}

SharedPoints::Ended SharedPoints::ended_elsewhere() { return claims_ ? take(true, false) : Ended(); }

SharedPoints::Ended SharedPoints::end() {
  if (claims_) claims_->release_all();
  return take(false, false);
}

std::vector<int> SharedPoints::not_ended(bool in_shard) const {
  std::vector<int> points;
  for (int point = 0; point < static_cast<int>(has_ended_.size()); ++point) {
    if (!has_ended_[static_cast<std::size_t>(point)] && is_in_shard(point) == in_shard) points.push_back(point);
  }
  return points;
}

bool SharedPoints::may_begin(int point) const {
  if (!claims_) return true;
  if (folder_->has(point) || !claims_->take(folder_->key(point))) return false;
  if (!folder_->has(point)) return true;
  claims_->release(folder_->key(point));  // another run had it a moment ago
  return false;
}

void SharedPoints::refresh(int point) {
  if (claims_) claims_->refresh(folder_->key(point));
}

void SharedPoints::keep(int point, const EndedPoint& ended) {
  has_ended_[static_cast<std::size_t>(point)] = true;
  if (!folder_) return;
  folder_->keep(point, ended);
  if (claims_) claims_->release(folder_->key(point));
}

SharedPoints::Ended SharedPoints::take(bool in_shard, bool but_failed) {
  Ended all;
  if (!folder_) return all;
  for (const int point : not_ended(in_shard)) {
    std::optional<EndedPoint> ended = find(point, but_failed);
    if (!ended) continue;
    has_ended_[static_cast<std::size_t>(point)] = true;
    all.emplace_back(point, std::move(*ended));
  }
  return all;
}

std::optional<EndedPoint> SharedPoints::find(int point, bool but_failed) {
  if (!folder_->has(point)) return reuse(point);
  std::optional<EndedPoint> ended = folder_->find(point);
  if (ended && (ended->result ? !lacks_file_(point) : !but_failed)) return ended;
  folder_->remove(point);
  return reuse(point);
}

std::optional<EndedPoint> SharedPoints::reuse(int point) {
  if (lacks_file_(point)) return std::nullopt;
  for (const std::string& other : options_.reuse) {
    std::optional<EndedPoint> ended = folder_->find(point, other);
    if (!ended || !ended->result) continue;
    folder_->keep(point, *ended);
    return ended;
  }
  return std::nullopt;
}

}  // namespace syncopate
