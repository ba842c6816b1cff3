#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include <png.h>

#include "sotta/core/error.h"
#include "sotta/data/image.h"

#include "core/atomic_file.h"
#include "data/images/image_codec.h"

namespace sotta {
namespace {

// No deflate stream expands further.
constexpr int64_t kMostDeflateRatio = 1032;

// libpng reports errors by longjmp. Only the functions marked "Escapes" call
// into it: they hold nothing with a destructor and return false on an error,
// so no C++ object is ever jumped over.
struct PngState {
  png_structp png = nullptr;
  png_infop info = nullptr;
  const unsigned char* next = nullptr;
  size_t left = 0;
  std::jmp_buf escape;
  char message[128] = "out of memory";
};

[[noreturn]] void leave(png_structp png, png_const_charp message) {
  auto& state = *static_cast<PngState*>(png_get_error_ptr(png));
  std::snprintf(state.message, sizeof state.message, "%s", message);
  std::longjmp(state.escape, 1);
}

void ignore_warning(png_structp, png_const_charp) {}

void take_bytes(png_structp png, png_bytep out, size_t count) {
  auto& state = *static_cast<PngState*>(png_get_io_ptr(png));
  if (count > state.left) png_error(png, "the file is truncated");
  std::memcpy(out, state.next, count);
  state.next += count;
  state.left -= count;
}

// Escapes.
bool read_header(PngState& state) {
  if (setjmp(state.escape)) return false;
  state.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &state, leave,
                                     ignore_warning);
  if (state.png == nullptr) return false;
  state.info = png_create_info_struct(state.png);
  if (state.info == nullptr) return false;
  png_set_read_fn(state.png, &state, take_bytes);
  // Our own limits follow; libpng's would refuse tall sheets of images.
  png_set_user_limits(state.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_read_info(state.png, state.info);
  return true;
}

// Every kind of PNG becomes 8-bit RGB. Escapes.
bool ask_for_rgb(PngState& state) {
  if (setjmp(state.escape)) return false;
  png_set_expand(state.png);
  png_set_strip_16(state.png);
  png_set_strip_alpha(state.png);
  png_set_gray_to_rgb(state.png);
  png_set_interlace_handling(state.png);
  png_read_update_info(state.png, state.info);
  return true;
}

// Escapes.
bool read_rows(PngState& state, png_bytepp rows) {
  if (setjmp(state.escape)) return false;
  png_read_image(state.png, rows);
  png_read_end(state.png, nullptr);
  return true;
}

// Escapes.
bool write_rows(PngState& state, std::FILE* out, png_bytepp rows,
                const int64_t* shape) {
  if (setjmp(state.escape)) return false;
  state.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &state, leave,
                                      ignore_warning);
  if (state.png == nullptr) return false;
  state.info = png_create_info_struct(state.png);
  if (state.info == nullptr) return false;
  png_init_io(state.png, out);
  png_set_IHDR(state.png, state.info, static_cast<png_uint_32>(shape[2]),
               static_cast<png_uint_32>(shape[1]), 8,
               shape[0] == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY,
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(state.png, state.info);
  png_write_image(state.png, rows);
  png_write_end(state.png, nullptr);
  return true;
}

struct PngReader : PngState {
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
};
struct PngWriter : PngState {
  ~PngWriter() { png_destroy_write_struct(&png, &info); }
};

void check(bool done, const PngState& state, const std::string& name) {
  if (!done)
    fail(ErrorKind::kBadFormat, name,
         std::string("expected a whole PNG image: ") + state.message);
}

// Pixels that the file's bytes can at best describe at this bit depth.
int64_t most_pixels(const PngState& state, size_t file_size) {
  const int64_t bits = int64_t{png_get_bit_depth(state.png, state.info)} *
                       png_get_channels(state.png, state.info);
  return static_cast<int64_t>(file_size) * kMostDeflateRatio * 8 / bits;
}

std::vector<png_bytep> row_pointers(std::vector<unsigned char>& pixels,
                                    int64_t height) {
  std::vector<png_bytep> rows;
  const size_t stride = pixels.size() / static_cast<size_t>(height);
  for (int64_t y = 0; y < height; ++y)
    rows.push_back(pixels.data() + stride * static_cast<size_t>(y));
  return rows;
}

std::vector<unsigned char> interleave(const Array& image) {
  const int64_t channels = image.shape[0];
  const int64_t pixels = image.shape[1] * image.shape[2];
  std::vector<unsigned char> out(static_cast<size_t>(image.count()));
  for (int64_t i = 0; i < image.count(); ++i)
    out[static_cast<size_t>(i)] =
        image.as<unsigned char>()[i % channels * pixels + i / channels];
  return out;
}

}  // namespace

Array decode_png(const EncodedImage& file) {
  PngReader reader;
  reader.next = file.bytes;
  reader.left = file.size;
  check(read_header(reader), reader, file.name);
  const int64_t height = png_get_image_height(reader.png, reader.info);
  const int64_t width = png_get_image_width(reader.png, reader.info);
  check_image_size(file.name, height, width,
                   std::min(most_pixels(reader, file.size), file.most_pixels));
  check(ask_for_rgb(reader), reader, file.name);

  std::vector<unsigned char> pixels(static_cast<size_t>(3 * height * width));
  auto rows = row_pointers(pixels, height);
  check(read_rows(reader, rows.data()), reader, file.name);
  auto [image, planes] =
      allocate_array(ElementType::kUint8, {3, height, width});
  for (int64_t y = 0; y < height; ++y)
    store_rgb_row(rows[static_cast<size_t>(y)], y, image, planes);
  return image;
}

void write_png(const std::filesystem::path& file, const Array& image) {
  require(image.type == ElementType::kUint8 && image.shape.size() == 3 &&
              (image.shape[0] == 1 || image.shape[0] == 3),
          file.string(), "expected a uint8 image [1 or 3, H, W]");
  check_image_size(file.string(), image.shape[1], image.shape[2],
                   kMaxImagePixels);
  auto pixels = interleave(image);
  auto rows = row_pointers(pixels, image.shape[1]);
  // In memory first: libpng's errors jump, those of the file system throw.
  char* bytes = nullptr;
  size_t size = 0;
  std::FILE* out = open_memstream(&bytes, &size);
  bool done = out != nullptr;
  if (done) {
    {
      PngWriter writer;
      done = write_rows(writer, out, rows.data(), image.shape.data());
    }
    done = std::fclose(out) == 0 && done;
  }
  const std::unique_ptr<char, void (*)(void*)> owner(bytes, std::free);
  if (!done)
    fail(ErrorKind::kIo, file.string(), "the file could not be written whole");
  AtomicFile whole(file);
  whole.write(bytes, size);
  whole.commit();
}

}  // namespace sotta
