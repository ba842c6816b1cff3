#include "sotta/corrupt/corruption.h"

#include <algorithm>
#include <optional>
#include <sstream>

#include <ATen/Parallel.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/InferenceMode.h>

#include "sotta/core/error.h"
#include "sotta/core/rng.h"
#include "sotta/core/threads.h"

#include "corrupt/filters/draws.h"
#include "corrupt/filters/jpeg_round_trip.h"
#include "corrupt/kinds/kind.h"

namespace sotta {
namespace {

// Up to this side the constants of the 32-pixel set fit better.
constexpr int64_t kLargestCifarSide = 64;
constexpr int64_t kSmallestSide = 8;

// Of the files of ImageNet-C.
constexpr int64_t kStoredQuality = 85;

// Values handled at once, which bounds memory. Small images are done a few at a
// time in as many threads as LibTorch has: their tensors stay in the caches and
// below the 32768 values from which LibTorch shares out every single operation,
// which costs more than it gains. Large images are left to LibTorch's threads,
// and a GPU gets enough to keep it busy.
constexpr int64_t kValuesPerThread = 24 * 1024;
constexpr int64_t kValuesOfLargeImages = int64_t{1} << 20;
constexpr int64_t kValuesOnGpu = int64_t{1} << 23;

struct Chunks {
  int64_t images;   // in one chunk
  int64_t threads;  // that take chunks
};

Chunks plan_chunks(int64_t side, bool on_gpu) {
  const int64_t values = 3 * side * side;
  if (on_gpu) return {std::max<int64_t>(1, kValuesOnGpu / values), 1};
  if (values <= kValuesPerThread)
    return {kValuesPerThread / values, at::get_num_threads()};
  return {std::max<int64_t>(1, kValuesOfLargeImages / values), 1};
}

// Of the three channels of a grey image the one that counts most in what an
// eye would call its brightness.
constexpr int64_t kGreen = 1;

std::string shape_text(const at::Tensor& tensor) {
  std::ostringstream text;
  text << tensor.scalar_type() << " " << tensor.sizes();
  return text.str();
}

void check_images(const at::Tensor& images, int64_t side, size_t indices) {
  const bool fits = images.scalar_type() == at::kByte && images.dim() == 4 &&
                    (images.size(1) == 1 || images.size(1) == 3) &&
                    images.size(2) == side && images.size(3) == side;
  const std::string pixels = std::to_string(side);
  require(fits, "corruption",
          "expected uint8 images [N, 1 or 3, " + pixels + ", " + pixels +
              "], got " + shape_text(images));
  require(static_cast<int64_t>(indices) == images.size(0), "corruption",
          "expected one index per image, got " + std::to_string(indices) +
              " for " + std::to_string(images.size(0)) + " images");
}

}  // namespace

void check_severity(int64_t severity) {
  require(1 <= severity && severity <= kMaxSeverity, "corruption",
          "severity must lie in 1 .. 5, got " + std::to_string(severity));
}

Corruption::Corruption(CorruptionOptions options, int64_t side)
    : options_(std::move(options)), side_(side) {
  check_severity(options_.severity);
  require(
      side >= kSmallestSide, "corruption",
      "images must have at least 8 pixels a side, got " + std::to_string(side));
  KindSetting setting;
  setting.severity = options_.severity;
  setting.side = side;
  setting.constants =
      side <= kLargestCifarSide ? ConstantSet::kCifar : ConstantSet::kImageNet;
  setting.frost_dir = options_.frost_dir;
  kind_ = make_kind(options_.kind, setting);
}

Corruption::~Corruption() = default;
Corruption::Corruption(Corruption&&) noexcept = default;
Corruption& Corruption::operator=(Corruption&&) noexcept = default;

at::Tensor Corruption::apply(const at::Tensor& images,
                             const std::vector<int64_t>& indices) const {
  check_images(images, side_, indices.size());
  if (images.size(1) == 3) return apply_rgb(images, indices);
  return apply_rgb(images.expand({-1, 3, -1, -1}), indices)
      .narrow(1, kGreen, 1)
      .contiguous();
}

at::Tensor Corruption::apply_rgb(const at::Tensor& images,
                                 const std::vector<int64_t>& indices) const {
  const Rng rng = Rng(static_cast<uint64_t>(options_.seed))
                      .child("corrupt")
                      .child(options_.kind)
                      .child(static_cast<uint64_t>(options_.severity));
  const auto stored = options_.jpeg85 && side_ > kLargestCifarSide
                          ? std::optional<JpegRoundTrip>(kStoredQuality)
                          : std::nullopt;
  const at::Tensor result =
      at::empty_like(images, at::MemoryFormat::Contiguous);
  const Chunks chunks = plan_chunks(side_, images.is_cuda());
  const int64_t tasks = (images.size(0) + chunks.images - 1) / chunks.images;
  run_in_threads(tasks, chunks.threads, [&](int64_t task) {
    const c10::InferenceMode no_gradients;
    const int64_t begin = task * chunks.images;
    const int64_t count = std::min(chunks.images, images.size(0) - begin);
    const auto first = indices.begin() + begin;
    const Draws draws =
        draw_for_images(*kind_, rng, {first, first + count}, images.device());
    at::Tensor part = images.narrow(0, begin, count).contiguous();
    part = kind_->apply(part, draws);
    if (stored) part = (*stored)(part);
    result.narrow(0, begin, count).copy_(part);
  });
  return result;
}

}  // namespace sotta
