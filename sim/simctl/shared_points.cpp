#include "simctl/shared_points.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/errors.hpp"
#include "base/indexed.hpp"

namespace syncopate {

SharedPoints::SharedPoints(const Study& study, const SharingOptions& options, const std::string& folder, bool shortcuts,
                           std::function<bool(int)> lacks_file)
    : options_(options), lacks_file_(std::move(lacks_file)), shard_(read_shard(options.shard)), has_ended_(study.points.size()) {
  if (folder.empty()) return;
  folder_.emplace(folder, study, shortcuts);
  folder_->enter(entry_of(options));
}

std::size_t SharedPoints::in_shard() const {
  const std::size_t all = has_ended_.size();
  const std::size_t index = at(shard_.index);
  const std::size_t count = at(shard_.count);
  return all > index ? (all - index - 1) / count + 1 : 0;
}

SharedPoints::Ended SharedPoints::begin() {
  if (!folder_) return {};
  if (options_.retry_failed) forget_failed();
  Ended all;
  if (folder_->has_points()) all = take(true, [this](int point) { return find_whole(point); });
  Ended reused = take(true, [this](int point) { return reuse(point); });
  std::move(reused.begin(), reused.end(), std::back_inserter(all));
  return all;
}

std::vector<int> SharedPoints::waiting() const { return not_ended(true); }

SharedPoints::Ended SharedPoints::of_other_shards() {
  if (!folder_) return {};
  return take(false, [this](int point) { return folder_->find(point); });
}

SharedPoints::Ended SharedPoints::take(bool in_shard, const std::function<std::optional<EndedPoint>(int point)>& look) {
  Ended all;
  for (const int point : not_ended(in_shard)) {
    std::optional<EndedPoint> ended = look(point);
    if (!ended) continue;
    has_ended_[at(point)] = true;
    all.emplace_back(point, std::move(*ended));
  }
  return all;
}

std::vector<int> SharedPoints::not_ended(bool in_shard) const {
  std::vector<int> points;
  for (int point = 0; point < static_cast<int>(has_ended_.size()); ++point) {
    if (!has_ended_[at(point)] && is_in_shard(point) == in_shard) points.push_back(point);
  }
  return points;
}

void SharedPoints::forget_failed() {
  for (const int point : waiting()) {
    const std::optional<EndedPoint> ended = folder_->find(point);
    if (ended && !ended->result) folder_->remove(point);
  }
}

std::optional<EndedPoint> SharedPoints::read(int point, const std::filesystem::path& folder) {
  try {
    return folder_->read(point, folder);
  } catch (const InputError& error) {
    refused_.emplace_back(error.what());
    return std::nullopt;
  }
}

std::optional<EndedPoint> SharedPoints::find_whole(int point) {
  std::optional<EndedPoint> ended = read(point, folder_->path());
  if (ended && ended->result && lacks_file_(point)) ended.reset();
  return ended;
}

std::optional<EndedPoint> SharedPoints::reuse(int point) {
  if (options_.reuse.empty() || lacks_file_(point)) return std::nullopt;
  for (const std::string& other : options_.reuse) {
    std::optional<EndedPoint> ended = read(point, other);
    if (!ended || !ended->result) continue;
    folder_->keep(point, *ended);
    folder_->sync_now_and_then(point);
    return ended;
  }
  return std::nullopt;
}

EndedPoint SharedPoints::keep(int point, const EndedPoint& ended) const {
  if (!folder_) return ended;
  std::optional<EndedPoint> earlier = folder_->find(point);
  const bool stays = earlier && (earlier->result || !ended.result);
  if (!stays) folder_->keep(point, ended);
  return stays ? *earlier : ended;
}

void SharedPoints::note_end(int point) {
  has_ended_[at(point)] = true;
  if (folder_) folder_->sync_now_and_then(point);
}

}  // namespace syncopate
