/* Softmax of rows whose columns are divided among the GPUs of one machine, which exchange their states by NCCL: launches the functions of
   a bundle in a folder that `normac softmax --shape m,8192 --dtype bf16 --devices 2 -o FOLDER` wrote. */

#include <norma/runtime.h>

#include <cuda.h>
#include <nccl.h>

#include <stdio.h>

enum { DEVICES = 2, ROWS = 16384, COLUMNS = 8192 / DEVICES };

/* What one GPU has: its columns, and the states that it computes and is told, of two numbers for each row. */
typedef struct {
  CUcontext context;
  CUstream stream;
  CUdeviceptr x, y, state, states;
} gpu;

static int failed(const char *what) {
  fprintf(stderr, "%s: %s\n", what, norma_last_error());
  return 1;
}

static int prepare(gpu *own, int device) {
  cuDevicePrimaryCtxRetain(&own->context, device);
  cuCtxSetCurrent(own->context);
  cuStreamCreate(&own->stream, CU_STREAM_NON_BLOCKING);
  cuMemAlloc(&own->x, (size_t)ROWS * COLUMNS * 2);
  cuMemAlloc(&own->y, (size_t)ROWS * COLUMNS * 2);
  cuMemAlloc(&own->state, (size_t)2 * ROWS * 4);
  return cuMemAlloc(&own->states, (size_t)DEVICES * 2 * ROWS * 4) != CUDA_SUCCESS;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  norma_bundle *bundle;
  norma_function *partial, *rest;
  if (norma_bundle_open(argv[1], &bundle) != NORMA_STATUS_OK)
    return failed("cannot open the bundle");
  if (norma_function_get(bundle, "softmax_partial", &partial) != NORMA_STATUS_OK ||
      norma_function_get(bundle, "softmax_rest", &rest) != NORMA_STATUS_OK)
    return failed("cannot find the function");
  norma_bundle_close(bundle);

  gpu gpus[DEVICES];
  ncclComm_t communicators[DEVICES];
  cuInit(0);
  for (int device = 0; device < DEVICES; ++device) {
    if (prepare(&gpus[device], device)) {
      fprintf(stderr, "cannot use GPU %d\n", device);
      return 1;
    }
  }
  /* Without a list of devices these are the first ones, in order. */
  if (ncclCommInitAll(communicators, DEVICES, NULL) != ncclSuccess) {
    fprintf(stderr, "cannot connect the GPUs\n");
    return 1;
  }

  const int64_t columns[] = {ROWS, COLUMNS}, of_one[] = {2, ROWS}, of_all[] = {DEVICES, 2, ROWS};
  const norma_dtype bf16 = {4, 16, 1}, f32 = {2, 32, 1};
  for (int device = 0; device < DEVICES; ++device) {
    const gpu *own = &gpus[device];
    const norma_device place = {2, device};
    const norma_tensor x = {(void *)own->x, place, 2, bf16, columns, NULL, 0};
    const norma_tensor state = {(void *)own->state, place, 2, f32, of_one, NULL, 0};
    const norma_tensor *const tensors[] = {&x, &state};
    if (norma_function_launch(partial, tensors, 2, NULL, 0, own->stream) != NORMA_STATUS_OK)
      return failed("cannot launch the first part");
  }
  /* Each GPU is told the states of all, along a new first axis in the order of the shards. */
  ncclGroupStart();
  for (int device = 0; device < DEVICES; ++device) {
    const gpu *own = &gpus[device];
    ncclAllGather((const void *)own->state, (void *)own->states, 2 * ROWS, ncclFloat, communicators[device], own->stream);
  }
  if (ncclGroupEnd() != ncclSuccess) {
    fprintf(stderr, "cannot exchange the states\n");
    return 1;
  }
  for (int device = 0; device < DEVICES; ++device) {
    const gpu *own = &gpus[device];
    const norma_device place = {2, device};
    const norma_tensor x = {(void *)own->x, place, 2, bf16, columns, NULL, 0};
    const norma_tensor states = {(void *)own->states, place, 3, f32, of_all, NULL, 0};
    const norma_tensor y = {(void *)own->y, place, 2, bf16, columns, NULL, 0};
    const norma_tensor *const tensors[] = {&x, &states, &y};
    if (norma_function_launch(rest, tensors, 3, NULL, 0, own->stream) != NORMA_STATUS_OK)
      return failed("cannot launch the second part");
  }
  for (int device = 0; device < DEVICES; ++device) {
    cuCtxSetCurrent(gpus[device].context);
    cuStreamSynchronize(gpus[device].stream);
    ncclCommDestroy(communicators[device]);
  }
  norma_function_free(partial);
  norma_function_free(rest);
  puts("done");
  return 0;
}
