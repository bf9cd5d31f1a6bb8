#include "base/gzip.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>

#include "base/errors.hpp"
#include "base/files.hpp"

namespace syncopate {

namespace {

gzFile open_readable(const std::filesystem::path& path) {
  require_readable_file(path);
  return gzopen(path.c_str(), "rb");
}

}  // namespace

GzipBuffer::GzipBuffer(const std::filesystem::path& path) : path_(path.string()), file_(open_readable(path)) {
  if (file_ == nullptr) throw InputError(fmt::format("{}: cannot be read: {}", path_, std::strerror(errno)));
}

GzipBuffer::~GzipBuffer() { gzclose(file_); }

GzipBuffer::int_type GzipBuffer::underflow() {
  const int count = gzread(file_, buffer_.data(), static_cast<unsigned>(buffer_.size()));
  int error = Z_OK;
  std::string_view reason = gzerror(file_, &error);
  // At the end of a file that was cut off zlib gives the bytes that it has, and this error.
  if (error == Z_BUF_ERROR) throw InputError(fmt::format("{}: the compressed file ends early; copy it again", path_));
  if (reason.starts_with(path_ + ": ")) reason.remove_prefix(path_.size() + 2);
  if (count < 0)
    throw InputError(fmt::format("{}: cannot be read: {}", path_, error == Z_ERRNO ? std::string_view(std::strerror(errno)) : reason));
  if (count == 0) return traits_type::eof();
  setg(buffer_.data(), buffer_.data(), buffer_.data() + count);
  return traits_type::to_int_type(buffer_.front());
}

}  // namespace syncopate
