#include "engine/cpu/network/pass_plan.h"

#include <algorithm>

#include "engine/cpu/network/memory_plan.h"

namespace sotta::engine {
namespace {

using Life = MemoryPlan::Life;
using Lives = MemoryPlan::Lives;

// The steps of a pass there and back, numbered in their order.
struct Steps {
  int64_t blocks;

  // Behind the stem, step 0; of the end: `blocks`.
  int64_t forward(size_t block) const {
    return static_cast<int64_t>(block) + 1;
  }
  // A block's inside is made again; then the way back through it. The first of
  // these is also the way back through the network's end.
  int64_t again(size_t block) const {
    return blocks + 2 + 2 * (blocks - 1 - static_cast<int64_t>(block));
  }
  int64_t backward(size_t block) const { return again(block) + 1; }
  int64_t unpool() const { return backward(0) + 1; }
  int64_t images() const { return unpool() + 1; }
  int64_t inference() const { return images() + 1; }
};

class Planner {
 public:
  Planner(const LayerSizes& sizes, bool low_memory, PassPlan& plan)
      : sizes_(sizes),
        low_memory_(low_memory),
        steps_{static_cast<int64_t>(sizes.blocks.size())},
        plan_(plan) {}

  void run() {
    plan_.raw.resize(sizes_.norms.size());
    choose_again();
    // What is needed for long comes first, gradients before all: in this order
    // the usual ResNets need no more than what is there at once.
    for_each_stream(
        [&](size_t first, size_t last) { place_gradient(first, last); });
    for (size_t i = 0; i < sizes_.blocks.size(); ++i)
      place_block(i);
    place_stem();
    for_each_stream(
        [&](size_t first, size_t last) { place_input(first, last); });
    for (size_t i = 0; i < sizes_.blocks.size(); ++i)
      place_inside(i);
    plan_.inference =
        memory_.place(inference(), {{steps_.inference(), steps_.inference()}});
    plan_.size = memory_.size();
  }

 private:
  int64_t size(size_t norm) const { return sizes_.norms[norm].image(); }
  int64_t largest_inside(const LayerSizes::Block& block) const {
    int64_t largest = 0;
    for (size_t i = 0; i + 1 < block.path.size(); ++i)
      largest = std::max(largest, size(block.path[i]));
    return largest;
  }
  // Of a block's input, or of the last block's output.
  int64_t input(size_t block) const {
    if (block > 0) return size(sizes_.blocks[block - 1].end());
    return pools() ? sizes_.pooled.image() : size(sizes_.stem);
  }
  bool pools() const { return sizes_.pooled.image() > 0; }

  // Small ones cost as much time as large ones, and are there when the pass
  // needs less memory.
  void choose_again() {
    int64_t largest = 0;
    for (const auto& block : sizes_.blocks)
      largest = std::max(largest, largest_inside(block));
    for (const auto& block : sizes_.blocks)
      again_.push_back(low_memory_ && 2 * largest_inside(block) >= largest);
    plan_.inputs_again.resize(sizes_.blocks.size());
  }

  // Whether a block's input follows from the stem's and others' added to it.
  bool begins_with_stem(size_t block) const {
    for (size_t i = 0; i < block; ++i)
      if (sizes_.blocks[i].shortcut) return false;
    return true;
  }

  void place_stem() {
    Lives stem = {{0, steps_.inference()}};
    Lives images = {{0, 0}, {steps_.images(), steps_.images()}};
    if (again_[0]) {
      stem = {{0, steps_.forward(0)}, {steps_.again(0), steps_.inference()}};
      for (size_t i = 0; i < again_.size(); ++i) {
        if (!again_[i] || !begins_with_stem(i)) continue;
        const Life once{steps_.again(i), steps_.again(i)};
        images.push_back(once);
        if (pools()) stem.push_back(once);
      }
    }
    plan_.raw[sizes_.stem] = memory_.place(size(sizes_.stem), stem);
    plan_.images = memory_.place(sizes_.images.image(), images);
    plan_.stem_gradient = plan_.gradients[0];
    if (pools())
      plan_.stem_gradient = memory_.place(size(sizes_.stem),
                                          {{steps_.unpool(), steps_.images()}});
  }

  void place_block(size_t index) {
    const LayerSizes::Block& block = sizes_.blocks[index];
    const int64_t forward = steps_.forward(index);
    const int64_t backward = steps_.backward(index);
    const Lives kept = {{forward, backward}};
    const Lives twice = {{forward, forward}, {steps_.again(index), backward}};
    for (const size_t norm : block.path) {
      const bool drop = again_[index] && norm != block.end();
      plan_.raw[norm] = memory_.place(size(norm), drop ? twice : kept);
    }
    if (block.shortcut)
      plan_.raw[*block.shortcut] = memory_.place(size(*block.shortcut), kept);
  }

  // What is there for one block only.
  void place_inside(size_t index) {
    const LayerSizes::Block& block = sizes_.blocks[index];
    const Life again{steps_.again(index), steps_.again(index)};
    const Life backward{steps_.backward(index), steps_.backward(index)};
    if (again_[index])
      plan_.inputs_again[index] = memory_.place(input(index), {again});
    auto& inside = plan_.inside.emplace_back();
    for (size_t i = 0; i + 1 < block.path.size(); ++i)
      inside.push_back(memory_.place(size(block.path[i]), {backward}));
  }

  // The inputs of blocks up to the next with a shortcut are sums made in one
  // place; so are their gradients. Calls work(first, last) with the blocks.
  template <class Work>
  void for_each_stream(const Work& work) const {
    const size_t end = sizes_.blocks.size();
    for (size_t first = 0, last = 0; first <= end; first = ++last) {
      while (last < end && !sizes_.blocks[last].shortcut)
        ++last;
      work(first, last);
    }
  }

  void place_input(size_t first, size_t last) {
    const Life life{steps_.forward(first), steps_.forward(last)};
    plan_.inputs.resize(last + 1, memory_.place(input(first), {life}));
  }

  void place_gradient(size_t first, size_t last) {
    const bool ends = last == sizes_.blocks.size();
    Life life;
    life.first = ends ? steps_.again(last - 1) : steps_.backward(last);
    life.last = pools() ? steps_.unpool() : steps_.images();
    if (first > 0) life.last = steps_.backward(first - 1);
    plan_.gradients.resize(last + 1, memory_.place(input(first), {life}));
  }

  // Room for what a pass that keeps nothing has at once.
  int64_t inference() const {
    int64_t most = size(sizes_.stem);
    if (pools()) most += std::max(sizes_.images.image(), input(0));
    for (size_t i = 0; i < sizes_.blocks.size(); ++i) {
      const LayerSizes::Block& block = sizes_.blocks[i];
      int64_t now = std::max(input(i), input(i + 1));
      if (block.shortcut) now += input(i + 1);
      for (const size_t norm : block.path)
        if (norm != block.end()) now += size(norm);
      most = std::max(most, now);
    }
    return most;
  }

  const LayerSizes& sizes_;
  bool low_memory_;
  Steps steps_;
  PassPlan& plan_;
  MemoryPlan memory_;
  std::vector<bool> again_;  // by block
};

}  // namespace

PassPlan::PassPlan(const LayerSizes& sizes, bool low_memory) {
  Planner(sizes, low_memory, *this).run();
}

}  // namespace sotta::engine
