#include "corrupt/contact_sheet.h"

#include <algorithm>
#include <numeric>

#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/stack.h>

#include "sotta/core/error.h"

#include "corrupt/bitmap_text.h"
#include "data/tensor.h"

namespace sotta {
namespace {

constexpr int64_t kSmallestSide = 96;  // in the picture
constexpr int64_t kGap = 4;            // white pixels between images
constexpr int64_t kTextScale = 2;

// Text in a white box of this size, [3, height, width]. It stands halfway down,
// and at the left end or in the middle.
at::Tensor make_label(const std::string& text, int64_t height, int64_t width,
                      bool in_the_middle) {
  const at::Tensor drawn = draw_text(text, kTextScale);
  const int64_t above = (height - drawn.size(0)) / 2;
  const int64_t left = in_the_middle ? (width - drawn.size(1)) / 2 : kGap;
  return at::constant_pad_nd(drawn,
                             {left, width - drawn.size(1) - left, above,
                              height - drawn.size(0) - above},
                             255)
      .expand({3, -1, -1});
}

// One below another at the left: what the rows show.
std::vector<at::Tensor> row_labels(const std::vector<std::string>& kinds,
                                   int64_t height, int64_t width) {
  std::vector<at::Tensor> labels = {make_label("clean", height, width, false)};
  for (const std::string& kind : kinds)
    labels.push_back(make_label(kind, height, width, false));
  return labels;
}

// Wide enough for the longest label.
int64_t label_width(const std::vector<std::string>& kinds) {
  std::string longest = "severity";
  for (const std::string& kind : kinds)
    longest = std::max(longest, kind, [](const auto& a, const auto& b) {
      return a.size() < b.size();
    });
  return draw_text(longest, kTextScale).size(1) + 3 * kGap;
}

// Above the columns: their severities.
at::Tensor make_header(const ContactSheet& sheet, int64_t label_width,
                       int64_t column_width) {
  const int64_t height = draw_text("0", kTextScale).size(0) + 2 * kGap;
  std::vector<at::Tensor> parts = {
      make_label("severity", height, label_width, false)};
  for (int64_t image = 0; image < sheet.images; ++image)
    for (const int64_t severity : sheet.severities)
      parts.push_back(make_label(std::to_string(severity), height, column_width,
                                 /*in_the_middle=*/true));
  return at::cat(parts, -1);
}

// [N, C, H, W] side by side: [3, H + gap, N * (W + gap)].
at::Tensor make_row(const at::Tensor& images) {
  const int64_t side = images.size(2);
  const int64_t times = std::max<int64_t>(1, kSmallestSide / side);
  const at::Tensor enlarged = images.expand({-1, 3, -1, -1})
                                  .repeat_interleave(times, 2)
                                  .repeat_interleave(times, 3);
  const at::Tensor framed =
      at::constant_pad_nd(enlarged, {0, kGap, 0, kGap}, 255);
  return at::cat(framed.unbind(0), -1);
}

// Image by image, each at all severities.
at::Tensor corrupted(const at::Tensor& images, const std::string& kind,
                     const ContactSheet& sheet) {
  std::vector<int64_t> indices(static_cast<size_t>(images.size(0)));
  std::iota(indices.begin(), indices.end(), 0);
  std::vector<at::Tensor> columns;
  for (const int64_t severity : sheet.severities) {
    CorruptionOptions options = sheet.options;
    options.kind = kind;
    options.severity = severity;
    columns.push_back(
        Corruption(options, images.size(2)).apply(images, indices));
  }
  return at::stack(columns, 1).flatten(0, 1);
}

}  // namespace

Array make_contact_sheet(const Dataset& clean, const ContactSheet& sheet) {
  require(!sheet.severities.empty(), "contact sheet",
          "expected at least one severity");
  require(1 <= sheet.images && sheet.images <= clean.size(), "contact sheet",
          "expected 1 to " + std::to_string(clean.size()) + " images, got " +
              std::to_string(sheet.images));
  const at::Tensor images = clean.range(0, sheet.images).images;
  const auto columns = static_cast<int64_t>(sheet.severities.size());
  std::vector<at::Tensor> rows = {
      make_row(images.repeat_interleave(columns, 0))};
  for (const std::string& kind : sheet.kinds)
    rows.push_back(make_row(corrupted(images, kind, sheet)));

  const int64_t width = label_width(sheet.kinds);
  const auto labels = row_labels(sheet.kinds, rows[0].size(1), width);
  std::vector<at::Tensor> lines = {
      make_header(sheet, width, rows[0].size(2) / (sheet.images * columns))};
  for (size_t i = 0; i < rows.size(); ++i)
    lines.push_back(at::cat({labels[i], rows[i]}, -1));
  return to_array(at::cat(lines, 1));
}

}  // namespace sotta
