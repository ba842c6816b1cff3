#include "sotta/core/error.h"

#include "data/images/image_codec.h"

namespace sotta {

Array decode_jpeg(const EncodedImage& file) {
  fail(ErrorKind::kUnsupported, file.name,
       "this build cannot read JPEG images: it was made without libjpeg");
}

}  // namespace sotta
