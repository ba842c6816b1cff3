#include "prediction_writer.h"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>

#include <nlohmann/json.hpp>

#include "sotta/core/options.h"

#include "core/atomic_file.h"
#include "core/output_place.h"

namespace sotta::cli {
namespace {

// `none` stands for what is no number: a network's weights may be broken.
std::string decimal(double value, const char* none) {
  if (!std::isfinite(value)) return none;
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

// Quoted only where it must be.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text)
    quoted += letter == '"' ? "\"\"" : std::string(1, letter);
  return quoted + "\"";
}

std::string json_text(const std::string& text) {
  // File names may be any bytes; JSON is UTF-8.
  return nlohmann::json(text).dump(-1, ' ', false,
                                   nlohmann::json::error_handler_t::replace);
}

}  // namespace

PredictionWriter::PredictionWriter(const std::string& path) : path_(path) {
  if (path == "-")
    stream_ = std::shared_ptr<std::ostream>(&std::cout, [](std::ostream*) {});
  else
    stream_ = std::make_shared<std::ofstream>(path, std::ios::binary);
  check();
}

void PredictionWriter::check() const {
  if (!*stream_) fail_to_write(path_, errno);
}

void PredictionWriter::write(const std::vector<ImageBatch::Item>& items,
                             const Prediction& prediction,
                             const std::vector<Verdict>& verdicts,
                             const std::vector<float>& foreign_scores) {
  int64_t sample = 0;
  for (const auto& item : items) {
    const int64_t index = lines_++;
    if (!item.error.empty()) {
      write_error(index, item);
      continue;
    }
    write_line({index, item.name, prediction.labels[sample].item<int64_t>(),
                prediction.confidences[sample].item<float>(),
                prediction.entropies[sample].item<float>(),
                to_text(verdicts[static_cast<size_t>(sample)]),
                foreign_scores.empty()
                    ? nullptr
                    : &foreign_scores[static_cast<size_t>(sample)]});
    ++sample;
  }
  // A reader of a pipe sees each window at once.
  stream_->flush();
  check();
}

void PredictionWriter::close() {
  stream_->flush();
  check();
  if (path_ != "-") sync_file(path_);
}

namespace {

class JsonLines : public PredictionWriter {
 public:
  explicit JsonLines(const std::string& path) : PredictionWriter(path) {}

 private:
  void write_line(const Line& line) override {
    stream() << "{\"index\":" << line.index
             << ",\"name\":" << json_text(line.name)
             << ",\"label\":" << line.label
             << ",\"confidence\":" << decimal(line.confidence, "null")
             << ",\"entropy\":" << decimal(line.entropy, "null")
             << ",\"verdict\":\"" << line.verdict << '"';
    if (line.foreign_score)
      stream() << ",\"foreign_score\":" << decimal(*line.foreign_score, "null");
    stream() << "}\n";
  }
  void write_error(int64_t index, const ImageBatch::Item& item) override {
    stream() << "{\"index\":" << index << ",\"name\":" << json_text(item.name)
             << ",\"error\":" << json_text(item.error) << "}\n";
  }
};

class Csv : public PredictionWriter {
 public:
  explicit Csv(const std::string& path) : PredictionWriter(path) {
    stream()
        << "index,name,label,confidence,entropy,verdict,error,foreign_score\n";
  }

 private:
  void write_line(const Line& line) override {
    stream() << line.index << ',' << csv_field(line.name) << ',' << line.label
             << ',' << decimal(line.confidence, "") << ','
             << decimal(line.entropy, "") << ',' << line.verdict << ",,"
             << (line.foreign_score ? decimal(*line.foreign_score, "") : "")
             << '\n';
  }
  void write_error(int64_t index, const ImageBatch::Item& item) override {
    stream() << index << ',' << csv_field(item.name) << ",,,,,"
             << csv_field(item.error) << ",\n";
  }
};

}  // namespace

std::unique_ptr<PredictionWriter> open_prediction_writer(
    const std::string& path, const std::string& format) {
  if (format == "jsonl") return std::make_unique<JsonLines>(path);
  if (format == "csv") return std::make_unique<Csv>(path);
  fail_unknown_name("--format", format, {"jsonl", "csv"});
}

}  // namespace sotta::cli
