/* Launches RMSNorm from a bundle in a folder that `normac examples/rms_norm.mlir -o FOLDER` wrote. */

#include <norma/runtime.h>

#include <cuda.h>

#include <stdio.h>

static int failed(const char *what) {
  fprintf(stderr, "%s: %s\n", what, norma_last_error());
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  norma_bundle *bundle;
  norma_function *rms_norm;
  if (norma_bundle_open(argv[1], &bundle) != NORMA_STATUS_OK)
    return failed("cannot open the bundle");
  if (norma_function_get(bundle, "rms_norm", &rms_norm) != NORMA_STATUS_OK)
    return failed("cannot find the function");
  norma_bundle_close(bundle);

  const int64_t rows = 16384, columns = 4096;
  CUcontext context;
  CUdeviceptr memory[3] = {0, 0, 0};
  cuInit(0);
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  cuMemAlloc(&memory[0], rows * columns * 2);
  cuMemAlloc(&memory[1], columns * 2);
  cuMemAlloc(&memory[2], rows * columns * 2);

  const int64_t shape[] = {rows, columns};
  const norma_device gpu = {2, 0};
  const norma_dtype bf16 = {4, 16, 1};
  /* There are no strides, because the tensors are dense. A DLTensor has the same layout. */
  const norma_tensor x = {(void *)memory[0], gpu, 2, bf16, shape, NULL, 0};
  const norma_tensor w = {(void *)memory[1], gpu, 1, bf16, shape + 1, NULL, 0};
  const norma_tensor y = {(void *)memory[2], gpu, 2, bf16, shape, NULL, 0};
  const norma_tensor *const tensors[] = {&x, &w, &y};
  if (norma_function_launch(rms_norm, tensors, 3, NULL, 0, /*stream=*/NULL) != NORMA_STATUS_OK)
    return failed("cannot launch");
  cuStreamSynchronize(NULL);
  norma_function_free(rms_norm);
  puts("done");
  return 0;
}
