#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <set>
#include <sstream>

#include "base/files.hpp"
#include "base/version.hpp"
#include "simctl/commands.hpp"

namespace syncopate {

namespace {

using Commands = std::vector<const CLI::App*>;

/// As roff's text.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
  }
  // A line that begins with one of these would be a command.
  return result.starts_with('.') || result.starts_with('\'') ? "\\&" + result : result;
}

std::string title(const std::string& page) {
  std::string upper = page;
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return upper;
}

Commands shown(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); });
}

std::vector<const CLI::Option*> options(const CLI::App& command, bool positional) {
  return command.get_options([&](const CLI::Option* one) { return one->get_positional() == positional && !one->get_group().empty(); });
}

/// "-o, --output TEXT" as bold names and a type.
std::string describe(const CLI::Option& option) {
  const std::string names = option.get_positional() ? option.get_name(true) : option.get_name(false, true);
  std::string text;
  for (const std::string& name : CLI::detail::split(names, ',')) text += (text.empty() ? "\\fB" : ", \\fB") + escaped(name) + "\\fR";
  if (option.get_type_size() > 0 && !option.get_type_name().empty()) text += " \\fI" + escaped(option.get_type_name()) + "\\fR";
  if (option.get_required()) text += " (required)";
  if (!option.get_default_str().empty()) text += fmt::format(" (default: {})", escaped(option.get_default_str()));
  return text;
}

/// "needs --output; not with --force", as far as it is so.
std::string conditions(const CLI::Option& option) {
  const auto names = [](const std::string& words, const std::set<CLI::Option*>& others) {
    std::vector<std::string> all;
    for (const CLI::Option* other : others) all.push_back(other->get_name());
    std::sort(all.begin(), all.end());
    return all.empty() ? "" : fmt::format("{} {}", words, fmt::join(all, ", "));
  };
  const std::string needs = names("needs", option.get_needs());
  const std::string excludes = names("not with", option.get_excludes());
  if (needs.empty() && excludes.empty()) return "";
  return fmt::format(" ({}{}{})", needs, needs.empty() || excludes.empty() ? "" : "; ", excludes);
}

std::string list(const std::string& heading, const std::vector<const CLI::Option*>& options) {
  if (options.empty()) return "";
  std::string text = fmt::format(".SH {}\n", heading);
  for (const CLI::Option* option : options)
    text += fmt::format(".TP\n{}\n{}\n", describe(*option), escaped(option->get_description() + conditions(*option)));
  return text;
}

std::string synopsis(const CLI::App& command, const std::string& words) {
  std::string text = fmt::format(".SH SYNOPSIS\n.B {}\n", escaped(words));
  if (!shown(command).empty()) return text + "\\fICOMMAND\\fR ...\n";
  text += "[\\fIOPTION\\fR]...";
  for (const CLI::Option* one : options(command, false)) {
    if (one->get_required()) text += fmt::format(" \\fB{}\\fR \\fI{}\\fR", escaped(one->get_name()), escaped(one->get_type_name()));
  }
  for (const CLI::Option* one : options(command, true)) {
    const bool several = one->get_items_expected_max() > 1;
    const std::string name = fmt::format("\\fI{}\\fR{}", escaped(one->get_name(true)), several ? "..." : "");
    text += one->get_required() ? " " + name : " [" + name + "]";
  }
  return text + "\n";
}

/// The footer's lines: an example, the exit codes, or something else that is to be known.
std::string rest(const CLI::App& command) {
  std::string text;
  std::istringstream lines(command.get_footer());
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("Example")) {
      text += fmt::format(".SH EXAMPLE\n.EX\n{}\n.EE\n", escaped(line.substr(colon + 2)));
    } else if (line.starts_with("Exit codes")) {
      text += fmt::format(".SH EXIT STATUS\n{}\n", escaped(line.substr(colon + 2)));
    } else if (!line.empty()) {
      text += fmt::format(".SH NOTES\n{}\n", escaped(line));
    }
  }
  return text;
}

/// `words` are those of the command; its page is called the same, with dashes.
void write_pages(const CLI::App& command, const std::string& words, const std::string& parent, const std::filesystem::path& folder) {
  const auto page_of = [](std::string its) {
    std::replace(its.begin(), its.end(), ' ', '-');
    return its;
  };
  const std::string page = page_of(words);
  std::string text = fmt::format(".TH \"{}\" 1 \"\" \"Syncopate {}\" \"Syncopate\"\n", escaped(title(page)), version());
  text += fmt::format(".SH NAME\n{} \\- {}\n{}", escaped(page), escaped(command.get_description()), synopsis(command, words));
  const Commands commands = shown(command);
  if (!commands.empty()) text += ".SH COMMANDS\n";
  for (const CLI::App* one : commands)
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", escaped(one->get_name()), escaped(one->get_description()));
  text += list("ARGUMENTS", options(command, true)) + list("OPTIONS", options(command, false)) + rest(command);
  std::vector<std::string> others;
  if (!parent.empty()) others.push_back(page_of(parent));
  for (const CLI::App* one : commands) others.push_back(page_of(words + ' ' + one->get_name()));
  if (!others.empty()) text += ".SH SEE ALSO\n";
  for (const std::string& other : others) text += fmt::format(".BR {} (1){}\n", escaped(other), &other == &others.back() ? "" : ",");
  write_file(folder / (page + ".1"), text);
  for (const CLI::App* one : commands) write_pages(*one, words + ' ' + one->get_name(), words, folder);
}

}  // namespace

void add_manual_command(CLI::App& app) {
  const auto folder = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("manual", "Write the manual pages of all commands")->group("");
  command->add_option("DIR", *folder, "folder for them, made when missing")->required();
  command->callback([&app, folder] {
    make_writable_folder(*folder);
    write_pages(app, app.get_name(), "", *folder);
  });
}

}  // namespace syncopate
