"""Bundles that are loaded: what is in them, and those that cannot be used."""

import pytest
from conftest import SCALE

import norma


def files():
    return {
        "manifest.json": (SCALE / "scale.json").read_bytes(),
        "scale_0.sm_90a.cubin": (SCALE / "scale.sm_90a.cubin").read_bytes(),
    }


def test_a_bundle_is_a_mapping_of_functions():
    bundle = norma.Bundle.from_files(files())
    assert (bundle.functions, bundle.targets, len(bundle)) == (["scale"], ["sm_90a"], 1)
    assert "scale" in bundle and "other" not in bundle
    assert repr(bundle) == "<norma.Bundle of scale for sm_90a>"
    assert bundle["scale"] is bundle["scale"]
    with pytest.raises(norma.FunctionNotFoundError) as missing:
        bundle["other"]
    assert str(missing.value) == "there is no function 'other', only scale"
    assert isinstance(missing.value, KeyError)


def test_folders_and_manifests_that_cannot_be_used_are_refused(tmp_path):
    with pytest.raises(norma.BundleError, match="manifest.json"):
        norma.load(tmp_path)
    with pytest.raises(norma.BundleError, match="the bundle has no manifest.json"):
        norma.Bundle.from_files({})
    with pytest.raises(norma.BundleError, match="is no manifest"):
        norma.Bundle.from_files({**files(), "manifest.json": b"{"})


def test_a_cubin_that_is_cut_is_refused_when_it_is_loaded():
    from stub_tensors import StubTensor

    cut = {**files(), "scale_0.sm_90a.cubin": b"\x7fELF"}
    function = norma.Bundle.from_files(cut)["scale"]
    with pytest.raises(norma.BundleError, match="cannot use 'scale_0.sm_90a.cubin'"):
        function(StubTensor((3, 64)), out=StubTensor((3,)))


def test_the_target_of_a_device_is_what_it_runs_best():
    assert norma.target_of_device() == "sm_90a"
    with pytest.raises(norma.DriverError, match="expected a device below 2, got 5"):
        norma.target_of_device(5)
