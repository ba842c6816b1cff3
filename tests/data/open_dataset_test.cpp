#include <gtest/gtest.h>

#include "sotta/core/error.h"
#include "sotta/data/dataset.h"
#include "sotta/data/image.h"

#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

using testing::TempDir;

const std::string kCifar10 = "cifar-10-batches-bin/";

std::string cifar_record(std::initializer_list<char> labels, char pixel) {
  return std::string(labels) + std::string(3072, pixel);
}

std::string idx_header(std::initializer_list<char> sizes) {
  std::string header = {0, 0, 8, static_cast<char>(sizes.size())};
  for (const char size : sizes)
    header += std::string(3, '\0') + size;
  return header;
}

std::string error_of(const std::string& name, const TempDir& root,
                     ErrorKind kind) {
  try {
    open_dataset(name, root.path());
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "no error";
}

TEST(OpenDataset, OpensAnyWholeNumberOfCifarRecords) {
  const TempDir root;
  root.write(kCifar10 + "test_batch.bin",
             cifar_record({7}, 'a') + cifar_record({9}, 'b'));
  const auto dataset = open_dataset("cifar10", root.path());
  ASSERT_EQ(dataset->size(), 2);
  EXPECT_EQ(dataset->classes(), 10);
  EXPECT_EQ(dataset->range(1, 2).labels.item<int64_t>(), 9);
  EXPECT_EQ(dataset->range(1, 2).images.max().item<int64_t>(), 'b');
}

TEST(OpenDataset, JoinsTheTrainingBatchesInOrder) {
  const TempDir root;
  for (char batch = 1; batch <= 5; ++batch)
    root.write(kCifar10 + "data_batch_" + std::to_string(batch) + ".bin",
               cifar_record({batch}, batch));
  const auto dataset = open_dataset("cifar10", root.path(), "train");
  ASSERT_EQ(dataset->size(), 5);
  for (int64_t i = 0; i < 5; ++i)
    EXPECT_EQ(dataset->range(i, i + 1).labels.item<int64_t>(), i + 1);
}

TEST(OpenDataset, TakesTheFineLabelsOfCifar100) {
  const TempDir root;
  root.write("cifar-100-binary/test.bin", cifar_record({3, 42}, 'x'));
  const auto dataset = open_dataset("cifar100", root.path());
  EXPECT_EQ(dataset->classes(), 100);
  EXPECT_EQ(dataset->range(0, 1).labels.item<int64_t>(), 42);
}

TEST(OpenDataset, OpensIdxFilesWithOneChannel) {
  const TempDir root;
  root.write("mnist/t10k-images-idx3-ubyte",
             idx_header({2, 28, 28}) + std::string(2 * 784, 'p'));
  root.write("mnist/t10k-labels-idx1-ubyte", idx_header({2}) + "\x03\x04");
  const auto dataset = open_dataset("mnist", root.path());
  const auto batch = dataset->range(0, 2);
  EXPECT_EQ(batch.images.sizes(), (at::IntArrayRef{2, 1, 28, 28}));
  EXPECT_EQ(batch.labels[1].item<int64_t>(), 4);
}

TEST(OpenDataset, RefusesIdxFilesThatDoNotFitTogether) {
  const TempDir root;
  root.write("mnist/t10k-images-idx3-ubyte",
             idx_header({2, 28, 28}) + std::string(2 * 784, 'p'));
  root.write("mnist/t10k-labels-idx1-ubyte", idx_header({1}) + "\x03");
  EXPECT_NE(error_of("mnist", root, ErrorKind::kBadFormat)
                .find("got 2 images and 1 labels"),
            std::string::npos);
  root.write("mnist/t10k-labels-idx1-ubyte", idx_header({2}) + "\x03\x0A");
  EXPECT_NE(
      error_of("mnist", root, ErrorKind::kBadFormat).find("within 0 .. 9"),
      std::string::npos);
  root.write("mnist/t10k-images-idx3-ubyte",
             idx_header({2, 4, 4}) + std::string(2 * 16, 'p'));
  EXPECT_NE(error_of("mnist", root, ErrorKind::kBadFormat)
                .find("expected images of 28 x 28 pixels"),
            std::string::npos);
}

TEST(OpenDataset, MissingFileNamesItselfItsUseAndItsOrigin) {
  const TempDir root;
  EXPECT_EQ(error_of("cifar10", root, ErrorKind::kNotFound),
            (root / (kCifar10 + "test_batch.bin")).string() +
                ": not found, expected the test images of cifar10; "
                "`sotta data get cifar10` brings it; it comes from CIFAR-10 "
                "binary version, https://www.cs.toronto.edu/~kriz/cifar.html");
}

TEST(OpenDataset, EveryMissingFileOfSeveralIsNamed) {
  for (int missing = 1; missing <= 5; ++missing) {
    const TempDir root;
    const auto name = [](int batch) {
      return kCifar10 + "data_batch_" + std::to_string(batch) + ".bin";
    };
    for (int batch = 1; batch <= 5; ++batch)
      if (batch != missing) root.write(name(batch), cifar_record({1}, 'x'));
    testing::expect_error(
        ErrorKind::kNotFound,
        (root / name(missing)).string() +
            ": not found, expected the train images of cifar10; ",
        [&] { open_dataset("cifar10", root.path(), "train"); });
  }
}

TEST(OpenDataset, DamagedFileNamesItsOrigin) {
  const TempDir root;
  root.write(kCifar10 + "test_batch.bin", std::string(100, 'x'));
  const auto message = error_of("cifar10", root, ErrorKind::kBadFormat);
  EXPECT_NE(message.find("test_batch.bin"), std::string::npos);
  EXPECT_NE(message.find("sotta data get cifar10"), std::string::npos);
}

TEST(OpenDataset, OpensFoldersByWordNetId) {
  const TempDir root;
  root.write("imagenet/val/n01440764/a.JPEG", "");
  root.write("imagenet/val/n01443537/a.JPEG", "");
  const auto dataset = open_dataset("imagenet", root.path());
  EXPECT_EQ(dataset->size(), 2);
  EXPECT_EQ(dataset->shape().width, 224);
}

TEST(OpenDataset, CorruptedSetsAreOnlyListed) {
  const TempDir root;
  EXPECT_NE(error_of("cifar10-c", root, ErrorKind::kNotFound)
                .find("CIFAR-10-C/labels.npy"),
            std::string::npos);
}

}  // namespace
}  // namespace sotta
