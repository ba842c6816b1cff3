#include "serve/protocol/image_batch.h"

#include <cstring>
#include <vector>

#include <ATen/ops/aminmax.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/stack.h>

#include "sotta/core/error.h"
#include "sotta/data/image.h"

#include "data/images/channels.h"
#include "data/tensor.h"
#include "serve/request_error.h"

namespace sotta {
namespace {

[[noreturn]] void refuse(const std::string& problem) {
  sotta::refuse(kInputName, problem);
}

at::Tensor plain_images(const InputTensor& input, int64_t channels) {
  if (input.shape[1] != channels)
    refuse("expected " + std::to_string(channels) + " channels, got " +
           std::to_string(input.shape[1]));
  const bool bytes = input.type == TensorType::kUint8;
  // A copy, which the tensor owns. from_blob() does not write.
  const at::Tensor images =
      at::from_blob(const_cast<char*>(input.data.data()), input.shape,
                    bytes ? at::kByte : at::kFloat)
          .clone();
  if (bytes) return images;
  const auto [low, high] = at::aminmax(images);
  // A comparison with NaN is false; aminmax() passes NaN on.
  if (!(low.item<float>() >= 0 && high.item<float>() <= 1))
    refuse("expected FP32 within 0 and 1");
  return images;
}

at::Tensor decoded(const std::byte* bytes, int64_t size, int64_t channels,
                   const RequestLimits& limits) {
  try {
    return with_channels(
        to_tensor(decode_image(bytes, size, kInputName, limits.pixels)),
        channels);
  } catch (const Error& error) {
    throw RequestError(HttpStatus::kBadRequest, first_line(error));
  }
}

// Each file after its length.
at::Tensor file_images(const InputTensor& input, int64_t channels,
                       const RequestLimits& limits) {
  std::vector<at::Tensor> images;
  size_t at = 0;
  int64_t decoded_bytes = 0;
  for (int64_t i = 0; i < input.shape[0]; ++i) {
    uint32_t size = 0;
    if (input.data.size() - at < sizeof size)
      refuse("expected a file's length in 4 bytes, got fewer");
    std::memcpy(&size, input.data.data() + at, sizeof size);
    at += sizeof size;
    if (input.data.size() - at < size)
      refuse("expected a file of " + std::to_string(size) + " bytes, got " +
             std::to_string(input.data.size() - at));
    images.push_back(
        decoded(reinterpret_cast<const std::byte*>(input.data.data()) + at,
                size, channels, limits));
    at += size;
    decoded_bytes += images.back().numel();
    if (decoded_bytes > limits.body_bytes)
      throw RequestError(HttpStatus::kTooLarge, kInputName,
                         "expected files that decode to at most " +
                             std::to_string(limits.body_bytes) + " bytes");
    if (images.back().sizes() != images.front().sizes())
      refuse("expected files of one size in a request");
  }
  if (at != input.data.size()) refuse("expected no bytes after the last file");
  return at::stack(images);
}

}  // namespace

at::Tensor make_image_batch(const InputTensor& input, int64_t channels,
                            const RequestLimits& limits) {
  return input.type == TensorType::kBytes ? file_images(input, channels, limits)
                                          : plain_images(input, channels);
}

}  // namespace sotta
