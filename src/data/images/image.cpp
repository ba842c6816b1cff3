#include "sotta/data/image.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>

#include "sotta/core/error.h"

#include "data/formats/mapped_file.h"
#include "data/images/image_codec.h"

namespace sotta {
namespace {

bool starts_with(const EncodedImage& file,
                 std::initializer_list<unsigned char> magic) {
  return file.size >= magic.size() &&
         std::equal(magic.begin(), magic.end(), file.bytes);
}

}  // namespace

bool is_image_name(const std::filesystem::path& file) {
  std::string ending = file.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(), [](char letter) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  });
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png";
}

void check_image_size(const std::string& name, int64_t height, int64_t width,
                      int64_t most_pixels) {
  const std::string size =
      std::to_string(width) + " x " + std::to_string(height);
  if (height <= 0 || width <= 0)
    fail(ErrorKind::kBadFormat, name, "the image is empty: " + size);
  const int64_t most = std::min(most_pixels, kMaxImagePixels);
  if (height > most / width)
    fail(ErrorKind::kBadFormat, name,
         "the header claims " + size + " pixels, expected at most " +
             std::to_string(most) + " in a file of this size");
}

void store_rgb_row(const unsigned char* rgb, int64_t row, const Array& image,
                   std::byte* planes) {
  const int64_t height = image.shape[1], width = image.shape[2];
  for (int64_t channel = 0; channel < 3; ++channel) {
    std::byte* out = planes + (channel * height + row) * width;
    for (int64_t x = 0; x < width; ++x)
      out[x] = std::byte{rgb[3 * x + channel]};
  }
}

Array decode_image(const std::byte* bytes, int64_t size,
                   const std::string& name, int64_t most_pixels) {
  const EncodedImage file{reinterpret_cast<const unsigned char*>(bytes),
                          static_cast<size_t>(size), name, most_pixels};
  if (starts_with(file, {0xFF, 0xD8, 0xFF})) return decode_jpeg(file);
  if (starts_with(file, {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'}))
    return decode_png(file);
  fail(ErrorKind::kBadFormat, name,
       "expected a JPEG or PNG image, found other bytes");
}

Array decode_image(const std::filesystem::path& file) {
  const SharedBytes bytes = map_file(file);
  return decode_image(bytes.data.get(), static_cast<int64_t>(bytes.size),
                      file.string());
}

}  // namespace sotta
