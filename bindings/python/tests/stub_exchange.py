"""Tensors in the stand-in driver's memory that DLPack's exchange API lends, as it does torch's."""

import ctypes

from stub_tensors import DataType, Device, DLTensor, StubTensor, Versioned, _DTYPES, _new_capsule

_void = ctypes.c_void_p
_Allocate = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.POINTER(DLTensor), ctypes.POINTER(_void), _void, _void)
_FromObject = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, _void)
_ToObject = ctypes.PYFUNCTYPE(ctypes.c_int, _void, ctypes.POINTER(_void))
_Borrow = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))
_Stream = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int32, ctypes.POINTER(_void))
_SetError = ctypes.CFUNCTYPE(None, _void, ctypes.c_char_p, ctypes.c_char_p)


class Api(ctypes.Structure):
    """`DLPackExchangeAPI`."""


Api._fields_ = [
    ("major", ctypes.c_uint32),
    ("minor", ctypes.c_uint32),
    ("previous", ctypes.POINTER(Api)),
    ("allocate", _Allocate),
    ("from_object", _FromObject),
    ("to_object", _ToObject),
    ("borrow", _Borrow),
    ("current_stream", _Stream),
]


class BorrowedTensor(StubTensor):
    """A tensor that must be borrowed; exporting it is an error."""

    #: The current stream of this type, and the maximal number of elements that it allocates.
    stream = None
    memory_elements = 1 << 20

    def __dlpack__(self, **_):
        raise AssertionError("expected to be borrowed")


_alive = {}


@_Borrow
def _borrow(tensor, out):
    code, bits = _DTYPES[tensor.dtype]
    rank = len(tensor.shape)
    tensor.extents = (ctypes.c_int64 * rank)(*tensor.shape)
    dense = [1] * rank
    for dim in reversed(range(rank - 1)):
        dense[dim] = dense[dim + 1] * tensor.shape[dim + 1]
    tensor.steps = (ctypes.c_int64 * rank)(*(tensor.strides or dense))
    out[0] = DLTensor(
        tensor.address, Device(*tensor.device), rank, DataType(code, bits, 1), tensor.extents, tensor.steps, 0
    )
    return 0


@_Stream
def _current_stream(_kind, _ordinal, out):
    out[0] = BorrowedTensor.stream
    return 0


@_Allocate
def _allocate(prototype, out, context, set_error):
    wanted = prototype[0]
    shape = tuple(wanted.shape[: wanted.ndim])
    if len(shape) and max(shape) > BorrowedTensor.memory_elements:
        _SetError(set_error)(context, b"MemoryError", b"the stand-in is out of memory")
        return -1
    names = {numbers: name for name, numbers in _DTYPES.items()}
    device = (wanted.device.kind, wanted.device.ordinal)
    tensor = BorrowedTensor(shape, names[wanted.dtype.code, wanted.dtype.bits], device=device)
    managed = Versioned()
    _alive[ctypes.addressof(managed)] = (managed, tensor)
    out[0] = ctypes.addressof(managed)
    return 0


@_ToObject
def _to_object(managed, out):
    _, tensor = _alive.pop(managed)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(tensor))
    out[0] = id(tensor)
    return 0


@_FromObject
def _from_object(_tensor, _out):
    raise AssertionError("expected to be borrowed")


_api = Api(1, 3, None, _allocate, _from_object, _to_object, _borrow, _current_stream)
#: An API of a later version with another layout; its pointer to an older one refers to the API above.
_newer = Api(2, 0, ctypes.pointer(_api))
#: Kept alive, because a capsule does not copy its name.
_name = b"dlpack_exchange_api"
BorrowedTensor.__dlpack_c_exchange_api__ = _new_capsule(ctypes.addressof(_newer), _name, None)
