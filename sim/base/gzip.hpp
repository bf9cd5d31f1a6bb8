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

/// Builds the content of a gzip file piece by piece.
class GzipText {
 public:
  /// `level`: zlib's compression level, 1 (fast) to 9 (small).
  explicit GzipText(int level);
  ~GzipText();
  GzipText(const GzipText&) = delete;
  GzipText& operator=(const GzipText&) = delete;

  void append(std::string_view text) { compress(text, false); }
  /// The compressed bytes. Call it once, after the last append.
  std::string take();

 private:
  void compress(std::string_view text, bool is_last);

  std::unique_ptr<z_stream_s> stream_;
  std::string compressed_;
};

/// The text, compressed as a gzip file.
std::string gzip(std::string_view text);

/// Reads a file, gzip-compressed or plain, piece by piece. Throws InputError when
/// - the file cannot be read, or its compressed data is damaged or truncated;
/// - it holds more than 4 GiB uncompressed, or more than 64 MiB without a double quote (one JSON string). A small compressed file could
///   otherwise exceed the memory.
class GzipBuffer : public std::streambuf {
 public:
  explicit GzipBuffer(const std::filesystem::path& path);
  /// The same for an open file, which this closes. `name`: for messages.
  GzipBuffer(int file, std::string name);
  ~GzipBuffer() override;
  GzipBuffer(const GzipBuffer&) = delete;
  GzipBuffer& operator=(const GzipBuffer&) = delete;

 protected:
  int_type underflow() override;

 private:
  void check_size(std::string_view piece);

  std::string name_;
  gzFile_s* file_;
  std::array<char, 1 << 17> buffer_{};
  std::size_t size_ = 0;         ///< uncompressed bytes read so far
  std::size_t since_quote_ = 0;  ///< bytes since the last double quote
};

}  // namespace syncopate
