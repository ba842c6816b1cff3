#include "data/sets/catalog.h"

#include <utility>

#include "sotta/core/options.h"

namespace sotta {
namespace {

DatasetEntry cifar10() {
  const int64_t bytes = 10000 * 3073;
  const std::string folder = "cifar-10-batches-bin/";
  DatasetEntry entry{"cifar10", DatasetLayout::kCifar10, 10, {3, 32, 32}};
  entry.splits = {{"train",
                   {{folder + "data_batch_1.bin", bytes,
                     "aadd24acce27caa71bf4b10992e9e7b2d74c2540"},
                    {folder + "data_batch_2.bin", bytes,
                     "c0ba65cce70568cd57b4e03e9ac8d2a5367c1795"},
                    {folder + "data_batch_3.bin", bytes,
                     "1dd00a74ab1d17a6e7d73e185b69dbf31242f295"},
                    {folder + "data_batch_4.bin", bytes,
                     "aab85764eb3584312d3c7f65fd2fd016e36a258e"},
                    {folder + "data_batch_5.bin", bytes,
                     "26e2849e66a845b7f1e4614ae70f4889ae604628"}}},
                  {"test",
                   {{folder + "test_batch.bin", bytes,
                     "67eb016db431130d61cd03c7ad570b013799c88c"}}}};
  entry.origin =
      "CIFAR-10 binary version, https://www.cs.toronto.edu/~kriz/cifar.html";
  entry.gettable = true;
  entry.mean = {0.4914, 0.4822, 0.4465};
  entry.std = {0.2471, 0.2435, 0.2616};
  return entry;
}

DatasetEntry cifar100() {
  DatasetEntry entry{"cifar100", DatasetLayout::kCifar100, 100, {3, 32, 32}};
  entry.splits = {{"train", {{"cifar-100-binary/train.bin", 50000 * 3074, ""}}},
                  {"test",
                   {{"cifar-100-binary/test.bin", 10000 * 3074,
                     "8fb6623e830365ff53cf14adec797474f5478006"}}}};
  entry.origin =
      "CIFAR-100 binary version, https://www.cs.toronto.edu/~kriz/cifar.html";
  entry.mean = {0.5071, 0.4865, 0.4409};
  entry.std = {0.2673, 0.2564, 0.2762};
  return entry;
}

// MNIST and what was made to take its place share names and sizes.
DatasetEntry idx_dataset(const std::string& name,
                         const std::vector<std::string>& sha1) {
  const std::string folder = name + "/";
  const int64_t image = 28 * 28;
  DatasetEntry entry{name, DatasetLayout::kIdx, 10, {1, 28, 28}};
  entry.splits = {
      {"train",
       {{folder + "train-images-idx3-ubyte", 16 + 60000 * image, sha1[0]},
        {folder + "train-labels-idx1-ubyte", 8 + 60000, sha1[1]}}},
      {"test",
       {{folder + "t10k-images-idx3-ubyte", 16 + 10000 * image, sha1[2]},
        {folder + "t10k-labels-idx1-ubyte", 8 + 10000, sha1[3]}}}};
  entry.gettable = true;
  return entry;
}

DatasetEntry mnist() {
  auto entry =
      idx_dataset("mnist", {"c3557c10f29b266e19b3eeee1553c85e0ef4a8ea",
                            "adbf52269f5d842899f287c269e2883e40b4f6e2",
                            "65e11ec1fd220343092a5070b58418b5c2644e26",
                            "a6d52cc628797e845885543326e9f10abb8a6f89"});
  entry.origin = "MNIST, http://yann.lecun.com/exdb/mnist";
  entry.mean = {0.1307};
  entry.std = {0.3081};
  return entry;
}

DatasetEntry fashion_mnist() {
  auto entry = idx_dataset("fashion-mnist",
                           {"b9bd999c0106c9b8b4b0cefce58c9a6060f27095",
                            "4bccf37222e01638381eaa326bf730337a597267",
                            "880056926db704f9f713097915f99da346f5b1d1",
                            "958122e8b4b97fd4e71eca2d08ef754ed77c3ad9"});
  entry.origin =
      "Debian package dataset-fashion-mnist, or "
      "https://github.com/zalandoresearch/fashion-mnist";
  entry.system_folder = "/usr/share/datasets/fashion-mnist";
  entry.mean = {0.2860};
  entry.std = {0.3530};
  return entry;
}

DatasetEntry folders(const std::string& name, int64_t classes, int64_t extent,
                     std::vector<DatasetSplit> splits) {
  DatasetEntry entry{name,
                     DatasetLayout::kFolders,
                     classes,
                     {3, extent, extent},
                     std::move(splits)};
  entry.mean = {0.485, 0.456, 0.406};
  entry.std = {0.229, 0.224, 0.225};
  return entry;
}

DatasetEntry imagenet() {
  auto entry = folders("imagenet", 1000, 224,
                       {{"train", {{"imagenet/train", 1281167, ""}}},
                        {"val", {{"imagenet/val", 50000, ""}}}});
  entry.origin =
      "ImageNet ILSVRC 2012, https://image-net.org, in folders by WordNet id";
  entry.mixed_sizes = true;
  return entry;
}

DatasetEntry tiny_imagenet() {
  auto entry = folders("tiny-imagenet", 200, 64,
                       {{"train", {{"tiny-imagenet-200/train", 100000, ""}}},
                        {"val", {{"tiny-imagenet-200/val", 10000, ""}}}});
  entry.origin =
      "Tiny ImageNet, http://cs231n.stanford.edu/tiny-imagenet-200.zip";
  return entry;
}

// The test images five times over, at severities 1 to 5, per corruption.
DatasetEntry corrupted(const DatasetEntry& clean, const std::string& folder,
                       const std::string& origin) {
  DatasetEntry entry = clean;
  entry.name += "-c";
  entry.layout = DatasetLayout::kNpy;
  entry.origin = origin;
  entry.gettable = false;
  DatasetSplit test{"test", {{folder + "/labels.npy", 50000, ""}}};
  for (const std::string corruption :
       {"brightness", "contrast", "defocus_blur", "elastic_transform", "fog",
        "frost", "gaussian_blur", "gaussian_noise", "glass_blur",
        "impulse_noise", "jpeg_compression", "motion_blur", "pixelate",
        "saturate", "shot_noise", "snow", "spatter", "speckle_noise",
        "zoom_blur"})
    test.files.push_back(
        {folder + "/" + corruption + ".npy", 50000 * 32 * 32 * 3, ""});
  entry.splits = {test};
  return entry;
}

}  // namespace

const std::vector<DatasetEntry>& known_datasets() {
  static const std::vector<DatasetEntry> entries = {
      cifar10(),
      cifar100(),
      corrupted(cifar10(), "CIFAR-10-C",
                "CIFAR-10-C, https://zenodo.org/record/2535967"),
      corrupted(cifar100(), "CIFAR-100-C",
                "CIFAR-100-C, https://zenodo.org/record/3555552"),
      mnist(),
      fashion_mnist(),
      imagenet(),
      tiny_imagenet()};
  return entries;
}

const DatasetEntry& find_dataset(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& entry : known_datasets()) {
    if (entry.name == name) return entry;
    known.push_back(entry.name);
  }
  fail_unknown_name("dataset", name, known);
}

const DatasetSplit& find_split(const DatasetEntry& entry,
                               const std::string& split) {
  const bool evaluation = split == "test" || split == "val";
  std::vector<std::string> known;
  for (const auto& candidate : entry.splits) {
    if (candidate.name == split || (evaluation && candidate.name != "train"))
      return candidate;
    known.push_back(candidate.name);
  }
  fail_unknown_name(entry.name + " split", split, known);
}

}  // namespace sotta
