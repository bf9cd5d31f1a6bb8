#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/fields.hpp"
#include "base/units.hpp"

namespace syncopate {

/// What share of its nominal bandwidth collectives of published benchmarks get over a kind of link: the median and quartiles of rows of
/// scenarios/clusters/runs/link-efficiencies.csv.
struct LinkKind {
  std::string_view name;
  double gbps = 0.0;    ///< of the rows, nominal, about; 0: of any speed
  int results = 0;      ///< how many published ones; of a link, those of its kind at any speed
  double low = 0.0;     ///< first quartile
  double median = 0.0;  ///< what counts where a link does not say
  double high = 0.0;    ///< third quartile
  std::string_view meaning;
};

/// Sorted by name and speed.
std::span<const LinkKind> link_kinds();

/// Of the kind of that name, for links of that nominal bandwidth. Between two speeds of a kind, what gets through is interpolated; below
/// the first, the share is the first's; above the last, no more gets through. Throws InputError when no kind has the field's name.
LinkKind read_link_kind(const Field& name, Rate nominal);

/// A share of the nominal bandwidth: a number, or "low", "median" or "high" of the link's kind. Throws InputError; a text needs a kind.
double read_efficiency(const Field& field, const LinkKind* kind);

/// "half of 16 published results for infiniband got 72% to 96% of the nominal bandwidth", or as much of shares that are interpolated.
std::string describe(const LinkKind& kind);

}  // namespace syncopate
