#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sotta {

// What a request may ask for at most. Everything is compared before memory is
// taken for it.
struct RequestLimits {
  int64_t body_bytes = int64_t{64} << 20;
  // Of the JSON part: a number takes 16 bytes once it is read.
  int64_t json_bytes = int64_t{8} << 20;
  int64_t json_depth = 16;
  int64_t images = 4096;
  int64_t pixels = int64_t{1} << 24;  // of one image
};

// Element types of the Open Inference Protocol that images may come in.
enum class TensorType {
  kUint8,    // "UINT8": pixels 0 to 255
  kFloat32,  // "FP32": pixels 0 to 1
  kBytes,    // "BYTES": each element a JPEG or PNG file
};

struct InputTensor {
  TensorType type = TensorType::kUint8;
  std::vector<int64_t> shape;  // [N, C, H, W]; [N] or [N, 1] of files

  // C order, little-endian; of files, each after its length in 4 bytes.
  std::string data;
};

// One of kOutputs, and how it is wanted.
struct OutputRequest {
  std::string name;
  bool binary = false;
  int64_t classification = 0;  // the best so many classes as text; 0: numbers
};

// A request of the Open Inference Protocol v2 with Triton's extensions for
// binary tensors, sequences and classification, and our own `adaptation`.
struct InferRequest {
  std::string id;
  std::string stream;  // sequence_id; empty: the source model answers
  std::optional<int64_t> seq;
  bool adapt = true;
  bool reset = false;
  bool sequence_end = false;
  int64_t timeout_us = 0;  // 0: none
  InputTensor images;
  std::vector<OutputRequest> outputs;  // all of kOutputs if none is named
};

constexpr const char* kModelVersion = "1";  // of every model
constexpr const char* kInputName = "images";

struct OutputForm {
  const char* name;
  const char* datatype;
};
constexpr const char* kLogits = "logits";  // [N, classes]; the others are [N]
constexpr OutputForm kOutputs[] = {{kLogits, "FP32"},
                                   {"label", "INT64"},
                                   {"confidence", "FP32"},
                                   {"verdict", "BYTES"}};

// The longest name of a stream, in bytes: escaped, it is the name of a folder.
constexpr size_t kLongestStreamName = 80;

// Throws RequestError(kBadRequest) unless it is 1 to kLongestStreamName bytes
// of UTF-8 without control characters.
void check_stream_name(const std::string& name);

// Reads a body. `header_length` is the text of the header field
// Inference-Header-Content-Length: where the JSON ends and binary data begins;
// empty if there is none. Throws RequestError: kTooLarge beyond a limit,
// kBadRequest for anything else that does not fit.
InferRequest parse_infer_request(std::string body,
                                 const std::string& header_length,
                                 const RequestLimits& limits);

}  // namespace sotta
