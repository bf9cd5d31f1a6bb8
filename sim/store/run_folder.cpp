#include "store/run_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <exception>
#include <set>
#include <system_error>
#include <utility>

#include "base/choice.hpp"
#include "base/digest.hpp"
#include "base/document.hpp"
#include "base/errors.hpp"
#include "base/fields.hpp"
#include "base/files.hpp"
#include "base/indexed.hpp"
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

/// What study.json says of the study, apart from the study itself.
struct Description {
  std::string name;
  std::string scenario_file;
  std::size_t points = 0;
  std::string digest;
  std::string program;
  std::string version;
};

std::string describe(const Description& study) { return describe(study.name, study.scenario_file, study.points); }

/// Any string, such as the name of a file.
std::string string_in(const Field& field) {
  if (!field.is_text()) field.fail("a string");
  return field.json().get<std::string>();
}

/// The elements of a list that may be empty.
std::vector<Field> elements_of(const Field& field) {
  if (!field.is_list()) field.fail("a list");
  return field.json().empty() ? std::vector<Field>() : field.list();
}

/// Adds to an error about study.json what to do.
[[noreturn]] void fail_as_damaged(const std::string& message) {
  throw InputError(fmt::format("{}; the file is damaged or was changed: run the study again, with -o DIR --force", message));
}

Description read_description(const Document& document) {
  Object fields{Field(document)};
  fields.format(study_format, true);
  constexpr std::int64_t most_listed_points = 1'000'000'000;
  return {string_in(fields.at("name")),
          string_in(fields.at("scenario_file")),
          static_cast<std::size_t>(fields.at("points").integer(1, most_listed_points)),
          string_in(fields.at("digest")),
          string_in(fields.at("program")),
          string_in(fields.at("version"))};
}

FoundStudy read_found(const Document& document) {
  Object fields{Field(document)};
  FoundStudy found;
  Study& study = found.study;
  study.file = string_in(fields.at("scenario_file"));
  study.document = fields.at("scenario").json();
  const Field settings = fields.at("settings");
  if (!settings.is_object()) settings.fail("an object");
  for (const auto& [pointer, value] : settings.json().items()) study.settings.push_back({pointer, value});
  for (const Field& element : elements_of(fields.at("inputs"))) {
    Object input(element);
    const std::string kind =
        choose_name(input.at("kind"), {std::string(name_of(FileKind::trace)), std::string(name_of(FileKind::cluster))});
    study.inputs.push_back({kind == name_of(FileKind::trace) ? FileKind::trace : FileKind::cluster, string_in(input.at("name")),
                            string_in(input.at("file")), input.at("content").json()});
  }
  found.shortcuts = fields.at("symmetry").boolean();
  found.study = restore_study(found.study);
  return found;
}

/// study.json in a folder. Nullopt if there is none.
std::optional<Document> find_study_file(const fs::path& folder) {
  std::error_code ignored;
  const fs::path path = folder / study_file;
  if (!fs::exists(path, ignored)) return std::nullopt;
  const std::string text = read_file(path);
  try {
    return Document(parse_json(text, path.string()), path.string());
  } catch (const InputError& error) {
    fail_as_damaged(error.what());
  }
}

Document require_study_file(const fs::path& folder) {
  std::optional<Document> document = find_study_file(folder);
  if (!document) throw InputError(fmt::format("{}: no {} there: not the folder of a run", folder.string(), study_file));
  return std::move(*document);
}

/// `read` of study.json. An error says what to do.
template <class Read>
auto read_study_file(const Document& document, Read read) {
  try {
    return read(document);
  } catch (const InputError& error) {
    const std::string message = error.what();
    const bool names_it = message.starts_with(document.file());
    fail_as_damaged(names_it ? message : fmt::format("{}: /scenario: {}", document.file(), message));
  }
}

Description describe_study_file(const Document& document) {
  return read_study_file(document, [](const Document& file) { return read_description(file); });
}

bool is_same_program(const Description& found) { return found.program == program_digest(); }

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

/// The SHA-256 of a point's file, which is the last member of it. `key` is in it, so that the file of another point does not do.
std::string seal_of(const std::string& key, std::string_view content) {
  return fmt::format(",\"sha256\":\"{}\"}}\n", sha256(fmt::format("{}{}", key, content)));
}

/// Adds the seal to a JSON object.
std::string sealed(const std::string& key, std::string_view object) {
  return fmt::format("{}{}", object.substr(0, object.size() - 1), seal_of(key, object));
}

/// The object of a sealed text. Nullopt if the seal does not fit it.
std::optional<std::string> unsealed(const std::string& key, std::string_view text) {
  constexpr std::string_view begin = ",\"sha256\":\"";
  const std::size_t end = text.rfind(begin);
  if (end == std::string_view::npos) return std::nullopt;
  std::string object = fmt::format("{}}}", text.substr(0, end));
  return text.substr(end) == seal_of(key, object) ? std::optional(std::move(object)) : std::nullopt;
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

bool RunFolder::has_finished() const {
  std::error_code ignored;
  if (!fs::exists(folder_ / run_file, ignored)) return false;
  const Json json = Json::parse(read_file(folder_ / run_file), nullptr, false);
  return json.is_object() && json.contains("finished") && json["finished"] == true;
}

void RunFolder::check_entry(Entry entry) const {
  const std::string where = fmt::format("-o {}", folder_.string());
  const std::optional<int> other = lock_->other();
  if (other && entry != Entry::go_on) {
    throw UsageError(fmt::format(
        "{}: another run{} is at work there; wait until it has ended, choose another folder, or share its work with --resume if it is of "
        "this study",
        where, describe_process(*other)));
  }
  const std::optional<Document> file = entry == Entry::overwrite ? std::nullopt : find_study_file(folder_);
  if (!file) return;
  const Description found = describe_study_file(*file);
  if (found.digest != digest_) {
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
    throw UsageError(
        fmt::format("{}: these results are of another build of simctl (version {}, build {}), and would not mix with this one's (version "
                    "{}, build {}); choose another folder, or --force to replace them",
                    where, found.version, build_of(found.program), version(), build_of(program_digest())));
  }
}

void RunFolder::enter(Entry entry) {
  make_writable_folder(folder_);
  lock_.emplace(folder_);
  check_entry(entry);
  std::error_code ignored;
  fs::remove(folder_ / run_file, ignored);
  if (entry != Entry::go_on) remove_older();
  fs::create_directory(points(), ignored);
  if (entry != Entry::go_on || !fs::exists(folder_ / study_file, ignored)) write_file(folder_ / study_file, pretty(description()));
  lock_->share();
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

std::optional<EndedPoint> RunFolder::read(int point, const fs::path& other) const {
  const fs::path path = other / "points" / file(point).filename();
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::nullopt;
  const std::optional<std::string> object = unsealed(key(point), read_file(path));
  const Json json = object ? Json::parse(*object, nullptr, false) : Json();
  try {
    if (json.at("format") == point_format) {
      if (json.contains("error")) return EndedPoint{.error = json["error"].get<std::string>()};
      return EndedPoint{.result = PointResult::from_json(json.at("result"))};
    }
  } catch (const std::exception&) {  // fails below
  }
  throw InputError(fmt::format("{}: /sha256: does not fit the rest of the file, which is not whole or was changed", path.string()));
}

std::optional<EndedPoint> RunFolder::find(int point) const {
  try {
    return read(point, folder_);
  } catch (const InputError&) {
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
  replace_file(file(point), sealed(key(point), json.dump(-1, ' ', false, Json::error_handler_t::replace)), Durability::cached);
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
  const Description found = describe_study_file(require_study_file(other));
  if (found.digest != digest_)
    throw UsageError(fmt::format("{}: results of another study, {}, and not of {}; merge only folders of one study", other.string(),
                                 describe(found), describe(study_)));
  if (!is_same_program(found))
    throw UsageError(
        fmt::format("{}: results of another build of simctl (version {}, build {}) than this one (version {}, build {}); merge "
                    "them with that one, or run the study again",
                    other.string(), found.version, build_of(found.program), version(), build_of(program_digest())));
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
    remove_unfinished(points(), shared || lock_->other() ? lately : std::chrono::minutes(0));
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
  const Document file = require_study_file(folder);
  const Description description = describe_study_file(file);
  FoundStudy found = read_study_file(file, [](const Document& document) { return read_found(document); });
  const RunFolder of_it(folder, found.study, found.shortcuts);
  if (is_same_program(description) && of_it.digest() != description.digest)
    fail_as_damaged(fmt::format("{}: /digest: does not fit the study in the file", file.file()));
  return found;
}

}  // namespace syncopate
