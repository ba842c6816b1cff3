#include "serve/protocol/infer_request.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "serve/protocol/json_input.h"

namespace sotta {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr size_t kLongestId = 256;

[[noreturn]] void refuse_as_too_large(const std::string& subject,
                                      const std::string& problem) {
  throw RequestError(HttpStatus::kTooLarge, subject, problem);
}

// Bytes of JSON at the front of the body.
size_t json_length(const std::string& body, const std::string& header_length) {
  if (header_length.empty()) return body.size();
  uint64_t length = 0;
  const char* end = header_length.data() + header_length.size();
  const auto [stop, problem] =
      std::from_chars(header_length.data(), end, length);
  if (problem != std::errc() || stop != end || length == 0 ||
      length > body.size())
    refuse("Inference-Header-Content-Length", "expected 1 to " +
                                                  std::to_string(body.size()) +
                                                  ", the bytes of the body");
  return static_cast<size_t>(length);
}

// Triton's clients send numbers or strings; 0 and "" stand for no sequence.
std::string stream_name(const Json& parameters) {
  const auto found = parameters.find("sequence_id");
  if (found == parameters.end()) return "";
  if (found->is_number_unsigned()) {
    const auto number = found->get<uint64_t>();
    return number == 0 ? "" : std::to_string(number);
  }
  if (!found->is_string())
    refuse("sequence_id", "expected a string or a whole number of at least 0");
  const auto name = found->get<std::string>();
  if (!name.empty()) check_stream_name(name);
  return name;
}

void read_parameters(const Json& parameters, InferRequest& request) {
  check_keys(parameters, "parameters",
             {"sequence_id", "sequence_start", "sequence_end", "seq", "adapt",
              "reset", "timeout", "priority", "binary_data_output"});
  request.stream = stream_name(parameters);
  if (parameters.contains("seq"))
    request.seq = read_integer(parameters, "seq", 0, kMost - 1, 0);
  request.adapt = read_bool(parameters, "adapt", true);
  request.reset = read_bool(parameters, "reset", false);
  read_bool(parameters, "sequence_start", false);  // a known one continues
  request.sequence_end = read_bool(parameters, "sequence_end", false);
  request.timeout_us =
      read_integer(parameters, "timeout", 0, kMost / 1000, 0);  // nanoseconds
}

TensorType parse_type(const std::string& name) {
  if (name == "UINT8") return TensorType::kUint8;
  if (name == "FP32") return TensorType::kFloat32;
  if (name == "BYTES") return TensorType::kBytes;
  refuse("datatype", "expected UINT8, FP32 or BYTES");
}

std::vector<int64_t> read_shape(const Json& input, const RequestLimits& limits,
                                TensorType type) {
  const auto found = input.find("shape");
  if (found == input.end() || !found->is_array())
    refuse("shape", "expected a list of whole numbers");
  const bool files = type == TensorType::kBytes;
  const size_t dims = found->size();
  if (files ? dims < 1 || dims > 2 : dims != 4)
    refuse("shape",
           files ? "expected [N] or [N, 1] of BYTES" : "expected [N, C, H, W]");
  std::vector<int64_t> shape;
  for (const Json& extent : *found) {
    if (!extent.is_number_integer() ||
        (extent.is_number_unsigned() && extent.get<uint64_t>() > kMost) ||
        extent.get<int64_t>() < 1)
      refuse("shape", "expected whole numbers of at least 1");
    shape.push_back(extent.get<int64_t>());
  }
  if (files && dims == 2 && shape[1] != 1)
    refuse("shape", "expected [N] or [N, 1] of BYTES");
  if (shape[0] > limits.images)
    refuse_as_too_large("shape", "expected at most " +
                                     std::to_string(limits.images) + " images");
  if (files) return shape;
  if (shape[2] > limits.pixels / shape[3])
    refuse_as_too_large("shape", "expected images of at most " +
                                     std::to_string(limits.pixels) + " pixels");
  return shape;
}

// Of images, not of files. The product stays below body_bytes at every step.
int64_t elements_of(const InputTensor& tensor, const RequestLimits& limits) {
  int64_t count = 1;
  for (const int64_t extent : tensor.shape) {
    if (extent > limits.body_bytes / count)
      refuse_as_too_large("shape", "expected images of at most " +
                                       std::to_string(limits.body_bytes) +
                                       " bytes");
    count *= extent;
  }
  return count;
}

int64_t element_bytes(TensorType type) {
  return type == TensorType::kFloat32 ? 4 : 1;
}

void append_number(const Json& value, TensorType type, std::string& data) {
  if (type == TensorType::kUint8) {
    if (!value.is_number_integer() || value.get<int64_t>() < 0 ||
        value.get<int64_t>() > 255)
      refuse("data", "expected whole numbers from 0 to 255 as UINT8");
    data.push_back(static_cast<char>(value.get<int64_t>()));
    return;
  }
  if (!value.is_number()) refuse("data", "expected numbers as FP32");
  const auto number = static_cast<float>(value.get<double>());
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  data.append(bytes, sizeof bytes);
}

// The protocol lets a tensor be flat or nested as its shape is.
void append_numbers(const Json& values, int64_t wanted, InputTensor& tensor) {
  for (const Json& value : values) {
    if (value.is_array())
      append_numbers(value, wanted, tensor);
    else if (static_cast<int64_t>(tensor.data.size()) < wanted)
      append_number(value, tensor.type, tensor.data);
    else
      refuse("data", "expected no more numbers than the shape says");
  }
}

void read_json_data(const Json& input, InputTensor& tensor,
                    const RequestLimits& limits) {
  const auto found = input.find("data");
  if (found == input.end() || !found->is_array())
    refuse("data", "expected a list of numbers, or binary_data_size");
  if (tensor.type == TensorType::kBytes)
    refuse("data", "expected BYTES as binary data, with binary_data_size");
  const int64_t wanted =
      elements_of(tensor, limits) * element_bytes(tensor.type);
  append_numbers(*found, wanted, tensor);
  if (static_cast<int64_t>(tensor.data.size()) != wanted)
    refuse("data", "expected as many numbers as the shape says");
}

void read_binary_data(const Json& parameters, std::string binary,
                      InputTensor& tensor, const RequestLimits& limits) {
  const auto rest = static_cast<int64_t>(binary.size());
  const int64_t size =
      read_integer(parameters, "binary_data_size", 0, kMost, 0);
  if (size != rest)
    refuse("binary_data_size",
           "expected " + std::to_string(rest) + ", the bytes after the JSON");
  if (tensor.type != TensorType::kBytes &&
      size != elements_of(tensor, limits) * element_bytes(tensor.type))
    refuse("binary_data_size", "expected the bytes that the shape says");
  tensor.data = std::move(binary);
}

InputTensor read_input(const Json& inputs, std::string binary,
                       const RequestLimits& limits) {
  if (!inputs.is_array() || inputs.size() != 1)
    refuse("inputs", "expected one tensor");
  const Json& input = inputs.front();
  check_keys(input, "inputs",
             {"name", "datatype", "shape", "data", "parameters"});
  if (read_text(input, "name") != kInputName)
    refuse("inputs", "expected a tensor named \"images\"");
  InputTensor tensor;
  tensor.type = parse_type(read_text(input, "datatype"));
  tensor.shape = read_shape(input, limits, tensor.type);
  const Json none = Json::object();
  const Json& parameters = find_or(input, "parameters", none);
  // How a client of MLServer has made the data; datatype and shape say more.
  check_keys(parameters, "parameters of the input",
             {"binary_data_size", "content_type"});
  read_text(parameters, "content_type");
  if (parameters.contains("binary_data_size")) {
    if (input.contains("data"))
      refuse("data", "expected it or binary_data_size, got both");
    read_binary_data(parameters, std::move(binary), tensor, limits);
  } else {
    if (!binary.empty())
      refuse("binary_data_size",
             "expected it, as there are bytes after the JSON");
    read_json_data(input, tensor, limits);
  }
  return tensor;
}

OutputRequest read_output(const Json& output, bool binary) {
  check_keys(output, "outputs", {"name", "parameters"});
  OutputRequest wanted{read_text(output, "name"), binary, 0};
  const bool known = std::any_of(
      std::begin(kOutputs), std::end(kOutputs),
      [&](const OutputForm& form) { return wanted.name == form.name; });
  if (!known)
    refuse("outputs", "expected logits, label, confidence or verdict");
  const Json none = Json::object();
  const Json& parameters = find_or(output, "parameters", none);
  check_keys(parameters, "parameters of the output",
             {"binary_data", "classification"});
  wanted.binary = read_bool(parameters, "binary_data", binary);
  wanted.classification =
      read_integer(parameters, "classification", 0, kMost, 0);
  if (wanted.classification > 0 && wanted.name != kLogits)
    refuse("classification", "expected it with logits alone");
  return wanted;
}

void read_outputs(const Json& document, InferRequest& request) {
  const Json nothing = Json::object(), no_outputs = Json::array();
  const bool binary = read_bool(find_or(document, "parameters", nothing),
                                "binary_data_output", false);
  const Json& outputs = find_or(document, "outputs", no_outputs);
  if (!outputs.is_array() || outputs.size() > std::size(kOutputs))
    refuse("outputs",
           "expected a list of at most " + std::to_string(std::size(kOutputs)));
  for (const Json& output : outputs)
    request.outputs.push_back(read_output(output, binary));
  if (outputs.empty())
    for (const OutputForm& form : kOutputs)
      request.outputs.push_back({form.name, binary, 0});
}

// Paths and headers may hold anything.
bool is_utf8(const std::string& text) {
  try {
    Json(text).dump();
    return true;
  } catch (const Json::type_error&) {
    return false;
  }
}

}  // namespace

void check_stream_name(const std::string& name) {
  const bool printable = std::none_of(
      name.begin(), name.end(),
      [](unsigned char letter) { return letter < 0x20 || letter == 0x7f; });
  if (name.empty() || name.size() > kLongestStreamName || !printable ||
      !is_utf8(name))
    refuse("stream", "expected a name of 1 to " +
                         std::to_string(kLongestStreamName) +
                         " bytes of UTF-8 without control characters");
}

InferRequest parse_infer_request(std::string body,
                                 const std::string& header_length,
                                 const RequestLimits& limits) {
  if (static_cast<int64_t>(body.size()) > limits.body_bytes)
    refuse_as_too_large("request", "expected a body of at most " +
                                       std::to_string(limits.body_bytes) +
                                       " bytes");
  const size_t length = json_length(body, header_length);
  if (static_cast<int64_t>(length) > limits.json_bytes)
    refuse_as_too_large(
        "request", "expected at most " + std::to_string(limits.json_bytes) +
                       " bytes of JSON, send images as binary data");
  const Json document = parse_client_json(
      std::string_view(body).substr(0, length), limits.json_depth);
  body.erase(0, length);
  check_keys(document, "request", {"id", "parameters", "inputs", "outputs"});
  InferRequest request;
  request.id = read_text(document, "id");
  if (request.id.size() > kLongestId)
    refuse("id", "expected at most " + std::to_string(kLongestId) + " bytes");
  const Json nothing = Json::object();
  read_parameters(find_or(document, "parameters", nothing), request);
  request.images =
      read_input(find_or(document, "inputs", nothing), std::move(body), limits);
  read_outputs(document, request);
  return request;
}

}  // namespace sotta
