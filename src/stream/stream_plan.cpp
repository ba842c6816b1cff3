#include "sotta/stream/stream_plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <ATen/ops/empty.h>

#include "sotta/core/error.h"
#include "sotta/core/options.h"
#include "sotta/core/rng.h"
#include "sotta/stream/scenario.h"

#include "core/draw.h"
#include "stream/arrange.h"
#include "stream/fitted_dataset.h"
#include "stream/foreign_images.h"

namespace sotta {
namespace {

constexpr int32_t kNoDomain = -1;

// Of one domain: a plan lies in memory.
constexpr int64_t kMaxForeign = 100'000'000;

// Makes the samples of a plan. Every random choice is drawn from a child stream
// named here; docs/streams.md lists them.
class Planner {
 public:
  Planner(const StreamOptions& options, const StreamSources& sources)
      : options_(options),
        sources_(sources),
        scenario_(find_scenario(options.scenario)),
        rng_(Rng(static_cast<uint64_t>(options.seed))
                 .child("stream")
                 .child(sources.name)) {
    const Dataset& images = *sources.domains[0].images;
    const at::Tensor labels = images.labels().contiguous();
    const auto* values = labels.data_ptr<int64_t>();
    labels_.assign(values, values + labels.numel());
    const auto size = images.size();
    const int64_t count =
        options.limit == 0 ? size : std::min(options.limit, size);
    targets_ = draw_without_replacement(size, count, rng_.child("targets"));
    // The order they were drawn in must not matter.
    std::sort(targets_.begin(), targets_.end());
  }

  std::vector<SampleTruth> plan() {
    const auto domains = sources_.domains.size();
    if (options_.domains == "mixed" && domains > 1) {
      add_segment(kNoDomain, rng_.child("mixed"));
      return std::move(samples_);
    }
    std::map<std::string, uint64_t> seen;
    for (size_t d = 0; d < domains; ++d) {
      const std::string& name = sources_.domains[d].name;
      add_segment(static_cast<int32_t>(d),
                  rng_.child("domain").child(name).child(seen[name]++));
    }
    return std::move(samples_);
  }

 private:
  // Target images in their order with foreign samples in between. Without a
  // domain every image has one of its own.
  void add_segment(int32_t domain, const Rng& rng) {
    const auto targets = target_samples(domain, rng);
    const auto foreign = foreign_samples(domain, rng);
    const auto is_foreign =
        interleave(static_cast<int64_t>(targets.size()),
                   static_cast<int64_t>(foreign.size()), options_.burst,
                   rng.child("interleave").child(scenario_.name));
    auto target = targets.begin();
    auto other = foreign.begin();
    for (const bool from_foreign : is_foreign)
      samples_.push_back(from_foreign ? *other++ : *target++);
  }

  std::vector<SampleTruth> target_samples(int32_t domain,
                                          const Rng& rng) const {
    std::vector<SampleTruth> samples;
    for (const int64_t place : target_order(rng.child("order"))) {
      const int64_t index = targets_[static_cast<size_t>(place)];
      samples.push_back({Origin::kTarget, domain_of(index, domain, rng), index,
                         label_of(index)});
    }
    return samples;
  }

  // A permutation of the places in targets_.
  std::vector<int64_t> target_order(const Rng& rng) const {
    const auto count = static_cast<int64_t>(targets_.size());
    if (options_.order == "shuffled")
      return draw_without_replacement(count, count, rng);
    std::vector<int64_t> labels;
    for (const int64_t index : targets_)
      labels.push_back(label_of(index));
    return dirichlet_order(labels, sources_.domains[0].images->classes(),
                           options_.concentration, rng);
  }

  std::vector<SampleTruth> foreign_samples(int32_t domain,
                                           const Rng& rng) const {
    std::vector<SampleTruth> samples;
    if (!scenario_.has_foreign()) return samples;
    const int64_t available = scenario_.has_attacker()
                                  ? static_cast<int64_t>(targets_.size())
                                  : foreign_images(options_, sources_)->size();
    for (const int64_t i :
         resample(available, foreign_count(),
                  rng.child("foreign").child(scenario_.name))) {
      if (!scenario_.has_attacker()) {
        samples.push_back({Origin::kForeign, kNoDomain, i, kNoLabel});
        continue;
      }
      const int64_t index = targets_[static_cast<size_t>(i)];
      samples.push_back(
          {Origin::kAttacker, domain_of(index, domain, rng), index, kNoLabel});
    }
    return samples;
  }

  int64_t foreign_count() const {
    const auto targets = static_cast<int64_t>(targets_.size());
    const double share = options_.foreign_share;
    if (share == 0) {
      const int64_t count = options_.foreign_count;
      require_possible("foreign_count", static_cast<double>(count));
      return count < 0 ? targets : count;
    }
    const double count = static_cast<double>(targets) * share / (1 - share);
    require_possible("foreign_share", count);
    return std::llround(count);
  }

  static void require_possible(const char* option, double count) {
    require(count <= static_cast<double>(kMaxForeign), option,
            "expected at most " + std::to_string(kMaxForeign) +
                " foreign samples, asked for " + to_text(count));
  }

  // By the image's index, so that a copy has the same domain.
  int32_t domain_of(int64_t index, int32_t domain, const Rng& rng) const {
    if (domain != kNoDomain) return domain;
    Rng own = rng.child("domain").child(static_cast<uint64_t>(index));
    return static_cast<int32_t>(
        own.below(static_cast<int64_t>(sources_.domains.size())));
  }

  int64_t label_of(int64_t index) const {
    return labels_[static_cast<size_t>(index)];
  }

  const StreamOptions& options_;
  const StreamSources& sources_;
  const Scenario& scenario_;
  const Rng rng_;
  std::vector<int64_t> labels_;
  std::vector<int64_t> targets_;  // indices of the images that take part
  std::vector<SampleTruth> samples_;
};

void check_sources(const StreamOptions& options, const StreamSources& sources) {
  require(!sources.domains.empty(), "StreamSources",
          "expected at least one domain");
  for (const StreamDomain& domain : sources.domains)
    require(domain.images != nullptr, "StreamSources",
            "expected images in the domain " + domain.name);
  const Dataset& first = *sources.domains[0].images;
  require(first.size() >= 1, "StreamSources",
          "expected at least one target image");
  for (const StreamDomain& domain : sources.domains)
    require(domain.images->size() == first.size() &&
                same_shape(domain.images->shape(), first.shape()),
            "StreamSources",
            "expected the same number and shape of images in all domains, " +
                domain.name + " differs from " + sources.domains[0].name);
  if (find_scenario(options.scenario).takes_dataset())
    require(sources.foreign && sources.foreign->size() >= 1, "StreamSources",
            "expected a foreign set with images for " + options.scenario);
}

}  // namespace

StreamPlan::StreamPlan(const StreamOptions& options,
                       const StreamSources& sources)
    : options_(options) {
  validate(options);
  check_sources(options, sources);
  for (const StreamDomain& domain : sources.domains)
    domains_.push_back(domain.name);
  samples_ = Planner(options, sources).plan();
  if (options.whole_windows) {
    const auto window = static_cast<size_t>(options.window);
    require(samples_.size() >= window, "StreamPlan",
            "expected at least one whole window of " + std::to_string(window) +
                " samples, got " + std::to_string(samples_.size()));
    samples_.resize(samples_.size() / window * window);
  }
}

int64_t StreamPlan::windows() const {
  return (size() + options_.window - 1) / options_.window;
}

int64_t StreamPlan::benign() const {
  return std::count_if(
      samples_.begin(), samples_.end(),
      [](const SampleTruth& sample) { return sample.benign(); });
}

WindowTruth StreamPlan::truth(int64_t begin, int64_t end) const {
  require(0 <= begin && begin <= end && end <= size(), "StreamPlan",
          "expected a range within 0 .. " + std::to_string(size()) + ", got " +
              std::to_string(begin) + " .. " + std::to_string(end));
  const int64_t count = end - begin;
  WindowTruth truth{at::empty({count}, at::kLong),
                    at::empty({count}, at::kBool),
                    at::empty({count}, at::kBool)};
  for (int64_t i = 0; i < count; ++i) {
    const SampleTruth& sample = (*this)[begin + i];
    truth.labels.data_ptr<int64_t>()[i] = sample.label;
    truth.benign.data_ptr<bool>()[i] = sample.benign();
    truth.attacker.data_ptr<bool>()[i] = sample.origin == Origin::kAttacker;
  }
  return truth;
}

}  // namespace sotta
