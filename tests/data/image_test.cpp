#include "sotta/data/image.h"

#include <cstring>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "sotta/core/error.h"

#include "tests/support/golden_dir.h"
#include "tests/support/temp_dir.h"

namespace sotta {
namespace {

using testing::TempDir;

std::filesystem::path golden(const std::string& name) {
  return std::filesystem::path(testing::golden_dir()) / "images" / name;
}

std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Array decode(const std::string& bytes) {
  return decode_image(reinterpret_cast<const std::byte*>(bytes.data()),
                      static_cast<int64_t>(bytes.size()), "test.image");
}

bool can_decode(const std::string& name) {
  try {
    decode_image(golden(name));
    return true;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUnsupported) throw;
    return false;
  }
}

#define SKIP_WITHOUT_LIBRARY_FOR(name) \
  if (!can_decode(name)) GTEST_SKIP() << "this build lacks the library"

std::string error_of(const std::string& bytes) {
  try {
    decode(bytes);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadFormat) << error.what();
    return error.what();
  }
  return "no error";
}

void expect_same(const Array& found, const Array& expected) {
  ASSERT_EQ(found.type, ElementType::kUint8);
  ASSERT_EQ(found.shape, expected.shape);
  EXPECT_EQ(0, std::memcmp(found.data.get(), expected.data.get(),
                           static_cast<size_t>(found.bytes())));
}

Array gradient(int64_t channels, int64_t height, int64_t width) {
  auto [image, memory] =
      allocate_array(ElementType::kUint8, {channels, height, width});
  for (int64_t i = 0; i < image.count(); ++i)
    memory[i] = static_cast<std::byte>(i * 7 % 251);
  return image;
}

// The checksum behind every PNG chunk: CRC-32, highest byte first.
std::string png_checksum(const std::string& bytes) {
  uint32_t crc = 0xFFFFFFFF;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit)
      crc = crc >> 1 ^ (crc % 2 ? 0xEDB88320 : 0);
  }
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8)
    out += static_cast<char>(~crc >> shift);
  return out;
}

// A small PNG file whose header claims another size.
std::string png_claiming(const std::string& width, const std::string& height) {
  const std::string whole = read_text(golden("deep_rgb.png"));
  const std::string header =
      whole.substr(12, 4) + width + height + whole.substr(24, 5);
  return whole.substr(0, 12) + header + png_checksum(header) + whole.substr(33);
}

TEST(Image, DecodesPngKindsAsPillowDoes) {
  SKIP_WITHOUT_LIBRARY_FOR("alpha.png");
  for (const std::string kind :
       {"palette", "bilevel", "grey8", "alpha", "deep", "interlaced"}) {
    SCOPED_TRACE(kind);
    expect_same(decode_image(golden(kind + ".png")),
                decode_image(golden(kind + "_rgb.png")));
  }
}

TEST(Image, DecodesJpegKindsAsPillowDoes) {
  SKIP_WITHOUT_LIBRARY_FOR("alpha.png");
  SKIP_WITHOUT_LIBRARY_FOR("photo.jpg");
  for (const std::string kind : {"photo", "progressive", "grey", "cmyk"}) {
    SCOPED_TRACE(kind);
    expect_same(decode_image(golden(kind + ".jpg")),
                decode_image(golden(kind + "_rgb.png")));
  }
}

TEST(Image, LaysPixelsOutAsPlanes) {
  SKIP_WITHOUT_LIBRARY_FOR("alpha.png");
  const TempDir folder;
  const Array image = gradient(3, 5, 4);
  write_png(folder / "a.png", image);
  expect_same(decode_image(folder / "a.png"), image);
}

TEST(Image, GreyIsWrittenAsOneChannelAndReadAsThree) {
  SKIP_WITHOUT_LIBRARY_FOR("alpha.png");
  const TempDir folder;
  const Array grey = gradient(1, 2, 3);
  write_png(folder / "a.png", grey);
  const Array image = decode_image(folder / "a.png");
  ASSERT_EQ(image.shape, (std::vector<int64_t>{3, 2, 3}));
  for (int64_t i = 0; i < 18; ++i)
    EXPECT_EQ(image.as<uint8_t>()[i], grey.as<uint8_t>()[i % 6]);
}

TEST(Image, FormatIsToldByContentNotByName) {
  SKIP_WITHOUT_LIBRARY_FOR("alpha.png");
  const TempDir folder;
  const auto file =
      folder.write("really_a_png.jpg", read_text(golden("alpha.png")));
  EXPECT_EQ(decode_image(file).shape, (std::vector<int64_t>{3, 19, 23}));
}

TEST(Image, RefusesFilesTruncatedAnywhere) {
  for (const std::string name :
       {"grey.jpg", "progressive.jpg", "cmyk.jpg", "palette.png", "alpha.png",
        "interlaced.png"}) {
    if (!can_decode(name)) continue;
    const std::string whole = read_text(golden(name));
    for (size_t size = 0; size < whole.size(); ++size)
      ASSERT_NE(error_of(whole.substr(0, size)), "no error")
          << name << " cut to " << size << " bytes";
  }
}

TEST(Image, IgnoresBytesBehindTheEnd) {
  SKIP_WITHOUT_LIBRARY_FOR("photo.jpg");
  const std::string whole = read_text(golden("photo.jpg"));
  expect_same(decode(whole + "camera notes"), decode(whole));
}

TEST(Image, NamesTheFileAndTheProblem) {
  EXPECT_EQ(error_of("GIF89a"),
            "test.image: expected a JPEG or PNG image, found other bytes");
  SKIP_WITHOUT_LIBRARY_FOR("photo.jpg");
  EXPECT_EQ(error_of(read_text(golden("photo.jpg")).substr(0, 1000)),
            "test.image: expected a whole JPEG image: the file is truncated");
}

TEST(Image, RefusesJpegThatClaimsMoreThanItsBytesCanHold) {
  SKIP_WITHOUT_LIBRARY_FOR("photo.jpg");
  std::string bytes = read_text(golden("photo.jpg"));
  const size_t frame = bytes.find("\xFF\xC0");
  bytes.replace(frame + 5, 4, std::string("\xFF\x00\xFF\x00", 4));
  EXPECT_NE(error_of(bytes).find("the header claims 65280 x 65280 pixels"),
            std::string::npos);
}

// A progressive file whose first scan comes so many times.
std::string jpeg_of_scans(size_t scans) {
  const std::string whole = read_text(golden("progressive.jpg"));
  const size_t begin = whole.find("\xFF\xDA");
  const size_t end = whole.find("\xFF\xC4", begin);
  std::string file = whole.substr(0, begin);
  for (size_t i = 0; i < scans; ++i)
    file += whole.substr(begin, end - begin);
  return file + "\xFF\xD9";
}

TEST(Image, RefusesJpegOfMoreThanAHundredScans) {
  SKIP_WITHOUT_LIBRARY_FOR("photo.jpg");
  expect_same(decode(jpeg_of_scans(100)), decode(jpeg_of_scans(1)));
  EXPECT_EQ(error_of(jpeg_of_scans(101)),
            "test.image: expected a whole JPEG image: the file has too many "
            "scans");
}

TEST(Image, RefusesPngThatClaimsMoreThanItsBytesCanHold) {
  SKIP_WITHOUT_LIBRARY_FOR("alpha.png");
  const std::string big("\x00\x01\x00\x00", 4), none("\0\0\0\0", 4);
  EXPECT_NE(error_of(png_claiming(big, big))
                .find("the header claims 65536 x 65536 pixels"),
            std::string::npos);
  EXPECT_NE(error_of(png_claiming(none, big)), "no error");
}

TEST(Image, RefusesImagesOfMorePixelsThanTheCallerWants) {
  for (const std::string name : {"photo_rgb.png", "photo.jpg"}) {
    if (!can_decode(name)) GTEST_SKIP() << "this build lacks the library";
    const std::string file = read_text(golden(name));
    const auto* bytes = reinterpret_cast<const std::byte*>(file.data());
    const auto size = static_cast<int64_t>(file.size());
    const Array image = decode_image(bytes, size, name);
    const int64_t pixels = image.shape[1] * image.shape[2];

    EXPECT_EQ(decode_image(bytes, size, name, pixels).shape, image.shape);
    EXPECT_THROW(decode_image(bytes, size, name, pixels - 1), Error);
  }
}

TEST(Image, RefusesPngWithDamagedPixels) {
  SKIP_WITHOUT_LIBRARY_FOR("alpha.png");
  std::string bytes = read_text(golden("alpha.png"));
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x10);
  EXPECT_NE(error_of(bytes), "no error");
}

TEST(Image, MissingFilesAndFoldersAreNotImages) {
  const TempDir folder;
  EXPECT_THROW(decode_image(folder / "none.png"), Error);
  EXPECT_THROW(decode_image(folder.path()), Error);
}

TEST(Image, WritesOnlyGreyAndRgb) {
  const TempDir folder;
  EXPECT_THROW(write_png(folder / "a.png", gradient(2, 3, 3)), Error);
  EXPECT_FALSE(std::filesystem::exists(folder / "a.png"));
}

TEST(Image, FailedWriteLeavesNothingBehind) {
  const TempDir folder;
  EXPECT_THROW(write_png(folder / "no/such/a.png", gradient(1, 3, 3)), Error);
  std::filesystem::create_directory(folder / "taken");
  folder.write("taken/file", "x");
  EXPECT_THROW(write_png(folder / "taken", gradient(1, 3, 3)), Error);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()),
                          std::filesystem::directory_iterator()),
            1);
}

// A file renamed over a device would take its place.
TEST(Image, IsNotWrittenInPlaceOfADevice) {
  const TempDir folder;
  std::filesystem::create_symlink("/dev/null", folder / "a.png");
  EXPECT_THROW(write_png(folder / "a.png", gradient(1, 3, 3)), Error);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "a.png"));
}

TEST(IsImageName, GoesByTheEndingInAnyCase) {
  for (const char* name : {"a.jpg", "a.JPEG", "b/c.Png"})
    EXPECT_TRUE(is_image_name(name)) << name;
  for (const char* name : {"a", "jpg", "a.jpg.txt", "a.gif"})
    EXPECT_FALSE(is_image_name(name)) << name;
}

}  // namespace
}  // namespace sotta
