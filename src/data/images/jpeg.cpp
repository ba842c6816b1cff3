#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <vector>

#include <jpeglib.h>

#include "sotta/core/error.h"

#include "data/images/image_codec.h"

namespace sotta {
namespace {

// A flat progressive file takes one bit for each 8x8 block, which is 512 pixels
// per byte; no photograph comes near it.
constexpr int64_t kMostPixelsPerByte = 1024;

// Every scan of a progressive file walks over the whole image, so that a small
// file could keep us busy for hours. Real files have about ten.
constexpr int kMostScans = 100;

// libjpeg reports errors by longjmp. Only the functions marked "Escapes" call
// into it: they hold nothing with a destructor and return false on an error,
// so no C++ object is ever jumped over.
struct JpegReader {
  jpeg_decompress_struct info;
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX];
};

JpegReader& reader_of(j_common_ptr info) {
  return *static_cast<JpegReader*>(info->client_data);
}

[[noreturn]] void leave(j_common_ptr info) {
  JpegReader& reader = reader_of(info);
  info->err->format_message(info, reader.message);
  std::longjmp(reader.escape, 1);
}

[[noreturn]] void leave_with(j_common_ptr info, const char* message) {
  JpegReader& reader = reader_of(info);
  std::snprintf(reader.message, sizeof reader.message, "%s", message);
  std::longjmp(reader.escape, 1);
}

// libjpeg would fill up what is missing with grey and only warn.
boolean refuse_more_input(j_decompress_ptr info) {
  leave_with(reinterpret_cast<j_common_ptr>(info), "the file is truncated");
}

void refuse_many_scans(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMostScans)
    leave_with(info, "the file has too many scans");
}

void ignore_message(j_common_ptr, int) {}

// Escapes.
bool read_header(JpegReader& reader, const unsigned char* bytes, size_t size) {
  reader.info.err = jpeg_std_error(&reader.errors);
  reader.info.client_data = &reader;
  reader.errors.error_exit = leave;
  reader.errors.emit_message = ignore_message;
  if (setjmp(reader.escape)) return false;
  jpeg_create_decompress(&reader.info);
  reader.progress.progress_monitor = refuse_many_scans;
  reader.info.progress = &reader.progress;
  jpeg_mem_src(&reader.info, bytes, static_cast<unsigned long>(size));
  reader.info.src->fill_input_buffer = refuse_more_input;
  jpeg_read_header(&reader.info, TRUE);
  const bool four_inks = reader.info.num_components == 4;
  reader.info.out_color_space = four_inks ? JCS_CMYK : JCS_RGB;
  return true;
}

// Escapes.
bool start_decoding(JpegReader& reader) {
  if (setjmp(reader.escape)) return false;
  jpeg_start_decompress(&reader.info);
  return true;
}

// Escapes.
bool read_row(JpegReader& reader, unsigned char* row) {
  if (setjmp(reader.escape)) return false;
  jpeg_read_scanlines(&reader.info, &row, 1);
  return true;
}

// Escapes.
bool finish_decoding(JpegReader& reader) {
  if (setjmp(reader.escape)) return false;
  jpeg_finish_decompress(&reader.info);
  return true;
}

// Owns libjpeg's memory and turns failed steps into errors.
class JpegFile {
 public:
  explicit JpegFile(const EncodedImage& file) : name_(file.name) {
    if (read_header(reader_, file.bytes, file.size)) return;
    jpeg_destroy_decompress(&reader_.info);
    check(false);
  }
  ~JpegFile() { jpeg_destroy_decompress(&reader_.info); }
  JpegFile(const JpegFile&) = delete;
  JpegFile& operator=(const JpegFile&) = delete;

  const jpeg_decompress_struct& info() const { return reader_.info; }
  void start() { check(start_decoding(reader_)); }
  void read(unsigned char* row) { check(read_row(reader_, row)); }
  void finish() { check(finish_decoding(reader_)); }

 private:
  void check(bool done) const {
    if (!done)
      fail(ErrorKind::kBadFormat, name_,
           std::string("expected a whole JPEG image: ") + reader_.message);
  }

  std::string name_;
  JpegReader reader_{};
};

// Adobe's files hold inverted inks, and other CMYK files are taken to do the
// same, as Pillow takes them.
void convert_inverted_cmyk(std::vector<unsigned char>& row, int64_t width) {
  for (int64_t x = 0; x < width; ++x) {
    const unsigned char* cmyk = row.data() + 4 * x;
    const int black = cmyk[3];
    unsigned char rgb[3];
    for (int i = 0; i < 3; ++i) {
      const int product = (255 - cmyk[i]) * black + 128;
      rgb[i] =
          static_cast<unsigned char>(black - (((product >> 8) + product) >> 8));
    }
    for (int i = 0; i < 3; ++i)
      row[static_cast<size_t>(3 * x + i)] = rgb[i];
  }
}

}  // namespace

Array decode_jpeg(const EncodedImage& file) {
  JpegFile jpeg(file);
  const int64_t height = jpeg.info().image_height;
  const int64_t width = jpeg.info().image_width;
  check_image_size(
      file.name, height, width,
      std::min(static_cast<int64_t>(file.size) * kMostPixelsPerByte,
               file.most_pixels));
  jpeg.start();
  auto [image, planes] =
      allocate_array(ElementType::kUint8, {3, height, width});
  const bool four_inks = jpeg.info().out_color_components == 4;
  std::vector<unsigned char> row(static_cast<size_t>(4 * width));
  for (int64_t y = 0; y < height; ++y) {
    jpeg.read(row.data());
    if (four_inks) convert_inverted_cmyk(row, width);
    store_rgb_row(row.data(), y, image, planes);
  }
  jpeg.finish();
  return image;
}

}  // namespace sotta
