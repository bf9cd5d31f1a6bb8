#pragma once

#include <array>
#include <cstdint>
#include <streambuf>
#include <string>
#include <string_view>

namespace syncopate {

/// Reads JSON text from another buffer, and mends what profilers write against JSON's rules. Text that keeps the rules is not changed.
/// - In strings: a backslash that begins no escape becomes two (paths of Windows), a control character a space, a byte that is not UTF-8
///   and half a surrogate pair a question mark.
/// - Elsewhere: nan, inf, NaN, Infinity with or without a sign become null. A comma before "]", "}" or another comma is left out.
class MendedJson : public std::streambuf {
 public:
  explicit MendedJson(std::streambuf& source) : source_(source) {}

  /// Number of places mended so far.
  std::size_t mended() const { return mended_; }

 protected:
  int_type underflow() override;

 private:
  enum class State : std::uint8_t { outside, word, string, escape, hex };

  const char* end_of_plain(const char* at, const char* end) const;
  void take(char c);
  void take_outside(char c);
  void end_word();
  void take_in_string(char c);
  void take_escaped(char c);
  void take_hex(char c);
  void take_of_character(char c);
  void end_escape();
  void drop_surrogate();
  void emit(std::string_view text) { text_ += text; }
  void mend(std::string_view text);

  std::streambuf& source_;
  std::array<char, 1 << 16> piece_{};
  std::string text_;  ///< mended, to be read
  State state_ = State::outside;
  bool comma_ = false;     ///< a comma was read, and not yet what follows
  std::string word_;       ///< outside strings: a word as far as read
  std::string digits_;     ///< of an escape \u, as far as read
  std::string surrogate_;  ///< the first escape of a surrogate pair
  std::string character_;  ///< of more than one byte, as far as read
  std::size_t character_size_ = 0;
  std::size_t mended_ = 0;
};

}  // namespace syncopate
