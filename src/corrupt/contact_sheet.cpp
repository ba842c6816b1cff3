#include "sotta/corrupt/contact_sheet.h"

#include <algorithm>
#include <numeric>

#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/stack.h>

#include "sotta/core/error.h"
#include "sotta/data/tensor.h"

namespace sotta {
namespace {

constexpr int64_t kSmallestSide = 96;  // in the picture
constexpr int64_t kGap = 4;            // white pixels between images

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
  return to_array(at::cat(rows, 1));
}

}  // namespace sotta
