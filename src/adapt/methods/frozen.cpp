#include "adapt/methods/frozen.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/ops/ones_like.h>

#include "sotta/core/error.h"

namespace sotta {
namespace {

bool lies_in(const NormLayer& layer, const std::string& stage) {
  return layer.name.compare(0, stage.size(), stage) == 0 &&
         (layer.name.size() == stage.size() || layer.name[stage.size()] == '.');
}

// The last norm layer's name up to the first dot after which not every norm
// layer is named alike: layer4, model.layer4, features.49.
std::string last_stage(const std::vector<NormLayer>& layers) {
  const std::string& last = layers.back().name;
  for (size_t dot = last.find('.'); dot != std::string::npos;
       dot = last.find('.', dot + 1)) {
    const std::string stage = last.substr(0, dot);
    if (!std::all_of(layers.begin(), layers.end(),
                     [&](const auto& layer) { return lies_in(layer, stage); }))
      return stage;
  }
  return last;
}

// The first number in a name, and what comes before it.
struct Block {
  std::string prefix;
  int64_t number;
};
std::optional<Block> block_of(const std::string& name) {
  const char* const digits = "0123456789";
  const size_t begin = name.find_first_of(digits);
  if (begin == std::string::npos) return std::nullopt;
  const size_t end = name.find_first_not_of(digits, begin);
  const std::string number = name.substr(begin, end - begin);
  if (number.size() > 9) return std::nullopt;
  return Block{name.substr(0, begin), std::stoll(number)};
}

// Whether a layer's number tells it from others that are named alike.
bool is_numbered(const std::vector<NormLayer>& layers, const NormLayer& layer) {
  const auto block = block_of(layer.name);
  return block && std::any_of(layers.begin(), layers.end(), [&](const auto& l) {
           const auto other = block_of(l.name);
           return l.name != layer.name && other &&
                  other->prefix == block->prefix;
         });
}

// The last quarter of the blocks that are numbered as the last one is.
void add_last_blocks(const std::vector<NormLayer>& layers,
                     std::vector<bool>& found) {
  std::optional<Block> last;
  for (const auto& layer : layers)
    if (const auto block = block_of(layer.name);
        block && is_numbered(layers, layer))
      if (!last || last->prefix != block->prefix ||
          last->number < block->number)
        last = block;
  if (!last) return;
  const int64_t quarter = std::max<int64_t>(1, (last->number + 1) / 4);
  for (size_t i = 0; i < layers.size(); ++i) {
    const auto block = block_of(layers[i].name);
    if (block && block->prefix == last->prefix &&
        block->number > last->number - quarter)
      found[i] = true;
  }
}

// A single norm layer without a number of its own, at the end of transformers
// and of wide residual networks, is no stage: the last blocks go with it.
std::vector<bool> find_last_stage(const std::vector<NormLayer>& layers) {
  const std::string stage = last_stage(layers);
  std::vector<bool> found;
  for (const auto& layer : layers)
    found.push_back(lies_in(layer, stage));
  if (std::count(found.begin(), found.end(), true) > 1 ||
      is_numbered(layers, layers.back()))
    return found;
  std::vector<bool> with_blocks = found;
  add_last_blocks(layers, with_blocks);
  const bool is_all = std::find(with_blocks.begin(), with_blocks.end(),
                                false) == with_blocks.end();
  return is_all ? found : with_blocks;
}

std::vector<bool> find_named(const std::vector<NormLayer>& layers,
                             const std::string& part) {
  std::vector<bool> found;
  for (const auto& layer : layers)
    found.push_back(layer.name.find(part) != std::string::npos);
  return found;
}

}  // namespace

at::Tensor trainable_mask(const Classifier& model, const std::string& frozen) {
  const auto& layers = model.norm_layers();
  const bool automatic = frozen == "auto";
  if (frozen.empty() || (automatic && layers.size() == 1)) return {};

  const auto is_frozen =
      automatic ? find_last_stage(layers) : find_named(layers, frozen);
  const auto matches = std::count(is_frozen.begin(), is_frozen.end(), true);
  require(matches > 0, "frozen",
          "no norm layer's name contains \"" + frozen + "\"");
  require(static_cast<size_t>(matches) < layers.size(), "frozen",
          "\"" + frozen + "\" freezes every norm layer");
  at::Tensor mask = at::ones_like(model.source().affine);
  for (size_t i = 0; i < layers.size(); ++i)
    if (is_frozen[i])
      mask.narrow(0, 2 * layers[i].offset, 2 * layers[i].channels).zero_();
  return mask;
}

}  // namespace sotta
