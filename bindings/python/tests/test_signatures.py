"""The cache of signatures: which function serves a call, what it allocates, and which calls it leaves to the slower path."""

import json
import math

import pytest
from conftest import SCALE
from stub_exchange import BorrowedTensor

import norma
from norma._runtime import Framework, SignatureCache


class Subclass(BorrowedTensor):
    """A subclass, whose objects are not plain tensors."""


class Stub:
    """A framework of the stand-in's tensors that counts its allocations."""

    def __init__(self):
        self.allocated = []
        dtypes = {name: name for name in ("f32", "f16", "bf16", "i64")}
        self.framework = Framework((BorrowedTensor,), self.empty_strided, self.empty_like, dtypes)

    def empty_strided(self, shape, strides, dtype, device):
        assert strides == tuple(math.prod(extent or 1 for extent in shape[dim + 1 :]) for dim in range(len(shape)))
        return self._keep(BorrowedTensor(shape, dtype, device=device))

    def empty_like(self, tensor, dtype=None):
        return self._keep(BorrowedTensor(tensor.shape, dtype or tensor.dtype, device=tensor.device))

    def _keep(self, tensor):
        self.allocated.append(tensor)
        return tensor


@pytest.fixture
def stub():
    return Stub()


@pytest.fixture
def cache(stub):
    return SignatureCache(stub.framework, 1)


def test_a_function_serves_any_number_of_rows_once_it_is_known(scale, stub, cache, launched):
    x = BorrowedTensor((3, 64))
    assert cache.call(x) is None and launched() == []
    (y,) = cache.add(scale, x)
    assert (y.shape, y.dtype, y.device) == ((3,), "f32", x.device)
    (y,) = cache.call(BorrowedTensor((5, 64)))
    assert y is stub.allocated[-1] and y.shape == (5,)
    (y,) = cache.call(BorrowedTensor((0, 64)))
    assert y.shape == (0,)
    assert len(launched()) == 2


def test_an_output_may_have_elements_of_its_own_for_each_row(tmp_path, cache):
    manifest = json.loads((SCALE / "scale.json").read_text())
    (output,) = manifest["functions"][0]["outputs"]
    output |= {"shape": ["m", 2, 3], "strides": [6, 3, 1]}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "scale_0.sm_90a.cubin").write_bytes((SCALE / "scale.sm_90a.cubin").read_bytes())
    function = norma.load(tmp_path)["scale"]
    (y,) = cache.add(function, BorrowedTensor((4, 5, 64)))
    assert y.shape == (4, 5, 2, 3)
    (y,) = cache.call(BorrowedTensor((0, 7, 64)))
    assert y.shape == (0, 7, 2, 3)


@pytest.mark.parametrize(
    ("shape", "row", "expected"),
    [([2, 3], (64,), (2, 3)), ([], (64,), ()), ([64], (4, 16), (4, 16)), ([4, 16], (64,), (4, 16)), ([5], (64,), (5,))],
)
def test_an_output_of_constants_has_its_own_shape_unless_it_is_a_row(tmp_path, stub, shape, row, expected):
    manifest = json.loads((SCALE / "scale.json").read_text())
    (output,) = manifest["functions"][0]["outputs"]
    strides = [math.prod(shape[dim + 1 :]) for dim in range(len(shape))]
    output |= {"shape": shape, "strides": strides}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "scale_0.sm_90a.cubin").write_bytes((SCALE / "scale.sm_90a.cubin").read_bytes())
    function = norma.load(tmp_path)["scale"]
    cache = SignatureCache(stub.framework, len(row))
    (y,) = cache.add(function, BorrowedTensor((7, *row)))
    assert y.shape == expected
    (y,) = cache.call(BorrowedTensor((3, *row)))
    assert y.shape == expected


@pytest.mark.parametrize(
    ("shape", "strides", "minimums", "expected"),
    [
        # A size for each 128 rows, and one more for what is left.
        (["t", 5], [5, 1], ["ceildiv(m, 128)", 0], {(300, 64): (3, 5), (2, 129, 64): (3, 5), (0, 64): (0, 5)}),
        # Rows behind another dim: the dims before a row are one there.
        ([5, "m"], ["m", 1], None, {(300, 64): (5, 300), (2, 3, 64): (5, 6), (0, 64): (5, 0)}),
        (["t", 2, 3], [6, 3, 1], ["floordiv(m - 1, 4) + 1", 0, 0], {(9, 64): (3, 2, 3), (64,): (1, 2, 3)}),
    ],
)
def test_an_output_may_follow_from_the_number_of_rows(tmp_path, stub, launched, shape, strides, minimums, expected):
    manifest = json.loads((SCALE / "scale.json").read_text())
    (output,) = manifest["functions"][0]["outputs"]
    output |= {"shape": shape, "strides": strides} | ({"shape_minimums": minimums} if minimums else {})
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "scale_0.sm_90a.cubin").write_bytes((SCALE / "scale.sm_90a.cubin").read_bytes())
    function = norma.load(tmp_path)["scale"]
    for of, result in expected.items():
        cache = SignatureCache(stub.framework, 1)
        (y,) = cache.add(function, BorrowedTensor(of))
        assert y.shape == result
        (y,) = cache.call(BorrowedTensor(of))
        assert y.shape == result
    assert len(launched()) == 2 * sum(0 not in of for of in expected)
    with pytest.raises(norma.ArgumentError, match="expected 'x' to have a multiple of 64 elements, got 195"):
        SignatureCache(stub.framework, 1).add(function, BorrowedTensor((3, 65)))


def test_dims_before_a_row_are_kept(scale, cache):
    x = BorrowedTensor((2, 3, 64))
    (y,) = cache.add(scale, x)
    assert y.shape == (2, 3)
    # The signature contains the rank.
    assert cache.call(BorrowedTensor((6, 64))) is None


@pytest.mark.parametrize(
    "other",
    [
        BorrowedTensor((3, 65)),
        BorrowedTensor((3, 64), "bf16"),
        BorrowedTensor((3, 64), device=(2, 1)),
        BorrowedTensor((3, 128), strides=(128, 1)),
        BorrowedTensor((3, 64), strides=(65, 1)),
        BorrowedTensor((3, 64), offset=4),
        BorrowedTensor(()),
        Subclass((3, 64)),
        None,
        [1.0],
    ],
    ids=lambda other: str(getattr(other, "shape", other)),
)
def test_what_is_not_like_an_earlier_call_launches_nothing(scale, cache, launched, other):
    cache.add(scale, BorrowedTensor((3, 64)))
    assert cache.call(other) is None
    assert len(launched()) == 1


def test_a_shape_of_a_row_is_not_that_of_other_rows(tmp_path, stub, launched):
    # An input beside the rows that has the shape of one, as a weight does.
    manifest = json.loads((SCALE / "scale.json").read_text())
    (function,) = manifest["functions"]
    (x,) = function["inputs"]
    function["inputs"].append(x | {"name": "w", "shape": [64], "strides": [1]})
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "scale_0.sm_90a.cubin").write_bytes((SCALE / "scale.sm_90a.cubin").read_bytes())
    cache = SignatureCache(stub.framework, 2)
    cache.add(norma.load(tmp_path)["scale"], BorrowedTensor((4, 16, 4, 16)), BorrowedTensor((4, 16)))
    assert cache.call(BorrowedTensor((16, 4, 4, 16)), BorrowedTensor((16, 4))) is None
    assert cache.call(BorrowedTensor((4, 16, 4, 16)), BorrowedTensor((4, 16))) is not None


def test_tensors_that_are_absent_belong_to_a_signature(scale, cache):
    x = BorrowedTensor((3, 64))
    cache.add(scale, x, None)
    assert cache.call(x) is None
    assert cache.call(x, x) is None
    assert len(cache.call(x, None)) == 1


def test_a_function_that_does_not_fit_is_refused_and_not_kept(scale, cache, launched):
    with pytest.raises(norma.ArgumentError, match="expected 'x' to have a multiple of 64 elements, got 195"):
        cache.add(scale, BorrowedTensor((3, 65)))
    assert cache.call(BorrowedTensor((3, 65))) is None
    with pytest.raises(norma.ArgumentError, match="expected 2 tensors, got 3"):
        cache.add(scale, BorrowedTensor((3, 64)), BorrowedTensor((64,)))
    with pytest.raises(TypeError, match="expected plain tensors of the framework"):
        cache.add(scale, Subclass((3, 64)))
    assert launched() == []


def test_a_framework_has_types_that_are_borrowed():
    for types, message in (((), "got none"), ((list,), "DLPack's exchange API")):
        with pytest.raises((TypeError, ValueError), match=message):
            Framework(types, None, None, {})
