#include "sotta/eval/run_stream.h"

#include "sotta/core/error.h"
#include "sotta/gpu/device.h"

#include "core/peak_memory.h"
#include "core/stopwatch.h"
#include "eval/accuracy_note.h"
#include "eval/check_fit.h"
#include "eval/gradient_probe.h"
#include "eval/stream_tally.h"
#include "gpu/device_work.h"
#include "gpu/upload.h"

namespace sotta {
namespace {

// What the adapter is fed at a place of the stream.
at::Tensor attacked(Adapter& adapter, const at::Tensor& images,
                    const RunTask& task, int64_t begin) {
  const WindowTruth truth = task.plan->truth(begin, begin + images.size(0));
  if (!truth.attacker.any().item<bool>()) return images;
  return craft(adapter, {images, truth.attacker, truth.labels}, task.attack)
      .images;
}

bool tell(const ProgressCallback& progress, int64_t done, int64_t total,
          double accuracy) {
  if (!progress) return true;
  return progress({done, total, accuracy_note(accuracy)});
}

// A run while it lasts.
class Run {
 public:
  explicit Run(const RunTask& task)
      : task_(task),
        adapter_(make_adapter()),
        stream_(task.plan, task.sources),
        tally_(task.context.model->classes()),
        probe_(task.gradient_samples) {}

  int64_t windows() const { return task_.plan->windows(); }
  double accuracy() const { return tally_.accuracy(); }

  void next_window() {
    const int64_t begin = stream_.position();
    const at::Tensor drawn = stream_.next(task_.plan->options().window);
    const at::Device device = task_.context.model->source().affine.device();
    const DeviceWork at_work(device);
    at::Tensor images = upload(drawn, device);
    images = attacked(*adapter_, images, task_, begin);
    probe_.look(*adapter_, images, *task_.plan, begin);

    const Stopwatch watch;
    const StepResult result = adapter_->step(images);
    const double predicted = watch.seconds() - result.update_seconds;
    // An update may still be under way on a GPU; the next prediction would be
    // charged for it.
    wait_for(device);
    const double all = watch.seconds();
    // Of a pass that several streams share, a share.
    const auto sharers =
        static_cast<double>(adapter_->executor().streams_at_once());
    seconds_ += all / sharers;
    update_seconds_ += (all - predicted) / sharers;
    tally_.add(result, *task_.plan, begin, adapter_->memory_samples());
  }

  RunRecord record() const {
    RunRecord record = task_.record;
    record.method = task_.method;
    tally_.fill(record);
    probe_.fill(record.series);
    record.seconds = seconds_;
    record.adapt_seconds = update_seconds_;
    const auto images = static_cast<double>(record.samples + record.foreign);
    record.images_per_second = seconds_ > 0 ? images / seconds_ : 0;
    record.peak_memory_bytes = peak_memory_bytes();
    return record;
  }

 private:
  std::unique_ptr<Adapter> make_adapter() {
    const DeviceWork at_work(task_.context.model->source().affine.device());
    const Stopwatch watch;
    auto adapter = std::make_unique<Adapter>(
        task_.method, task_.make(task_.context), task_.context, task_.guard);
    update_seconds_ = watch.seconds();
    seconds_ = task_.shared_seconds + update_seconds_;
    return adapter;
  }

  const RunTask& task_;
  double seconds_ = 0;
  double update_seconds_ = 0;
  std::unique_ptr<Adapter> adapter_;
  Stream stream_;
  StreamTally tally_;
  GradientProbe probe_;
};

}  // namespace

RunResult run_stream(const RunTask& task, const ProgressCallback& progress) {
  check_fit(*task.context.model, *task.sources.domains.at(0).images,
            task.sources.name);
  require(task.context.update_interval == task.plan->options().window, "window",
          "expected the method's interval between updates, " +
              std::to_string(task.context.update_interval) + ", got " +
              std::to_string(task.plan->options().window));
  Run run(task);
  bool go_on = true;
  for (int64_t done = 0; go_on && done < run.windows(); ++done) {
    run.next_window();
    go_on = tell(progress, done + 1, run.windows(), run.accuracy());
  }
  return {run.record(), !go_on};
}

}  // namespace sotta
