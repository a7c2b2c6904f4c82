"""Calls: what reaches the driver, and what is refused before."""

import ctypes
import threading

import pytest
from stub_tensors import CPU, READ_ONLY, StubTensor, capsule_name

import norma


@pytest.fixture
def driver():
    return ctypes.CDLL("libcuda.so.1")


@pytest.fixture
def stream(driver):
    """The pointer of a stream."""
    handle = ctypes.c_void_p()
    context = ctypes.c_void_p()
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert driver.cuStreamCreate(ctypes.byref(handle), 1) == 0
    yield handle.value
    assert driver.cuStreamDestroy_v2(handle) == 0


def parameters(line):
    return line.split("parameters ")[1].split()


def rows(m=3, **options):
    return StubTensor((m, 64), **options), StubTensor((m,), **options)


@pytest.mark.parametrize("version", [1, None])
def test_tensors_reach_the_kernel_and_their_exports_come_back(scale, launched, version):
    x, y = rows(version=version)
    assert scale(x, out=y) is y
    (line,) = launched()
    assert line.startswith("scale_0 on device 0 stream 0: grid 1 1 1,")
    address, result, factor, m = parameters(line)
    assert (int(address, 16), int(result, 16), int(m, 16)) == (x.address, y.address, 3)
    assert factor == "40000000"
    assert (x.exported, x.returned) == (y.exported, y.returned) == (1, 1)


def test_scalars_and_inputs_have_names(scale, launched):
    x, y = rows()
    scale(x=x, out=(y,), s=0.5)
    assert parameters(launched()[0])[2] == "3f000000"
    with pytest.raises(TypeError, match="'scale' takes x, s, out, stream and allocator, got 'z'"):
        scale(x, out=y, z=1)
    with pytest.raises(TypeError, match="got two values for 'x'"):
        scale(x, x=x, out=y)
    assert len(launched()) == 1


def test_scalars_are_numbers_of_their_types_range(scale, launched):
    x, y = rows()
    with pytest.raises(TypeError, match="expected 's' to be a number, got str"):
        scale(x, out=y, s="2")
    in_range = "0, or a number of f32's range, between 1.4e-45 and 3.4e38 without its sign"
    for number, message in (
        (10**400, "expected 's' to be a number of f64's range, got one beyond it"),
        (1e300, f"expected 's' to be {in_range}, got 1e300"),
        (1e-50, f"expected 's' to be {in_range}, got 1e-50"),
    ):
        with pytest.raises(norma.ArgumentError) as refused:
            scale(x, out=y, s=number)
        assert str(refused.value) == f"cannot launch 'scale': {message}"
    assert launched() == []
    for number in (0.1, float("-inf"), 0.0):
        scale(x, out=y, s=number)
    assert [parameters(line)[2] for line in launched()] == ["3dcccccd", "ff800000", "00000000"]


def test_a_capsule_is_taken_once(scale, launched):
    x, y = rows()
    capsule = x.capsule()
    scale(capsule, out=y)
    assert capsule_name(capsule) == "used_dltensor_versioned"
    with pytest.raises(norma.ArgumentError, match="expected 'x' to be a tensor, got a capsule that was used before"):
        scale(capsule, out=y)
    assert (x.returned, len(launched())) == (1, 1)


def test_capsules_of_another_major_version_are_returned_unread(scale):
    x, y = rows()
    x.version = 2
    with pytest.raises(norma.ArgumentError, match="got one of DLPack 2, where 1 is understood"):
        scale(x, out=y)
    assert x.returned == 1


def test_what_is_refused_is_named_and_nothing_is_launched(scale, launched):
    x, y = rows()
    for call, message in (
        (lambda: scale(StubTensor((3, 64), "bf16"), out=y), "expected 'x' to be of type f32, got bf16"),
        (lambda: scale(StubTensor((3, 65)), out=y), "expected dim 1 of 'x' to be 64, got 65"),
        (lambda: scale(StubTensor((192,)), out=y), "expected 'x' to have 2 dims, got 1"),
        (lambda: scale(x, out=StubTensor((4,))), "expected dim 0 of 'y' to be 3, got 4"),
        (lambda: scale(StubTensor((3, 64), offset=4), out=y), "expected 'x' to be aligned to 16 bytes"),
        (lambda: scale(StubTensor((3, 64), strides=(65, 1)), out=y), "expected stride 0 of 'x' to be 64, got 65"),
        (lambda: scale(StubTensor((3, 64), device=(CPU, 0)), out=y), "expected 'x' to be in the memory of a GPU"),
        (lambda: scale(x, out=StubTensor((3,), device=(2, 1))), "expected 'y' to be in the memory of GPU 0"),
        (lambda: scale(x, out=StubTensor((3,), flags=READ_ONLY)), "expected output 'y' to be writable"),
        (lambda: scale(out=y), "expected input 'x', got none"),
        (lambda: scale(x, y, out=y), "expected 1 input, got 2"),
        (lambda: scale(x, out=(y, y)), "expected 1 output in out=, got 2"),
        (lambda: scale(x), "expected out= or allocator= for output 'y'"),
        (lambda: scale(StubTensor((3, 64), device=(CPU, 0))), "expected 'x' to be in the memory of a GPU, got host"),
    ):
        with pytest.raises(norma.ArgumentError) as refused:
            call()
        assert str(refused.value).startswith("cannot launch 'scale': ")
        assert message in str(refused.value)
    with pytest.raises(TypeError, match="expected 'x' to be a tensor, which has __dlpack__, got list"):
        scale([1.0], out=y)
    with pytest.raises(norma.DriverError, match="expected a device below 2, got 7"):
        scale(StubTensor((3, 64), device=(2, 7)), out=y)
    assert launched() == []
    assert x.exported == x.returned


def test_outputs_come_from_the_callers_allocator(scale):
    asked = []

    def allocate(shape, dtype, device):
        asked.append((shape, dtype, device))
        return StubTensor(shape, dtype, device=(2, device))

    x = StubTensor((5, 64), device=(2, 1))
    y = scale(x, allocator=allocate)
    assert asked == [((5,), "f32", 1)]
    assert y.shape == (5,)


def test_work_goes_to_the_stream_and_exporters_are_told(scale, launched, stream):
    class OfTorch:
        cuda_stream = stream

    class OfCudaCore:
        def __cuda_stream__(self):
            return (0, stream)

    x, y = rows()
    scale(x, out=y)
    for given in (stream, OfTorch(), OfCudaCore()):
        scale(x, out=y, stream=given)
    # DLPack's number of the default stream is 1.
    assert x.streams == y.streams == [1, stream, stream, stream]
    numbers = [line.split("stream ")[1].split(":")[0] for line in launched()]
    assert numbers[0] == "0" and numbers[1] != "0" and len(set(numbers[1:])) == 1
    with pytest.raises(TypeError, match="expected a stream: .* got str"):
        scale(x, out=y, stream="fast")


def test_a_capture_records_launches(scale, launched, driver, stream):
    x, y = rows()
    graph = ctypes.c_void_p()
    assert driver.cuStreamBeginCapture_v2(ctypes.c_void_p(stream), 2) == 0
    scale(x, out=y, stream=stream)
    assert driver.cuStreamEndCapture(ctypes.c_void_p(stream), ctypes.byref(graph)) == 0
    assert launched() == []
    instance = ctypes.c_void_p()
    assert driver.cuGraphInstantiateWithFlags(ctypes.byref(instance), graph, ctypes.c_uint64(0)) == 0
    assert driver.cuGraphLaunch(instance, ctypes.c_void_p(stream)) == 0
    assert len(launched()) == 1


def test_dense_tensors_are_seen_as_rows(scale, launched):
    scale.launch_viewed(StubTensor((2, 3, 64)), StubTensor((2, 3)))
    scale.launch_viewed(StubTensor((8, 2, 4)), StubTensor(()))
    assert [int(parameters(line)[3], 16) for line in launched()] == [6, 1]
    for tensors, message in (
        ((StubTensor((3, 65)), StubTensor((3,))), "expected 'x' to have a multiple of 64 elements, got 195"),
        ((StubTensor((3, 64), strides=(65, 1)), StubTensor((3,))), "expected 'x' to lie densely"),
        ((StubTensor((3, 64)), StubTensor((4,))), "expected dim 0 of 'y' to be 3, got 4"),
        ((StubTensor((3, 64)),), "expected 2 tensors, got 1"),
    ):
        with pytest.raises(norma.ArgumentError, match=message):
            scale.launch_viewed(*tensors)
    assert len(launched()) == 2


def test_tensors_without_rows_launch_nothing(scale, launched):
    x, y = rows(0)
    scale(x, out=y)
    scale.launch_viewed(x, y)
    assert launched() == []


def test_threads_call_at_once(scale, launched):
    def call():
        for _ in range(50):
            x, y = rows()
            scale(x, out=y)

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(launched()) == 400


def test_descriptions_say_what_is_expected(scale):
    assert repr(scale) == "<norma.Function scale(x) -> y>"
    (x,), (y,) = scale.inputs, scale.outputs
    assert (repr(x), repr(y)) == ("x: f32[m, 64]", "y: f32[m]")
    assert (x.shape, x.dtype, x.align, scale.scalars) == (["m", 64], "f32", 16, ["s"])
