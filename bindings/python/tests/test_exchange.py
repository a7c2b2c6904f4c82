"""Tensors that DLPack's exchange API lends: they are not exported, and use their framework's stream and allocator."""

import ctypes

import pytest
from stub_exchange import BorrowedTensor
from stub_tensors import StubTensor

import norma


@pytest.fixture
def current_stream(monkeypatch):
    """A stream that is the framework's current one."""
    driver, handle, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_void_p()
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert driver.cuStreamCreate(ctypes.byref(handle), 1) == 0
    monkeypatch.setattr(BorrowedTensor, "stream", handle.value)
    yield handle.value
    assert driver.cuStreamDestroy_v2(handle) == 0


def stream_of(line):
    return int(line.split("stream ")[1].split(":")[0])


def test_calls_go_to_the_frameworks_stream(scale, launched, current_stream):
    x, y = BorrowedTensor((3, 64)), BorrowedTensor((3,))
    assert scale(x, out=y) is y
    scale.launch_viewed(BorrowedTensor((3, 8, 8)), y)
    scale(x, out=y, stream=0)
    numbers = [stream_of(line) for line in launched()]
    assert numbers[0] == numbers[1] != 0 and numbers[2] == 0


def test_others_are_told_that_stream(scale, current_stream):
    y = StubTensor((3,))
    scale(BorrowedTensor((3, 64)), out=y)
    assert y.streams == [current_stream]
    x = StubTensor((3, 64))
    scale.launch_viewed(x, BorrowedTensor((3,)))
    assert x.streams == [current_stream]


def test_new_outputs_are_of_the_inputs_type(scale, launched):
    y = scale(BorrowedTensor((5, 64), device=(2, 1)))
    assert (type(y), y.shape, y.dtype, y.device) == (BorrowedTensor, (5,), "f32", (2, 1))
    (line,) = launched()
    assert f"{y.address:016x}" in line


def test_an_allocator_that_fails_is_reported(scale, launched, monkeypatch):
    monkeypatch.setattr(BorrowedTensor, "memory_elements", 4)
    with pytest.raises(MemoryError, match="the stand-in is out of memory"):
        scale(BorrowedTensor((5, 64)))
    assert launched() == []


def test_strides_are_seen(scale):
    with pytest.raises(norma.ArgumentError, match="expected stride 0 of 'x' to be 64, got 65"):
        scale(BorrowedTensor((3, 64), strides=(65, 1)), out=BorrowedTensor((3,)))


def test_tensors_that_require_gradients_are_refused(scale, launched):
    x, y = BorrowedTensor((3, 64)), BorrowedTensor((3,))
    for tensors, name in (((x, y), "x"), ((y, x), "y")):
        tensors[0].requires_grad = True
        with pytest.raises(
            norma.ArgumentError, match=f"expected '{name}' to be a tensor without gradient, got one that"
        ):
            scale(x, out=y)
        tensors[0].requires_grad = False
    assert launched() == []
    scale(x, out=y)
    assert len(launched()) == 1
