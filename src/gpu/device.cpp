#include "sotta/gpu/device.h"

#include <charconv>
#include <cstdint>

#include <ATen/Context.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/cuda.h>

#include "sotta/core/error.h"

namespace sotta {
namespace {

[[noreturn]] void fail_spelling(const std::string& text) {
  fail(ErrorKind::kInvalid, "device",
       "expected cpu, cuda or cuda:N, got \"" + text + "\"");
}

// The count's type differs between LibTorch's generations.
size_t cuda_devices() {
  return static_cast<size_t>(torch::cuda::device_count());
}

// The N of "cuda:N"; 0 for plain "cuda".
size_t cuda_index(const std::string& text) {
  const std::string prefix = "cuda";
  if (text == prefix) return 0;
  if (text.compare(0, prefix.size() + 1, prefix + ":") != 0)
    fail_spelling(text);
  const char* end = text.data() + text.size();
  size_t index = 0;
  const auto parsed =
      std::from_chars(text.data() + prefix.size() + 1, end, index);
  if (parsed.ec != std::errc() || parsed.ptr != end) fail_spelling(text);
  return index;
}

}  // namespace

at::Device parse_device(const std::string& text) {
  if (text == "cpu") return at::Device(at::kCPU);

  const size_t index = cuda_index(text);
  if (!at::Context::hasCUDART())
    fail(ErrorKind::kUnsupported, "device",
         "\"" + text + "\" needs a LibTorch built with CUDA, this one is not");
  const size_t devices = cuda_devices();
  if (index >= devices)
    fail(ErrorKind::kNotFound, "device",
         "\"" + text + "\" is not there, this machine has " +
             std::to_string(devices) + " CUDA devices");
  return at::Device(at::kCUDA, static_cast<at::DeviceIndex>(index));
}

void wait_for(at::Device device) {
  if (device.is_cpu()) return;
  const c10::impl::VirtualGuardImpl guard(device.type());
  guard.synchronizeStream(guard.getStream(device));
}

std::vector<std::string> available_devices() {
  std::vector<std::string> names = {"cpu"};
  if (at::Context::hasCUDART())
    for (size_t i = 0; i < cuda_devices(); ++i)
      names.push_back("cuda:" + std::to_string(i));
  return names;
}

bool starts_on_16_bytes(const at::Tensor& tensor) {
  return reinterpret_cast<uintptr_t>(tensor.data_ptr()) % 16 == 0;
}

Precision parse_precision(const std::string& text) {
  for (const Precision precision :
       {Precision::kFloat32, Precision::kTf32, Precision::kBfloat16})
    if (text == to_text(precision)) return precision;
  fail(ErrorKind::kInvalid, "precision",
       "expected fp32, tf32 or bf16, got \"" + text + "\"");
}

const char* to_text(Precision precision) {
  switch (precision) {
    case Precision::kFloat32:
      return "fp32";
    case Precision::kTf32:
      return "tf32";
    case Precision::kBfloat16:
      return "bf16";
  }
  return "unknown";
}

void check_precision(Precision precision, at::Device device) {
  if (precision == Precision::kTf32 && !device.is_cuda())
    fail(ErrorKind::kUnsupported, "precision",
         "tf32 is a format of GPUs, got device " + device.str());
}

}  // namespace sotta
