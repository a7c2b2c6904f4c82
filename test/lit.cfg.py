"""How lit runs the tests in this folder.

`cargo xtask test` passes five parameters; by hand, `lit-22 test` or `lit-22 test/passes/norm-tile.mlir` takes the defaults:

  -Dtools=DIR    the folder of the tools under test                    target/debug
  -Dllvm=DIR     LLVM's prefix: FileCheck, not, split-file             what llvm-config-22 says
  -Dcuda=DIR     NVIDIA's files: bin/ptxas, bin/nvdisasm               .toolchain/cuda-*
  -Dbrowser=FILE a headless Chromium                                   the one on PATH
  -Dscratch=DIR  where tests write their temporary files (%t)          target/debug/lit

A test is a .mlir or .test file with RUN lines; the tools and LLVM's programs are on its PATH. Folders called Inputs
hold what tests read. `REQUIRES:` knows five features, each named for what the machine has: browser, cmake, gpu, ptxas, nvdisasm.
"""

import ctypes
import glob
import os
import shutil
import subprocess

import lit.formats

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOOLS = ["norma-lsp-server", "norma-opt", "norma-run", "norma-sim", "normac"]


def llvm_prefix():
    return subprocess.run(["llvm-config-22", "--prefix"], check=True, capture_output=True, text=True).stdout.strip()


def unpacked_cuda():
    return next(iter(glob.glob(os.path.join(ROOT, ".toolchain", "cuda-*"))), "")


def browser_on_path():
    return next(filter(None, map(shutil.which, ["chromium-headless-shell", "chromium", "google-chrome"])), "")


def has_gpu():
    """Whether CUDA's driver starts and sees a device."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int(0)
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


tools = lit_config.params.get("tools") or os.path.join(ROOT, "target", "debug")
llvm = lit_config.params.get("llvm") or llvm_prefix()
cuda = lit_config.params.get("cuda") or unpacked_cuda()

for tool in TOOLS:
    if not os.path.isfile(os.path.join(tools, tool)):
        lit_config.fatal(f"no {tool} in {tools}; build it by `cargo build --workspace`")

config.name = "norma"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.join(ROOT, "test")
config.test_exec_root = lit_config.params.get("scratch") or os.path.join(tools, "lit")

# The tools under test come first, so that no installed one is tested by mistake.
path = [tools, os.path.join(llvm, "bin"), os.path.join(cuda, "bin"), os.environ.get("PATH", "")]
config.environment["PATH"] = os.pathsep.join(path)
# What cargo and rustup look for their files by.
for variable in ["HOME", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"]:
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]
if "NORMA_PTXAS" in os.environ:
    config.environment["NORMA_PTXAS"] = os.environ["NORMA_PTXAS"]
# glibc fills memory that is freed, so that reading an op that a pass has erased fails each time. Its per-thread caches would leave most of it
# as it is.
config.environment["GLIBC_TUNABLES"] = "glibc.malloc.tcache_count=0"
config.environment["MALLOC_PERTURB_"] = "165"
config.substitutions.append(("%examples", os.path.join(ROOT, "examples")))
config.substitutions.append(("%tools", tools))
# The stand-in for CUDA's driver, to be found as libcuda.so.1.
config.substitutions.append(("%driver", os.path.join(tools, "libnorma_stub_driver.so")))

browser = lit_config.params.get("browser") or browser_on_path()
if browser:
    config.available_features.add("browser")
    config.substitutions.append(("%browser", browser))
if has_gpu():
    config.available_features.add("gpu")
if "NORMA_PTXAS" in os.environ or shutil.which("ptxas", path=config.environment["PATH"]):
    config.available_features.add("ptxas")
if shutil.which("cmake"):
    config.available_features.add("cmake")
if shutil.which("nvdisasm", path=config.environment["PATH"]):
    config.available_features.add("nvdisasm")
