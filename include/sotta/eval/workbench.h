#pragma once

#include <filesystem>
#include <memory>

#include <c10/core/Device.h>

#include "sotta/core/progress.h"
#include "sotta/engine/engine.h"
#include "sotta/eval/cell.h"
#include "sotta/eval/run_stream.h"
#include "sotta/gpu/device.h"

namespace sotta {

struct WorkbenchOptions {
  std::filesystem::path data_root;
  at::Device device = at::Device(at::kCPU);
  EngineOptions engine;
  Precision precision = Precision::kFloat32;
  bool tuned = false;  // DeviceSettings::tuned

  // ExecutorOptions::cuda_graphs. On a GPU for OwnQueue::kMost jobs at most,
  // and with fp32 for one: cuDNN's ways for it disturb threads that capture.
  bool cuda_graphs = false;

  // Cells that run side by side. Data of one stream more are held at a time, so
  // that a cell can begin while others are at the streams before it.
  int64_t jobs = 1;

  // Cells of each job, whose passes go through the network together where that
  // is faster (LaneGroup). With more than one nothing is captured as a CUDA
  // graph. Streams are held as for so many jobs.
  int64_t lanes = 1;

  // Of the CPU, for passes of several lanes. 0: as many as one cell has.
  int64_t threads_for_lanes = 0;

  int64_t cells_at_once() const { return jobs * lanes; }
};

// Models, datasets, corrupted images, streams and the source model's outputs,
// opened or made when a cell needs them and shared by the cells that follow.
//
// All methods may run at once.
class Workbench {
 public:
  // Throws Error(kInvalid) if so many jobs cannot capture graphs.
  explicit Workbench(const WorkbenchOptions& options);
  ~Workbench();
  Workbench(const Workbench&) = delete;
  Workbench& operator=(const Workbench&) = delete;

  const WorkbenchOptions& options() const;

  // Opens what the cell needs and makes its method once, on two images: an
  // error that would end the cell ends it here, in a moment. Throws what
  // opening and making them throws.
  void check(const Cell& cell);

  // The record of the cell before it is run.
  RunRecord describe(const Cell& cell);

  // Everything for run_stream(). Progress is that of a pass over the stream, if
  // the cell needs one that no other has made yet; a stop asked for there
  // throws PassStopped (eval/source_outputs.h).
  RunTask prepare(const Cell& cell, const ProgressCallback& progress = {});

 private:
  class Store;
  std::unique_ptr<Store> store_;
};

// prepare() and run_stream(), both with that progress.
RunResult run_cell(const Cell& cell, Workbench& bench,
                   const ProgressCallback& progress = {});

}  // namespace sotta
