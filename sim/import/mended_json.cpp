#include "import/mended_json.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace syncopate {

namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '+' || c == '.' || c == '(' || c == ')';
}

/// Such as "-inf", "NaN", "Infinity", and Microsoft's "-nan(ind)".
bool is_no_number(std::string word) {
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (word.starts_with('-') || word.starts_with('+')) word.erase(0, 1);
  return word == "inf" || word == "infinity" || word == "nan" || word.starts_with("nan(");
}

/// Number of bytes of a UTF-8 character that begins with `c`; 0 if none does.
std::size_t size_of_character(unsigned char c) {
  return c >= 0xF0 && c <= 0xF4 ? 4 : c >= 0xE0 && c <= 0xEF ? 3 : c >= 0xC2 && c <= 0xDF ? 2 : 0;
}

/// The second byte excludes long forms, surrogates and what is beyond Unicode.
bool may_follow(unsigned char first, unsigned char second) {
  const unsigned char lowest = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned char highest = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  return second >= lowest && second <= highest;
}

}  // namespace

MendedJson::int_type MendedJson::underflow() {
  text_.clear();
  while (text_.empty()) {
    const std::streamsize count = source_.sgetn(piece_.data(), static_cast<std::streamsize>(piece_.size()));
    if (count <= 0) {
      if (state_ == State::word) end_word();
      if (comma_) emit(",");
      comma_ = false;
      if (text_.empty()) return traits_type::eof();
      break;
    }
    const char* const end = piece_.data() + count;
    for (const char* at = piece_.data(); at != end;) {
      const char* const plain = end_of_plain(at, end);
      text_.append(at, plain);
      at = plain;
      if (at != end) take(*at++);
    }
  }
  setg(text_.data(), text_.data(), text_.data() + text_.size());
  return traits_type::to_int_type(text_.front());
}

/// The end of the text from `at` on that is what it seems to be.
const char* MendedJson::end_of_plain(const char* at, const char* end) const {
  if (state_ == State::string && surrogate_.empty() && character_.empty()) {
    return std::find_if(at, end,
                        [](char c) { return c == '"' || c == '\\' || static_cast<signed char>(c) < 0x20; });  // also bytes from 0x80 on
  }
  if (state_ != State::outside || comma_) return at;
  return std::find_if(at, end, [](char c) { return !is_space(c) && !is_digit(c) && c != ':' && c != '[' && c != '{'; });
}

void MendedJson::mend(std::string_view text) {
  ++mended_;
  emit(text);
}

void MendedJson::take(char c) {
  switch (state_) {
    case State::word:
      if (is_of_word(c)) {
        word_ += c;
        return;
      }
      end_word();
      return take_outside(c);
    case State::outside: return take_outside(c);
    case State::string: return take_in_string(c);
    case State::escape: return take_escaped(c);
    case State::hex: return take_hex(c);
  }
}

void MendedJson::take_outside(char c) {
  if (is_space(c)) return emit({&c, 1});
  if (comma_) {
    comma_ = false;
    if (c == ']' || c == '}' || c == ',') {
      ++mended_;
    } else {
      emit(",");
    }
  }
  if (c == ',') {
    comma_ = true;
  } else if (is_of_word(c) && !is_digit(c)) {
    state_ = State::word;
    word_ = c;
  } else {
    if (c == '"') state_ = State::string;
    emit({&c, 1});
  }
}

void MendedJson::end_word() {
  state_ = State::outside;
  if (is_no_number(word_)) return mend("null");
  emit(word_);
}

void MendedJson::take_in_string(char c) {
  if (!surrogate_.empty() && c != '\\') drop_surrogate();
  if (!character_.empty()) return take_of_character(c);
  const auto byte = static_cast<unsigned char>(c);
  if (c == '\\') {
    state_ = State::escape;
  } else if (c == '"') {
    state_ = State::outside;
    emit("\"");
  } else if (byte < 0x20) {
    mend(" ");
  } else if (byte < 0x80) {
    emit({&c, 1});
  } else if (size_of_character(byte) == 0) {
    mend("?");
  } else {
    character_ = c;
    character_size_ = size_of_character(byte);
  }
}

void MendedJson::take_of_character(char c) {
  const auto byte = static_cast<unsigned char>(c);
  const bool fits = character_.size() == 1 ? may_follow(static_cast<unsigned char>(character_.front()), byte) : (byte & 0xC0U) == 0x80U;
  if (!fits) {
    mend("?");
    character_.clear();
    return take_in_string(c);
  }
  character_ += c;
  if (character_.size() < character_size_) return;
  emit(character_);
  character_.clear();
}

void MendedJson::take_escaped(char c) {
  constexpr std::string_view escapes = "\"\\/bfnrt";
  state_ = c == 'u' ? State::hex : State::string;
  if (c == 'u') return digits_.clear();
  if (!surrogate_.empty()) drop_surrogate();
  if (escapes.find(c) != std::string_view::npos) {
    emit("\\");
    return emit({&c, 1});
  }
  mend("\\\\");
  take_in_string(c);
}

void MendedJson::take_hex(char c) {
  if (std::isxdigit(static_cast<unsigned char>(c)) == 0) {
    if (!surrogate_.empty()) drop_surrogate();
    mend("\\\\u");
    emit(digits_);
    state_ = State::string;
    return take_in_string(c);
  }
  digits_ += c;
  if (digits_.size() == 4) end_escape();
}

void MendedJson::end_escape() {
  state_ = State::string;
  const unsigned long code = std::stoul(digits_, nullptr, 16);
  const bool is_first = code >= 0xD800 && code <= 0xDBFF;
  const bool is_second = code >= 0xDC00 && code <= 0xDFFF;
  if (is_second && !surrogate_.empty()) {
    emit(surrogate_);
    emit("\\u" + digits_);
    surrogate_.clear();
    return;
  }
  if (!surrogate_.empty()) drop_surrogate();
  if (is_first) {
    surrogate_ = "\\u" + digits_;
  } else if (is_second) {
    mend("?");
  } else {
    emit("\\u" + digits_);
  }
}

void MendedJson::drop_surrogate() {
  surrogate_.clear();
  mend("?");
}

}  // namespace syncopate
