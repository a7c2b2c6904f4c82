/* A program that calls a function by TVM-FFI's convention, and a stand-in for TVM-FFI itself, unless WITHOUT_TVM_FFI. */

#include <norma/runtime.h>

#include <stdio.h>

typedef struct {
  int32_t type_index;
  uint32_t padding;
  union {
    int64_t v_int64;
    double v_float64;
    const void *v_ptr;
  };
} any;

/* A tensor of TVM-FFI: a header of 24 bytes, then a DLTensor. */
typedef struct {
  uint64_t header[3];
  norma_tensor tensor;
} tensor_object;

int __tvm_ffi_scale(void *handle, const any *arguments, int32_t count, any *result);

#ifndef WITHOUT_TVM_FFI
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message) { printf("%s: %s\n", kind, message); }

void *TVMFFIEnvGetStream(int32_t device_type, int32_t device_id) {
  printf("stream of device %d of kind %d\n", device_id, device_type);
  return NULL;
}
#endif

int main(void) {
  const int64_t shape[] = {8, 64};
  const norma_dtype f32 = {2, 32, 1};
  const norma_device gpu = {2, 0};
  const norma_tensor x = {(void *)0x10000, gpu, 2, f32, shape, NULL, 0};
  const tensor_object y = {{1, 70, 0}, {(void *)0x20000, gpu, 2, f32, shape, NULL, 0}};
  any arguments[3] = {{7, 0, {.v_ptr = &x}}, {70, 0, {.v_ptr = &y}}, {0, 0, {0}}};
  any result = {0, 0, {0}};
  printf("returned %d\n", __tvm_ffi_scale(NULL, arguments, 2, &result));
  printf("returned %d\n", __tvm_ffi_scale(NULL, arguments, 3, &result));
  arguments[1].v_ptr = &x;
  arguments[1].type_index = 7;
  printf("returned %d\n", __tvm_ffi_scale(NULL, arguments, 2, &result));
  arguments[1].type_index = 1;
  printf("returned %d\n", __tvm_ffi_scale(NULL, arguments, 2, &result));
  return 0;
}
