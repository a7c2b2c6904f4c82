// A borrowed array, as it crosses between C++ and Rust; src/slice.rs is its mirror.
//
// Attributes keep their arrays in the context, so a getter's array lives as long as the context; an argument's lives for the call.

#ifndef NORMA_CAPI_SLICE_H
#define NORMA_CAPI_SLICE_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

extern "C" struct NormaSlice {
  const void *data;
  intptr_t length;
};

/// Sees a slice from Rust as an array of `T`. MlirAttribute and MlirType hold the one pointer that mlir::Attribute and
/// mlir::Type hold, so arrays of either read as arrays of the other.
template <typename T> llvm::ArrayRef<T> fromSlice(NormaSlice slice) {
  return llvm::ArrayRef<T>(static_cast<const T *>(slice.data), slice.length);
}

template <typename T> NormaSlice toSlice(llvm::ArrayRef<T> array) {
  return {array.data(), static_cast<intptr_t>(array.size())};
}

#endif // NORMA_CAPI_SLICE_H
