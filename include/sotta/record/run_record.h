#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sotta/core/options.h"

namespace sotta {

// What one run of one method on one stream of images was and gave. Every table
// and figure is made from records, never from memory.
struct RunRecord {
  // What was run.
  std::string version;   // of sotta
  std::string libtorch;  // its version
  std::string verb;      // the command: "eval"
  std::string dataset;
  std::string model;  // the weights file's name
  std::string method = "source";
  std::string preset = "clean";
  std::string device;
  std::string engine;  // what ran the network
  int64_t threads = 0;
  int64_t seed = 0;
  OptionMap options;  // every option of the run, by its flag's name

  // What came out.
  int64_t samples = 0;
  int64_t correct = 0;
  double accuracy = 0;  // percent
  double seconds = 0;
  double images_per_second = 0;
  int64_t peak_memory_bytes = 0;  // of the process

  // The one list of fields, in the order they are written.
  template <class Visitor>
  void visit(Visitor&& v) {
    v("version", version);
    v("libtorch", libtorch);
    v("verb", verb);
    v("dataset", dataset);
    v("model", model);
    v("method", method);
    v("preset", preset);
    v("device", device);
    v("engine", engine);
    v("threads", threads);
    v("seed", seed);
    v("options", options);
    v("samples", samples);
    v("correct", correct);
    v("accuracy", accuracy);
    v("seconds", seconds);
    v("images_per_second", images_per_second);
    v("peak_memory_bytes", peak_memory_bytes);
  }
};

// One line of JSON, without the line's end.
std::string to_json(const RunRecord& record);

// Throws Error(kBadFormat) naming `subject` for anything but a record: missing
// and unknown fields, wrong types, and a format number this version cannot
// read.
RunRecord parse_record(const std::string& line, const std::string& subject);

}  // namespace sotta
