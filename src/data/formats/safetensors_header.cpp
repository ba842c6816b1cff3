#include "data/formats/safetensors_header.h"

#include <limits>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "sotta/core/error.h"

#include "data/formats/printable.h"

namespace sotta {
namespace {

using Json = nlohmann::json;

constexpr const char* kMetadataKey = "__metadata__";
constexpr size_t kMostDimensions = 64;

// Receives the header piece by piece. A document tree would be simpler, but it
// hides keys given twice and may take many times the memory of the text.
class HeaderReader : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderReader(const std::string& subject) : subject_(subject) {}

  SafetensorsHeader take() { return std::move(header_); }

  bool start_object(size_t) override {
    if (place_ == Place::kOutside)
      place_ = Place::kTop;
    else if (place_ == Place::kTop)
      enter(key_);
    else
      fail_at_value("an object");
    return true;
  }

  bool key(std::string& name) override {
    if (place_ == Place::kTop && !names_.insert(name).second)
      fail_here("the name " + printable(name) + " is given twice");
    if (place_ == Place::kMetadata && header_.metadata.count(name) > 0)
      fail_here("the name " + printable(name) + " is given twice");
    if (place_ == Place::kTensor && !fields_left_.erase(name))
      fail_here("expected dtype, shape and data_offsets once each, got " +
                printable(name));
    key_ = std::move(name);
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kTensor && !fields_left_.empty())
      fail_here("expected dtype, shape and data_offsets, but " +
                *fields_left_.begin() + " is missing");
    place_ = place_ == Place::kTop ? Place::kOutside : Place::kTop;
    return true;
  }

  bool string(std::string& value) override {
    if (place_ == Place::kMetadata)
      header_.metadata[key_] = std::move(value);
    else if (place_ == Place::kTensor && key_ == "dtype")
      header_.tensors.back().type_code = std::move(value);
    else
      fail_at_value("a text");
    return true;
  }

  bool start_array(size_t) override {
    if (place_ != Place::kTensor || key_ == "dtype") fail_at_value("a list");
    place_ = Place::kNumbers;
    numbers_.clear();
    return true;
  }

  bool number_unsigned(uint64_t value) override {
    if (place_ != Place::kNumbers) fail_at_value("a number");
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      fail_at_value(std::to_string(value));
    if (numbers_.size() == kMostDimensions)
      fail_here("expected at most 64 numbers in a list");
    numbers_.push_back(static_cast<int64_t>(value));
    return true;
  }

  bool end_array() override {
    TensorEntry& tensor = header_.tensors.back();
    if (key_ == "shape") {
      tensor.shape = numbers_;
    } else {
      if (numbers_.size() != 2 || numbers_[0] > numbers_[1])
        fail_here("expected data_offsets [begin, end], got " +
                  shape_text(numbers_));
      tensor.begin = static_cast<uint64_t>(numbers_[0]);
      tensor.end = static_cast<uint64_t>(numbers_[1]);
    }
    place_ = Place::kTensor;
    return true;
  }

  bool number_integer(int64_t value) override {
    fail_at_value(std::to_string(value));
  }
  bool number_float(double, const std::string& text) override {
    fail_at_value(printable(text));
  }
  bool null() override { fail_at_value("null"); }
  bool boolean(bool) override { fail_at_value("true or false"); }
  bool binary(Json::binary_t&) override { fail_at_value("binary data"); }

  bool parse_error(size_t position, const std::string&,
                   const Json::exception&) override {
    fail(ErrorKind::kBadFormat, subject_,
         "the header is not valid JSON in UTF-8 at byte " +
             std::to_string(position));
  }

 private:
  enum class Place { kOutside, kTop, kTensor, kMetadata, kNumbers };

  void enter(const std::string& name) {
    if (name == kMetadataKey) {
      place_ = Place::kMetadata;
      return;
    }
    place_ = Place::kTensor;
    fields_left_ = {"dtype", "shape", "data_offsets"};
    header_.tensors.emplace_back();
    header_.tensors.back().name = name;
  }

  [[noreturn]] void fail_here(const std::string& problem) const {
    const bool in_tensor =
        place_ == Place::kTensor || place_ == Place::kNumbers;
    fail(ErrorKind::kBadFormat, subject_,
         in_tensor ? "tensor " + printable(header_.tensors.back().name) + ": " +
                         problem
                   : problem);
  }

  [[noreturn]] void fail_at_value(const std::string& found) const {
    switch (place_) {
      case Place::kOutside:
        fail_here("expected an object as the header, got " + found);
      case Place::kTop:
        fail_here("expected an object for " + printable(key_) + ", got " +
                  found);
      case Place::kMetadata:
        fail_here("expected text for metadata " + printable(key_) + ", got " +
                  found);
      case Place::kTensor:
        fail_here("expected " +
                  std::string(key_ == "dtype" ? "text" : "a list") + " as " +
                  key_ + ", got " + found);
      case Place::kNumbers:
        break;
    }
    fail_here("expected whole numbers from 0 to 2^63 - 1 in " + key_ +
              ", got " + found);
  }

  const std::string& subject_;
  SafetensorsHeader header_;
  Place place_ = Place::kOutside;
  std::string key_;
  std::set<std::string> names_;
  std::set<std::string> fields_left_;
  std::vector<int64_t> numbers_;
};

std::string quoted(const std::string& text, const std::string& subject) {
  try {
    return Json(text).dump();
  } catch (const Json::type_error&) {
    fail(ErrorKind::kInvalid, subject,
         "expected names and metadata in UTF-8, got " + printable(text));
  }
}

std::string tensor_text(const TensorEntry& tensor) {
  std::string shape;
  for (const int64_t extent : tensor.shape)
    shape += (shape.empty() ? "" : ",") + std::to_string(extent);
  return "{\"dtype\":\"" + tensor.type_code + "\",\"shape\":[" + shape +
         "],\"data_offsets\":[" + std::to_string(tensor.begin) + "," +
         std::to_string(tensor.end) + "]}";
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json,
                                           const std::string& subject) {
  HeaderReader reader(subject);
  Json::sax_parse(json.data(), json.data() + json.size(), &reader);
  return reader.take();
}

std::string make_safetensors_header(const SafetensorsHeader& header,
                                    const std::string& subject) {
  std::string metadata, tensors;
  for (const auto& [name, value] : header.metadata)
    metadata += (metadata.empty() ? "" : ",") + quoted(name, subject) + ":" +
                quoted(value, subject);
  for (const auto& tensor : header.tensors) {
    require(tensor.name != kMetadataKey, subject,
            "expected no tensor of the reserved name \"__metadata__\"");
    tensors += (tensors.empty() ? "" : ",") + quoted(tensor.name, subject) +
               ":" + tensor_text(tensor);
  }
  if (header.metadata.empty()) return "{" + tensors + "}";
  return std::string("{\"") + kMetadataKey + "\":{" + metadata + "}" +
         (tensors.empty() ? "" : ",") + tensors + "}";
}

}  // namespace sotta
