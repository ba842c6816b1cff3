#include <algorithm>
#include <cstdint>

#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "gpu/kernels/random/augmented_views.h"
#include "gpu/kernels/random/random_words.cuh"

namespace sotta {
namespace {

constexpr int kThreads = 256;
constexpr int kTaps = 5;
constexpr int kReach = kTaps / 2;

// As many as fit into a kernel's arguments.
constexpr int kViewsOfLaunch = 24;

// As ColourOperation numbers them.
enum Operation { kBrightness, kContrast, kSaturation, kHue, kGamma };

struct Views {
  ViewFormula formulas[kViewsOfLaunch];
};

struct Shape {
  int channels, height, width;

  __host__ __device__ int plane() const { return height * width; }
  // With the blur's reach around it.
  __host__ __device__ int wide() const { return width + 2 * kReach; }
  __host__ __device__ int high() const { return height + 2 * kReach; }
  // An image and its sampled view; the half-blurred one takes the image's
  // place.
  __host__ __device__ int image_room() const {
    return channels * height * wide();
  }
  __host__ __device__ int shared_floats() const {
    return image_room() + channels * high() * wide();
  }
};

__device__ float within(float value) {
  return value < 0 ? 0 : value > 1 ? 1 : value;  // NaN stays
}

__device__ float grey_of(const float* image, const Shape& shape, int pixel) {
  const int plane = shape.plane();
  return shape.channels == 1
             ? image[pixel]
             : image[pixel] * 0.2989f + image[plane + pixel] * 0.587f +
                   image[2 * plane + pixel] * 0.114f;
}

// Of the whole block; every thread gets it.
__device__ float mean_grey(const float* image, const Shape& shape) {
  __shared__ float sums[kThreads];
  float sum = 0;
  for (int p = threadIdx.x; p < shape.plane(); p += kThreads)
    sum += grey_of(image, shape, p);
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  return sums[0] / static_cast<float>(shape.plane());
}

// x modulo m, 0 to m.
__device__ float remainder_of(float x, float m) {
  const float rest = fmodf(x, m);
  return rest < 0 ? rest + m : rest;
}

// Round the colour circle; the pixel's three channels lie a plane apart.
__device__ void turn_hue(float* pixel, int plane, float turns) {
  const float red = pixel[0], green = pixel[plane], blue = pixel[2 * plane];
  const float top = fmaxf(red, fmaxf(green, blue));
  const float spread = top - fminf(red, fminf(green, blue));
  const bool is_grey = spread == 0;
  const float divisor = is_grey ? 1 : spread;
  const float sixths = top == red     ? (green - blue) / divisor
                       : top == green ? (blue - red) / divisor + 2
                                      : (red - green) / divisor + 4;
  const float saturation = spread / (is_grey ? 1 : top);
  const float hue = remainder_of(remainder_of(sixths / 6, 1) + turns, 1);
  const float chroma = top * saturation;
  const float offsets[3] = {5, 3, 1};
  for (int c = 0; c < 3; ++c) {
    const float place = remainder_of(hue * 6 + offsets[c], 6);
    pixel[c * plane] = top - chroma * within(fminf(place, 4 - place));
  }
}

__device__ void change_colour(float* image, const Shape& shape,
                              const ViewFormula::Colour& colour) {
  const int plane = shape.plane();
  const float mean =
      colour.operation == kContrast ? mean_grey(image, shape) : 0;
  const bool grey = shape.channels == 1;
  for (int p = threadIdx.x; p < plane; p += kThreads) {
    const float centre = colour.operation == kContrast ? mean
                         : colour.operation == kSaturation && !grey
                             ? grey_of(image, shape, p)
                             : 0;
    if (colour.operation == kHue && !grey)
      turn_hue(image + p, plane, colour.factor);
    for (int c = 0; c < shape.channels; ++c) {
      float& value = image[c * plane + p];
      if (colour.operation == kBrightness)
        value *= colour.factor;
      else if (colour.operation == kContrast ||
               (colour.operation == kSaturation && !grey))
        value = value * colour.factor + centre * colour.opposite;
      else if (colour.operation == kGamma)
        value = expf(logf(fmaxf(value, 1e-8f)) * colour.factor);
      value = within(value);
    }
  }
  __syncthreads();
}

// The bilinear sample of every pixel of the view and the blur's reach around
// it.
__device__ void sample(const float* image, const Shape& shape,
                       const ViewFormula& view, float* to) {
  const int size = shape.high() * shape.wide();
  for (int p = threadIdx.x; p < size; p += kThreads) {
    const float x = static_cast<float>(p % shape.wide()) -
                    0.5f * static_cast<float>(shape.wide() - 1) -
                    view.translate_x;
    const float y = static_cast<float>(p / shape.wide()) -
                    0.5f * static_cast<float>(shape.high() - 1) -
                    view.translate_y;
    const auto limit = [](float place, int count) {
      return fminf(fmaxf(place + 0.5f * static_cast<float>(count - 1), 0.0f),
                   static_cast<float>(count - 1));
    };
    const float column = limit(x * view.cosine + y * view.sine, shape.width);
    const float row = limit(y * view.cosine - x * view.sine, shape.height);
    const int left = static_cast<int>(column), top = static_cast<int>(row);
    const int right = min(left + 1, shape.width - 1);
    const int bottom = min(top + 1, shape.height - 1);
    const float across = column - static_cast<float>(left);
    const float down = row - static_cast<float>(top);
    for (int c = 0; c < shape.channels; ++c) {
      const float* from = image + c * shape.plane();
      const float upper = from[top * shape.width + left] * (1 - across) +
                          from[top * shape.width + right] * across;
      const float lower = from[bottom * shape.width + left] * (1 - across) +
                          from[bottom * shape.width + right] * across;
      to[c * size + p] = upper * (1 - down) + lower * down;
    }
  }
  __syncthreads();
}

// Down the columns: [C, high, wide] to [C, height, wide].
__device__ void blur_columns(const float* from, const Shape& shape,
                             const ViewFormula& view, float* to) {
  const int wide = shape.wide(), size = shape.height * wide;
  for (int i = threadIdx.x; i < shape.channels * size; i += kThreads) {
    const float* top = from + i / size * shape.high() * wide + i % size;
    float sum = 0;
    for (int tap = 0; tap < kTaps; ++tap)
      sum += top[tap * wide] * view.blur[tap];
    to[i] = sum;
  }
  __syncthreads();
}

// Along the rows, then the flip and the noise.
__device__ void write_view(const float* from, const Shape& shape,
                           const ViewFormula& view, int64_t begin, float* to) {
  for (int i = threadIdx.x; i < shape.channels * shape.plane(); i += kThreads) {
    const int column = i % shape.width, row = i / shape.width;
    const float* left = from + row * shape.wide() +
                        (view.flip ? shape.width - 1 - column : column);
    float sum = 0;
    for (int tap = 0; tap < kTaps; ++tap)
      sum += left[tap] * view.blur[tap];
    const auto noise = static_cast<float>(
        normal_at(view.noise_stream, static_cast<uint64_t>(begin + i)));
    to[i] = within(sum + noise * view.noise);
  }
}

// A block for each image and view.
__global__ void make_views(const float* images, Views views, Shape shape,
                           float* to) {
  extern __shared__ float shared[];
  float* image = shared;
  float* sampled = shared + shape.image_room();
  const ViewFormula& view = views.formulas[blockIdx.y];
  const int values = shape.channels * shape.plane();
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * values;
  for (int i = threadIdx.x; i < values; i += kThreads)
    image[i] = within(images[begin + i]);
  __syncthreads();
  for (const auto& colour : view.colours)
    change_colour(image, shape, colour);
  sample(image, shape, view, sampled);
  blur_columns(sampled, shape, view, image);
  write_view(
      image, shape, view, begin,
      to + static_cast<int64_t>(blockIdx.y) * gridDim.x * values + begin);
}

Shape shape_of(const at::Tensor& images) {
  return {static_cast<int>(images.size(1)), static_cast<int>(images.size(2)),
          static_cast<int>(images.size(3))};
}

// What every GPU has, less a little; mean_grey()'s array counts as well.
constexpr int kMostSharedBytes = 47 * 1024;

size_t shared_bytes(const Shape& shape) {
  return sizeof(float) * static_cast<size_t>(shape.shared_floats());
}

}  // namespace

bool has_augmented_views(const at::Tensor& images) {
  return images.is_cuda() && images.scalar_type() == at::kFloat &&
         images.dim() == 4 && images.numel() > 0 && images.size(2) < 256 &&
         images.size(3) < 256 && (images.size(1) == 1 || images.size(1) == 3) &&
         shared_bytes(shape_of(images)) + sizeof(float) * kThreads <=
             kMostSharedBytes;
}

at::Tensor augmented_views(const at::Tensor& images,
                           const std::vector<ViewFormula>& views) {
  const at::Tensor source = images.contiguous();
  const Shape shape = shape_of(source);
  const auto count = static_cast<int64_t>(views.size());
  const at::Tensor all = at::empty(
      {count, source.size(0), source.size(1), source.size(2), source.size(3)},
      source.options());
  const c10::cuda::CUDAGuard guard(source.device());
  for (int64_t done = 0; done < count; done += kViewsOfLaunch) {
    const int64_t now = std::min<int64_t>(kViewsOfLaunch, count - done);
    Views some;
    std::copy_n(views.begin() + done, now, some.formulas);
    make_views<<<dim3(static_cast<unsigned>(source.size(0)),
                      static_cast<unsigned>(now)),
                 kThreads, shared_bytes(shape),
                 c10::cuda::getCurrentCUDAStream(source.device().index())>>>(
        source.data_ptr<float>(), some, shape,
        all.data_ptr<float>() + done * source.numel());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }
  return all;
}

}  // namespace sotta
