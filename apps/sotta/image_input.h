#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace sotta::cli {

struct ImageInputOptions {
  // A folder (every JPEG and PNG below it, by path), an array (.npy, uint8
  // [N, H, W, C] or [N, H, W]), an image file, or "-": names of image files on
  // standard input, a line each.
  std::string path;

  int64_t channels = 3;  // that the model takes; 1 makes images grey

  // Images are resized to size x size. 0: they are taken as they are and must
  // all have the size of the first.
  int64_t size = 0;

  // First resize the shorter side to this, then crop the middle to `size`,
  // which must be given; 0 resizes straight.
  int64_t shorter_side = 0;
};

struct ImageBatch {
  at::Tensor images;               // uint8 [N, C, H, W]
  std::vector<std::string> names;  // file names, or places in an array
};

// Unlabelled images from wherever the user has them, a few at a time.
class ImageInput {
 public:
  virtual ~ImageInput() = default;

  // The next `count` images, fewer at the end, none after it. An interrupt ends
  // standard input. Throws Error naming a file that cannot be read or has
  // another size.
  virtual ImageBatch next(int64_t count) = 0;

  // How many there are in all; 0 if that is not known.
  virtual int64_t total() const = 0;
};

// Throws Error(kNotFound) if there is nothing at the path, Error(kBadFormat) if
// it holds no images.
std::unique_ptr<ImageInput> open_images(const ImageInputOptions& options);

}  // namespace sotta::cli
