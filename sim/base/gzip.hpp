#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <streambuf>
#include <string>
#include <string_view>

struct gzFile_s;
struct z_stream_s;

namespace syncopate {

/// The content of a gzip file, compressed as it comes.
class GzipText {
 public:
  /// `level`: 1 (fast) to 9 (small), as zlib has it.
  explicit GzipText(int level);
  ~GzipText();
  GzipText(const GzipText&) = delete;
  GzipText& operator=(const GzipText&) = delete;

  void append(std::string_view text) { compress(text, false); }
  /// All of it; only once.
  std::string take();

 private:
  void compress(std::string_view text, bool is_last);

  std::unique_ptr<z_stream_s> stream_;
  std::string compressed_;
};

/// The text as the content of a gzip file.
std::string gzip(std::string_view text);

/// Reads a file, gzip-compressed or plain, a piece at a time. Reading throws InputError when the file cannot be read or
/// its compressed data is damaged or cut off, or when it grows beyond 4 GiB or holds a text, that is anything without a quote, of more
/// than 64 MiB: what is small on a disk may not fit into memory.
class GzipBuffer : public std::streambuf {
 public:
  explicit GzipBuffer(const std::filesystem::path& path);
  ~GzipBuffer() override;
  GzipBuffer(const GzipBuffer&) = delete;
  GzipBuffer& operator=(const GzipBuffer&) = delete;

 protected:
  int_type underflow() override;

 private:
  void check_size(std::string_view piece);

  std::string path_;
  gzFile_s* file_;
  std::array<char, 1 << 17> buffer_{};
  std::size_t size_ = 0;         ///< of all that has been read
  std::size_t since_quote_ = 0;  ///< of what comes after its last quote
};

}  // namespace syncopate
