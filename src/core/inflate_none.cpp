#include "sotta/core/error.h"

#include "core/inflate.h"

namespace sotta {
namespace {

[[noreturn]] void fail_without_zlib(const std::string& subject) {
  fail(ErrorKind::kUnsupported, subject,
       "is compressed, and this build of sotta has no zlib to unpack it");
}

}  // namespace

void inflate_exactly(const Deflated& input, std::byte*, size_t) {
  fail_without_zlib(input.subject);
}

size_t inflate_beginning(const Deflated& input, std::byte*, size_t) {
  fail_without_zlib(input.subject);
}

std::string inflate_at_most(const Deflated& input, size_t) {
  fail_without_zlib(input.subject);
}

}  // namespace sotta
