#include "sotta/data/safetensors.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "sotta/core/error.h"

#include "core/atomic_file.h"
#include "data/formats/mapped_file.h"
#include "data/formats/printable.h"
#include "data/formats/safetensors_header.h"

namespace sotta {
namespace {

constexpr size_t kLengthSize = 8;
// The reference reader's limit. A real header takes about 100 bytes a tensor.
constexpr uint64_t kLongestHeader = 100'000'000;

const char* type_code(ElementType type) {
  switch (type) {
    case ElementType::kUint8:
      return "U8";
    case ElementType::kInt64:
      return "I64";
    case ElementType::kFloat32:
      return "F32";
    case ElementType::kFloat16:
      return "F16";
    case ElementType::kBfloat16:
      return "BF16";
  }
  return "";
}

ElementType element_type(const TensorEntry& tensor,
                         const std::string& subject) {
  for (const auto type :
       {ElementType::kFloat32, ElementType::kFloat16, ElementType::kBfloat16,
        ElementType::kUint8, ElementType::kInt64})
    if (tensor.type_code == type_code(type)) return type;
  fail(ErrorKind::kUnsupported, subject,
       "expected F32, F16, BF16, U8 or I64 as the type of tensor " +
           printable(tensor.name) + ", got " + printable(tensor.type_code));
}

uint64_t read_length(const SharedBytes& file, const std::string& subject) {
  if (file.size < kLengthSize)
    fail(ErrorKind::kBadFormat, subject,
         "expected a safetensors file of at least 8 bytes, got " +
             std::to_string(file.size));
  uint64_t length = 0;
  for (size_t i = 0; i < kLengthSize; ++i)
    length |= std::to_integer<uint64_t>(file.data.get()[i]) << (8 * i);
  if (length > std::min<uint64_t>(file.size - kLengthSize, kLongestHeader))
    fail(ErrorKind::kBadFormat, subject,
         "expected a safetensors header within the file's " +
             std::to_string(file.size) + " bytes (and 100 MB), got one of " +
             std::to_string(length) + " bytes");
  return length;
}

// The format wants the tensors to fill the rest of the file without overlaps
// and holes, so that nothing can hide between them.
void check_layout(std::vector<TensorEntry> tensors, uint64_t size,
                  const std::string& subject) {
  std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  uint64_t position = 0;
  for (const auto& tensor : tensors) {
    if (tensor.begin != position)
      fail(ErrorKind::kBadFormat, subject,
           "expected tensor " + printable(tensor.name) + " to begin at byte " +
               std::to_string(position) + " of the data, got " +
               std::to_string(tensor.begin) +
               (tensor.begin < position ? " (an overlap)" : " (a hole)"));
    position = tensor.end;
  }
  if (position != size)
    fail(ErrorKind::kBadFormat, subject,
         "expected " + std::to_string(position) +
             " bytes of data after the header, got " + std::to_string(size));
}

ElementType check_size(const TensorEntry& tensor, const std::string& subject) {
  const ElementType type = element_type(tensor, subject);
  const int64_t expected = checked_bytes(type, tensor.shape, subject);
  const uint64_t found = tensor.end - tensor.begin;
  if (static_cast<uint64_t>(expected) != found)
    fail(ErrorKind::kBadFormat, subject,
         "expected " + std::to_string(expected) + " bytes for tensor " +
             printable(tensor.name) + " of " + element_name(type) +
             shape_text(tensor.shape) + ", got " + std::to_string(found));
  return type;
}

using MakeArray = Array (*)(const SharedBytes&, size_t, ElementType,
                            std::vector<int64_t>);

TensorFile parse(const SharedBytes& file, const std::string& subject,
                 MakeArray make_array) {
  const size_t length = read_length(file, subject);
  const std::string_view json(
      reinterpret_cast<const char*>(file.data.get()) + kLengthSize, length);
  if (json.substr(0, 1) != "{")
    fail(ErrorKind::kBadFormat, subject,
         "expected a safetensors file, but its header does not begin with {");
  SafetensorsHeader header = parse_safetensors_header(json, subject);
  const size_t payload = kLengthSize + length;
  check_layout(header.tensors, file.size - payload, subject);
  TensorFile content;
  for (auto& tensor : header.tensors) {
    const ElementType type = check_size(tensor, subject);
    content.tensors[tensor.name] =
        make_array(file, payload + tensor.begin, type, std::move(tensor.shape));
  }
  content.metadata = std::move(header.metadata);
  return content;
}

// The tensors in the order of the file: large elements first, so that each
// one is aligned without holes; then by name.
std::vector<TensorEntry> lay_out(const TensorFile& content,
                                 const std::string& subject) {
  std::vector<std::pair<int64_t, TensorEntry>> sorted;
  for (const auto& [name, array] : content.tensors)
    sorted.push_back({-element_size(array.type),
                      {name, type_code(array.type), array.shape, 0, 0}});
  std::stable_sort(
      sorted.begin(), sorted.end(),
      [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<TensorEntry> tensors;
  uint64_t position = 0;
  for (auto& [order, tensor] : sorted) {
    const Array& array = content.tensors.at(tensor.name);
    tensor.begin = position;
    position +=
        static_cast<uint64_t>(checked_bytes(array.type, array.shape, subject));
    tensor.end = position;
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

// What a file begins with: the length of the header, and the header.
std::string front_bytes(const SafetensorsHeader& header,
                        const std::string& subject) {
  std::string json = make_safetensors_header(header, subject);
  json.append((8 - json.size() % 8) % 8, ' ');
  std::string front;
  for (size_t i = 0; i < kLengthSize; ++i)
    front.push_back(static_cast<char>(json.size() >> (8 * i) & 0xff));
  return front + json;
}

}  // namespace

TensorFile parse_safetensors(const std::byte* data, size_t size,
                             const std::string& subject) {
  return parse(borrow_bytes(data, size), subject, copy_array_at);
}

TensorFile parse_safetensors(const std::shared_ptr<const std::byte>& data,
                             size_t size, const std::string& subject) {
  return parse({data, size}, subject, array_at);
}

TensorFile read_safetensors(const std::filesystem::path& path) {
  return parse(map_file(path), path.string(), array_at);
}

std::string safetensors_bytes(const TensorFile& content,
                              const std::string& subject) {
  const SafetensorsHeader header{lay_out(content, subject), content.metadata};
  std::string bytes = front_bytes(header, subject);
  for (const auto& tensor : header.tensors)
    bytes.append(content.tensors.at(tensor.name).as<char>(),
                 static_cast<size_t>(tensor.end - tensor.begin));
  return bytes;
}

void write_safetensors(const std::filesystem::path& path,
                       const TensorFile& content) {
  const SafetensorsHeader header{lay_out(content, path.string()),
                                 content.metadata};
  const std::string front = front_bytes(header, path.string());
  AtomicFile file(path);
  file.write(front.data(), front.size());
  for (const auto& tensor : header.tensors)
    file.write(content.tensors.at(tensor.name).data.get(),
               static_cast<size_t>(tensor.end - tensor.begin));
  file.commit_durably();
}

}  // namespace sotta
