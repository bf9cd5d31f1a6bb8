#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "base/units.hpp"

namespace syncopate {

/// The time of a collective of M bytes, T(M) = a + b·M.
struct CostLine {
  Seconds a;
  SecondsPerByte b;

  Seconds operator()(Bytes bytes) const { return a + b * bytes; }

  /// One after the other.
  friend CostLine operator+(const CostLine& first, const CostLine& second) { return {first.a + second.a, first.b + second.b}; }
};

/// The time of a collective by its bytes, as a function or measured.
class CostCurve {
 public:
  CostCurve(const CostLine& line = {}) : tangent_([line](Bytes) { return line; }) {}
  /// `tangent`: at so many bytes, the line that has the same value and slope there.
  explicit CostCurve(std::function<CostLine(Bytes)> tangent) : tangent_(std::move(tangent)) {}

  CostLine tangent(Bytes bytes) const { return tangent_(bytes); }
  Seconds operator()(Bytes bytes) const { return tangent_(bytes)(bytes); }

 private:
  std::function<CostLine(Bytes)> tangent_;
};

/// How long a collective of so many bytes took.
struct MeasuredTime {
  Bytes bytes;
  Seconds time;
};

/// Through the first and the last point, but for a >= 0.
CostLine line_through(const std::vector<MeasuredTime>& points);

/// Through at least two points in the order of bytes: below the first its time, beyond the last as between the last two.
CostCurve curve_through(std::vector<MeasuredTime> points);

/// The time of one collective: a latency, which collectives in flight may share, and the transfer that follows it.
struct CollectiveTime {
  Seconds latency;
  Seconds transfer;

  Seconds total() const { return latency + transfer; }
};

/// A link as the alpha-beta-gamma model sees it.
struct LinkCost {
  Seconds alpha;         ///< latency of a message
  SecondsPerByte beta;   ///< time to move one byte
  SecondsPerByte gamma;  ///< time to reduce (add) one byte
};

/// The time over a ring's or tree's link from one rank to the next.
struct Hop {
  Seconds latency;
  SecondsPerByte beta;

  bool operator==(const Hop&) const = default;
};

/// An algorithm's closed form for one operation on a vector of M bytes over N ranks: T(M) = rounds·alpha + volume·(transfers·beta +
/// reductions·gamma)·M. MG-WFBP, Table 2; R. Thakur et al., "Optimization of collective communication operations in MPICH", 2005.
struct ClosedForm {
  double (*rounds)(int ranks);  ///< messages that follow each other
  double (*volume)(int ranks);  ///< shares of the M bytes that a rank handles ...
  double transfers;             ///< ... how often each of them is sent ...
  double reductions;            ///< ... and how often it is added
};

/// Cost over `ranks` >= 1 ranks; zero for one rank.
CostLine cost_line(const ClosedForm& form, int ranks, const LinkCost& link);

/// Carries a line that was measured over `from` >= 2 ranks to `to` ranks of the same algorithm, by its own closed form.
CostLine carry(const ClosedForm& form, const CostLine& measured, int from, int to);

/// The same for measured points: what a rank sends at a time is as large, so that each of its messages takes as long.
std::vector<MeasuredTime> carry(const ClosedForm& form, std::vector<MeasuredTime> measured, int from, int to);

/// The alpha and beta that a line measured over `ranks` >= 2 ranks implies, given gamma. Beta comes out negative when
/// the line is faster than the reduction alone would allow.
LinkCost implied_link(const ClosedForm& form, const CostLine& measured, int ranks, SecondsPerByte gamma);

}  // namespace syncopate
