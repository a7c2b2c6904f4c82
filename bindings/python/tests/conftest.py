"""The fixtures of the tests: the stand-in for CUDA's driver, a compiler, and a separate cache.

`cargo xtask test` sets the environment. To run the tests by hand, set NORMA_NORMAC to the compiler, put a folder that contains the
stand-in as `libcuda.so.1` on LD_LIBRARY_PATH, and set NORMA_STUB_LOG to the file of its log.
"""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SCALE = ROOT / "bundle" / "testdata"


def pytest_collection_modifyitems(config, items):
    """Deselects tests whose name or path does not contain the text given to `cargo xtask test --filter`."""
    text = os.environ.get("NORMA_TEST_FILTER", "")
    left_out = [item for item in items if text not in f"bindings/python/{item.nodeid}"]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


def pytest_sessionfinish(session, exitstatus):
    """A filter that leaves no test is not a failure."""
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and os.environ.get("NORMA_TEST_FILTER"):
        session.exitstatus = pytest.ExitCode.OK


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """The folder of a cache that is empty when a test begins; the bundles kept in the process and the folders in use are dropped too."""
    import norma.bundles
    import norma.compilation

    monkeypatch.setattr(norma.bundles, "_known", {})
    monkeypatch.setattr(norma.bundles, "_searched", [])
    monkeypatch.setenv("NORMA_CACHE_DIR", str(tmp_path / "cache"))
    norma.compilation._bundles.clear()
    return tmp_path / "cache"


@pytest.fixture
def launched():
    """What the stand-in has launched since the test began, as lines of its log."""
    log = Path(os.environ["NORMA_STUB_LOG"])
    before = len(log.read_text().splitlines()) if log.exists() else 0

    def lines():
        return log.read_text().splitlines()[before:] if log.exists() else []

    return lines


@pytest.fixture
def scale(tmp_path):
    """The function `scale`: y is the sum of each row of x, times s: f32[m, 64] -> f32[m]."""
    import norma

    bundle = tmp_path / "scale"
    bundle.mkdir()
    (bundle / "manifest.json").write_bytes((SCALE / "scale.json").read_bytes())
    (bundle / "scale_0.sm_90a.cubin").write_bytes((SCALE / "scale.sm_90a.cubin").read_bytes())
    return norma.load(bundle)["scale"]
