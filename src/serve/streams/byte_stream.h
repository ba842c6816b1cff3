#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sotta/core/error.h"

namespace sotta {

// Plain values one after another, in this machine's (little-endian) order.
class ByteWriter {
 public:
  template <class Number>
  void number(Number value) {
    static_assert(std::is_arithmetic_v<Number> || std::is_enum_v<Number>);
    append(&value, sizeof value);
  }

  // Their count, then the values.
  template <class Number>
  void numbers(const std::vector<Number>& values) {
    number<uint64_t>(values.size());
    append(values.data(), values.size() * sizeof(Number));
  }
  void text(std::string_view value) {
    number<uint64_t>(value.size());
    append(value.data(), value.size());
  }

  const std::string& bytes() const { return bytes_; }
  std::string take() { return std::move(bytes_); }

 private:
  void append(const void* data, size_t size) {
    if (size > 0) bytes_.append(static_cast<const char*>(data), size);
  }

  std::string bytes_;
};

// The same back. Throws Error(kBadFormat) naming `subject` where the bytes end
// too early; counts are compared with what is left before memory is taken.
class ByteReader {
 public:
  ByteReader(std::string_view bytes, std::string subject)
      : bytes_(bytes), subject_(std::move(subject)) {}

  template <class Number>
  Number number() {
    Number value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }

  template <class Number>
  std::vector<Number> numbers() {
    const auto count = number<uint64_t>();
    if (count > bytes_.size() / sizeof(Number)) fail_short();
    std::vector<Number> values(static_cast<size_t>(count));
    const std::string_view part = take(values.size() * sizeof(Number));
    if (!part.empty()) std::memcpy(values.data(), part.data(), part.size());
    return values;
  }

  std::string text() {
    const auto size = number<uint64_t>();
    return std::string(take(size));
  }

  bool at_end() const { return bytes_.empty(); }

 private:
  std::string_view take(uint64_t size) {
    if (size > bytes_.size()) fail_short();
    const std::string_view part = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return part;
  }
  [[noreturn]] void fail_short() const {
    fail(ErrorKind::kBadFormat, subject_, "ends too early");
  }

  std::string_view bytes_;
  std::string subject_;
};

}  // namespace sotta
