#include "store/run_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <exception>
#include <set>
#include <system_error>
#include <utility>

#include "base/digest.hpp"
#include "base/errors.hpp"
#include "base/files.hpp"
#include "base/version.hpp"
#include "store/program.hpp"

namespace syncopate {

namespace fs = std::filesystem;

namespace {

constexpr const char* study_file = "study.json";
constexpr const char* run_file = "run.json";
constexpr const char* study_format = "study/1";
constexpr const char* point_format = "point/1";

std::string describe(const std::string& name, const std::string& file, std::size_t points) {
  return fmt::format("\"{}\" ({}, {} points)", name, file, points);
}

std::string describe(const Study& study) { return describe(study.name, study.file, study.points.size()); }

std::string describe(const Json& study) {
  return describe(study.at("name").get<std::string>(), study.at("scenario_file").get<std::string>(), study.at("points").get<std::size_t>());
}

/// The content of study.json in a folder. Null if there is none.
Json read_description(const fs::path& folder) {
  std::error_code ignored;
  const fs::path path = folder / study_file;
  if (!fs::exists(path, ignored)) return {};
  Json json = parse_json(read_file(path), path.string());
  try {
    if (json.at("format") != study_format)
      throw InputError(fmt::format("{}: /format: expected \"{}\", got {}", path.string(), study_format, json["format"].dump()));
    describe(json);
    for (const char* key : {"digest", "program"}) (void)json.at(key).get<std::string>();
  } catch (const Json::exception& error) {
    throw InputError(fmt::format("{}: no study of a run: {}; run it again with --force", path.string(), error.what()));
  }
  return json;
}

Json require_description(const fs::path& folder) {
  Json json = read_description(folder);
  if (json.is_null()) throw InputError(fmt::format("{}: no {} there: not the folder of a run", folder.string(), study_file));
  return json;
}

bool is_same_program(const Json& found) { return found["program"] == program_digest(); }

/// A short form of a program's digest, for messages.
std::string build_of(const std::string& digest) { return digest.substr(0, 8); }

/// A run that has written nothing for so long is not running any more.
constexpr std::chrono::minutes lately(10);

void remove(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) throw OutputError(fmt::format("{}: cannot be removed: {}; choose another folder with -o", path.string(), error.message()));
}

/// Flushes a file or a folder to the disk, so that it survives a power cut.
void sync(const fs::path& path) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): POSIX
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  fsync(file);
  close(file);
}

FileKind read_kind(const std::string& name) {
  for (const FileKind kind : {FileKind::trace, FileKind::cluster}) {
    if (name == name_of(kind)) return kind;
  }
  throw InputError(fmt::format("a study has no inputs of kind \"{}\"", name));
}

}  // namespace

RunFolder::RunFolder(fs::path folder, const Study& study, bool shortcuts)
    : folder_(std::move(folder)), study_(study), shortcuts_(shortcuts) {
  const std::string mode = fmt::format("{} {}", point_format, shortcuts ? "" : "without shortcuts");
  std::string all = mode;
  keys_.reserve(study.points.size());
  for (const Point& point : study.points) {
    all += point.digest;
    keys_.push_back(sha256(mode + program_digest() + point.digest));
  }
  all += study.document.dump(-1, ' ', false, Json::error_handler_t::replace);  // columns and labels depend on it
  digest_ = sha256(all);
}

Json RunFolder::description() const {
  Json json = {{"format", study_format},         {"name", study_.name},    {"scenario_file", study_.file},
               {"points", study_.points.size()}, {"digest", digest_},      {"program", program_digest()},
               {"version", version()},           {"symmetry", shortcuts_}, {"scenario", study_.document},
               {"settings", Json::object()},     {"inputs", Json::array()}};
  for (const Setting& setting : study_.settings) json["settings"][setting.pointer] = setting.value;
  for (const InputFile& input : study_.inputs) {
    json["inputs"].push_back({{"kind", name_of(input.kind)}, {"name", input.name}, {"file", input.file}, {"content", input.content}});
  }
  return json;
}

bool RunFolder::is_same_study(const Json& found) const { return found["digest"] == digest_; }

bool RunFolder::has_finished() const {
  std::error_code ignored;
  if (!fs::exists(folder_ / run_file, ignored)) return false;
  const Json json = Json::parse(read_file(folder_ / run_file), nullptr, false);
  return json.is_object() && json.contains("finished") && json["finished"] == true;
}

void RunFolder::check_entry(Entry entry, const Json& found) const {
  const std::string where = fmt::format("-o {}", folder_.string());
  if (!is_same_study(found)) {
    const bool looks_alike = describe(found) == describe(study_);
    throw UsageError(fmt::format(
        "{}: there are results of another study, {}, and not of this one, {}{}; choose another folder, or "
        "--force to replace them",
        where, describe(found), describe(study_), looks_alike ? ": the scenario, what it names, --set or --no-symmetry have changed" : ""));
  }
  const bool is_of_this_build = is_same_program(found);
  if (entry == Entry::begin && !has_finished()) {
    throw UsageError(fmt::format("{}: a run of this study has not finished there; {}--force starts again", where,
                                 is_of_this_build ? "--resume goes on with it, " : "it was one of another build of simctl, so that only "));
  }
  if (entry == Entry::go_on && !is_of_this_build) {
    throw UsageError(fmt::format(
        "{}: these results are of another build of simctl (version {}, build {}), and would not mix with this one's (version "
        "{}, build {}); choose another folder, or --force to replace them",
        where, found.value("version", "unknown"), build_of(found["program"].get<std::string>()), version(), build_of(program_digest())));
  }
}

void RunFolder::enter(Entry entry) {
  make_writable_folder(folder_);
  const Json found = entry == Entry::overwrite ? Json() : read_description(folder_);
  if (!found.is_null()) check_entry(entry, found);
  std::error_code ignored;
  fs::remove(folder_ / run_file, ignored);
  if (entry != Entry::go_on) remove_older();
  fs::create_directory(points(), ignored);
  if (found.is_null() || entry != Entry::go_on) write_file(folder_ / study_file, pretty(description()));
}

void RunFolder::remove_older() const {
  syncopate::remove(points());
  const std::set<std::string> results = {"results.csv", "results.json"};
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    const bool is_file = entry.is_regular_file() && !entry.is_symlink();
    if (is_file && (results.contains(name) || is_about_a_point(name))) syncopate::remove(entry.path());
  }
}

fs::path RunFolder::file(int point) const { return points() / (key(point) + ".json"); }

bool RunFolder::has_points() const {
  std::error_code ignored;
  return !fs::is_empty(points(), ignored);
}

std::optional<EndedPoint> RunFolder::find(int point, const fs::path& other) const {
  const fs::path path = other / "points" / file(point).filename();
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::nullopt;
  const Json json = Json::parse(read_file(path), nullptr, false);
  try {
    if (json.at("format") != point_format) return std::nullopt;
    if (json.contains("error")) return EndedPoint{.error = json["error"].get<std::string>()};
    return EndedPoint{.result = PointResult::from_json(json.at("result"))};
  } catch (const std::exception&) {  // an incomplete file
    return std::nullopt;
  }
}

void RunFolder::keep(int point, const EndedPoint& ended) const {
  Json json = {{"format", point_format}};
  if (ended.result) {
    json["result"] = ended.result->to_json();
  } else {
    json["error"] = ended.error;
  }
  replace_file(file(point), json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n', Durability::cached);
}

void RunFolder::sync_now_and_then(int point) {
  constexpr std::chrono::seconds often_enough(1);
  if (std::chrono::steady_clock::now() - last_sync_ < often_enough) return;
  sync(file(point));
  sync(points());
  last_sync_ = std::chrono::steady_clock::now();
}

void RunFolder::remove(int point) const {
  std::error_code ignored;
  fs::remove(file(point), ignored);
}

void RunFolder::require_same_study(const fs::path& other) const {
  const Json found = require_description(other);
  if (!is_same_study(found))
    throw UsageError(fmt::format("{}: results of another study, {}, and not of {}; merge only folders of one study", other.string(),
                                 describe(found), describe(study_)));
  if (!is_same_program(found))
    throw UsageError(
        fmt::format("{}: results of another build of simctl (version {}, build {}) than this one (version {}, build {}); merge "
                    "them with that one, or run the study again",
                    other.string(), found.value("version", "unknown"), build_of(found["program"].get<std::string>()), version(),
                    build_of(program_digest())));
}

void RunFolder::write(const Results& results, bool finished, bool shared) const {
  std::optional<OutputError> failure;
  const auto try_to_write = [&](const char* name, const std::string& text) {
    try {
      write_file(folder_ / name, text);
    } catch (const OutputError& error) {
      if (!failure) failure = error;
    }
  };
  try_to_write("results.csv", results_csv(results));
  try_to_write("results.json", pretty(results_json(results, study_)));
  Json run = {
      {"format", "run/1"}, {"scenario_file", study_.file}, {"inputs", Json::array()}, {"wall_s", results.wall_s}, {"finished", finished}};
  for (const InputFile& input : study_.inputs) run["inputs"].push_back(input.file);
  if (!failure) try_to_write(run_file, pretty(run));
  if (finished) {
    remove_unfinished(folder_, lately);
    remove_unfinished(points(), shared ? lately : std::chrono::minutes(0));
  }
  sync(points());
  sync(folder_);
  if (failure) throw OutputError(*failure);
}

bool is_about_a_point(const std::string& file_name) {
  const bool is_timeline = file_name.starts_with("timeline-") && (file_name.ends_with(".json") || file_name.ends_with(".json.gz"));
  const bool is_dataflow = file_name.starts_with("dataflow-") && file_name.ends_with(".jsonl.gz");
  return is_timeline || is_dataflow || (file_name.starts_with("explanation-") && file_name.ends_with(".json"));
}

FoundStudy read_study_of(const fs::path& folder) {
  const Json json = require_description(folder);
  FoundStudy found;
  try {
    Study& study = found.study;
    study.file = json.at("scenario_file").get<std::string>();
    study.document = json.at("scenario");
    for (const auto& [pointer, value] : json.at("settings").items()) study.settings.push_back({pointer, value});
    for (const Json& input : json.at("inputs")) {
      study.inputs.push_back({read_kind(input.at("kind").get<std::string>()), input.at("name").get<std::string>(),
                              input.at("file").get<std::string>(), input.at("content")});
    }
    found.shortcuts = json.at("symmetry").get<bool>();
  } catch (const Json::exception& error) {
    throw InputError(fmt::format("{}: no study of a run: {}", (folder / study_file).string(), error.what()));
  }
  found.study = restore_study(found.study);
  return found;
}

}  // namespace syncopate
