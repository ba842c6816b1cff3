#include "data/formats/npy_writer.h"

#include "sotta/core/error.h"

#include "core/atomic_file.h"
#include "data/formats/npy_header.h"

namespace sotta {

NpyWriter::NpyWriter(const std::filesystem::path& path, ElementType type,
                     const std::vector<int64_t>& shape)
    : path_(path),
      type_(type),
      missing_bytes_(checked_bytes(type, shape, path.string())) {
  const std::string header = make_npy_header(type, shape, path.string());
  file_ = std::make_unique<AtomicFile>(path);
  file_->write(header.data(), header.size());
}

NpyWriter::~NpyWriter() = default;

void NpyWriter::append(const Array& part) {
  require(part.type == type_, path_.string(),
          std::string("expected elements of ") + element_name(type_) +
              ", got " + element_name(part.type));
  require(part.bytes() <= missing_bytes_, path_.string(),
          "expected at most " + std::to_string(missing_bytes_) +
              " more bytes, got " + std::to_string(part.bytes()));
  file_->write(part.data.get(), static_cast<size_t>(part.bytes()));
  missing_bytes_ -= part.bytes();
}

void NpyWriter::commit() {
  require(missing_bytes_ == 0, path_.string(),
          std::to_string(missing_bytes_) + " bytes of the array are missing");
  file_->commit_durably();
}

}  // namespace sotta
