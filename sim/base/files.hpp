#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace syncopate {

/// Of what is read at once: more than any scenario, trace or benchmark has.
constexpr std::size_t most_read_bytes = std::size_t{256} << 20U;

/// Throws InputError unless `path` is a file: missing, a folder and a device are different mistakes.
void require_readable_file(const std::filesystem::path& path);

/// A descriptor of such a file, or of a pipe that somebody writes to; a named one is given a few seconds for that. Throws InputError.
int open_to_read(const std::filesystem::path& path);

/// The whole content of a file. Throws InputError that names the file and why it cannot be read; that it is larger than `most`, too.
std::string read_file(const std::filesystem::path& path, std::size_t most = most_read_bytes);

/// All of stdin, read once and kept. Throws InputError.
const std::string& read_stdin();

/// Whether a file that is written must outlast a power cut that comes at once, which costs milliseconds.
enum class Durability { synced, cached };

/// Writes `text` to `path` so that the file appears whole or not at all: a temporary file beside it, then a rename. A file that is replaced
/// leaves its permissions, a symbolic link is followed, a missing folder is made; a device, a pipe or what /dev/fd/N stands for is written
/// to. Throws OutputError, and leaves nothing behind.
void write_file(const std::filesystem::path& path, std::string_view text, Durability durability = Durability::synced);

/// write_file where only this program writes: whatever is at `path` is replaced, a link, too.
void replace_file(const std::filesystem::path& path, std::string_view text, Durability durability);

/// Removes what write_file has left in `folder` where its process was killed, if that has not changed for so long.
void remove_unfinished(const std::filesystem::path& folder, std::chrono::seconds unchanged);

/// Creates `folder` (and its parents) and proves that files can be written in it. Throws OutputError.
void make_writable_folder(const std::filesystem::path& folder);

/// Proves that the value of -o can be written, before there is anything to write. Throws OutputError.
void require_writable(const std::filesystem::path& out);

/// Writes the value of -o: a file as write_file does, or stdout, which is "-". Throws OutputError.
void write_output(const std::filesystem::path& out, std::string_view text);

/// For what a command has to say besides: stderr where `out`, the value of -o, is stdout.
std::FILE* stream_beside(const std::filesystem::path& out);

/// Throws UsageError unless `out`, the value of -o, is "-" or a file name that none of `inputs` has.
void check_output(const std::filesystem::path& out, const std::vector<std::string>& inputs);

}  // namespace syncopate
