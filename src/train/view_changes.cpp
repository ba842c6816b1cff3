#include "train/view_changes.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include "sotta/core/rng.h"

#include "gpu/upload.h"

namespace sotta {
namespace {

// Zhong et al., Random Erasing Data Augmentation (2020): shares of the image,
// and height to width.
constexpr double kLeastErased = 0.02, kMostErased = 1.0 / 3;
constexpr double kMostStretched = 10.0 / 3;

struct Box {
  int64_t top = 0, bottom = 0, left = 0, right = 0;
};

void write(const Box& box, int64_t* values) {
  values[0] = box.top;
  values[1] = box.bottom;
  values[2] = box.left;
  values[3] = box.right;
}

// Jöhnk's method: of pairs of powers of uniform numbers the first whose sum is
// at most 1.
double draw_beta(double alpha, Rng& rng) {
  for (;;) {
    const double x = std::pow(rng.uniform(), 1 / alpha);
    const double y = std::pow(rng.uniform(), 1 / alpha);
    if (x + y > 0 && x + y <= 1) return x / (x + y);
  }
}

Box draw_erased(const ImageShape& shape, Rng& rng) {
  const auto area = static_cast<double>(shape.height * shape.width) *
                    rng.uniform(kLeastErased, kMostErased);
  const double limit = std::log(kMostStretched);
  const double stretched = std::exp(rng.uniform(-limit, limit));
  const auto side = [](double length, int64_t most) {
    return std::clamp(static_cast<int64_t>(std::lround(length)), int64_t{1},
                      most);
  };
  const int64_t height = side(std::sqrt(area * stretched), shape.height);
  const int64_t width = side(std::sqrt(area / stretched), shape.width);
  const int64_t top = rng.below(shape.height - height + 1);
  const int64_t left = rng.below(shape.width - width + 1);
  return {top, top + height, left, left + width};
}

// Around a centre anywhere; what sticks out is cut off.
Box draw_replaced(const ImageShape& shape, double share, Rng& rng) {
  const double side = std::sqrt(1 - share);
  const auto span = [&](int64_t length, int64_t& begin, int64_t& end) {
    const auto whole = static_cast<int64_t>(side * static_cast<double>(length));
    const int64_t first = rng.below(length) - whole / 2;
    begin = std::max(first, int64_t{0});
    end = std::min(first + whole, length);
  };
  Box box;
  span(shape.height, box.top, box.bottom);
  span(shape.width, box.left, box.right);
  return box;
}

// What one view takes from its partner.
struct Mix {
  Box replaced;
  double weight = 1, share = 1;
};

Mix draw_mix(const ImageShape& shape, const TrainOptions& options, Rng& rng) {
  const bool both = options.mixup > 0 && options.cutmix > 0;
  const bool cut = both ? rng.below(2) == 1 : options.cutmix > 0;
  const double share = draw_beta(cut ? options.cutmix : options.mixup, rng);
  Mix mix;
  if (!cut) {
    mix.weight = mix.share = share;
    return mix;
  }
  mix.replaced = draw_replaced(shape, share, rng);
  const int64_t area = (mix.replaced.bottom - mix.replaced.top) *
                       (mix.replaced.right - mix.replaced.left);
  mix.share = 1 - static_cast<double>(area) /
                      static_cast<double>(shape.height * shape.width);
  return mix;
}

at::Tensor draw_all_erased(const ImageShape& shape, int64_t views,
                           double probability, Rng rng) {
  const at::Tensor boxes = at::zeros({views, 4}, at::kLong);
  auto* box = boxes.data_ptr<int64_t>();
  for (int64_t view = 0; view < views; ++view)
    if (rng.uniform() < probability)
      write(draw_erased(shape, rng), box + 4 * view);
  return boxes;
}

// Fills `changes`, whose tensors lie on the CPU.
void draw_all_mixed(const ImageShape& shape, const TrainOptions& options,
                    Rng rng, const ViewChanges& changes) {
  auto* box = changes.replaced.data_ptr<int64_t>();
  auto* weight = changes.weight.data_ptr<float>();
  auto* share = changes.share.data_ptr<float>();
  for (int64_t view = 0; view < changes.weight.size(0); ++view) {
    const Mix mix = draw_mix(shape, options, rng);
    write(mix.replaced, box + 4 * view);
    weight[view] = static_cast<float>(mix.weight);
    share[view] = static_cast<float>(mix.share);
  }
}

// Applies a function to each tensor that is there.
ViewChanges each(const ViewChanges& changes,
                 const std::function<at::Tensor(const at::Tensor&)>& function) {
  const auto made = [&](const at::Tensor& tensor) {
    return tensor.defined() ? function(tensor) : tensor;
  };
  return {made(changes.erased), made(changes.replaced), made(changes.weight),
          made(changes.share)};
}

// Which pixels lie inside a box of each view: bool [n, 1, H, W].
at::Tensor inside(const at::Tensor& boxes, int64_t height, int64_t width) {
  const auto edge = [&](int64_t which) {
    return boxes.select(1, which).unsqueeze(1);
  };
  const at::Tensor y = at::arange(height, boxes.options());
  const at::Tensor x = at::arange(width, boxes.options());
  const at::Tensor rows = y.ge(edge(0)).logical_and(y.lt(edge(1)));
  const at::Tensor columns = x.ge(edge(2)).logical_and(x.lt(edge(3)));
  return rows.unsqueeze(2).logical_and(columns.unsqueeze(1)).unsqueeze(1);
}

// Each view's partner has its place.
at::Tensor partners(const at::Tensor& batch) {
  return batch.flip(0);
}

}  // namespace

ViewChanges ViewChanges::select(const at::Tensor& places) const {
  return each(*this, [&](const at::Tensor& tensor) {
    return tensor.index_select(0, places);
  });
}

void ViewChanges::copy_from(const ViewChanges& other) {
  const auto copy = [](const at::Tensor& mine, const at::Tensor& theirs) {
    if (mine.defined()) mine.copy_(theirs);
  };
  copy(erased, other.erased);
  copy(replaced, other.replaced);
  copy(weight, other.weight);
  copy(share, other.share);
}

ViewChanges draw_changes(const ImageShape& shape, int64_t views,
                         const TrainOptions& options, int64_t epoch,
                         at::Device device) {
  const auto stream = [&](const char* name) {
    return Rng(static_cast<uint64_t>(options.seed))
        .child(name)
        .child(static_cast<uint64_t>(epoch));
  };
  const bool plain = epoch >= options.epochs - options.plain_epochs;
  ViewChanges changes;
  if (options.erase > 0)
    changes.erased = draw_all_erased(shape, views, plain ? 0 : options.erase,
                                     stream("erase"));
  if (options.mixup > 0 || options.cutmix > 0) {
    changes.replaced = at::zeros({views, 4}, at::kLong);
    changes.weight = at::ones({views}, at::kFloat);
    changes.share = at::ones({views}, at::kFloat);
    if (!plain) draw_all_mixed(shape, options, stream("mix"), changes);
  }
  return each(changes,
              [&](const at::Tensor& tensor) { return upload(tensor, device); });
}

at::Tensor changed_views(const at::Tensor& views, const ViewChanges& changes) {
  const int64_t height = views.size(2), width = views.size(3);
  at::Tensor result = views;
  if (changes.erased.defined())
    result = result.masked_fill(inside(changes.erased, height, width), 0);
  if (!changes.weight.defined()) return result;
  result = result.to(at::kFloat).div(255);
  const at::Tensor weights =
      changes.weight.view({-1, 1, 1, 1})
          .masked_fill(inside(changes.replaced, height, width), 0);
  return result * weights + partners(result) * (1 - weights);
}

at::Tensor loss_of(const at::Tensor& logits, const at::Tensor& labels,
                   const ViewChanges& changes, double smoothing) {
  at::Tensor targets = labels;
  if (changes.share.defined()) {
    const at::Tensor classes = at::arange(logits.size(1), labels.options());
    const at::Tensor own =
        labels.unsqueeze(1).eq(classes).to(logits.scalar_type());
    const at::Tensor share = changes.share.unsqueeze(1);
    targets = own * share + partners(own) * (1 - share);
  }
  return at::cross_entropy_loss(logits, targets, /*weight=*/{},
                                at::Reduction::Mean, /*ignore_index=*/-100,
                                smoothing);
}

at::Tensor main_labels(const at::Tensor& labels, const ViewChanges& changes) {
  return changes.share.defined()
             ? at::where(changes.share.ge(0.5), labels, partners(labels))
             : labels;
}

}  // namespace sotta
