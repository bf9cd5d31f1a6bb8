#pragma once

#include <array>
#include <filesystem>
#include <streambuf>
#include <string>
#include <string_view>

struct gzFile_s;

namespace syncopate {

/// The text as the content of a gzip file.
std::string gzip(std::string_view text);

/// Reads a file, gzip-compressed or plain, a piece at a time. Reading throws InputError when the file cannot be read or
/// its compressed data is damaged or cut off.
class GzipBuffer : public std::streambuf {
 public:
  explicit GzipBuffer(const std::filesystem::path& path);
  ~GzipBuffer() override;
  GzipBuffer(const GzipBuffer&) = delete;
  GzipBuffer& operator=(const GzipBuffer&) = delete;

 protected:
  int_type underflow() override;

 private:
  std::string path_;
  gzFile_s* file_;
  std::array<char, 1 << 17> buffer_{};
};

}  // namespace syncopate
