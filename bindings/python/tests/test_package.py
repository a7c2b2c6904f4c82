"""The package as a whole: what importing it loads, and whether its stubs describe the extension."""

import ast
import os
import pydoc
import subprocess
import sys
from pathlib import Path

import norma
from norma import _runtime


def test_importing_norma_imports_no_framework_and_no_driver():
    code = """
import sys, norma
assert not {"torch", "numpy", "cupy", "jax"} & set(sys.modules)
assert "libcuda" not in open("/proc/self/maps").read()
"""
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def public(names):
    # Of the special methods, the stubs contain those that implement operators.
    operators = {"__call__", "__contains__", "__getitem__", "__iter__", "__len__"}
    return {name for name in names if not name.startswith("_") or name in operators}


def test_stubs_describe_the_extension():
    stubs = Path(norma.__file__).with_name("_runtime.pyi")
    described = ast.parse(stubs.read_text()).body
    functions = {node.name for node in described if isinstance(node, ast.FunctionDef)}
    classes = {node.name: node for node in described if isinstance(node, ast.ClassDef)}
    assert public(dir(_runtime)) == functions | set(classes)
    for name, node in classes.items():
        members = {member.name for member in node.body if isinstance(member, ast.FunctionDef)}
        # Methods that every type has, such as `type.__call__`, are ignored.
        assert public(vars(getattr(_runtime, name))) == public(members), name


def test_all_that_is_exported_is_there():
    assert all(hasattr(norma, name) for name in norma.__all__)


def test_the_version_is_the_workspaces():
    workspace = (Path(__file__).parents[3] / "Cargo.toml").read_text()
    assert (
        f'version = "{norma.__version__}"'
        in workspace.partition("[workspace.package]")[2].partition("[workspace.dep")[0]
    )


def test_help_on_a_function_says_how_it_is_called(scale):
    text = pydoc.plain(pydoc.render_doc(scale))
    assert "function(*inputs, out=None, stream=None, allocator=None, **named)" in text
