#include <string>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "sotta/data/image.h"

#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace {

const char* failing = "";  // the function of libpng that finds no memory

using Function = void (*)();

// The library's own, or nothing if it is to fail.
template <class Signature>
Signature* unless_failing(const char* name) {
  if (name == std::string(failing)) return nullptr;
  return reinterpret_cast<Signature*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

// In place of libpng's, where it is part of the build.
extern "C" void* png_create_read_struct(const char* version, void* state,
                                        Function leave, Function warn) {
  const auto real = unless_failing<decltype(png_create_read_struct)>(__func__);
  return real ? real(version, state, leave, warn) : nullptr;
}

extern "C" void* png_create_write_struct(const char* version, void* state,
                                         Function leave, Function warn) {
  const auto real = unless_failing<decltype(png_create_write_struct)>(__func__);
  return real ? real(version, state, leave, warn) : nullptr;
}

extern "C" void* png_create_info_struct(void* png) {
  const auto real = unless_failing<decltype(png_create_info_struct)>(__func__);
  return real ? real(png) : nullptr;
}

namespace sotta {
namespace {

Array black_image() {
  auto [image, memory] = allocate_array(ElementType::kUint8, {1, 2, 2});
  for (int64_t i = 0; i < image.count(); ++i)
    memory[i] = std::byte{0};
  return image;
}

class PngMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      write_png(file, black_image());
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUnsupported) throw;
      GTEST_SKIP() << "this build lacks libpng";
    }
  }
  void TearDown() override { failing = ""; }

  const testing::TempDir folder;
  const std::filesystem::path file = folder / "a.png";
};

TEST_F(PngMemory, ReadingWithoutSaysSo) {
  for (const char* name :
       {"png_create_read_struct", "png_create_info_struct"}) {
    failing = name;
    testing::expect_error(
        ErrorKind::kBadFormat,
        file.string() + ": expected a whole PNG image: out of memory",
        [&] { decode_image(file); });
  }
  failing = "";
  EXPECT_EQ(decode_image(file).shape, (std::vector<int64_t>{3, 2, 2}));
}

TEST_F(PngMemory, WritingWithoutLeavesTheOldFile) {
  const std::string before = testing::read_bytes(file);
  for (const char* name :
       {"png_create_write_struct", "png_create_info_struct"}) {
    failing = name;
    testing::expect_error(
        ErrorKind::kIo, file.string() + ": the file could not be written whole",
        [&] { write_png(file, black_image()); });
    EXPECT_EQ(testing::read_bytes(file), before);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()),
                            std::filesystem::directory_iterator()),
              1);
  }
}

}  // namespace
}  // namespace sotta
