#include "corrupt/filters/jpeg_round_trip.h"
#include "corrupt/kinds/constants.h"
#include "corrupt/kinds/kind.h"

namespace sotta {
namespace {

class JpegCompression : public CorruptionKind {
 public:
  explicit JpegCompression(const KindSetting& setting)
      : round_trip_(static_cast<int64_t>(
            severity_constants("jpeg_compression", setting)[0])) {}

  at::Tensor apply(const at::Tensor& images, const Draws&) const override {
    return round_trip_(images);
  }

 private:
  JpegRoundTrip round_trip_;
};

}  // namespace

std::unique_ptr<CorruptionKind> make_jpeg_compression(
    const KindSetting& setting) {
  return std::make_unique<JpegCompression>(setting);
}

}  // namespace sotta
