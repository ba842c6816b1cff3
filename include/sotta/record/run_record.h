#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "sotta/core/options.h"

namespace sotta {

// Numbers of a run that are more than one, by name. A number that does not
// exist is NaN.
using Series = std::map<std::string, std::vector<double>>;

// The option of a record that says by their checksum which weights were used.
constexpr const char* kModelChecksum = "model_checksum";

// What one run of one method on one stream of images was and gave. Every table
// and figure is made from records, never from memory.
struct RunRecord {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  static constexpr const char* kSource = "source";  // the model as it was made

  // What was run.
  std::string version;   // of sotta
  std::string libtorch;  // its version
  std::string verb;      // the command: "eval"
  std::string dataset;
  std::string scenario;           // "benign", "noise", ...; empty without one
  std::string corruption;         // "fog", ...; empty without one
  int64_t severity = 0;           // 1 to 5; 0 without a corruption
  std::string corruption_source;  // "made", "published"
  std::string model;              // the weights file's name
  std::string method = kSource;
  std::string variant;  // a row's name among runs of one method: "HC + ESM"
  std::string preset = "clean";

  // How tables show the names; empty in records of before there were labels.
  std::string method_label;
  std::string scenario_label;
  std::string corruption_label;

  std::string device;
  std::string engine;  // what ran the network
  int64_t threads = 0;
  int64_t seed = 0;
  OptionMap options;  // every option of the run, by its flag's name

  // What came out. Only samples that belong to the dataset count as samples;
  // the others are foreign.
  int64_t samples = 0;
  int64_t correct = 0;
  double accuracy = 0;               // percent
  double macro_f1 = kNone;           // percent, the mean over classes
  double calibration_error = kNone;  // percent, expected, 15 equal bins

  // How the method told foreign samples from the others: by its confidence, and
  // what it admitted.
  int64_t foreign = 0;
  int64_t admitted = 0;          // of the samples; foreign ones not included
  int64_t admitted_foreign = 0;  // of the foreign samples
  double auroc = kNone;          // percent
  double fpr95 = kNone;  // percent of foreign let in when 95 % of samples are

  // The same of the scores of a screen that the method has (Screening): how it
  // tells foreign samples, whether its gate was closed yet or not.
  double screen_auroc = kNone;
  double screen_fpr95 = kNone;

  double seconds = 0;
  double adapt_seconds = 0;  // of these, outside the prediction
  double images_per_second = 0;
  int64_t peak_memory_bytes = 0;  // of the process

  // One number per window: "accuracy" (percent of its samples), "samples",
  // "foreign", "admitted", "admitted_foreign", "loss", "gradient_norm"; what a
  // method's memory held after the window, if it has one: "memory_samples" and
  // "memory_foreign"; of a screen's gate "screen_closed" (1 or 0),
  // "screen_gap", "screen_information" and "screen_drift" (ScreenGate); where a
  // guard acted, "by_source" (predictions of the source model's), "guard_trips"
  // and "updates"; if asked for, "gradient_norm_samples" and
  // "gradient_norm_foreign" of single samples. One per bin or class:
  // "confidence_samples" and "confidence_foreign" (20 bins from 0 to 1),
  // "predicted_samples" and "predicted_foreign" (counts).
  Series series;

  // Fields that this version does not know, by name, as JSON text: a newer one
  // wrote them. They are written back as they were read.
  std::map<std::string, std::string> unknown;

  // The one list of fields, in the order they are written.
  template <class Visitor>
  void visit(Visitor&& v) {
    v("version", version);
    v("libtorch", libtorch);
    v("verb", verb);
    v("dataset", dataset);
    v("scenario", scenario);
    v("corruption", corruption);
    v("severity", severity);
    v("corruption_source", corruption_source);
    v("model", model);
    v("method", method);
    v("variant", variant);
    v("preset", preset);
    v("method_label", method_label);
    v("scenario_label", scenario_label);
    v("corruption_label", corruption_label);
    v("device", device);
    v("engine", engine);
    v("threads", threads);
    v("seed", seed);
    v("options", options);
    v("samples", samples);
    v("correct", correct);
    v("accuracy", accuracy);
    v("macro_f1", macro_f1);
    v("calibration_error", calibration_error);
    v("foreign", foreign);
    v("admitted", admitted);
    v("admitted_foreign", admitted_foreign);
    v("auroc", auroc);
    v("fpr95", fpr95);
    v("screen_auroc", screen_auroc);
    v("screen_fpr95", screen_fpr95);
    v("seconds", seconds);
    v("adapt_seconds", adapt_seconds);
    v("images_per_second", images_per_second);
    v("peak_memory_bytes", peak_memory_bytes);
    v("series", series);
  }
};

// One line of JSON, without the line's end.
std::string to_json(const RunRecord& record);

// A field that is missing, because an older version wrote the record, has its
// default; one that is not known is kept.
//
// Throws Error(kBadFormat) naming `subject` for anything but a record: without
// method, samples, correct or accuracy, with wrong types, with a format number
// this version cannot read, or with figures that no run can give (more correct
// than samples, a share above 100 %, an accuracy that is not correct /
// samples).
RunRecord parse_record(const std::string& line, const std::string& subject);

}  // namespace sotta
