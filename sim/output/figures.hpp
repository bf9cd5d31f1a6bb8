#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "output/point_figures.hpp"
#include "output/row.hpp"

namespace syncopate {

/// What a figure is when a row is the mean of several replicates.
enum class Averaging : std::uint8_t {
  mean,     ///< of the replicates; empty if a replicate has none
  largest,  ///< of the replicates
  first,    ///< the first replicate's
  by_time,  ///< the first replicate's x its iteration / the mean iteration
  none,     ///< follows from other figures or from the scenario
};
std::string_view to_string(Averaging averaging);

/// Where the simulation's result holds a figure, as JSON: null if it is empty. `write` throws Json::exception or InputError for JSON that
/// `read` does not give.
template <class Result>
struct Access {
  Json (*read)(const Result& result) = nullptr;
  void (*write)(Result& result, const Json& json) = nullptr;
};

/// A figure of the results. `Result`: what a simulation gives; `Shown`: the row made of it.
template <class Result, class Shown>
struct FigureOf {
  std::string_view name;
  std::string_view unit;
  std::string_view meaning;  ///< Markdown
  std::string_view empty;    ///< when there is none, "without `run`"; "" if there always is
  Averaging averaging = Averaging::none;
  Access<Result> place;                         ///< of a figure that the simulation gives
  Json (*derived)(const Shown& row) = nullptr;  ///< of any other figure

  constexpr FigureOf(std::string_view name_, std::string_view unit_, std::string_view meaning_, std::string_view empty_,
                     Averaging averaging_, Access<Result> place_)
      : name(name_), unit(unit_), meaning(meaning_), empty(empty_), averaging(averaging_), place(place_) {}
  constexpr FigureOf(std::string_view name_, std::string_view unit_, std::string_view meaning_, std::string_view empty_,
                     Json (*derived_)(const Shown& row))
      : name(name_), unit(unit_), meaning(meaning_), empty(empty_), derived(derived_) {}

  bool is_simulated() const { return place.read != nullptr; }
  Json value(const Shown& row) const { return is_simulated() ? place.read(row) : derived(row); }
  std::string description() const { return std::string(meaning) + (empty.empty() ? "" : "; empty ") + std::string(empty); }
};
using Figure = FigureOf<PointFigures, Row>;
using JobFigure = FigureOf<JobFigures, JobRow>;

/// The columns of results.csv but those of the swept pointers, which stand after `point`; RESULTS.md has this table.
std::span<const Figure> figures();

/// The keys of a job in results.json.
std::span<const JobFigure> job_figures();

/// All simulated figures by name, also those from which only others follow, and back to the same bits.
Json to_json(const PointFigures& result);
Json to_json(const JobFigures& result);
PointFigures read_point_figures(const Json& json);
JobFigures read_job_figures(const Json& json);

/// What at least one replicate makes together: each figure by its `Averaging`, all else of the first.
PointFigures mean_of(const std::vector<PointFigures>& replicates);
JobFigures mean_of(const std::vector<JobFigures>& replicates);

/// Throws SimulationError, which names the figure, if a simulated one is no finite number.
void require_finite(const PointFigures& result);
void require_finite(const JobFigures& result);

}  // namespace syncopate
