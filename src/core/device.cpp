// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
//
// We link LibTorch's CPU half alone. Its CUDA half is loaded from beside it when a GPU is asked
// for, so one build serves machines with and without one, and programs for the CPU do not pay its
// start-up (0.2 s, 350 MB).

#include <ATen/Context.h>
#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "core/model.h"

namespace cupel::core {
namespace {

/// Why CUDA can't be used, or "". Loads the CUDA half at the first call. LibTorch asks for its CUDA
/// hooks once and keeps the answer: nothing may ask before.
const std::string& cuda_problem() {
  static const std::string problem = []() -> std::string {
    if (!dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL))
      return "no NVIDIA driver (libcuda.so.1) is installed";
    Dl_info place{};
    if (!dladdr(reinterpret_cast<const void*>(&at::globalContext), &place) || !place.dli_fname)
      return "the place of libtorch_cpu.so is not known";
    const auto path = std::filesystem::path(place.dli_fname).parent_path() / "libtorch_cuda.so";
    if (!dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL))
      return cat("the CUDA half of LibTorch failed to load: ", dlerror());
    if (!at::hasCUDA()) return "LibTorch finds no usable GPU";
    return "";
  }();
  return problem;
}

}  // namespace

at::ScalarType scalar_type(std::string_view name) {
  if (name == "float32") return at::kFloat;
  if (name == "bfloat16") return at::kBFloat16;
  if (name == "float16") return at::kHalf;
  fail(Fault::user, "unknown number type '", name, "' (known: float32, bfloat16, float16)");
}

std::string_view scalar_type_name(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return "float32";
    case at::kBFloat16:
      return "bfloat16";
    case at::kHalf:
      return "float16";
    case at::kDouble:
      return "float64";
    default:
      return c10::toString(type);
  }
}

at::Device device_from_name(std::string_view name) {
  if (name == "cpu") return at::kCPU;
  if (name == "auto")
    return cuda_problem().empty() ? at::Device(at::kCUDA, 0) : at::Device(at::kCPU);
  const bool indexed = name.starts_with("cuda:");
  CUPEL_CHECK(name == "cuda" || indexed, user, "unknown device '", name,
              "' (known: auto, cpu, cuda, cuda:N)");
  int index = 0;
  if (indexed) {
    const std::string_view digits = name.substr(5);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    CUPEL_CHECK(error == std::errc() && end == digits.data() + digits.size() && index >= 0, user,
                "the device '", name, "' has no number behind the colon");
  }
  CUPEL_CHECK(cuda_problem().empty(), environment, "the device '", name,
              "' can't be used: ", cuda_problem());
  const int count = static_cast<int>(at::detail::getCUDAHooks().deviceCount());
  CUPEL_CHECK(index < count, environment, "there is no device '", name, "': this machine has ",
              count, " GPU(s)");
  return at::Device(at::kCUDA, static_cast<at::DeviceIndex>(index));
}

void set_deterministic() {
  // cuBLAS reads it when it makes its handle; without it, it sums in an order that depends on other
  // streams.
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
  at::globalContext().setDeterministicFillUninitializedMemory(false);
}

}  // namespace cupel::core
