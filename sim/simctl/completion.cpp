#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "base/project_files.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "schedule/schedules.hpp"
#include "simctl/commands.hpp"

namespace syncopate {

namespace {

/// The scripts call the hidden command "simctl complete" with the words of the line so far; the last word is unfinished. It prints lines
/// NAME<tab>MEANING. Names are files' names and may hold anything printable: zsh and fish quote what they insert, bash does not.
constexpr std::string_view for_bash = R"(# bash completion for simctl
_simctl() {
  local -a words=("${COMP_WORDS[@]:0:COMP_CWORD+1}")
  local word="${words[-1]//\\?/}" name
  COMPREPLY=()
  case "$word" in *[\'\"\`\$]*) return ;; esac
  words[-1]="${words[-1]//\\/}"
  while IFS=$'\t' read -r name _; do
    printf -v name %q "$name"
    COMPREPLY+=("$name")
  done < <("${1/#\~/$HOME}" complete "${words[@]}" 2> /dev/null)
}
complete -o default -F _simctl simctl
)";

constexpr std::string_view for_zsh = R"(#compdef simctl
_simctl() {
  local line name
  local -a candidates
  for line in "${(@f)$("${words[1]}" complete "${(@Q)words[1,CURRENT]}" 2> /dev/null)}"; do
    name="${${line%%$'\t'*}//\\/\\\\}"
    [[ -n "$line" ]] && candidates+=("${name//:/\\:}:${line#*$'\t'}")
  done
  if (( $#candidates )); then
    _describe simctl candidates
  else
    _files
  fi
}
if [[ "${funcstack[1]}" == _simctl ]]; then
  _simctl "$@"
else
  compdef _simctl simctl
fi
)";

constexpr std::string_view for_fish = R"(# fish completion for simctl
function __simctl_candidates
  set -l words (commandline -opc)
  $words[1] complete $words (string unescape -- (commandline -ct); or commandline -ct) 2> /dev/null
end
complete -c simctl -a '(__simctl_candidates)'
)";

struct ShellRow {
  const char* name;
  std::string_view script;
};
constexpr std::array shells = {ShellRow{"bash", for_bash}, ShellRow{"zsh", for_zsh}, ShellRow{"fish", for_fish}};

/// Kinds of the project's files by the name of an option or argument.
struct NamedFiles {
  std::string_view name;
  std::vector<FileKind> kinds;
};

const std::vector<NamedFiles>& named_files() {
  static const std::vector<NamedFiles> table = {
      {"SCENARIO", {FileKind::scenario}}, {"TRACE", {FileKind::trace}},     {"FIRST", {FileKind::trace}},
      {"SECOND", {FileKind::trace}},      {"--trace", {FileKind::trace}},   {"MODEL", {FileKind::model}},
      {"--model", {FileKind::model}},     {"--device", {FileKind::device}}, {"--profile", {FileKind::device}},
      {"--cluster", {FileKind::cluster}}, {"ADVICE", {FileKind::advice}},
  };
  return table;
}

struct Candidate {
  std::string text;
  std::string about;
};
using Candidates = std::vector<Candidate>;

void add_names(Candidates& candidates, FileKind kind) {
  for (const std::filesystem::path& file : project_files(kind)) {
    const std::string name = file.stem().string();
    if (!name.starts_with('-')) candidates.push_back({name, std::string(name_of(kind))});  // would be taken for an option
  }
}

/// The names in "TEXT:{csv,json}", CLI11's description of a choice.
Candidates choices(const std::string& type) {
  Candidates candidates;
  const std::size_t open = type.find('{');
  const std::size_t close = type.find('}');
  if (open == std::string::npos || close == std::string::npos) return candidates;
  for (const std::string& name : CLI::detail::split(type.substr(open + 1, close - open - 1), ',')) candidates.push_back({name, ""});
  return candidates;
}

Candidates values_of(const CLI::App& command, const CLI::Option& option) {
  const std::string name = option.get_name();
  Candidates candidates = choices(option.get_type_name());
  for (const NamedFiles& row : named_files()) {
    if (row.name != name) continue;
    for (const FileKind kind : row.kinds) add_names(candidates, kind);
  }
  if (name == "FILE" && command.get_name() == "show") {
    for (const FileKind kind : {FileKind::model, FileKind::trace, FileKind::device, FileKind::cluster}) add_names(candidates, kind);
  }
  if (name == "--schedule" || (name == "NAME" && command.get_name() == "list")) {
    for (const ScheduleRow& row : schedules()) candidates.push_back({std::string(row.name), std::string(row.meaning)});
  }
  return candidates;
}

bool takes_value(const CLI::Option& option) { return option.get_expected_max() > 0 && option.get_type_size() > 0; }

/// The position in the command's grammar after some words.
class Place {
 public:
  explicit Place(const CLI::App& root) : command_(&root) {}

  void go_on(const std::string& word) {
    // bash splits "--format=csv" and "/nodes=8" into three words.
    const bool is_behind_equals = std::exchange(was_equals_, word == "=");
    if (was_equals_) return;
    if (awaits_value_) {
      awaits_value_ = nullptr;
    } else if (is_behind_equals) {
      return;
    } else if (word.starts_with('-') && word != "-") {
      const CLI::Option* option = command_->get_option_no_throw(word.substr(0, word.find('=')));
      if (option != nullptr && takes_value(*option) && word.find('=') == std::string::npos) awaits_value_ = option;
    } else if (const CLI::App* next = subcommand(word)) {
      *this = Place(*next);
    } else {
      ++arguments_;
    }
  }

  /// Completions of `word`.
  Candidates candidates(const std::string& word) const {
    if (awaits_value_ != nullptr) return values_of(*command_, *awaits_value_);
    const std::size_t equals = word.find('=');
    if (word.starts_with("--") && equals != std::string::npos) return values_behind(word.substr(0, equals));
    if (word.starts_with('-')) return options();
    Candidates found;
    for (const CLI::App* next : shown_subcommands()) found.push_back({next->get_name(), next->get_description()});
    if (const CLI::Option* option = argument())
      for (Candidate& value : values_of(*command_, *option)) found.push_back(std::move(value));
    return found;
  }

 private:
  std::vector<const CLI::App*> shown_subcommands() const {
    return command_->get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
  }

  const CLI::App* subcommand(const std::string& word) const {
    const auto all = shown_subcommands();
    const auto found = std::find_if(all.begin(), all.end(), [&](const CLI::App* command) { return command->get_name() == word; });
    return found == all.end() ? nullptr : *found;
  }

  Candidates options() const {
    Candidates found;
    for (const CLI::Option* option : command_->get_options()) {
      for (const std::string& name : option->get_lnames()) found.push_back({"--" + name, option->get_description()});
      for (const std::string& name : option->get_snames()) found.push_back({"-" + name, option->get_description()});
    }
    return found;
  }

  /// Values as "--option=value".
  Candidates values_behind(const std::string& name) const {
    const CLI::Option* option = command_->get_option_no_throw(name);
    if (option == nullptr) return {};
    Candidates found = values_of(*command_, *option);
    for (Candidate& candidate : found) candidate.text.insert(0, name + '=');
    return found;
  }

  /// The positional argument at this position. The last one may be given several times.
  const CLI::Option* argument() const {
    const CLI::Option* last = nullptr;
    int left = arguments_;
    for (const CLI::Option* option : command_->get_options([](const CLI::Option* positional) { return positional->get_positional(); })) {
      last = option;
      left -= option->get_items_expected_max();
      if (left < 0) return last;
    }
    return nullptr;
  }

  const CLI::App* command_;
  const CLI::Option* awaits_value_ = nullptr;
  bool was_equals_ = false;
  int arguments_ = 0;
};

/// `words`: the command line. The first word is the program, the last one is unfinished.
void print_candidates(const CLI::App& root, const std::vector<std::string>& words) {
  if (words.size() < 2) return;
  const std::string unfinished = words.back() == "=" ? "" : words.back();
  Place place(root);
  std::for_each(words.begin() + 1, words.end() - 1, [&](const std::string& word) { place.go_on(word); });
  for (const Candidate& candidate : place.candidates(unfinished)) {
    const bool is_plain = printable(candidate.text) == candidate.text;  // no shell shows others as they are
    if (is_plain && candidate.text.starts_with(unfinished)) print_data(fmt::format("{}\t{}\n", candidate.text, candidate.about));
  }
}

}  // namespace

void add_completion_command(CLI::App& app) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "Print what completes simctl's command lines in a shell");
  std::vector<std::string> names;
  for (const ShellRow& row : shells) names.emplace_back(row.name);
  command->add_option("SHELL", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember(names));
  command->footer("Example: eval \"$(simctl completion bash)\"");
  command->callback([shell] {
    const auto row = std::find_if(shells.begin(), shells.end(), [&](const ShellRow& one) { return one.name == *shell; });
    print_data(row->script);
  });
  CLI::App* asked = app.add_subcommand("complete")->group("")->prefix_command();
  asked->set_help_flag();
  asked->callback([&app, asked] { print_candidates(app, asked->remaining()); });
}

}  // namespace syncopate
