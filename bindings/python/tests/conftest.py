"""What the tests run with: the stand-in for CUDA's driver, a compiler, and a cache of their own.

`cargo xtask test` sets the environment; by hand, name the compiler by NORMA_NORMAC and put a folder with the stand-in as
`libcuda.so.1` on LD_LIBRARY_PATH, and write its log to NORMA_STUB_LOG.
"""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SCALE = ROOT / "bundle" / "testdata"


def pytest_collection_modifyitems(config, items):
    """Leaves out tests whose name or path lacks what `cargo xtask test --filter` is given."""
    text = os.environ.get("NORMA_TEST_FILTER", "")
    left_out = [item for item in items if text not in f"bindings/python/{item.nodeid}"]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


def pytest_sessionfinish(session, exitstatus):
    """That a filter leaves no test is no failure."""
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and os.environ.get("NORMA_TEST_FILTER"):
        session.exitstatus = pytest.ExitCode.OK


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """The folder of a cache that is empty when a test begins, with nothing kept in the process either."""
    import norma.compilation

    monkeypatch.setenv("NORMA_CACHE_DIR", str(tmp_path / "cache"))
    norma.compilation._bundles.clear()
    return tmp_path / "cache"


@pytest.fixture
def launched():
    """What the stand-in has launched since the test began, as the lines of its log."""
    log = Path(os.environ["NORMA_STUB_LOG"])
    before = len(log.read_text().splitlines()) if log.exists() else 0

    def lines():
        return log.read_text().splitlines()[before:] if log.exists() else []

    return lines


@pytest.fixture
def scale(tmp_path):
    """The function `scale`, y = the sums of the rows of x, times s: f32[m, 64] -> f32[m]."""
    import norma

    bundle = tmp_path / "scale"
    bundle.mkdir()
    (bundle / "manifest.json").write_bytes((SCALE / "scale.json").read_bytes())
    (bundle / "scale_0.sm_90a.cubin").write_bytes((SCALE / "scale.sm_90a.cubin").read_bytes())
    return norma.load(bundle)["scale"]
