// Streams that go through one network together, beside each other and one after
// another: images per second and peak memory for numbers of lanes.
//   engine_lanes [device=cpu] [precision=fp32] [method=sotta]
//   [network=resnet18]
//     [side=32] [window=64] [images=64] [windows=20] [rounds=3] LANES...
// Every lane brings `images` at a time and updates after `window`. A number of
// lanes of 1 is one stream; "16:1" are 16 streams one after another.
#ifdef SOTTA_CUDA_HEADERS
#include <c10/cuda/CUDACachingAllocator.h>
#endif

#include <algorithm>
#include <cstdio>
#include <exception>
#include <future>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/ops/randint.h>

#include "sotta/adapt/make_adapter.h"
#include "sotta/core/error.h"
#include "sotta/core/threads.h"
#include "sotta/engine/engine.h"
#include "sotta/gpu/device.h"

#include "bench/random_network.h"
#include "core/allocator.h"
#include "core/peak_memory.h"
#include "core/stopwatch.h"
#include "engine/lane_group.h"
#include "gpu/device_work.h"
#include "gpu/out_of_memory.h"

namespace {

using namespace sotta;  // a program of its own

struct Setting {
  int64_t streams = 1;
  int64_t lanes = 1;  // of these, at a time
};

struct Work {
  std::map<std::string, std::string> words = {
      {"device", "cpu"},       {"precision", "fp32"}, {"method", "sotta"},
      {"network", "resnet18"}, {"side", "32"},        {"window", "64"},
      {"images", "64"},        {"windows", "20"},     {"rounds", "3"}};
  std::vector<Setting> settings;

  const std::string& text(const std::string& name) const {
    return words.at(name);
  }
  int64_t number(const std::string& name) const {
    return std::stoll(words.at(name));
  }
  at::Device device() const { return parse_device(text("device")); }
};

Work read(int argc, char** argv) {
  Work work;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const size_t equals = word.find('=');
    if (equals != std::string::npos) {
      const auto known = work.words.find(word.substr(0, equals));
      require(known != work.words.end(), "engine_lanes",
              "expected other words than \"" + word + "\", see its source");
      known->second = word.substr(equals + 1);
      continue;
    }
    const size_t colon = word.find(':');
    Setting setting;
    setting.streams = setting.lanes = std::stoll(word.substr(0, colon));
    if (colon != std::string::npos)
      setting.lanes = std::stoll(word.substr(colon + 1));
    work.settings.push_back(setting);
  }
  require(!work.settings.empty(), "engine_lanes", "expected numbers of lanes");
  return work;
}

// A stream with everything in it selected, so that every update is a full one.
class Stream {
 public:
  Stream(const Work& work, const MethodContext& context)
      : images_(at::randint(256, {work.number("images"), 3, work.number("side"),
                                  work.number("side")})
                    .to(at::kByte)
                    .to(work.device())),
        calls_(work.number("windows") * work.number("window") /
               work.number("images")) {
    const std::string& method = work.text("method");
    OptionMap changes;
    if (method == "sotta")
      changes = {{"min_confidence", 0.0},
                 {"memory_capacity", work.number("window")}};
    adapter_ = make_adapter(method, context, Preset::kClean, changes);
  }

  void run() {
    const DeviceWork at_work(images_.device());
    for (int64_t i = 0; i < calls_; ++i)
      adapter_->step(images_);
    wait_for(images_.device());
  }

 private:
  at::Tensor images_;
  int64_t calls_;
  std::unique_ptr<Adapter> adapter_;
};

class Lanes {
 public:
  Lanes(const Work& work, const Setting& setting,
        const std::shared_ptr<const Classifier>& model)
      : group_(work.device(), at::get_num_threads()), lanes_(setting.lanes) {
    MethodContext context;
    context.model = model;
    context.update_interval = work.number("window");
    if (lanes_ > 1) context.executor = group_.make_executor(model);
    for (int64_t i = 0; i < setting.streams; ++i)
      streams_.push_back(std::make_unique<Stream>(work, context));
  }

  void run() {
    if (lanes_ == 1) {
      for (const auto& stream : streams_)
        stream->run();
      return;
    }
    std::vector<std::future<void>> lanes;
    for (const auto& stream : streams_)
      lanes.push_back(std::async(std::launch::async, [&] {
        const LaneGroup::Member member(group_);
        stream->run();
      }));
    for (auto& lane : lanes)
      lane.get();
  }

 private:
  LaneGroup group_;
  int64_t lanes_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

#ifdef SOTTA_CUDA_HEADERS
double peak_megabytes(at::Device device) {
  if (device.is_cpu()) return static_cast<double>(peak_memory_bytes()) / 1e6;
  const auto stats =
      c10::cuda::CUDACachingAllocator::getDeviceStats(device.index());
  return static_cast<double>(stats.allocated_bytes[0].peak) / 1e6;
}

void forget_peak(at::Device device) {
  if (device.is_cuda())
    c10::cuda::CUDACachingAllocator::resetPeakStats(device.index());
}
#else
double peak_megabytes(at::Device) {
  return static_cast<double>(peak_memory_bytes()) / 1e6;
}

void forget_peak(at::Device) {}
#endif

void run(const Work& work) {
  const at::Device device = work.device();
  at::set_num_threads(static_cast<int>(available_cores()));
  DeviceSettings settings;
  settings.precision = parse_precision(work.text("precision"));
  const std::shared_ptr<const Classifier> model = choose_engine(
      bench::random_network(work.text("network"), 10, device, settings));
  std::printf("%s, %s, %s, windows of %s, %s images at a time\n",
              model->engine().c_str(), work.text("method").c_str(),
              work.text("network").c_str(), work.text("window").c_str(),
              work.text("images").c_str());

  const auto rounds = static_cast<size_t>(work.number("rounds"));
  std::vector<std::vector<double>> seconds(work.settings.size());
  std::vector<double> megabytes(work.settings.size());
  // The settings take turns.
  for (size_t round = 0; round < rounds + 1; ++round)
    for (size_t i = 0; i < work.settings.size(); ++i)
      explain_out_of_memory(std::to_string(work.settings[i].lanes) +
                                " lanes are too many, fewer need less",
                            [&] {
                              forget_peak(device);
                              Lanes lanes(work, work.settings[i], model);
                              const Stopwatch watch;
                              lanes.run();
                              if (round > 0)
                                seconds[i].push_back(watch.seconds());
                              megabytes[i] = peak_megabytes(device);
                            });
  for (size_t i = 0; i < work.settings.size(); ++i) {
    std::sort(seconds[i].begin(), seconds[i].end());
    const Setting& setting = work.settings[i];
    const auto images = static_cast<double>(
        setting.streams * work.number("windows") * work.number("window"));
    std::printf("%4lld streams, %4lld at a time: %9.0f images/s, %8.0f MB\n",
                static_cast<long long>(setting.streams),
                static_cast<long long>(setting.lanes),
                images / seconds[i][seconds[i].size() / 2], megabytes[i]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  keep_freed_memory();
  try {
    run(read(argc, argv));
  } catch (const std::exception& error) {
    std::cerr << "engine_lanes: " << error.what() << "\n";
    return 2;
  }
}
