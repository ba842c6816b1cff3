// The schedule of a Winograd convolution: transform tiles, multiply position by
// position, transform back. There are two ways to share the work out.
//
// Image-parallel, for narrow layers, whose packed weights fit every core's
// cache. A task is some images; its worker goes through their tiles, 24 at a
// time, in three steps, without waiting for others:
//
//   tiles of image n -> scratch.operand -> x weights, panel by panel
//                       [position][24][inputs]  -> scratch.product -> epilogue
//
// Output-parallel, for wide layers. All workers take the same tiles, up to 128:
// first a task is a block of input channels to transform, then, when all of
// these are done, a panel of outputs to multiply and transform back. So each
// core reads only its own panels of the weights:
//
//   tiles -> shared_operand -> worker 0: x panel 0 -> product -> epilogue
//            (by all)          worker 1: x panel 1 -> product -> epilogue
//
// Weights are packed by panels of kOutputPanel outputs: of panel g all
// positions, the convolution's first, then the shortcut's one.
//
//   packed  [panels][positions][panel / 16][inputs][16]
//
// of bfloat16 [panels][positions][panel / 16][inputs / 2][16][2].
#include "engine/cpu/winograd/winograd_layer.h"

#include <algorithm>

#include "sotta/core/error.h"

#include "engine/cpu/winograd/winograd_steps.h"

namespace sotta::engine {
namespace {

using Direction = WinogradLayer::Direction;

// Up to this size packed weights stay in a core's cache, and layers run
// image-parallel.
constexpr int64_t kCachedWeights = 1 << 20;  // numbers: 4 MB of floats

// Larger packed weights are not kept: those of ResNet18's last stage would take
// as much memory as all activations. A worker packs them on the fly, for so few
// inputs at a time that they are still in its cache when it multiplies: 1.2 MB.
// F(4x8,3x3) has more weights, so such layers do without.
constexpr int64_t kKeptWeights = 3 << 20;  // numbers of 6x6 kernels: 12 MB
constexpr int64_t kInputsAtOnce = 128;

bool may_keep_packed(const ConvShape& shape) {
  return shape.inputs * shape.outputs * packed_positions(Tiling::kF4x4) <=
         kKeptWeights;
}

// Tiles that are transformed at a time. With stride 2 fewer, since they have 81
// positions instead of 36. Wide ones have 60, but an image has half as many.
constexpr int64_t kImageParallelTiles = 24;
constexpr int64_t output_parallel_tiles(Tiling tiling) {
  return tiling == Tiling::kF4x4 || tiling == Tiling::kF4x8 ? 128 : 64;
}

// Images of an image-parallel task.
int64_t images_per_task(int64_t tiles_per_image) {
  return std::max<int64_t>(1, 32 / tiles_per_image);
}

int64_t packed_size(const Direction& direction) {
  return direction.inputs * direction.outputs *
         packed_positions(direction.main.tiling);
}

// Positions of packed weights.
Range main_positions(const Direction& direction) {
  return {0, packed_positions(direction.main.tiling)};
}
Range shortcut_positions(const Direction& direction) {
  const int64_t first = main_positions(direction).end;
  return {first, first + (direction.shortcut.weights ? 1 : 0)};
}

// Numbers of one panel of packed weights.
template <class Number>
int64_t packed_panel_size(const Direction& direction) {
  return shortcut_positions(direction).end *
         packed_stride<Number>(direction.inputs, kOutputPanel);
}

// Packs all weights, a task for each panel.
template <class Number>
void pack_all(const LayerRun<Number>& run, ScratchBuffer& packed) {
  const Direction& direction = run.direction;
  const Range inputs{0, run.inputs()};
  const int64_t panel_size = packed_panel_size<Number>(direction);
  packed.reserve<Number>(run.panels(kOutputPanel) * panel_size);
  run.context.run(run.panels(kOutputPanel), [&](int64_t g, int64_t) {
    const Range panel = run.panel(kOutputPanel, g);
    Number* to = packed.as<Number>() + g * panel_size;
    pack_winograd_weights(direction.main, panel, inputs, to);
    if (direction.shortcut.weights)
      pack_winograd_weights(
          direction.shortcut, panel, inputs,
          to + main_positions(direction).end *
                   packed_stride<Number>(inputs.end, panel.size()));
  });
}

// Of these, the weights of some outputs, all of one panel.
template <class Number>
PackedWeights<Number> packed_of(const LayerRun<Number>& run,
                                const Number* weights, Range outputs) {
  const int64_t index = outputs.begin / kOutputPanel;
  return {{0, shortcut_positions(run.direction).end},
          {0, run.inputs()},
          weights + index * packed_panel_size<Number>(run.direction) +
              outputs.begin % kOutputPanel * run.inputs(),
          packed_stride<Number>(run.inputs(),
                                run.panel(kOutputPanel, index).size())};
}

template <class Number>
void run_image_parallel(const LayerRun<Number>& run, const Number* weights) {
  const KernelContext& context = run.context;
  const int64_t images = run.call.input.images;
  const int64_t per_image = run.image_tiles();
  const int64_t size = images_per_task(per_image);
  const int64_t tasks = part_count(images, size);
  run.reserve_slots(tasks);
  for (int64_t i = 0; i < context.threads; ++i) {
    run.reserve_transformed(context.scratch[i].operand, kImageParallelTiles);
    run.reserve_products(context.scratch[i].product, kImageParallelTiles,
                         kOutputPanel);
  }
  context.run(tasks, [&](int64_t task, int64_t worker) {
    const Range mine = part_of({0, images}, size, task);
    if (run.call.prepare) run.call.prepare(mine);
    const auto epilogues = run.epilogues_of(task);
    auto* transformed = context.scratch[worker].operand.as<Number>();
    float* products = context.scratch[worker].product.data();
    const Range all{mine.begin * per_image, mine.end * per_image};
    for (int64_t i = 0; i < part_count(all.size(), kImageParallelTiles); ++i) {
      const Range tiles = part_of(all, kImageParallelTiles, i);
      run.transform_input(tiles, {0, channel_blocks_of(run.inputs())},
                          transformed);
      for (int64_t g = 0; g < run.panels(kOutputPanel); ++g) {
        const Range panel = run.panel(kOutputPanel, g);
        run.multiply_all(tiles.size(), panel.size(),
                         packed_of(run, weights, panel), transformed, products);
        run.transform_output(epilogues, tiles, panel, products);
      }
    }
  });
  run.total_slots(tasks);
}

// Multiplies for a panel of outputs with weights that are packed on the fly,
// the convolution's or the shortcut's, for some inputs after the other. The
// weights for the next inputs are prefetched meanwhile.
template <class Number>
void pack_and_multiply(const LayerRun<Number>& run, const WinogradWeights& from,
                       Range positions, int64_t tiles, Range panel,
                       const WorkerScratch& scratch) {
  const KernelContext& context = run.context;
  auto* weights = scratch.operand.as<Number>();
  const Range all{0, run.inputs()};
  for (int64_t i = 0; i < part_count(all.end, kInputsAtOnce); ++i) {
    const Range inputs = part_of(all, kInputsAtOnce, i);
    const Range next = part_of(all, kInputsAtOnce, i + 1);
    pack_winograd_weights(from, panel, inputs, weights);
    const PackedWeights<Number> packed{
        positions, inputs, weights,
        packed_stride<Number>(inputs.size(), panel.size())};
    for (int64_t p = 0; p < run.product_count(); ++p) {
      prefetch_winograd_weights(from, panel, next, p, run.product_count());
      run.multiply(p, tiles, panel.size(), packed,
                   context.shared_operand->as<Number>(),
                   scratch.product.data());
    }
  }
}

// `kept`: packed weights; null: they are packed on the fly.
template <class Number>
void multiply_panel(const LayerRun<Number>& run, const Number* kept,
                    int64_t tiles, Range panel, const WorkerScratch& scratch) {
  const KernelContext& context = run.context;
  const Direction& direction = run.direction;
  if (kept)
    return run.multiply_all(tiles, panel.size(), packed_of(run, kept, panel),
                            context.shared_operand->as<Number>(),
                            scratch.product.data());
  pack_and_multiply(run, direction.main, main_positions(direction), tiles,
                    panel, scratch);
  if (direction.shortcut.weights)
    pack_and_multiply(run, direction.shortcut, shortcut_positions(direction),
                      tiles, panel, scratch);
}

// Outputs of a task: fewer than a panel where workers would have none
// otherwise.
int64_t panel_width(int64_t outputs, int64_t workers) {
  int64_t width = kOutputPanel;
  while (width > kChannelBlock && part_count(outputs, width) < workers)
    width /= 2;
  return width;
}

// `kept` as in multiply_panel().
template <class Number>
void run_output_parallel(const LayerRun<Number>& run, const Number* kept) {
  const KernelContext& context = run.context;
  const int64_t images = run.call.input.images;
  if (run.call.prepare)
    context.run(images, [&](int64_t image, int64_t) {
      run.call.prepare({image, image + 1});
    });
  const Range all{0, images * run.image_tiles()};
  const int64_t most = std::min(all.end, output_parallel_tiles(run.tiling()));
  const int64_t steps = part_count(all.end, most);
  const int64_t width = panel_width(run.outputs(), context.threads);
  run.reserve_slots(steps);
  run.reserve_transformed(*context.shared_operand, most);
  for (int64_t i = 0; i < context.threads; ++i) {
    if (!kept)
      context.scratch[i].operand.reserve<Number>(
          main_positions(run.direction).end *
          packed_stride<Number>(kInputsAtOnce, width));
    run.reserve_products(context.scratch[i].product, most, width);
  }
  for (int64_t i = 0; i < steps; ++i) {
    const Range tiles = part_of(all, most, i);
    const auto epilogues = run.epilogues_of(i);
    context.run(channel_blocks_of(run.inputs()), [&](int64_t block, int64_t) {
      run.transform_input(tiles, {block, block + 1},
                          context.shared_operand->as<Number>());
    });
    context.run(run.panels(width), [&](int64_t g, int64_t worker) {
      const Range panel = run.panel(width, g);
      const WorkerScratch& scratch = context.scratch[worker];
      multiply_panel(run, kept, tiles.size(), panel, scratch);
      run.transform_output(epilogues, tiles, panel, scratch.product.data());
    });
  }
  run.total_slots(steps);
}

// The products of the convolution itself, one for each position.
void plan_products(Direction& direction) {
  const Tiling tiling = direction.main.tiling;
  direction.inputs =
      direction.main.backward ? direction.main.outputs : direction.main.inputs;
  direction.outputs =
      direction.main.backward ? direction.main.inputs : direction.main.outputs;
  direction.left_operands = positions_of(tiling);
  for (int64_t p = 0; p < positions_of(tiling); ++p)
    direction.products.push_back({{{p, packed_position(tiling, p)}, {}}, 1});
}

// Those of the shortcut, see WinogradLayer::Direction.
void plan_shortcut(Direction& direction) {
  const Tiling tiling = direction.main.tiling;
  const int64_t weights = packed_positions(tiling);
  for (int64_t p = 0; p < positions_of(Tiling::kIdentity); ++p) {
    const int64_t middle = middle_position(p);
    if (direction.main.backward) {
      auto& product = direction.products[static_cast<size_t>(middle)];
      product.terms[1] = {direction.left_operands++, weights};
      product.count = 2;
    } else {
      direction.products.push_back({{{middle, weights}, {}}, 1});
    }
  }
}

template <class Number>
void convolve_with(const LayerRun<Number>& run, bool keep_packed) {
  const KernelContext& context = run.context;
  const Direction& direction = run.direction;
  const bool image_parallel = packed_size(direction) <= kCachedWeights;
  const Number* weights = nullptr;
  if (keep_packed) {
    std::call_once(direction.once, [&] { pack_all(run, direction.packed); });
    weights = direction.packed.as<Number>();
  } else if (image_parallel) {
    pack_all(run, *context.packed_weights);
    weights = context.packed_weights->as<Number>();
  }
  if (image_parallel)
    run_image_parallel(run, weights);
  else
    run_output_parallel(run, weights);
}

// Whether F(4x8,3x3) has fewer products than F(4x4,3x3): not at widths of up
// to 4, 9 to 12 and 17 to 20, where half of the last wide tile is empty.
bool f4x8_pays(const ActivationShape& input) {
  const auto products = [&](Tiling tiling) {
    return positions_of(tiling) * tiles_per_image(input, input_step(tiling));
  };
  return products(Tiling::kF4x8) < products(Tiling::kF4x4);
}

}  // namespace

WinogradLayer::WinogradLayer(const ConvShape& shape, const Weights& weights,
                             bool keep_packed, OperandType operands)
    : keep_packed_(keep_packed && may_keep_packed(shape)), operands_(operands) {
  const bool strided = shape.stride > 1;
  const auto prepare = [&](Direction& direction, Tiling tiling, bool backward) {
    direction.main = {weights.main, shape.outputs, shape.inputs, tiling,
                      backward};
    plan_products(direction);
    if (!weights.shortcut) return;
    direction.shortcut = {weights.shortcut, shape.outputs, shape.inputs,
                          Tiling::kIdentity, backward};
    plan_shortcut(direction);
  };
  prepare(forward_, strided ? Tiling::kStride2 : Tiling::kF4x4, false);
  prepare(backward_, strided ? Tiling::kStride2Backward : Tiling::kF4x4, true);
  // Whether weights are kept must not change the bits: F(4x8,3x3) is taken
  // with keep_packed off too.
  if (!strided && may_keep_packed(shape) && operands_ == OperandType::kFloat)
    prepare(wide_backward_, Tiling::kF4x8, true);
}

void WinogradLayer::backward(const ConvCall& call,
                             const KernelContext& context) const {
  const bool wide = !wide_backward_.products.empty() && f4x8_pays(call.input);
  convolve(call, context, wide ? wide_backward_ : backward_);
}

void WinogradLayer::convolve(const ConvCall& call, const KernelContext& context,
                             const Direction& direction) const {
  if (operands_ == OperandType::kFloat)
    return convolve_with<float>({call, context, direction}, keep_packed_);
  require(multiplies_bfloat16(), "bf16", "needs AVX512-BF16");
  convolve_with<Bfloat16>({call, context, direction}, keep_packed_);
}

}  // namespace sotta::engine
