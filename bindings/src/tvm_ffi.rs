//! Generates functions with the calling convention of TVM-FFI, with which Python and other languages call functions of a
//! loaded shared object: each is named `__tvm_ffi_<name>`, as `tvm/ffi/c_api.h` of TVM-FFI 0.1 defines.
//!
//! A tensor is passed as a `DLTensor *` or as a TVM-FFI tensor, whose `DLTensor` follows the object's header. The stream is
//! the current one of TVM-FFI's environment for the device of the first tensor; frameworks set it to theirs.
//!
//! TVM-FFI's own functions are weak references, so that programs that do not use it need not link it.

use std::fmt::Write;

use crate::Visibility;
use crate::c::{attribute, embedded_name};
use crate::signature::Signature;

/// The declarations from `tvm/ffi/c_api.h` and `tvm/ffi/extra/c_env_api.h` that the functions use, and the conversions of
/// arguments.
pub(crate) const PRELUDE: &str = r#"
#include <stdio.h>

/* TVMFFIAny and the header of TVMFFIObject. */
typedef struct {
  int32_t type_index;
  uint32_t padding;
  union {
    int64_t v_int64;
    double v_float64;
    void *v_ptr;
  };
} norma_tvm_any;

typedef struct {
  uint64_t combined_ref_count;
  int32_t type_index;
  uint32_t padding;
  void (*deleter)(void *, int);
} norma_tvm_object;

enum { norma_tvm_int = 1, norma_tvm_bool = 2, norma_tvm_float = 3, norma_tvm_dltensor = 7, norma_tvm_tensor = 70 };

/* Null in a process without TVM-FFI. */
__attribute__((weak)) void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message);
__attribute__((weak)) void *TVMFFIEnvGetStream(int32_t device_type, int32_t device_id);

static int norma_tvm_raise(const char *kind, const char *message) {
  TVMFFIErrorSetRaisedFromCStr(kind, message);
  return -1;
}

static const norma_tensor *norma_tvm_as_tensor(const norma_tvm_any *argument) {
  if (argument->type_index == norma_tvm_dltensor)
    return argument->v_ptr;
  if (argument->type_index == norma_tvm_tensor)
    return (const norma_tensor *)((const norma_tvm_object *)argument->v_ptr + 1);
  return 0;
}

static int norma_tvm_as_scalar(const norma_tvm_any *argument, norma_scalar *scalar) {
  switch (argument->type_index) {
  case norma_tvm_int:
  case norma_tvm_bool:
    scalar->kind = NORMA_SCALAR_KIND_INTEGER;
    scalar->value.integer = argument->v_int64;
    return 1;
  case norma_tvm_float:
    scalar->kind = NORMA_SCALAR_KIND_FLOAT;
    scalar->value.number = argument->v_float64;
    return 1;
  default:
    return 0;
  }
}

static int norma_tvm_call(norma_embedded *embedded, const norma_tvm_any *arguments, int32_t count,
                          const norma_tensor **tensors, int32_t tensor_count, norma_scalar *scalars,
                          int32_t scalar_count, const char *expected) {
  if (!TVMFFIErrorSetRaisedFromCStr || !TVMFFIEnvGetStream) {
    fprintf(stderr, "error: cannot call '%s' by the convention of TVM-FFI, which is not in this process\n", embedded->name);
    return -1;
  }
  if (count != tensor_count + scalar_count)
    return norma_tvm_raise("TypeError", expected);
  for (int32_t i = 0; i < tensor_count; ++i) {
    tensors[i] = norma_tvm_as_tensor(&arguments[i]);
    if (!tensors[i])
      return norma_tvm_raise("TypeError", expected);
  }
  for (int32_t i = 0; i < scalar_count; ++i)
    if (!norma_tvm_as_scalar(&arguments[tensor_count + i], &scalars[i]))
      return norma_tvm_raise("TypeError", expected);
  void *stream = tensor_count ? TVMFFIEnvGetStream(tensors[0]->device.kind, tensors[0]->device.ordinal) : 0;
  norma_status status = norma_embedded_launch(embedded, tensors, tensor_count, scalars, scalar_count, stream);
  if (status == NORMA_STATUS_OK)
    return 0;
  return norma_tvm_raise(status == NORMA_STATUS_ARGUMENT ? "ValueError" : "RuntimeError", norma_last_error());
}
"#;

/// Adds the entry point of a function whose `norma_embedded` has been defined.
pub(crate) fn add_entry(text: &mut String, signature: &Signature) {
    let (name, embedded) = (&signature.name, embedded_name(signature));
    let parameters = signature.tensors.iter().map(|tensor| &tensor.name);
    let parameters = parameters.chain(signature.scalars.iter().map(|scalar| &scalar.name));
    let parameters: Vec<&str> = parameters.map(String::as_str).collect();
    let (tensors, scalars) = (signature.tensors.len(), signature.scalars.len());
    let prototype = format!(
        "int __tvm_ffi_{name}(void *handle, const norma_tvm_any *arguments, int32_t count, norma_tvm_any *result)"
    );
    // Writing to a string cannot fail. An array has at least one element.
    let _ = write!(
        text,
        "\n{}{prototype};\n{prototype} {{\n  \
         const norma_tensor *tensors[{}];\n  norma_scalar scalars[{}];\n  (void)handle;\n  (void)result;\n  \
         return norma_tvm_call(&{embedded}, arguments, count, tensors, {tensors}, scalars, {scalars},\n                        \
         \"expected {name}({})\");\n}}\n",
        attribute(Visibility::Default),
        tensors.max(1),
        scalars.max(1),
        parameters.join(", ")
    );
}
