#include "engine/winograd.h"

namespace sotta::engine {
namespace {

// Rows of the kernels' transform: what a kernel becomes at each point.
struct KernelTransform {
  KernelTransform() {
    const double near = 0.625, far = 1.5;
    const double near2 = near * near, far2 = far * far;
    const double a = 1 / (2 * near2 * (near2 - far2));
    const double b = 1 / (2 * far2 * (far2 - near2));
    const double values[6][3] = {
        {1 / (near2 * far2), 0, 0}, {a, a * near, a * near2},
        {a, -a * near, a * near2},  {b, b * far, b * far2},
        {b, -b * far, b * far2},    {0, 0, 1}};
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 3; ++j)
        row[i][j] = values[i][j];
  }

  double row[6][3];
};

// The kernels of one input and 16 outputs, lane by lane: [3][3][16].
void gather_kernels(const WinogradWeights& from, int64_t output, int64_t input,
                    double kernels[3][3][kBlock]) {
  for (int64_t lane = 0; lane < kBlock; ++lane) {
    const int64_t o = output + lane;
    const float* kernel = from.backward
                              ? from.weights + (input * from.inputs + o) * 9
                              : from.weights + (o * from.inputs + input) * 9;
    for (int64_t i = 0; i < 9; ++i)
      kernels[i / 3][i % 3][lane] = kernel[from.backward ? 8 - i : i];
  }
}

// to[36] at `stride` = T kernels T', for 16 kernels at once.
void transform_kernels(const KernelTransform& t,
                       const double kernels[3][3][kBlock], float* to,
                       int64_t stride) {
  double half[6][3][kBlock];
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 3; ++j)
      for (int64_t lane = 0; lane < kBlock; ++lane)
        half[i][j][lane] = t.row[i][0] * kernels[0][j][lane] +
                           t.row[i][1] * kernels[1][j][lane] +
                           t.row[i][2] * kernels[2][j][lane];
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j)
      for (int64_t lane = 0; lane < kBlock; ++lane)
        to[(6 * i + j) * stride + lane] = static_cast<float>(
            t.row[j][0] * half[i][0][lane] + t.row[j][1] * half[i][1][lane] +
            t.row[j][2] * half[i][2][lane]);
}

}  // namespace

void pack_winograd(const WinogradWeights& weights, Range output_blocks,
                   float* packed) {
  const KernelTransform transform;
  const int64_t inputs = weights.backward ? weights.outputs : weights.inputs;
  const int64_t outputs = weights.backward ? weights.inputs : weights.outputs;
  for (int64_t block = output_blocks.begin; block < output_blocks.end; ++block)
    for (int64_t input = 0; input < inputs; ++input) {
      double kernels[3][3][kBlock];
      gather_kernels(weights, block * kBlock, input, kernels);
      transform_kernels(transform, kernels,
                        packed + (block * inputs + input) * kBlock,
                        outputs * inputs);
    }
}

}  // namespace sotta::engine
