#include "data/formats/npy_header.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

#include "sotta/core/error.h"

#include "data/formats/printable.h"

namespace sotta {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMostDimensions = 32;  // NumPy's own limit

// Reads the dictionary. Its grammar is Python's, but NumPy writes only strings,
// True and False, and tuples of whole numbers.
class DictionaryReader {
 public:
  DictionaryReader(std::string_view text, const std::string& subject)
      : rest_(text), subject_(subject) {}

  bool accept(std::string_view token) {
    skip_spaces();
    if (rest_.substr(0, token.size()) != token) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  void expect(std::string_view token) {
    if (!accept(token))
      fail_here("expected '" + std::string(token) + "' in the header");
  }

  std::string_view quoted() {
    skip_spaces();
    const char quote = rest_.empty() ? '\0' : rest_.front();
    if (quote != '\'' && quote != '"')
      fail_here("expected a quoted text in the header");
    rest_.remove_prefix(1);
    const size_t length = rest_.find(quote);
    if (length == std::string_view::npos)
      fail_here("a quoted text in the header does not end");
    const std::string_view text = rest_.substr(0, length);
    rest_.remove_prefix(length + 1);
    return text;
  }

  int64_t whole_number() {
    skip_spaces();
    int64_t number = 0;
    const auto result =
        std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (result.ec != std::errc())
      fail_here("expected a whole number below 2^63 in the header");
    rest_.remove_prefix(static_cast<size_t>(result.ptr - rest_.data()));
    accept("L");  // Python 2 marked its long numbers so
    return number;
  }

  void expect_end() {
    skip_spaces();
    if (!rest_.empty()) fail_here("expected nothing after the dictionary");
  }

  [[noreturn]] void fail_here(const std::string& problem) const {
    fail(ErrorKind::kBadFormat, subject_,
         problem + ", got " +
             (rest_.empty() ? "its end" : printable(rest_.substr(0, 24))));
  }

 private:
  void skip_spaces() {
    const size_t count = rest_.find_first_not_of(" \n");
    rest_.remove_prefix(std::min(count, rest_.size()));
  }

  std::string_view rest_;
  const std::string& subject_;
};

const char* type_code(ElementType type) {
  switch (type) {
    case ElementType::kUint8:
      return "|u1";
    case ElementType::kInt64:
      return "<i8";
    case ElementType::kFloat32:
      return "<f4";
    default:
      return nullptr;
  }
}

ElementType read_type(DictionaryReader& reader, const std::string& subject) {
  if (reader.accept("["))
    fail(ErrorKind::kUnsupported, subject,
         "expected uint8, int64 or float32, got a structured type");
  const std::string_view code = reader.quoted();
  for (const auto type :
       {ElementType::kUint8, ElementType::kInt64, ElementType::kFloat32})
    if (code == type_code(type)) return type;
  fail(ErrorKind::kUnsupported, subject,
       "expected uint8 (\"|u1\"), int64 (\"<i8\") or float32 (\"<f4\"), got " +
           printable(code));
}

void check_order(DictionaryReader& reader, const std::string& subject) {
  if (reader.accept("False")) return;
  if (reader.accept("True"))
    fail(ErrorKind::kUnsupported, subject,
         "expected an array in C order, got Fortran order");
  reader.fail_here("expected True or False as fortran_order");
}

std::vector<int64_t> read_shape(DictionaryReader& reader) {
  std::vector<int64_t> shape;
  reader.expect("(");
  while (!reader.accept(")")) {
    if (shape.size() == kMostDimensions)
      reader.fail_here("expected at most 32 dimensions");
    shape.push_back(reader.whole_number());
    if (reader.accept(",")) continue;
    reader.expect(")");
    break;
  }
  return shape;
}

NpyHeader parse_dictionary(std::string_view text, const std::string& subject) {
  NpyHeader header;
  DictionaryReader reader(text, subject);
  bool has_type = false, has_order = false, has_shape = false;
  // Each key once: the flag is set the first time and fails the second.
  const auto first = [&](bool& seen) { return !std::exchange(seen, true); };
  reader.expect("{");
  while (!reader.accept("}")) {
    const std::string_view key = reader.quoted();
    reader.expect(":");
    if (key == "descr" && first(has_type))
      header.type = read_type(reader, subject);
    else if (key == "fortran_order" && first(has_order))
      check_order(reader, subject);
    else if (key == "shape" && first(has_shape))
      header.shape = read_shape(reader);
    else
      reader.fail_here("expected each of descr, fortran_order and shape once");
    if (reader.accept(",")) continue;
    reader.expect("}");
    break;
  }
  reader.expect_end();
  if (!has_type || !has_order || !has_shape)
    reader.fail_here("expected each of descr, fortran_order and shape once");
  return header;
}

// Bytes of the length field; the version decides.
size_t length_field_size(const std::byte* data, size_t size,
                         const std::string& subject) {
  const auto* text = reinterpret_cast<const char*>(data);
  if (std::string_view(text, size).substr(0, kMagic.size()) != kMagic)
    fail(ErrorKind::kBadFormat, subject,
         "expected a .npy file, but it does not begin with \\x93NUMPY");
  if (size < kMagic.size() + 2)
    fail(ErrorKind::kBadFormat, subject, "the file ends within its header");
  const auto major = std::to_integer<int>(data[kMagic.size()]);
  const auto minor = std::to_integer<int>(data[kMagic.size() + 1]);
  if (major < 1 || major > 3 || minor != 0)
    fail(ErrorKind::kUnsupported, subject,
         "expected .npy version 1.0, 2.0 or 3.0, got " + std::to_string(major) +
             "." + std::to_string(minor));
  return major == 1 ? 2 : 4;
}

}  // namespace

NpyHeader parse_npy_header(const std::byte* data, size_t size,
                           const std::string& subject) {
  const size_t length_size = length_field_size(data, size, subject);
  const size_t begin = kMagic.size() + 2 + length_size;
  if (size < begin)
    fail(ErrorKind::kBadFormat, subject, "the file ends within its header");
  size_t length = 0;
  for (size_t i = 0; i < length_size; ++i)
    length |= std::to_integer<size_t>(data[begin - length_size + i]) << (8 * i);
  if (length > size - begin)
    fail(ErrorKind::kBadFormat, subject,
         "expected a header of " + std::to_string(length) + " bytes, got " +
             std::to_string(size - begin));
  const std::string_view text(reinterpret_cast<const char*>(data) + begin,
                              length);
  NpyHeader header = parse_dictionary(text, subject);
  header.payload_offset = begin + length;
  return header;
}

std::string make_npy_header(ElementType type, const std::vector<int64_t>& shape,
                            const std::string& subject) {
  const char* code = type_code(type);
  if (code == nullptr)
    fail(ErrorKind::kUnsupported, subject,
         std::string("expected uint8, int64 or float32 for a .npy file, got ") +
             element_name(type));
  std::string text = std::string("{'descr': '") + code +
                     "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  text += shape.size() == 1 ? ",), }" : "), }";
  const size_t prefix = kMagic.size() + 4;
  text.append(63 - (prefix + text.size()) % 64, ' ');
  text += '\n';
  std::string header(kMagic);
  header += {'\x01', '\0', static_cast<char>(text.size() % 256),
             static_cast<char>(text.size() / 256)};
  return header + text;
}

}  // namespace sotta
