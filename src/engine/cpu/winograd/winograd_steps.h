#pragma once

#include <algorithm>

#include "engine/cpu/winograd/winograd_layer.h"

namespace sotta::engine {

// Parts of `size`, of which the last may be smaller.
inline int64_t part_count(int64_t whole, int64_t size) {
  return (whole + size - 1) / size;
}

inline Range part_of(Range whole, int64_t size, int64_t index) {
  const int64_t first = whole.begin + index * size;
  return {first, std::min(first + size, whole.end)};
}

// Packed weights of some positions and inputs, and of a panel of outputs;
// `stride` numbers from position to position.
template <class Number>
struct PackedWeights {
  Range positions;
  Range inputs;
  const Number* weights = nullptr;
  int64_t stride = 0;
};

// One call of a layer: its sizes, and the steps for some tiles. Operands of the
// multiplication are of type Number, float or Bfloat16.
template <class Number>
struct LayerRun {
  const ConvCall& call;
  const KernelContext& context;
  const WinogradLayer::Direction& direction;

  int64_t inputs() const { return direction.inputs; }
  int64_t outputs() const { return direction.outputs; }
  int64_t panels(int64_t width) const { return part_count(outputs(), width); }
  Range panel(int64_t width, int64_t index) const {
    return part_of({0, outputs()}, width, index);
  }
  Tiling tiling() const { return direction.main.tiling; }
  int64_t product_count() const {
    return static_cast<int64_t>(direction.products.size());
  }
  int64_t image_tiles() const {
    return tiles_per_image(call.input, input_step(tiling()));
  }

  int64_t transformed_stride(int64_t tiles) const {
    return position_stride<Number>(tiles, inputs());
  }
  void reserve_transformed(ScratchBuffer& transformed, int64_t tiles) const {
    transformed.reserve<Number>(direction.left_operands *
                                transformed_stride(tiles));
  }
  void reserve_products(FloatBuffer& products, int64_t tiles,
                        int64_t width) const {
    ensure_size(
        products,
        product_count() * position_stride(tiles, std::min(width, outputs())));
  }

  // The first step: the left operands of some tiles and channel blocks.
  void transform_input(Range tiles, Range blocks, Number* transformed) const {
    winograd_input(tiling(), call.prologue, call.input, tiles, blocks,
                   transformed);
    const int64_t own = positions_of(tiling());
    if (own < direction.left_operands)
      winograd_input(Tiling::kIdentity, call.shortcut_prologue, call.input,
                     tiles, blocks,
                     transformed + own * transformed_stride(tiles.size()));
  }

  // The second step, of one product: its terms whose weights are in `packed`,
  // for `columns` outputs. The first inputs of the first term overwrite the
  // product, all others add to it.
  void multiply(int64_t index, int64_t tiles, int64_t columns,
                const PackedWeights<Number>& packed, const Number* transformed,
                float* products) const {
    const auto& product = direction.products[static_cast<size_t>(index)];
    for (int64_t i = 0; i < product.count; ++i) {
      const auto& term = product.terms[i];
      const int64_t position = term.right_operand - packed.positions.begin;
      if (position < 0 || position >= packed.positions.size()) continue;
      const bool accumulate = i > 0 || packed.inputs.begin > 0;
      winograd_gemm(
          {tiles, packed.inputs.size(), columns, inputs(), accumulate},
          transformed + term.left_operand * transformed_stride(tiles) +
              packed.inputs.begin,
          packed.weights + position * packed.stride,
          products + index * position_stride(tiles, columns));
    }
  }
  void multiply_all(int64_t tiles, int64_t columns,
                    const PackedWeights<Number>& packed,
                    const Number* transformed, float* products) const {
    for (int64_t p = 0; p < product_count(); ++p)
      multiply(p, tiles, columns, packed, transformed, products);
  }

  // The call's epilogues, with the sums of one task.
  struct Epilogues {
    Epilogue main, shortcut;
  };
  Epilogues epilogues_of(int64_t task) const {
    return {task_epilogue(call.epilogue, call.sums, task, call.output),
            task_epilogue(call.shortcut_epilogue, call.shortcut_sums, task,
                          call.output)};
  }

  // The third step, of a panel of outputs.
  void transform_output(const Epilogues& epilogues, Range tiles, Range panel,
                        const float* products) const {
    winograd_output(tiling(), epilogues.main, call.output, tiles, panel,
                    products);
    const int64_t own = positions_of(tiling());
    if (own < product_count())
      winograd_output(
          Tiling::kIdentity, epilogues.shortcut, call.output, tiles, panel,
          products + own * position_stride(tiles.size(), panel.size()));
  }

  void reserve_slots(int64_t slots) const {
    for (PartialSums* sums : {call.sums, call.shortcut_sums})
      if (sums) sums->reserve(slots, outputs());
  }
  void total_slots(int64_t slots) const {
    for (PartialSums* sums : {call.sums, call.shortcut_sums})
      if (sums) sums->total(slots, outputs());
  }
};

}  // namespace sotta::engine
