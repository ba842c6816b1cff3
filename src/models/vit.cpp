#include "models/vit.h"

#include <cmath>

#include "sotta/core/error.h"
#include "sotta/core/options.h"

namespace sotta {
namespace {

using Shapes = std::map<std::string, std::vector<int64_t>>;
using Names = VitSpec::Names;

struct NamedSpec {
  const char* name;
  int64_t image, patch, dim, depth, heads;
};
constexpr NamedSpec kNamed[] = {{"vit_tiny", 32, 4, 192, 9, 3},
                                {"vit_small", 224, 16, 384, 12, 6},
                                {"vit_base", 224, 16, 768, 12, 12}};

constexpr int64_t kHeadSize = 64;
constexpr int64_t kHugeDim = 1280, kHugeHeads = 16;

// What the tensors are called, by whose they are.
struct TensorNames {
  std::string class_token, positions, patches, last_norm, head;
  std::string block, norm1, norm2;
  std::string qkv_weight, qkv_bias, projection, widen, narrow;
};

TensorNames names_of(Names names) {
  if (names == Names::kTimm)
    return {"cls_token",     "pos_embed", "patch_embed.proj",
            "norm",          "head",      "blocks.",
            "norm1",         "norm2",     "attn.qkv.weight",
            "attn.qkv.bias", "attn.proj", "mlp.fc1",
            "mlp.fc2"};
  const bool old = names == Names::kTorchvisionOld;
  return {"class_token",
          "encoder.pos_embedding",
          "conv_proj",
          "encoder.ln",
          "heads.head",
          "encoder.layers.encoder_layer_",
          "ln_1",
          "ln_2",
          "self_attention.in_proj_weight",
          "self_attention.in_proj_bias",
          "self_attention.out_proj",
          old ? "mlp.linear_1" : "mlp.0",
          old ? "mlp.linear_2" : "mlp.3"};
}

std::string block_name(const TensorNames& names, int64_t block) {
  return names.block + std::to_string(block) + ".";
}

std::vector<int64_t> shape_of(const Shapes& shapes, const std::string& name,
                              size_t rank, const std::string& subject) {
  const auto found = shapes.find(name);
  if (found == shapes.end() || found->second.size() != rank)
    fail(ErrorKind::kBadFormat, subject,
         "not a vision transformer with torchvision's or timm's names, "
         "expected a tensor " +
             name + " of " + std::to_string(rank) + " dimensions");
  return found->second;
}

Names whose_names(const Shapes& shapes) {
  if (shapes.count("patch_embed.proj.weight")) return Names::kTimm;
  const bool old =
      shapes.count("encoder.layers.encoder_layer_0.mlp.linear_1.weight") > 0;
  return old ? Names::kTorchvisionOld : Names::kTorchvision;
}

// Patches along a side, from the number of positions.
int64_t grid_of(int64_t positions, const std::string& subject) {
  const auto grid = static_cast<int64_t>(
      std::lround(std::sqrt(static_cast<double>(positions - 1))));
  if (grid < 1 || grid * grid + 1 != positions)
    fail(ErrorKind::kBadFormat, subject,
         "expected positions of a square of patches and a class token, got " +
             std::to_string(positions));
  return grid;
}

int64_t heads_of(int64_t dim, int64_t said, const std::string& subject) {
  const int64_t heads = said > 0               ? said
                        : dim == kHugeDim      ? kHugeHeads
                        : dim % kHeadSize == 0 ? dim / kHeadSize
                                               : 0;
  if (heads < 1 || dim % heads != 0)
    fail(ErrorKind::kBadFormat, subject,
         "expected the number of attention heads, which divides " +
             std::to_string(dim) + ", in the metadata heads");
  return heads;
}

}  // namespace

std::vector<std::string> vit_names() {
  std::vector<std::string> names;
  for (const NamedSpec& named : kNamed)
    names.emplace_back(named.name);
  return names;
}

VitSpec named_vit(const std::string& name, int64_t classes, int64_t channels) {
  for (const NamedSpec& named : kNamed)
    if (named.name == name)
      return {Names::kTimm, named.image,   named.patch, named.dim, named.depth,
              named.heads,  4 * named.dim, channels,    classes};
  fail_unknown_name("model", name, vit_names());
}

bool looks_like_vit(const Shapes& shapes) {
  return shapes.count("patch_embed.proj.weight") > 0 ||
         shapes.count("conv_proj.weight") > 0;
}

VitSpec infer_vit(const Shapes& shapes, int64_t heads,
                  const std::string& subject) {
  VitSpec spec;
  spec.names = whose_names(shapes);
  const TensorNames names = names_of(spec.names);
  const auto patches = shape_of(shapes, names.patches + ".weight", 4, subject);
  spec.dim = patches[0];
  spec.channels = patches[1];
  spec.patch = patches[2];
  const auto positions = shape_of(shapes, names.positions, 3, subject);
  spec.image = spec.patch * grid_of(positions[1], subject);
  spec.heads = heads_of(spec.dim, heads, subject);
  spec.classes = shape_of(shapes, names.head + ".weight", 2, subject)[0];
  spec.depth = 0;
  while (shapes.count(block_name(names, spec.depth) + names.qkv_weight))
    ++spec.depth;
  spec.mlp = shape_of(shapes, block_name(names, 0) + names.widen + ".weight", 2,
                      subject)[0];
  return spec;
}

VitPlan::VitPlan(const VitSpec& its_spec) : spec(its_spec) {
  const TensorNames names = names_of(spec.names);
  const int64_t dim = spec.dim;
  const auto linear = [&](const std::string& weight, const std::string& bias,
                          const std::vector<int64_t>& shape) {
    const size_t place = add_body(weight, shape);
    add_body(bias, {shape[0]});
    return place;
  };
  const auto layer = [&](const std::string& name, int64_t outputs,
                         int64_t inputs) {
    return linear(name + ".weight", name + ".bias", {outputs, inputs});
  };
  const auto norm = [&](const std::string& name) {
    return add_norm(name, dim, NormKind::kLayer);
  };
  const int64_t grid = spec.image / spec.patch;
  class_token = add_body(names.class_token, {1, 1, dim});
  positions = add_body(names.positions, {1, grid * grid + 1, dim});
  patches = linear(names.patches + ".weight", names.patches + ".bias",
                   {dim, spec.channels, spec.patch, spec.patch});
  for (int64_t i = 0; i < spec.depth; ++i) {
    const std::string name = block_name(names, i);
    Block block;
    block.norm1 = norm(name + names.norm1);
    block.qkv =
        linear(name + names.qkv_weight, name + names.qkv_bias, {3 * dim, dim});
    block.projection = layer(name + names.projection, dim, dim);
    block.norm2 = norm(name + names.norm2);
    block.widen = layer(name + names.widen, spec.mlp, dim);
    block.narrow = layer(name + names.narrow, dim, spec.mlp);
    blocks.push_back(block);
  }
  last_norm = norm(names.last_norm);
  head = layer(names.head, spec.classes, dim);
}

ModelState random_vit_state(const VitSpec& spec, Rng rng) {
  const VitPlan plan(spec);
  ModelState state = plan.random_state(rng.child("layers"));
  const auto tensors = plan.cut_body(state.body);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const at::Tensor& tensor = tensors[i];
    auto* values = tensor.data_ptr<float>();
    const int64_t count = tensor.numel();
    const double inputs =
        static_cast<double>(count) / static_cast<double>(tensor.size(0));
    const double bound =
        std::sqrt(6 / (inputs + static_cast<double>(tensor.size(0))));
    const bool token = i == plan.class_token || i == plan.positions;
    for (int64_t k = 0; k < count; ++k)
      values[k] = token ? static_cast<float>(0.02 * rng.normal())
                  : tensor.dim() > 1
                      ? static_cast<float>(rng.uniform(-bound, bound))
                      : 0.0F;
  }
  return state;
}

}  // namespace sotta
