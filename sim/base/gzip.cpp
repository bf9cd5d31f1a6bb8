#include "base/gzip.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "base/errors.hpp"
#include "base/files.hpp"

namespace syncopate {

GzipText::GzipText(int level) : stream_(std::make_unique<z_stream>()) {
  constexpr int as_gzip = 16;  // zlib: added to the window bits, it selects the gzip format
  if (deflateInit2(stream_.get(), level, Z_DEFLATED, MAX_WBITS + as_gzip, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
}

GzipText::~GzipText() { deflateEnd(stream_.get()); }

void GzipText::compress(std::string_view text, bool is_last) {
  constexpr std::size_t most_at_once = std::size_t{1} << 30U;  // zlib counts with 32 bits
  std::array<char, 1 << 14> piece{};
  do {
    const std::string_view part = text.substr(0, most_at_once);
    text.remove_prefix(part.size());
    stream_->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(part.data()));  // NOLINT: zlib only reads it
    stream_->avail_in = static_cast<uInt>(part.size());
    do {
      stream_->next_out = reinterpret_cast<Bytef*>(piece.data());  // NOLINT: zlib's type for bytes
      stream_->avail_out = static_cast<uInt>(piece.size());
      deflate(stream_.get(), is_last && text.empty() ? Z_FINISH : Z_NO_FLUSH);
      compressed_.append(piece.data(), piece.size() - stream_->avail_out);
    } while (stream_->avail_out == 0);
  } while (!text.empty());
}

std::string GzipText::take() {
  compress({}, true);
  return std::move(compressed_);
}

std::string gzip(std::string_view text) {
  GzipText compressor(Z_DEFAULT_COMPRESSION);
  compressor.append(text);
  return compressor.take();
}

GzipBuffer::GzipBuffer(const std::filesystem::path& path) : GzipBuffer(open_to_read(path), path.string()) {}

GzipBuffer::GzipBuffer(int file, std::string name) : name_(std::move(name)), file_(gzdopen(file, "rb")) {
  if (file_ != nullptr) return;
  const int reason = errno;
  close(file);
  throw InputError(fmt::format("{}: cannot be read: {}", name_, std::strerror(reason)));
}

GzipBuffer::~GzipBuffer() { gzclose(file_); }

GzipBuffer::int_type GzipBuffer::underflow() {
  const int count = gzread(file_, buffer_.data(), static_cast<unsigned>(buffer_.size()));
  int error = Z_OK;
  std::string_view reason = gzerror(file_, &error);
  // At the end of a truncated file zlib returns the bytes it has, and this error.
  if (error == Z_BUF_ERROR) throw InputError(fmt::format("{}: the compressed file ends early; copy it again", name_));
  if (const std::size_t file = reason.find(">: "); file != std::string_view::npos) reason.remove_prefix(file + 3);  // "<fd:3>: "
  if (count < 0)
    throw InputError(fmt::format("{}: cannot be read: {}", name_, error == Z_ERRNO ? std::string_view(std::strerror(errno)) : reason));
  if (count == 0) return traits_type::eof();
  check_size({buffer_.data(), static_cast<std::size_t>(count)});
  setg(buffer_.data(), buffer_.data(), buffer_.data() + count);
  return traits_type::to_int_type(buffer_.front());
}

void GzipBuffer::check_size(std::string_view piece) {
  constexpr std::size_t most = std::size_t{4} << 30U;
  constexpr std::size_t longest_text = std::size_t{64} << 20U;
  const std::size_t quote = piece.rfind('"');
  size_ += piece.size();
  since_quote_ = quote == std::string_view::npos ? since_quote_ + piece.size() : piece.size() - quote - 1;
  if (size_ > most) throw InputError(fmt::format("{}: too large: more than 4 GiB uncompressed", name_));
  if (since_quote_ > longest_text) throw InputError(fmt::format("{}: too large: it contains a string of more than 64 MiB", name_));
}

}  // namespace syncopate
