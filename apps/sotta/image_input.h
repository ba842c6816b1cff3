#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace sotta::cli {

struct ImageInputOptions {
  // A folder (every JPEG and PNG below it, by path), an array (.npy, uint8: see
  // open_images()), an image file, or "-": names of image files on standard
  // input, a line each.
  std::string path;

  int64_t channels = 3;  // that the model takes; 1 makes images grey

  // Images are resized to size x size. 0: they are taken as they are and must
  // all have the height and width below, or of the first if those are 0.
  int64_t size = 0;

  // Takes the place of a size of 0 for files; arrays are taken as they are.
  int64_t default_size = 0;

  int64_t height = 0;
  int64_t width = 0;

  // First resize the shorter side to this, then crop the middle to `size`,
  // which must be given; 0 resizes straight.
  int64_t shorter_side = 0;

  // Whether a batch ends with the first file that cannot be read.
  bool strict = false;
};

struct ImageBatch {
  struct Item {
    std::string name;   // of a file, or its place in an array
    std::string error;  // why it cannot be read; empty if it is in `images`
  };
  std::vector<Item> items;
  at::Tensor images;  // uint8 [N, C, H, W]: those that can be read, in order;
                      // undefined if there are none
};

// Unlabelled images from wherever the user has them, a few at a time.
class ImageInput {
 public:
  virtual ~ImageInput() = default;

  // The next `count` images that can be read and those between them that cannot
  // or have another size; fewer at the end, none after it. An interrupt ends
  // standard input.
  virtual ImageBatch next(int64_t count) = 0;

  // How many there are in all; 0 if that is not known.
  virtual int64_t total() const = 0;
};

// An array is [N, H, W, C] with one or three channels, or [N, H, W]; [H, W, C]
// and [H, W] are one image. For a network of three channels [3, H, W] might be
// three grey images or one with its channels first, and is refused.
//
// Throws Error(kNotFound) if there is nothing at the path, Error(kBadFormat) if
// it holds no images.
std::unique_ptr<ImageInput> open_images(const ImageInputOptions& options);

}  // namespace sotta::cli
