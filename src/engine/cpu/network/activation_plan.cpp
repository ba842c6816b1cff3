#include "engine/cpu/network/activation_plan.h"

#include <algorithm>

#include "engine/cpu/network/memory_plan.h"

namespace sotta::engine {
namespace {

using Lifetime = MemoryPlan::Lifetime;
using Lifetimes = MemoryPlan::Lifetimes;

// The steps of a forward and a backward pass, numbered in their order from the
// stem's, 0.
struct Steps {
  int64_t blocks;

  // Of block `blocks`: the average pooling at the network's end.
  int64_t forward(size_t block) const {
    return static_cast<int64_t>(block) + 1;
  }
  // A block is recomputed, then its gradients are computed. The last block's
  // recomputation is also the step of the gradient of the network's output.
  int64_t recompute(size_t block) const {
    return blocks + 2 + 2 * (blocks - 1 - static_cast<int64_t>(block));
  }
  int64_t backward(size_t block) const { return recompute(block) + 1; }
  int64_t max_pool() const { return backward(0) + 1; }
  int64_t images() const { return max_pool() + 1; }
  int64_t inference() const { return images() + 1; }
};

class Planner {
 public:
  Planner(const LayerSizes& sizes, bool low_memory, ActivationPlan& plan)
      : sizes_(sizes),
        low_memory_(low_memory),
        steps_{static_cast<int64_t>(sizes.blocks.size())},
        plan_(plan) {}

  void run() {
    plan_.pre_norm.resize(sizes_.norms.size());
    choose_recomputed();
    // The order decides how much memory first fit takes. Long lifetimes first,
    // gradients before all: so the usual ResNets take no more than the largest
    // sum of what is alive at one step.
    for_each_residual_stream(
        [&](size_t first, size_t last) { place_gradient(first, last); });
    for (size_t i = 0; i < sizes_.blocks.size(); ++i)
      place_block(i);
    place_stem();
    for_each_residual_stream(
        [&](size_t first, size_t last) { place_input(first, last); });
    for (size_t i = 0; i < sizes_.blocks.size(); ++i)
      place_inner(i);
    plan_.inference = memory_.place(inference_size(),
                                    {{steps_.inference(), steps_.inference()}});
    plan_.size = memory_.size();
  }

 private:
  int64_t size(size_t norm) const { return sizes_.norms[norm].image_size(); }
  int64_t largest_inner(const LayerSizes::Block& block) const {
    int64_t largest = 0;
    for (size_t i = 0; i + 1 < block.path.size(); ++i)
      largest = std::max(largest, size(block.path[i]));
    return largest;
  }
  // Of a block's input; of block `blocks`: of the network's output.
  int64_t input_size(size_t block) const {
    if (block > 0) return size(sizes_.blocks[block - 1].end());
    return max_pools() ? sizes_.pooled.image_size() : size(sizes_.stem);
  }
  bool max_pools() const { return sizes_.pooled.image_size() > 0; }

  // Blocks at least half as large inside as the largest. Recomputing smaller
  // ones would take as much time and not lower the peak, which the large ones
  // make.
  void choose_recomputed() {
    int64_t largest = 0;
    for (const auto& block : sizes_.blocks)
      largest = std::max(largest, largest_inner(block));
    for (const auto& block : sizes_.blocks)
      recomputed_.push_back(low_memory_ && 2 * largest_inner(block) >= largest);
    plan_.recompute_inputs.resize(sizes_.blocks.size());
  }

  // Whether a block lies in the first residual stream, so that its input is
  // recomputed from the stem's output.
  bool is_in_first_stream(size_t block) const {
    for (size_t i = 0; i < block; ++i)
      if (sizes_.blocks[i].shortcut) return false;
    return true;
  }

  void place_stem() {
    Lifetimes stem = {{0, steps_.inference()}};
    Lifetimes images = {{0, 0}, {steps_.images(), steps_.images()}};
    if (recomputed_[0]) {
      stem = {{0, steps_.forward(0)},
              {steps_.recompute(0), steps_.inference()}};
      for (size_t i = 0; i < recomputed_.size(); ++i) {
        if (!recomputed_[i] || !is_in_first_stream(i)) continue;
        const Lifetime once{steps_.recompute(i), steps_.recompute(i)};
        images.push_back(once);
        if (max_pools()) stem.push_back(once);
      }
    }
    plan_.pre_norm[sizes_.stem] = memory_.place(size(sizes_.stem), stem);
    plan_.images = memory_.place(sizes_.images.image_size(), images);
    plan_.stem_gradient = plan_.gradients[0];
    if (max_pools())
      plan_.stem_gradient = memory_.place(
          size(sizes_.stem), {{steps_.max_pool(), steps_.images()}});
  }

  void place_block(size_t index) {
    const LayerSizes::Block& block = sizes_.blocks[index];
    const int64_t forward = steps_.forward(index);
    const int64_t backward = steps_.backward(index);
    const Lifetimes kept = {{forward, backward}};
    const Lifetimes twice = {{forward, forward},
                             {steps_.recompute(index), backward}};
    for (const size_t norm : block.path) {
      const bool drop = recomputed_[index] && norm != block.end();
      plan_.pre_norm[norm] = memory_.place(size(norm), drop ? twice : kept);
    }
    if (block.shortcut)
      plan_.pre_norm[*block.shortcut] =
          memory_.place(size(*block.shortcut), kept);
  }

  // Arrays of one block alone: its recomputed input, the gradients inside it.
  void place_inner(size_t index) {
    const LayerSizes::Block& block = sizes_.blocks[index];
    const Lifetime recompute{steps_.recompute(index), steps_.recompute(index)};
    const Lifetime backward{steps_.backward(index), steps_.backward(index)};
    if (recomputed_[index])
      plan_.recompute_inputs[index] =
          memory_.place(input_size(index), {recompute});
    auto& gradients = plan_.inner_gradients.emplace_back();
    for (size_t i = 0; i + 1 < block.path.size(); ++i)
      gradients.push_back(memory_.place(size(block.path[i]), {backward}));
  }

  // A residual stream: blocks without a shortcut add to their input in place,
  // so that the inputs of all blocks from behind one shortcut up to the next
  // share an array, and so do their gradients. Calls work(first, last) with the
  // first and last block whose inputs these are.
  template <class Work>
  void for_each_residual_stream(const Work& work) const {
    const size_t end = sizes_.blocks.size();
    for (size_t first = 0, last = 0; first <= end; first = ++last) {
      while (last < end && !sizes_.blocks[last].shortcut)
        ++last;
      work(first, last);
    }
  }

  void place_input(size_t first, size_t last) {
    const Lifetime lifetime{steps_.forward(first), steps_.forward(last)};
    plan_.inputs.resize(last + 1, memory_.place(input_size(first), {lifetime}));
  }

  void place_gradient(size_t first, size_t last) {
    const bool ends = last == sizes_.blocks.size();
    Lifetime lifetime;
    lifetime.first = ends ? steps_.recompute(last - 1) : steps_.backward(last);
    lifetime.last = max_pools() ? steps_.max_pool() : steps_.images();
    if (first > 0) lifetime.last = steps_.backward(first - 1);
    plan_.gradients.resize(last + 1,
                           memory_.place(input_size(first), {lifetime}));
  }

  // The largest sum of what a pass that keeps nothing has at once; see
  // ForwardPass::infer().
  int64_t inference_size() const {
    int64_t most = size(sizes_.stem);
    if (max_pools())
      most += std::max(sizes_.images.image_size(), input_size(0));
    for (size_t i = 0; i < sizes_.blocks.size(); ++i) {
      const LayerSizes::Block& block = sizes_.blocks[i];
      int64_t now = std::max(input_size(i), input_size(i + 1));
      if (block.shortcut) now += input_size(i + 1);
      for (const size_t norm : block.path)
        if (norm != block.end()) now += size(norm);
      most = std::max(most, now);
    }
    return most;
  }

  const LayerSizes& sizes_;
  bool low_memory_;
  Steps steps_;
  ActivationPlan& plan_;
  MemoryPlan memory_;
  std::vector<bool> recomputed_;  // [blocks]
};

// Networks with pre-activation.
class PreActivationPlanner {
 public:
  PreActivationPlanner(const LayerSizes& sizes, bool low_memory,
                       ActivationPlan& plan)
      : sizes_(sizes),
        low_memory_(low_memory),
        steps_{static_cast<int64_t>(sizes.blocks.size())},
        plan_(plan) {}

  void run() {
    const size_t blocks = sizes_.blocks.size();
    plan_.pre_norm.resize(sizes_.norms.size());
    plan_.recompute_inputs.resize(blocks);
    plan_.gradients.resize(blocks + 1);
    plan_.inner_gradients.resize(blocks + 1);
    place_gradients();
    plan_.pre_norm[sizes_.stem] = place(sizes_.stem, {{0, steps_.inference()}});
    for (size_t i = 0; i < blocks; ++i)
      place_block(i);
    place_inner_gradients();
    plan_.inference = memory_.place(inference_size(),
                                    {{steps_.inference(), steps_.inference()}});
    plan_.size = memory_.size();
  }

 private:
  int64_t place(size_t norm, const Lifetimes& lifetimes) {
    return memory_.place(sizes_.norms[norm].image_size(), lifetimes);
  }
  // The norm layer that reads a block's input, or the network's output.
  size_t reader(size_t block) const {
    return block > 0 ? sizes_.blocks[block - 1].end() : sizes_.stem;
  }

  // A residual stream without a convolution shares one array.
  void place_gradients() {
    const size_t blocks = sizes_.blocks.size();
    for (size_t i = blocks + 1; i-- > 0;) {
      if (i < blocks && !sizes_.blocks[i].shortcut) {
        plan_.gradients[i] = plan_.gradients[i + 1];
        continue;
      }
      size_t first = i;
      while (first > 0 && !sizes_.blocks[first - 1].shortcut)
        --first;
      const int64_t begin =
          i == blocks ? steps_.recompute(blocks - 1) : steps_.backward(i);
      const int64_t end =
          first > 0 ? steps_.backward(first - 1) : steps_.images();
      plan_.gradients[i] = place(reader(i), {{begin, end}});
    }
  }

  void place_block(size_t index) {
    const LayerSizes::Block& block = sizes_.blocks[index];
    const int64_t forward = steps_.forward(index);
    const int64_t backward = steps_.backward(index);
    const Lifetimes kept = {{forward, backward}};
    const Lifetimes twice = {{forward, forward},
                             {steps_.recompute(index), backward}};
    plan_.pre_norm[block.path[0]] =
        place(block.path[0], low_memory_ ? twice : kept);
    plan_.pre_norm[block.end()] = place(block.end(), kept);
    if (low_memory_)
      plan_.recompute_inputs[index] = plan_.pre_norm[reader(index)];
  }

  // Behind the norm layer at a block's input: from the block's backward pass to
  // that of the block before, which reads it first.
  void place_inner_gradients() {
    const size_t blocks = sizes_.blocks.size();
    for (size_t i = 0; i <= blocks; ++i) {
      const int64_t begin =
          i == blocks ? steps_.recompute(blocks - 1) : steps_.backward(i);
      const int64_t end = i > 0 ? steps_.backward(i - 1) : steps_.images();
      plan_.inner_gradients[i].push_back(place(reader(i), {{begin, end}}));
      if (i < blocks)
        plan_.inner_gradients[i].push_back(
            place(sizes_.blocks[i].path[0],
                  {{steps_.recompute(i), steps_.backward(i)}}));
    }
  }

  // A block's input, its output and its inside.
  int64_t inference_size() const {
    int64_t stream = 0, inner = 0;
    for (size_t i = 0; i <= sizes_.blocks.size(); ++i)
      stream = std::max(stream, sizes_.norms[reader(i)].image_size());
    for (const auto& block : sizes_.blocks)
      inner = std::max(inner, sizes_.norms[block.path[0]].image_size());
    return 2 * stream + inner;
  }

  const LayerSizes& sizes_;
  bool low_memory_;
  Steps steps_;
  ActivationPlan& plan_;
  MemoryPlan memory_;
};

}  // namespace

ActivationPlan::ActivationPlan(const LayerSizes& sizes, bool low_memory) {
  if (sizes.pre_activation)
    PreActivationPlanner(sizes, low_memory, *this).run();
  else
    Planner(sizes, low_memory, *this).run();
}

}  // namespace sotta::engine
