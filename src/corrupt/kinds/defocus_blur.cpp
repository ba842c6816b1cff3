#include <algorithm>
#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros_like.h>

#include "corrupt/filters/border.h"
#include "corrupt/filters/eight_bit.h"
#include "corrupt/kinds/constants.h"
#include "corrupt/kinds/kind.h"

namespace sotta {
namespace {

// A square kernel of 2 * reach + 1 weights a side; float32, as the original's.
struct Kernel {
  int64_t reach;
  std::vector<float> weights;

  explicit Kernel(int64_t half) : reach(half) {
    weights.resize(static_cast<size_t>((2 * half + 1) * (2 * half + 1)));
  }
  float& at(int64_t row, int64_t column) {
    return weights[static_cast<size_t>((row + reach) * (2 * reach + 1) +
                                       column + reach)];
  }
  float at(int64_t row, int64_t column) const {
    return const_cast<Kernel*>(this)->at(row, column);
  }
};

Kernel make_disk(double radius) {
  Kernel disk(radius <= 8 ? 8 : static_cast<int64_t>(radius));
  const int64_t reach = disk.reach;
  float count = 0;
  for (int64_t row = -reach; row <= reach; ++row)
    for (int64_t column = -reach; column <= reach; ++column)
      if (static_cast<double>(row * row + column * column) <= radius * radius) {
        disk.at(row, column) = 1;
        ++count;
      }
  for (float& weight : disk.weights)
    weight /= count;
  return disk;
}

// The weights of the centre, of its neighbours and so on.
std::vector<float> gaussian_weights(int64_t reach, double deviation) {
  std::vector<double> weights;
  double sum = 0;
  for (int64_t i = 0; i <= reach; ++i) {
    const auto distance = static_cast<double>(i);
    weights.push_back(
        std::exp(-distance * distance / (2 * deviation * deviation)));
    sum += (i == 0 ? 1 : 2) * weights.back();
  }
  std::vector<float> rounded;
  for (const double weight : weights)
    rounded.push_back(static_cast<float>(weight / sum));
  return rounded;
}

// One pass of the separable smoothing. A disk that touches the kernel's border
// gains weight by the reflection there; the original does not undo that.
Kernel smooth(const Kernel& kernel, const std::vector<float>& weights,
              bool along_rows) {
  Kernel result(kernel.reach);
  const int64_t size = 2 * kernel.reach + 1;
  const auto folded = [&](int64_t position) {
    return border_index(position + kernel.reach, size, Border::kReflect101) -
           kernel.reach;
  };
  const auto read = [&](int64_t row, int64_t column, int64_t by) {
    return along_rows ? kernel.at(row, folded(column + by))
                      : kernel.at(folded(row + by), column);
  };
  for (int64_t row = -kernel.reach; row <= kernel.reach; ++row)
    for (int64_t column = -kernel.reach; column <= kernel.reach; ++column) {
      float sum = read(row, column, 0) * weights[0];
      for (size_t i = 1; i < weights.size(); ++i) {
        const auto by = static_cast<int64_t>(i);
        sum += (read(row, column, by) + read(row, column, -by)) * weights[i];
      }
      result.at(row, column) = sum;
    }
  return result;
}

class DefocusBlur : public CorruptionKind {
 public:
  explicit DefocusBlur(const KindSetting& setting)
      : kernel_(make_kernel(severity_constants("defocus_blur", setting))) {}

  at::Tensor apply(const at::Tensor& images, const Draws&) const override {
    const int64_t reach = kernel_.reach;
    const at::Tensor extended =
        extend(extend(unit_from_bytes(images), -2, reach, Border::kReflect101),
               -1, reach, Border::kReflect101);
    at::Tensor sums = at::zeros_like(images, at::kDouble);
    for (int64_t row = -reach; row <= reach; ++row)
      for (int64_t column = -reach; column <= reach; ++column) {
        const double weight = kernel_.at(row, column);
        if (weight == 0) continue;
        sums += extended.narrow(-2, reach + row, images.size(-2))
                    .narrow(-1, reach + column, images.size(-1)) *
                weight;
      }
    return bytes_from_unit(sums);
  }

 private:
  static Kernel make_kernel(const Constants& constants) {
    const Kernel disk = make_disk(constants[0]);
    const auto weights =
        gaussian_weights(constants[0] <= 8 ? 1 : 2, constants[1]);
    return cropped(smooth(smooth(disk, weights, true), weights, false));
  }

  // Without the rim that has no weight.
  static Kernel cropped(const Kernel& kernel) {
    int64_t reach = 0;
    for (int64_t row = -kernel.reach; row <= kernel.reach; ++row)
      for (int64_t column = -kernel.reach; column <= kernel.reach; ++column)
        if (kernel.at(row, column) != 0)
          reach = std::max({reach, std::abs(row), std::abs(column)});
    Kernel result(reach);
    for (int64_t row = -reach; row <= reach; ++row)
      for (int64_t column = -reach; column <= reach; ++column)
        result.at(row, column) = kernel.at(row, column);
    return result;
  }

  Kernel kernel_;
};

}  // namespace

std::unique_ptr<CorruptionKind> make_defocus_blur(const KindSetting& setting) {
  return std::make_unique<DefocusBlur>(setting);
}

}  // namespace sotta
