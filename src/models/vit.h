#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sotta/gpu/device.h"
#include "sotta/models/classifier.h"
#include "sotta/models/normalisation.h"

#include "models/network_tensors.h"

namespace sotta {

// Vision transformer (Dosovitskiy et al., ICLR 2021): patches, a class token
// and learnt positions; blocks of self-attention and a two-layer perceptron,
// each behind a layer norm; a last layer norm and a linear layer on the class
// token. Takes square images of one size.
struct VitSpec {
  // Whose names the tensors have.
  enum class Names {
    kTorchvision,     // conv_proj, encoder.layers.encoder_layer_0.mlp.0, ..
    kTorchvisionOld,  // the same with mlp.linear_1, as in its weight files
    kTimm,            // patch_embed.proj, blocks.0.mlp.fc1, ..
  };

  Names names = Names::kTimm;
  int64_t image = 224;  // side of the images
  int64_t patch = 16;   // side of a patch
  int64_t dim = 384;
  int64_t depth = 12;  // blocks
  int64_t heads = 6;
  int64_t mlp = 1536;  // width inside the perceptrons
  int64_t channels = 3;
  int64_t classes = 1000;
};

// "vit_tiny" for images of 32x32 with patches of 4x4, and "vit_small" and
// "vit_base" for ImageNet's 224x224 with patches of 16x16.
std::vector<std::string> vit_names();

// Throws Error(kInvalid) for an unknown name.
VitSpec named_vit(const std::string& name, int64_t classes,
                  int64_t channels = 3);

// Whether tensors of these names are those of a vision transformer.
bool looks_like_vit(const std::map<std::string, std::vector<int64_t>>& shapes);

// The network that tensors of these names and shapes belong to. `heads` is what
// the file's metadata say; 0 if they say nothing: then a head has 64 numbers,
// as in the models with a name, of a dimension of 1280 (ViT-H) 80. Throws
// Error(kBadFormat) naming `subject` if there is no such network.
VitSpec infer_vit(const std::map<std::string, std::vector<int64_t>>& shapes,
                  int64_t heads, const std::string& subject);

// A VitSpec laid out; indices into the lists.
struct VitPlan : NetworkTensors {
  explicit VitPlan(const VitSpec& spec);

  // A weight, with its bias behind it.
  struct Block {
    size_t norm1 = 0, norm2 = 0;
    size_t qkv = 0, projection = 0, widen = 0, narrow = 0;
  };

  VitSpec spec;
  size_t class_token = 0, positions = 0, patches = 0, head = 0;
  std::vector<Block> blocks;
  size_t last_norm = 0;
};

// A state to start training from: weights uniform by Glorot's rule, positions
// and class token normal with standard deviation 0.02, biases 0.
ModelState random_vit_state(const VitSpec& spec, Rng rng);

// The network with `state` as its source, computed by LibTorch; bf16 computes
// products in bfloat16. Throws as OwnNetwork does, and Error(kInvalid) for
// heads or patches that do not divide. forward() throws Error(kInvalid) for
// images of another size.
std::unique_ptr<Classifier> make_vit(const VitSpec& spec,
                                     const ModelState& state,
                                     const Normalisation& normalisation,
                                     const DeviceSettings& settings = {});

}  // namespace sotta
