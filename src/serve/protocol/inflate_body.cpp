#include "serve/protocol/inflate_body.h"

#include "sotta/core/error.h"

#include "core/inflate.h"
#include "serve/request_error.h"

namespace sotta {
namespace {

// Content codings are spelt in either case.
std::string coding_of(std::string encoding) {
  for (char& letter : encoding)
    if (letter >= 'A' && letter <= 'Z') letter += 'a' - 'A';
  return encoding == "x-gzip" ? "gzip" : encoding;
}

bool is_plain(const std::string& coding) {
  return coding.empty() || coding == "identity";
}

std::string unpack(const Deflated& input, size_t most) {
  try {
    return inflate_at_most(input, most);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kUnsupported)
      throw RequestError(HttpStatus::kUnsupportedMedia, first_line(error));
    throw RequestError(HttpStatus::kBadRequest, first_line(error));
  }
}

}  // namespace

void check_encoding(const std::string& encoding, bool may_be_compressed) {
  const std::string coding = coding_of(encoding);
  if (is_plain(coding)) return;
  const bool known = coding == "gzip" || coding == "deflate";
  if (!known || !may_be_compressed)
    throw RequestError(HttpStatus::kUnsupportedMedia, "Content-Encoding",
                       may_be_compressed
                           ? "expected gzip, deflate or none"
                           : "expected none, as only infer takes others");
}

std::string inflate_body(std::string body, const std::string& encoding,
                         int64_t limit) {
  check_encoding(encoding, true);
  const std::string coding = coding_of(encoding);
  if (is_plain(coding)) return body;
  const std::string subject = "request";
  const Deflated input{
      coding == "gzip" ? DeflateFormat::kGzip : DeflateFormat::kZlib,
      reinterpret_cast<const std::byte*>(body.data()), body.size(), subject};
  std::string plain = unpack(input, static_cast<size_t>(limit) + 1);
  if (static_cast<int64_t>(plain.size()) > limit)
    throw RequestError(
        HttpStatus::kTooLarge, subject,
        "expected at most " + std::to_string(limit) + " bytes after unpacking");
  plain.shrink_to_fit();
  return plain;
}

}  // namespace sotta
