#include "corrupt/frost/frost_photographs.h"

#include <cmath>
#include <sstream>

#include <ATen/ops/mean.h>

#include "sotta/core/error.h"

#include "data/formats/npy.h"
#include "data/tensor.h"

namespace sotta {
namespace {

struct Photograph {
  int64_t height;
  int64_t width;
  std::array<double, 3> mean;
};

constexpr std::array<Photograph, kFrostPictures> kPhotographs = {{
    {600, 900, {77.667, 149.117, 165.736}},
    {315, 560, {200.793, 205.377, 214.482}},
    {315, 560, {200.793, 205.377, 214.482}},
    {350, 527, {137.620, 152.773, 165.176}},
    {495, 660, {112.376, 123.368, 134.752}},
}};
constexpr double kMeanTolerance = .01;

void check(const at::Tensor& picture, const Photograph& expected,
           const std::string& subject) {
  const std::vector<int64_t> shape = {expected.height, expected.width, 3};
  std::ostringstream sizes;
  sizes << "expected uint8 " << at::IntArrayRef(shape) << ", got "
        << picture.scalar_type() << " " << picture.sizes();
  if (picture.scalar_type() != at::kByte || picture.sizes() != shape)
    fail(ErrorKind::kBadFormat, subject, sizes.str());

  const at::Tensor mean = picture.to(at::kDouble).mean(at::IntArrayRef{0, 1});
  for (size_t c = 0; c < 3; ++c) {
    const double found = mean.data_ptr<double>()[c];
    if (std::abs(found - expected.mean[c]) > kMeanTolerance)
      fail(ErrorKind::kBadFormat, subject,
           "not the published photograph: expected mean " +
               std::to_string(expected.mean[c]) + " in channel " +
               std::to_string(c) + " of RGB, got " + std::to_string(found));
  }
}

}  // namespace

FrostPictures read_frost_photographs(const std::filesystem::path& folder) {
  FrostPictures pictures;
  for (size_t i = 0; i < kFrostPictures; ++i) {
    const auto file = folder / ("frost" + std::to_string(i + 1) + ".npy");
    pictures[i] = to_tensor(read_npy(file));
    check(pictures[i], kPhotographs[i], file.string());
  }
  return pictures;
}

}  // namespace sotta
