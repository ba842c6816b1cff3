#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "sotta/adapt/prediction.h"
#include "sotta/adapt/verdict.h"

#include "image_input.h"

namespace sotta::cli {

// Writes what was predicted, a line per image, as it comes. An image that could
// not be read has a line too, which says why.
class PredictionWriter {
 public:
  virtual ~PredictionWriter() = default;

  // Prediction and verdicts are those of the images that could be read.
  void write(const std::vector<ImageBatch::Item>& items,
             const Prediction& prediction, const std::vector<Verdict>& verdicts,
             const std::vector<float>& foreign_scores = {});

  // The lines have reached the disk when it returns, before any state that was
  // learnt with them. Throws Error(kIo) if anything could not be written.
  void close();

 protected:
  struct Line {
    int64_t index;  // in the run, from 0
    const std::string& name;
    int64_t label;
    double confidence;
    double entropy;
    const char* verdict;
    const float* foreign_score;  // none if the method has no screen
  };

  explicit PredictionWriter(const std::string& path);
  std::ostream& stream() { return *stream_; }

 private:
  virtual void write_line(const Line& line) = 0;
  virtual void write_error(int64_t index, const ImageBatch::Item& item) = 0;
  void check() const;

  std::string path_;
  std::shared_ptr<std::ostream> stream_;
  int64_t lines_ = 0;
};

// `format` is "jsonl" or "csv"; `path` "-" is standard output. Throws
// Error(kInvalid) for another format, Error(kIo) if the file cannot be made.
std::unique_ptr<PredictionWriter> open_prediction_writer(
    const std::string& path, const std::string& format);

}  // namespace sotta::cli
