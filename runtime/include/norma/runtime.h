/* The runtime's C interface. Generated from runtime/src/capi by `cargo xtask docs`: do not edit. */

#ifndef NORMA_RUNTIME_H
#define NORMA_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The status of a call.
typedef enum norma_status {
  // The call succeeded.
  NORMA_STATUS_OK = 0,
  // An argument is not acceptable, such as a tensor that the kernels are not made for. Nothing was launched.
  NORMA_STATUS_ARGUMENT = 1,
  // The bundle cannot be used, or has no such function.
  NORMA_STATUS_BUNDLE = 2,
  // The bundle has no code for the device.
  NORMA_STATUS_TARGET = 3,
  // There is no driver, or no such device.
  NORMA_STATUS_DEVICE = 4,
  // The driver refused something.
  NORMA_STATUS_DRIVER = 5,
  // A fault of this library.
  NORMA_STATUS_INTERNAL = 6,
} norma_status;

// How a scalar's value is given.
typedef enum norma_scalar_kind {
  // The default that the function's author wrote.
  NORMA_SCALAR_KIND_DEFAULT = 0,
  // `value.number`; a scalar of an integer type accepts it if it is whole. One of type f32 rounds it, and refuses a finite number that
  // would become infinite and one other than 0 that would become 0.
  NORMA_SCALAR_KIND_FLOAT = 1,
  // `value.integer`; a scalar of a float type rounds it, and one of an integer type accepts it if it fits.
  NORMA_SCALAR_KIND_INTEGER = 2,
} norma_scalar_kind;

// A bundle.
typedef struct norma_bundle norma_bundle;

// A function of a bundle, on whichever device its tensors are. It may be launched from any thread.
typedef struct norma_function norma_function;

// A file of a bundle in memory.
typedef struct norma_file {
  // Its path from the bundle's folder, such as `manifest.json` or `sm_90a/manifest.json`.
  const char *path;
  // Its bytes, which must stay as long as the bundle and its functions do.
  const uint8_t *bytes;
  // The number of bytes.
  size_t size;
} norma_file;

// DLPack's `DLDevice`.
typedef struct norma_device {
  // The kind: 2 for CUDA memory, 13 for CUDA managed memory.
  int32_t kind;
  // The device's number among devices of its kind.
  int32_t ordinal;
} norma_device;

// DLPack's `DLDataType`.
typedef struct norma_dtype {
  // The kind of number: 0 a signed integer, 1 an unsigned one, 2 an IEEE float, 4 a bfloat, 6 a boolean, 10 an `f8E4M3FN`,
  // 12 an `f8E5M2`, 14 an `f8E8M0FNU`.
  uint8_t code;
  // The number of bits.
  uint8_t bits;
  // The number of lanes in an element: 1.
  uint16_t lanes;
} norma_dtype;

// A tensor in a device's memory. The layout is that of DLPack's `DLTensor`, so pointers may be cast.
typedef struct norma_tensor {
  // The address of the memory; the first element is `byte_offset` bytes further.
  void *data;
  // The device that holds the memory.
  struct norma_device device;
  // The number of dims.
  int32_t rank;
  // The type of the elements.
  struct norma_dtype dtype;
  // The extent of each dim.
  const int64_t *shape;
  // The stride of each dim, in elements; null for a dense tensor in row-major order.
  const int64_t *strides;
  // The offset from `data` to the first element, in bytes.
  uint64_t byte_offset;
} norma_tensor;

// A number, whose field is selected by the kind beside it.
typedef union norma_number {
  // For `Float`.
  double number;
  // For `Integer`.
  int64_t integer;
} norma_number;

// The value of a named scalar of a function.
typedef struct norma_scalar {
  // A `norma_scalar_kind`.
  uint32_t kind;
  // The value, unless the kind is `Default`.
  union norma_number value;
} norma_scalar;

// A function and its bundle, in a program's static memory.
typedef struct norma_embedded {
  // 1, the version of this struct.
  uint32_t abi;
  // The number of files.
  uint32_t file_count;
  // The bundle's files.
  const struct norma_file *files;
  // The function's name.
  const char *name;
  // Null at first; the runtime stores the loaded function here.
  struct norma_function *function;
} norma_embedded;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The message of this thread's last failed call, as one line of text. It stays valid until another call of the thread fails.
const char *norma_last_error(void);

// Opens the bundle in a folder: a bundle of one target, or one with a subfolder per target. Close it with
// `norma_bundle_close`.
//
// The caller makes sure of this:
// `folder` is null or a null-terminated string, `bundle` null or valid for a write.
enum norma_status norma_bundle_open(const char *folder, struct norma_bundle **bundle);

// Creates a bundle from memory, laid out as in a folder. Close it with `norma_bundle_close`.
//
// The caller makes sure of this:
// `files` is valid for `count` files, their bytes for as long as the bundle or a function of it is used, and `bundle` is null
// or valid for a write.
enum norma_status norma_bundle_from_memory(const struct norma_file *files,
                                           size_t count,
                                           struct norma_bundle **bundle);

// Sets whether functions that are got from a bundle after this call may run by PTX on devices that no cubin fits; the driver
// then compiles the PTX when a function is loaded. The default is not to. `normac --ptx-fallback` writes bundles that have
// PTX.
//
// The caller makes sure of this:
// `bundle` is null or open, and no other call uses it at the same time.
enum norma_status norma_bundle_allow_ptx(struct norma_bundle *bundle,
                                         bool allows_ptx);

// Closes a bundle; its functions stay valid. Null is ignored.
//
// The caller makes sure of this:
// `bundle` is null or has not been closed.
void norma_bundle_close(struct norma_bundle *bundle);

// Finds a function of a bundle. It is loaded on a device when it is first launched there, or by `norma_function_load`. Free
// it with `norma_function_free`.
//
// The caller makes sure of this:
// `bundle` is null or open, `name` null or a null-terminated string, `function` null or valid for a write.
enum norma_status norma_function_get(const struct norma_bundle *bundle,
                                     const char *name,
                                     struct norma_function **function);

// Frees a function, its loaded code, and its scratch memory. Null is ignored.
//
// The caller makes sure of this:
// `function` is null or has not been freed; its launches have completed, and graphs that captured it are not launched again.
void norma_function_free(struct norma_function *function);

// Loads a function on the device with this ordinal, so that the first launch there does not have to.
//
// The caller makes sure of this:
// `function` is null or has not been freed.
enum norma_status norma_function_load(const struct norma_function *function, int32_t device);

// Checks the arguments of a call and launches the function's kernels on a stream: a `CUstream` or `cudaStream_t`, null for
// the default stream. `tensors` are the inputs, then the outputs. `scalars` are the function's named scalars in order;
// trailing ones, or all, may be left out. If anything is refused, nothing is launched. On a stream that is capturing, the
// launches are recorded.
//
// The caller makes sure of this:
// `tensors` is valid for `tensor_count` pointers, `scalars` for `scalar_count`; each tensor's shape and strides are as long
// as its rank. From first to last element, the tensors lie in memory that the device can access until the kernels have
// completed. Until then nothing else writes this memory, or reads that of outputs. `stream` is a stream of the primary
// context of the tensors' device.
enum norma_status norma_function_launch(const struct norma_function *function,
                                        const struct norma_tensor *const *tensors,
                                        size_t tensor_count,
                                        const struct norma_scalar *scalars,
                                        size_t scalar_count,
                                        void *stream);

// Frees the scratch memory of a function's calls on a stream, and of captures on it, before the function is freed.
//
// The caller makes sure of this:
// `function` is null or has not been freed; `stream` is a stream of that device's primary context, launches on it have
// completed, and graphs captured on it, or on an earlier stream that had the same handle, are not launched again.
enum norma_status norma_function_release_scratch(const struct norma_function *function,
                                                 int32_t device,
                                                 void *stream);

// Lets an embedded function run by PTX on devices that no cubin fits; the driver compiles the PTX when the function is loaded.
// Call this before the function is loaded or launched anywhere. `normac --ptx-fallback` writes objects that have PTX.
//
// The caller makes sure of this:
// `embedded` belongs to an object written by `normac`.
enum norma_status norma_embedded_allow_ptx(struct norma_embedded *embedded);

// Loads an embedded function on the device with this ordinal, so that the first launch there does not have to.
//
// The caller makes sure of this:
// `embedded` belongs to an object written by `normac`.
enum norma_status norma_embedded_load(struct norma_embedded *embedded,
                                      int32_t device);

// Launches an embedded function, as `norma_function_launch` does.
//
// The caller makes sure of this:
// `embedded` belongs to an object written by `normac`; the rest as for `norma_function_launch`.
enum norma_status norma_embedded_launch(struct norma_embedded *embedded,
                                        const struct norma_tensor *const *tensors,
                                        size_t tensor_count,
                                        const struct norma_scalar *scalars,
                                        size_t scalar_count,
                                        void *stream);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* NORMA_RUNTIME_H */
