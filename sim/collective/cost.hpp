#pragma once

#include "base/units.hpp"

namespace syncopate {

/// The time of a collective of M bytes, T(M) = a + b·M.
struct CostLine {
  Seconds a;
  SecondsPerByte b;

  Seconds operator()(Bytes bytes) const { return a + b * bytes; }
};

/// A link as the alpha-beta-gamma model sees it.
struct LinkCost {
  Seconds alpha;         ///< latency of a message
  SecondsPerByte beta;   ///< time to move one byte
  SecondsPerByte gamma;  ///< time to reduce (add) one byte
};

/// An all-reduce algorithm's closed form: over N ranks, T(M) = rounds·alpha + volume·(transfers·beta + gamma)·M.
/// MG-WFBP, Table 2; R. Thakur et al., "Optimization of collective communication operations in MPICH", 2005.
struct CostShape {
  double (*rounds)(int ranks);  ///< messages that follow each other
  double (*volume)(int ranks);  ///< shares of the M bytes that each rank handles
  double transfers;             ///< how often a share is sent for each time that it is reduced
};

/// Cost over `ranks` >= 1 ranks; zero for one rank.
CostLine cost_line(const CostShape& shape, int ranks, const LinkCost& link);

/// Carries a line that was measured over `from` >= 2 ranks to `to` ranks of the same algorithm, by its own closed form.
CostLine carry(const CostShape& shape, const CostLine& measured, int from, int to);

/// The alpha and beta that a line measured over `ranks` >= 2 ranks implies, given gamma. Beta comes out negative when
/// the line is faster than the reduction alone would allow.
LinkCost implied_link(const CostShape& shape, const CostLine& measured, int ranks, SecondsPerByte gamma);

}  // namespace syncopate
