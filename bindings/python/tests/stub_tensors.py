"""Tensors in the stand-in driver's memory, which is the host's, that are exported by DLPack as frameworks do.

The structs are declared here with ctypes, as in `dlpack.h`, independently of the extension module's.
"""

import ctypes
import math

CUDA, CPU = 2, 1
READ_ONLY = 1

_DTYPES = {"f32": (2, 32), "f16": (2, 16), "bf16": (4, 16), "i64": (0, 64)}


class Device(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("ordinal", ctypes.c_int32)]


class DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int32),
        ("dtype", DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Unversioned(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", Deleter)]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    ]


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_capsule_name = ctypes.pythonapi.PyCapsule_GetName
_capsule_name.restype = ctypes.c_char_p
_capsule_name.argtypes = [ctypes.py_object]


def capsule_name(capsule) -> str:
    return _capsule_name(capsule).decode()


class StubTensor:
    """A tensor that exports itself, counts its exports, and knows which of them were deleted.

    ``version`` is DLPack's major version of its capsules, or ``None`` for capsules from before versions existed; exporters of that
    time do not have the argument ``max_version`` either.
    """

    def __init__(self, shape, dtype="f32", *, device=(CUDA, 0), strides=None, version=1, flags=0, offset=0):
        self.shape, self.dtype = tuple(shape), dtype
        self.device, self.strides, self.version, self.flags = device, strides, version, flags
        _, bits = _DTYPES[dtype]
        size = math.prod(self.shape) * bits // 8
        # The driver aligns allocations to 256 bytes.
        self.memory = ctypes.create_string_buffer(size + 512)
        address = ctypes.addressof(self.memory)
        self.address = address + -address % 256 + offset
        self.streams = []
        self.exported = self.returned = 0
        self._alive = {}

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None, **options):
        if self.version is None and "max_version" in options:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        self.streams.append(stream)
        return self.capsule()

    def capsule(self):
        code, bits = _DTYPES[self.dtype]
        extents = (ctypes.c_int64 * len(self.shape))(*self.shape)
        strides = self.strides and (ctypes.c_int64 * len(self.shape))(*self.strides)
        tensor = DLTensor(
            self.address,
            Device(*self.device),
            len(self.shape),
            DataType(code, bits, 1),
            extents,
            strides or ctypes.POINTER(ctypes.c_int64)(),
            0,
        )
        deleter = Deleter(self._take_back)
        if self.version is None:
            managed, name = Unversioned(tensor, None, deleter), b"dltensor"
        else:
            managed, name = Versioned(self.version, 0, None, deleter, self.flags, tensor), b"dltensor_versioned"
        address = ctypes.addressof(managed)
        self._alive[address] = (managed, extents, strides, deleter)
        self.exported += 1
        # The capsule has no destructor: one that is dropped without being used leaks, which `returned` shows.
        return _new_capsule(address, name, None)

    def _take_back(self, address):
        assert address in self._alive, "an export came back twice"
        self.returned += 1
