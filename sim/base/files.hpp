#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace syncopate {

/// Limit for a file that is read as a whole, in bytes. Scenarios, traces and benchmarks are smaller.
constexpr std::size_t most_read_bytes = std::size_t{256} << 20U;

/// The path of a file relative to a folder, both given relative to the current folder. Neither need exist.
std::string way_from(const std::filesystem::path& folder, const std::filesystem::path& file);

/// Throws InputError unless `path` is a file or a pipe. The message tells missing files, folders and devices apart.
void require_readable_file(const std::filesystem::path& path);

/// Opens a file or a pipe and returns its descriptor. Waits up to 5 s for a writer of a named pipe. Throws InputError.
int open_to_read(const std::filesystem::path& path);

/// The same for a file that is read more than once: what comes through a pipe is kept in memory, at most most_read_bytes. Throws
/// InputError.
int open_to_reread(const std::filesystem::path& path);

/// The whole content of a file of at most `most` bytes. Throws InputError with the file's name and the reason.
std::string read_file(const std::filesystem::path& path, std::size_t most = most_read_bytes);

/// The same of an open file, from its current position on. Closes it. `name`: for messages.
std::string read_file(int file, const std::string& name, std::size_t most = most_read_bytes);

/// All of stdin. It is read once, later calls return the same text. Throws InputError.
const std::string& read_stdin();

/// synced: the file survives a power cut right after the write (fsync, some milliseconds). cached: it may not.
enum class Durability { synced, cached };

/// Writes `text` to `path`. The file appears whole or not at all: the text goes to a temporary file beside it, which is then renamed.
/// - Keeps the permissions of a file that it replaces, follows symbolic links, creates missing folders.
/// - Writes directly into a device, a pipe or /dev/fd/N.
/// Throws OutputError and removes the temporary file.
void write_file(const std::filesystem::path& path, std::string_view text, Durability durability = Durability::synced);

/// Like write_file, for folders where only this program writes: replaces whatever is at `path`, also a symbolic link.
void replace_file(const std::filesystem::path& path, std::string_view text, Durability durability);

/// Removes temporary files of killed processes from `folder`, if they have not changed for the time `unchanged`.
void remove_unfinished(const std::filesystem::path& folder, std::chrono::seconds unchanged);

/// Creates `folder` and its parents, and checks that files can be created in it. Throws OutputError.
void make_writable_folder(const std::filesystem::path& folder);

/// Checks early that the file given by -o can be written. Throws OutputError.
void require_writable(const std::filesystem::path& out);

/// Writes to the file given by -o as write_file does; "-" is stdout. Throws OutputError.
void write_output(const std::filesystem::path& out, std::string_view text);

/// Where a command prints its report: stderr if `out`, the value of -o, is stdout; else stdout.
std::FILE* stream_beside(const std::filesystem::path& out);

/// Throws UsageError unless `out`, the value of -o, is "-" or names a file that is none of `inputs`.
void check_output(const std::filesystem::path& out, const std::vector<std::string>& inputs);

}  // namespace syncopate
