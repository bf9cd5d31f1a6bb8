#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "base/units.hpp"

namespace syncopate {

/// Time of a collective as a linear function of its bytes M: T(M) = a + b·M.
struct CostLine {
  Seconds a;
  SecondsPerByte b;

  Seconds operator()(Bytes bytes) const { return a + b * bytes; }

  /// Two collectives in sequence.
  friend CostLine operator+(const CostLine& first, const CostLine& second) { return {first.a + second.a, first.b + second.b}; }
};

/// Time of a collective as a function of its bytes: computed or measured.
class CostCurve {
 public:
  CostCurve(const CostLine& line = {}) : tangent_([line](Bytes) { return line; }) {}
  /// `tangent`: returns the line that touches the curve at the given number of bytes (same value, same slope).
  explicit CostCurve(std::function<CostLine(Bytes)> tangent) : tangent_(std::move(tangent)) {}

  CostLine tangent(Bytes bytes) const { return tangent_(bytes); }
  Seconds operator()(Bytes bytes) const { return tangent_(bytes)(bytes); }

 private:
  std::function<CostLine(Bytes)> tangent_;
};

/// Measured time of a collective of `bytes`.
struct MeasuredTime {
  Bytes bytes;
  Seconds time;
};

/// The line through the first and the last point, with a >= 0.
CostLine line_through(const std::vector<MeasuredTime>& points);

/// Piecewise linear curve through at least two points, sorted by bytes. Below the first point: constant. Beyond the last point: the last
/// segment continues.
CostCurve curve_through(std::vector<MeasuredTime> points);

/// The lowest of lines, the first of equals.
CostCurve lowest(std::vector<CostLine> lines);

/// Time of one collective: a latency, which overlaps with other collectives in flight, then the transfer.
struct CollectiveTime {
  Seconds latency;
  Seconds transfer;

  Seconds total() const { return latency + transfer; }
};

/// A link in the alpha-beta-gamma model.
struct LinkCost {
  Seconds alpha;         ///< latency of a message
  SecondsPerByte beta;   ///< time to move one byte
  SecondsPerByte gamma;  ///< time to reduce (add) one byte
};

/// Cost of the link from one rank to the next.
struct Hop {
  Seconds latency;
  SecondsPerByte beta;

  bool operator==(const Hop&) const = default;
};

/// Closed form of an algorithm for one operation on M bytes over N ranks: T(M) = rounds·alpha + volume·(transfers·beta +
/// reductions·gamma)·M. Sources: MG-WFBP, Table 2; R. Thakur et al., "Optimization of collective communication operations in MPICH", 2005.
struct ClosedForm {
  double (*rounds)(int ranks);  ///< number of messages in sequence
  double (*volume)(int ranks);  ///< fraction of M that a rank handles
  double transfers;             ///< how often each of these bytes is sent
  double reductions;            ///< how often each of these bytes is added
};

/// The cost over `ranks` >= 1 ranks; 0 for one rank.
CostLine cost_line(const ClosedForm& form, int ranks, const LinkCost& link);

/// Converts a line measured over `from` >= 2 ranks to `to` ranks of the same algorithm, by the closed form.
CostLine carry(const ClosedForm& form, const CostLine& measured, int from, int to);

/// The same for measured points. Bytes scale so that each message of a rank keeps its size, and so its time.
std::vector<MeasuredTime> carry(const ClosedForm& form, std::vector<MeasuredTime> measured, int from, int to);

/// The alpha and beta that a line measured over `ranks` >= 2 ranks implies, given gamma. Beta is negative if the line is faster than the
/// reduction alone.
LinkCost implied_link(const ClosedForm& form, const CostLine& measured, int ranks, SecondsPerByte gamma);

}  // namespace syncopate
