// The runtime's C interface for C++: errors become exceptions, and tensors own their shapes.

#ifndef NORMA_RUNTIME_HPP
#define NORMA_RUNTIME_HPP

#include <norma/runtime.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace norma {

/// An error of the runtime, with its message and status.
class error : public std::runtime_error {
public:
  explicit error(norma_status status) : std::runtime_error(norma_last_error()), status_(status) {}

  norma_status status() const noexcept { return status_; }

private:
  norma_status status_;
};

/// Throws an error unless the status is NORMA_STATUS_OK.
inline void check(norma_status status) {
  if (status != NORMA_STATUS_OK)
    throw error(status);
}

/// Element types, with their names in MLIR.
namespace dtype {
constexpr norma_dtype f64{2, 64, 1};
constexpr norma_dtype f32{2, 32, 1};
constexpr norma_dtype f16{2, 16, 1};
constexpr norma_dtype bf16{4, 16, 1};
constexpr norma_dtype f8E4M3FN{10, 8, 1};
constexpr norma_dtype f8E5M2{12, 8, 1};
constexpr norma_dtype f8E8M0FNU{14, 8, 1};
constexpr norma_dtype i1{6, 8, 1};
constexpr norma_dtype i8{0, 8, 1};
constexpr norma_dtype i32{0, 32, 1};
constexpr norma_dtype i64{0, 64, 1};
} // namespace dtype

/// A tensor in a GPU's memory. The memory belongs to the caller; the shape and strides belong to this object.
class tensor {
public:
  /// Strides are in elements; without strides the tensor is dense, in row-major order.
  tensor(void *data, norma_dtype dtype, std::vector<std::int64_t> shape, std::vector<std::int64_t> strides = {},
         std::int32_t device = 0)
      : data_(data), dtype_(dtype), shape_(std::move(shape)), strides_(std::move(strides)), device_(device) {
    if (!strides_.empty() && strides_.size() != shape_.size())
      throw std::invalid_argument("expected a stride for each dim of a tensor");
  }

  /// The argument of a function. It is valid as long as this object is.
  operator norma_tensor() const {
    return {data_,
            {2, device_},
            static_cast<std::int32_t>(shape_.size()),
            dtype_,
            shape_.data(),
            strides_.empty() ? nullptr : strides_.data(),
            0};
  }

private:
  void *data_;
  norma_dtype dtype_;
  std::vector<std::int64_t> shape_;
  std::vector<std::int64_t> strides_;
  std::int32_t device_;
};

/// A function of a bundle in a folder. It may be launched from any thread.
class function {
public:
  /// With `allow_ptx`, the function also runs on devices that no cubin of the bundle fits, by PTX that the driver compiles.
  function(const std::string &folder, const std::string &name, bool allow_ptx = false) {
    norma_bundle *opened = nullptr;
    check(norma_bundle_open(folder.c_str(), &opened));
    std::unique_ptr<norma_bundle, decltype(&norma_bundle_close)> bundle(opened, norma_bundle_close);
    check(norma_bundle_allow_ptx(bundle.get(), allow_ptx));
    norma_function *found = nullptr;
    check(norma_function_get(bundle.get(), name.c_str(), &found));
    function_.reset(found);
  }

  /// Launches on `stream`, a CUstream or cudaStream_t: the inputs, then the outputs, and the named scalars.
  void operator()(const std::vector<norma_tensor> &tensors, void *stream = nullptr,
                  const std::vector<norma_scalar> &scalars = {}) const {
    std::vector<const norma_tensor *> addresses;
    for (const norma_tensor &tensor : tensors)
      addresses.push_back(&tensor);
    check(norma_function_launch(function_.get(), addresses.data(), addresses.size(), scalars.data(), scalars.size(),
                                stream));
  }

private:
  std::unique_ptr<norma_function, decltype(&norma_function_free)> function_{nullptr, norma_function_free};
};

} // namespace norma

#endif
