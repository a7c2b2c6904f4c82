"""torch's tensors of the host as tensors of the stand-in driver: DLPack's exchange API reports that they are on a GPU."""

import ctypes

import torch

_NAME = b"dlpack_exchange_api"
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype = ctypes.py_object
_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def take_hosts_tensors(set_attribute=setattr) -> None:
    """Makes ``norma.torch`` launch kernels for sm_90a on tensors of the host; the stand-in accepts the launches and runs nothing."""
    from norma.torch import kernels, support

    driver = ctypes.CDLL("libcuda.so.1")
    driver.norma_stub_exchange_api.restype = ctypes.c_void_p
    driver.norma_stub_exchange_api.argtypes = [ctypes.c_void_p]
    changed = driver.norma_stub_exchange_api(_pointer(torch.Tensor.__dlpack_c_exchange_api__, _NAME))
    set_attribute(torch.Tensor, "__dlpack_c_exchange_api__", _capsule(changed, _NAME, None))
    set_attribute(kernels, "_TORCH", kernels._framework())
    set_attribute(kernels, "_targets", {-1: "sm_90a"})
    set_attribute(support, "_is_on_gpu", lambda tensor: True)
