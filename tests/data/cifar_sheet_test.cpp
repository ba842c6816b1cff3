#include "data/sets/cifar_sheet.h"

#include <gtest/gtest.h>

#include "data/sets/cifar.h"
#include "tests/support/expect_error.h"

namespace sotta {
namespace {

// Every pixel says its channel and its row.
Array sheet_of(int64_t rows) {
  auto [sheet, memory] = allocate_array(ElementType::kUint8, {3, rows, 1024});
  for (int64_t i = 0; i < sheet.count(); ++i)
    memory[i] =
        static_cast<std::byte>(10 * (i / (rows * 1024)) + i / 1024 % rows);
  return sheet;
}

TEST(CifarSheet, RecordsReadBackAsTheSheetsImages) {
  const Array records = cifar10_records(sheet_of(2), {7, 3});
  ASSERT_EQ(records.shape, (std::vector<int64_t>{2, 3073}));
  const CifarImages read =
      parse_cifar(records.data.get(), static_cast<size_t>(records.bytes()),
                  CifarKind::k10, "records");
  EXPECT_EQ(read.labels.as<int64_t>()[0], 7);
  EXPECT_EQ(read.labels.as<int64_t>()[1], 3);
  for (int64_t image = 0; image < 2; ++image)
    for (int64_t channel = 0; channel < 3; ++channel)
      for (const int64_t pixel : {0, 1023})
        EXPECT_EQ(
            read.images.as<uint8_t>()[(image * 3 + channel) * 1024 + pixel],
            10 * channel + image);
}

TEST(CifarSheet, RefusesWhatDoesNotFit) {
  const auto refused = [](const Array& sheet, std::vector<int64_t> labels,
                          const std::string& problem) {
    testing::expect_error(ErrorKind::kBadFormat,
                          "CIFAR-10 sheet: expected " + problem,
                          [&] { cifar10_records(sheet, labels); });
  };
  refused(sheet_of(2), {1}, "one label per row, got 2 rows and 1 labels");
  refused(sheet_of(1), {10}, "labels within 0 .. 9, got 10");
  refused(sheet_of(1), {-1}, "labels within 0 .. 9, got -1");
  const auto of_form = [](ElementType type, std::vector<int64_t> shape) {
    return allocate_array(type, std::move(shape)).array;
  };
  const std::string rows = "rows of 1024 RGB pixels";
  refused(of_form(ElementType::kUint8, {3, 1, 1000}), {1}, rows);
  refused(of_form(ElementType::kUint8, {4, 1, 1024}), {1}, rows);
  refused(of_form(ElementType::kUint8, {3, 1024}), {1}, rows);
  refused(of_form(ElementType::kUint8, {3, 1, 1024, 1}), {1}, rows);
  refused(of_form(ElementType::kFloat32, {3, 1, 1024}), {1}, rows);
}

TEST(CifarSheet, TakesTheFirstAndTheLastClass) {
  const Array records = cifar10_records(sheet_of(2), {0, 9});
  EXPECT_EQ(records.as<uint8_t>()[0], 0);
  EXPECT_EQ(records.as<uint8_t>()[3073], 9);
}

}  // namespace
}  // namespace sotta
