// RMSNorm of 16384 rows of 4096 columns, with a kernel that is part of the program.

#include "rms_norm.hpp"

#include <cuda.h>

#include <cstdio>
#include <cstdlib>

static void *allocate(std::size_t bytes) {
  CUdeviceptr address = 0;
  if (cuMemAlloc(&address, bytes) != CUDA_SUCCESS) {
    std::fprintf(stderr, "out of device memory\n");
    std::exit(1);
  }
  return reinterpret_cast<void *>(address);
}

int main() {
  CUdevice device;
  CUcontext context;
  if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS ||
      cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS || cuCtxSetCurrent(context) != CUDA_SUCCESS) {
    std::fprintf(stderr, "no GPU\n");
    return 1;
  }
  const std::int64_t rows = 16384, columns = 4096;
  norma::tensor x(allocate(rows * columns * 2), norma::dtype::bf16, {rows, columns});
  norma::tensor w(allocate(columns * 2), norma::dtype::bf16, {columns});
  norma::tensor y(allocate(rows * columns * 2), norma::dtype::bf16, {rows, columns});
  try {
    norma::rms_norm(x, w, y, /*stream=*/nullptr);
    // A tensor that the kernel is not made for is refused.
    norma::rms_norm(x, x, y);
  } catch (const norma::error &error) {
    std::printf("refused: %s\n", error.what());
  }
  if (cuStreamSynchronize(nullptr) != CUDA_SUCCESS) {
    std::fprintf(stderr, "the kernel failed\n");
    return 1;
  }
  std::printf("done\n");
}
