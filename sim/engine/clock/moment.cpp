#include "engine/clock/moment.hpp"

#include <algorithm>
#include <memory_resource>
#include <numeric>
#include <stdexcept>

namespace syncopate {

void Cause::forget(Event* event) {
  // A loop, because recursion along a long chain would overflow the stack.
  static std::vector<Event*> forgotten;
  static bool is_forgetting = false;
  forgotten.push_back(event);
  if (std::exchange(is_forgetting, true)) return;
  while (!forgotten.empty()) {
    Event* last = forgotten.back();
    forgotten.pop_back();
    while (last != nullptr) {
      Event* const before = std::exchange(last->before_.event_, nullptr);
      delete last;
      last = before != nullptr && --before->known_by_ == 0 ? before : nullptr;
    }
  }
  is_forgetting = false;
}

namespace {

/// A pool: a run allocates millions of events.
std::pmr::memory_resource& pool() {
  static std::pmr::unsynchronized_pool_resource events;
  return events;
}

}  // namespace

// NOLINTNEXTLINE(misc-new-delete-overloads): it has one, with the size
void* Event::operator new(std::size_t bytes) { return pool().allocate(bytes); }

void Event::operator delete(void* event, std::size_t bytes) { pool().deallocate(event, bytes); }

Moment Moment::origin() { return {Seconds(0), Cause(new Event(Seconds(0), Cause()))}; }

namespace {

class PlainEvent : public Event {
 public:
  PlainEvent(Seconds time, Cause before, const Why& why)
      : Event(time, std::move(before)),
        usual_(why.usual),
        worker_(why.worker),
        link_(why.link),
        kind_(why.kind),
        payload_(why.payload == nullptr ? nullptr : *why.payload) {}

  Story tell() const override {
    PathPiece piece = {.length = length(), .kind = kind_, .worker = worker_, .link = link_, .payload = payload_};
    const Seconds off = std::max(piece.length - usual_, usual_ - piece.length);
    if (usual_ == Seconds(0) || off <= noise()) return {{piece}, before()};
    PathPiece more = piece;
    more.kind = PathClass::jitter;
    more.length = piece.length - usual_;
    piece.length = usual_;
    return {{piece, more}, before()};
  }

 private:
  Seconds usual_;
  std::int32_t worker_;
  std::int32_t link_;
  PathClass kind_;
  SharedPayload payload_;
};

class KnownEvent : public Event {
 public:
  KnownEvent(Seconds time, Cause before, std::shared_ptr<const std::vector<PathPiece>> pieces, SharedPayload payload)
      : Event(time, std::move(before)), pieces_(std::move(pieces)), payload_(std::move(payload)) {}

  Story tell() const override {
    Story story = {*pieces_, before()};
    for (PathPiece& piece : story.pieces) piece.payload = payload_;
    return story;
  }

 private:
  std::shared_ptr<const std::vector<PathPiece>> pieces_;
  SharedPayload payload_;
};

/// Throws std::logic_error if the event's pieces do not add up to the time since the event before.
void check(const Event& event, const Event::Story& story) {
  const Seconds length = event.time() - story.before->time();
  const Seconds sum = std::accumulate(story.pieces.begin(), story.pieces.end(), Seconds(0),
                                      [](Seconds all, const PathPiece& piece) { return all + piece.length; });
  const Seconds off = std::max(sum - length, length - sum);
  if (off > 1e3 * rounding * length + rounding * event.time())
    throw std::logic_error("a stretch of the critical path is not as long as its pieces");
}

bool are_alike(const PathPiece& a, const PathPiece& b) {
  const bool moves = a.payload != nullptr;
  return a.kind == b.kind && a.layer == b.layer && a.link == b.link && (moves || a.worker == b.worker);
}

}  // namespace

Event* make_event(Seconds end, const Cause& before, const Why& why) { return new PlainEvent(end, before, why); }

Moment ended_as_before(const Moment& start, Seconds end, const std::shared_ptr<const std::vector<PathPiece>>& pieces,
                       const SharedPayload& payload) {
  return until_event(start, end, [&](Seconds time, const Cause& before) { return new KnownEvent(time, before, pieces, payload); });
}

std::vector<PathPiece> trace_back(const Moment& end, Seconds begin) {
  std::vector<PathPiece> path;  // from the end to the begin
  std::size_t first_alike = 0;  // first piece of the current collective or message
  for (Cause cause = end.cause; end.time > begin;) {
    if (!cause) throw std::logic_error("the critical path does not reach back to where it should begin");
    Event::Story story = cause->tell();
    const Seconds start = std::max(begin, story.before ? story.before->time() : Seconds(0));
    if (story.before && cause->time() > start) {
      check(*cause, story);
      const double share = (cause->time() - start) / (cause->time() - story.before->time());
      const bool goes_on = !path.empty() && !story.pieces.empty() && story.pieces.front().payload != nullptr &&
                           story.pieces.front().payload == path.back().payload;
      if (!goes_on) first_alike = path.size();
      std::reverse(story.pieces.begin(), story.pieces.end());
      for (PathPiece& piece : story.pieces) {
        piece.length = share * piece.length;
        const auto first = path.begin() + static_cast<std::ptrdiff_t>(first_alike);
        const auto same = std::find_if(first, path.end(), [&](const PathPiece& known) { return are_alike(known, piece); });
        if (goes_on && same != path.end()) {
          same->length += piece.length;
        } else {
          path.push_back(piece);
        }
      }
    }
    if (cause->time() <= begin || (story.before && story.before->time() <= begin)) break;
    cause = story.before;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace syncopate
