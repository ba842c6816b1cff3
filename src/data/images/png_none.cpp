#include "sotta/core/error.h"
#include "sotta/data/image.h"

#include "data/images/image_codec.h"

namespace sotta {
namespace {

constexpr const char* kProblem =
    "this build cannot read or write PNG images: it was made without libpng";

}  // namespace

Array decode_png(const EncodedImage& file) {
  fail(ErrorKind::kUnsupported, file.name, kProblem);
}

void write_png(const std::filesystem::path& file, const Array&) {
  fail(ErrorKind::kUnsupported, file.string(), kProblem);
}

}  // namespace sotta
