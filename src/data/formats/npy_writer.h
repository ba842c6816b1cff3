#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "sotta/data/array.h"

namespace sotta {

class AtomicFile;

// Writes a .npy file piece by piece, for arrays that are larger than memory.
// The file appears under its name when it is whole; before, and when the object
// dies without commit(), nothing is there.
class NpyWriter {
 public:
  // Throws Error(kUnsupported) for element types that read_npy does not take,
  // Error(kIo) when the system refuses, here and below.
  NpyWriter(const std::filesystem::path& path, ElementType type,
            const std::vector<int64_t>& shape);
  ~NpyWriter();
  NpyWriter(const NpyWriter&) = delete;
  NpyWriter& operator=(const NpyWriter&) = delete;

  // The next elements in C order. Throws Error(kInvalid) for another type, or
  // more of them than the shape has room for.
  void append(const Array& part);

  // Throws Error(kInvalid) if elements are missing.
  void commit();

 private:
  std::filesystem::path path_;
  ElementType type_;
  int64_t missing_bytes_;
  std::unique_ptr<AtomicFile> file_;
};

}  // namespace sotta
