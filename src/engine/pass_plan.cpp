#include "engine/pass_plan.h"

#include <algorithm>

#include "engine/memory_plan.h"

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
  // A block's input is made again, then its inside; then the way back through
  // it. The first of these is also the way back through the network's end.
  int64_t input_again(size_t block) const {
    return blocks + 2 + 3 * (blocks - 1 - static_cast<int64_t>(block));
  }
  int64_t again(size_t block) const { return input_again(block) + 1; }
  int64_t backward(size_t block) const { return input_again(block) + 2; }
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
    place_stem();
    for (size_t i = 0; i < sizes_.blocks.size(); ++i)
      place_block(i);
    place_streams();
    for (size_t i = 0; i < sizes_.blocks.size(); ++i)
      if (again_[i])
        plan_.inputs_again[i] =
            memory_.place(input(i), {{steps_.input_again(i), steps_.again(i)}});
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
      stem = {{0, steps_.forward(0)},
              {steps_.input_again(0), steps_.inference()}};
      for (size_t i = 0; i < again_.size(); ++i) {
        if (!again_[i] || !begins_with_stem(i)) continue;
        const Life once{steps_.input_again(i), steps_.input_again(i)};
        stem.push_back(once);
        images.push_back(once);
      }
    }
    plan_.raw[sizes_.stem] = memory_.place(size(sizes_.stem), stem);
    plan_.images = memory_.place(sizes_.images.image(), images);
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
    auto& inside = plan_.inside.emplace_back();
    for (size_t i = 0; i + 1 < block.path.size(); ++i)
      inside.push_back(
          memory_.place(size(block.path[i]), {{backward, backward}}));
  }

  // The inputs of blocks up to the next with a shortcut are sums made in one
  // place; so are their gradients.
  void place_streams() {
    const size_t last = sizes_.blocks.size();
    for (size_t begin = 0, end = 0; begin <= last; begin = end) {
      while (end < last && !sizes_.blocks[end].shortcut)
        ++end;
      place_stream(begin, end++);
    }
    plan_.stem_gradient =
        pools() ? memory_.place(size(sizes_.stem),
                                {{steps_.unpool(), steps_.images()}})
                : plan_.gradients[0];
  }

  // From the input of block `first` to that of block `last`.
  void place_stream(size_t first, size_t last) {
    const bool ends = last == sizes_.blocks.size();
    const int64_t written =
        ends ? steps_.input_again(last - 1) : steps_.backward(last);
    int64_t read = pools() ? steps_.unpool() : steps_.images();
    if (first > 0) read = steps_.backward(first - 1);
    const int64_t place = memory_.place(
        input(first), {{steps_.forward(first), steps_.forward(last)}});
    const int64_t gradient = memory_.place(input(first), {{written, read}});
    for (size_t i = first; i <= last; ++i) {
      plan_.inputs.push_back(place);
      plan_.gradients.push_back(gradient);
    }
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
