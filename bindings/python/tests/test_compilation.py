"""Compiling, and the cache: what is kept, and what happens to it when something fails."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from conftest import ROOT

import norma
from norma import compilation, compiler

SOURCE = (ROOT / "examples" / "l2_norm.mlir").read_text()


@pytest.fixture
def counted(tmp_path, monkeypatch):
    """A compiler that counts its runs by adding a line to a file for each; returns the file."""
    runs = tmp_path / "runs"
    script = tmp_path / "normac"
    real = compiler.Compiler.find().path
    script.write_text(f'#!/bin/sh\n[ "$1" = --version ] || echo run >> {runs}\nexec {real} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("NORMA_NORMAC", str(script))
    runs.touch()
    return lambda: len(runs.read_text().splitlines())


def forget():
    compilation._bundles.clear()


def compiled(**options):
    return norma.compile(SOURCE, target="sm_90a", **options)


def test_sources_and_paths_are_compiled():
    for source in (SOURCE, ROOT / "examples" / "l2_norm.mlir", str(ROOT / "examples" / "l2_norm.mlir")):
        bundle = norma.compile(source)
        assert (bundle.functions, bundle.targets) == (["l2_norm"], ["sm_90a"])
    assert norma.compile(SOURCE, target=["sm_90a", "sm_100a"]).targets == ["sm_100a", "sm_90a"]


def test_a_program_that_is_refused_says_where(tmp_path):
    with pytest.raises(norma.CompileError, match=r"<source>:1:\d+: error: "):
        norma.compile("func.func @f(", target="sm_90a")
    path = tmp_path / "wrong.mlir"
    path.write_text("func.func @f(")
    with pytest.raises(norma.CompileError, match=r"wrong.mlir:1:\d+: error: "):
        norma.compile(path, target="sm_90a")
    with pytest.raises(norma.CompileError, match="sm_12"):
        norma.compile(SOURCE, target="sm_12")
    with pytest.raises(FileNotFoundError):
        norma.compile("no_such.mlir")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"source": None}, TypeError, "expected source to be a path or the text of a program, got None"),
        ({"source": b"module {}"}, TypeError, "expected source to be a path or the text of a program, got bytes"),
        ({"target": ""}, ValueError, "expected a target that is not empty, got ''"),
        ({"target": []}, ValueError, "expected at least one target, such as 'sm_90a', got none"),
        ({"target": 90}, TypeError, "expected target to be a str or a sequence of them, got int"),
        ({"target": b"sm_90a"}, TypeError, "expected target to be a str or a sequence of them, got bytes"),
        ({"target": ["sm_90a", None]}, TypeError, "expected target to be a str or a sequence of them, got None in it"),
        ({"schedule": None}, TypeError, "expected schedule to be a str or a sequence of them, got None"),
        ({"schedule": [" "]}, ValueError, "expected a schedule that is not empty, got ' '"),
        ({"by_size": "no"}, TypeError, "expected by_size to be a bool, got str"),
        ({"batch_invariant": None}, TypeError, "expected batch_invariant to be a bool, got None"),
        ({"portable_clusters": 1}, TypeError, "expected portable_clusters to be a bool, got int"),
    ],
)
def test_arguments_of_other_types_are_refused(arguments, error, message):
    with pytest.raises(error) as refused:
        norma.compile(**{"source": SOURCE, "target": "sm_90a", **arguments})
    assert str(refused.value) == message


def test_a_file_that_is_not_text_is_refused(tmp_path):
    path = tmp_path / "binary.mlir"
    path.write_bytes(b"\x7fELF\xff")
    with pytest.raises(norma.CompileError, match="binary.mlir' is not text: byte 4 is not UTF-8"):
        norma.compile(path, target="sm_90a")


def test_text_with_half_a_character_is_refused():
    with pytest.raises(
        norma.CompileError, match=r"the program is not text: character 3 is the lone surrogate '\\ud800'"
    ):
        norma.compile("// \ud800\n", target="sm_90a")
    for name in ("target", "schedule"):
        with pytest.raises(
            ValueError, match=rf"expected a {name} of whole characters, got the lone surrogate in '\\ud800'"
        ):
            norma.compile(SOURCE, **{"target": "sm_90a", name: "\ud800"})


def test_a_missing_compiler_is_one_clear_error(monkeypatch, tmp_path):
    monkeypatch.setenv("NORMA_NORMAC", str(tmp_path / "none"))
    with pytest.raises(norma.CompilerNotFoundError, match="NORMA_NORMAC names '.*none', which is no program"):
        compiled()
    monkeypatch.delenv("NORMA_NORMAC")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(compiler, "BESIDE_THE_PACKAGE", tmp_path / "bin" / "normac")
    with pytest.raises(norma.CompilerNotFoundError, match="no normac at '.*normac' or on PATH"):
        compiled()


def test_a_compiler_that_is_not_one_is_reported(monkeypatch, tmp_path):
    broken = tmp_path / "normac"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("NORMA_NORMAC", str(broken))
    with pytest.raises(norma.CompileError, match="cannot run the compiler"):
        compiled()


def test_what_was_compiled_is_found_again(counted):
    assert compiled() is compiled()
    forget()
    assert compiled().functions == ["l2_norm"]
    assert counted() == 1
    compiled(by_size=True)
    compiled(batch_invariant=True)
    compiled(portable_clusters=True)
    norma.compile(SOURCE, target="sm_80")
    norma.compile(SOURCE + "\n", target="sm_90a")
    schedule = "#norm.schedule<spread = [[grid, warp(4)], [register(4), lane(32), vector(8)]]>"
    compiled(schedule=schedule)
    assert counted() == 7


def test_another_compiler_compiles_again(counted):
    compiled()
    path = Path(os.environ["NORMA_NORMAC"])
    path.write_text(path.read_text() + "# newer\n")
    compiled()
    assert counted() == 2


def test_threads_that_ask_for_one_program_compile_it_once(counted):
    found = []
    threads = [threading.Thread(target=lambda: found.append(compiled())) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(bundle) for bundle in found}) == 1 and len(found) == 6
    assert counted() == 1


def test_other_threads_run_while_it_compiles(monkeypatch, tmp_path):
    slow = tmp_path / "slow"
    slow.write_text(f'#!/bin/sh\n[ "$1" = --version ] || sleep 0.3\nexec {compiler.Compiler.find().path} "$@"\n')
    slow.chmod(0o755)
    monkeypatch.setenv("NORMA_NORMAC", str(slow))
    thread = threading.Thread(target=compiled)
    thread.start()
    turns = 0
    while thread.is_alive():
        turns += 1
        time.sleep(0.001)
    assert turns > 10


@pytest.mark.parametrize("damage", ["cut", "emptied", "altered"])
def test_an_entry_that_is_not_whole_is_compiled_again(cache, counted, damage):
    compiled()
    (entry,) = cache.iterdir()
    content = entry.read_bytes()
    middle = len(content) // 2
    damaged = {
        "cut": content[:middle],
        "emptied": b"",
        "altered": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
    }
    entry.write_bytes(damaged[damage])
    forget()
    assert compiled().functions == ["l2_norm"]
    assert counted() == 2
    assert entry.read_bytes() == content


def test_a_folder_that_cannot_be_written_costs_a_warning(monkeypatch, tmp_path):
    # This is a file instead of a folder, because root may write to any folder.
    (tmp_path / "file").touch()
    monkeypatch.setenv("NORMA_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.warns(
        RuntimeWarning, match="cannot keep what was compiled in '.*cache', which NORMA_CACHE_DIR may name"
    ):
        assert compiled().functions == ["l2_norm"]


def test_a_full_disk_leaves_nothing_behind(cache, monkeypatch):
    def write_some(handle, mode):
        file = real_fdopen(handle, mode)

        class Full:
            def __enter__(self):
                return self

            def __exit__(self, *_):
                file.close()

            def write(self, content):
                file.write(content[:100])
                file.flush()
                raise OSError(28, "No space left on device")

        return Full()

    real_fdopen = os.fdopen
    monkeypatch.setattr(norma.cache.os, "fdopen", write_some)
    with pytest.warns(RuntimeWarning, match="No space left on device"):
        assert compiled().functions == ["l2_norm"]
    monkeypatch.undo()
    assert list(cache.iterdir()) == []


def test_a_full_disk_leaves_no_unfinished_file_of_a_bundle(monkeypatch, tmp_path):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(norma.bundles.os, "replace", full)
    with pytest.raises(OSError, match="No space left on device"):
        norma.bundles.write(tmp_path / "bundle", {"manifest.json": b"{}"})
    assert list((tmp_path / "bundle").iterdir()) == []


def in_process(code, cache, **environment):
    """Starts a process that runs `code`, with `norma` imported and SOURCE defined."""
    program = "import norma, sys\nSOURCE = sys.argv[1]\n" + textwrap.dedent(code)
    return subprocess.Popen(
        [sys.executable, "-c", program, SOURCE],
        env={**os.environ, "NORMA_CACHE_DIR": str(cache), **environment},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_processes_that_compile_at_once_both_end_right(cache):
    code = "print(norma.compile(SOURCE, target='sm_90a').functions)"
    processes = [in_process(code, cache) for _ in range(4)]
    for process in processes:
        output, _ = process.communicate(timeout=120)
        assert (process.returncode, output) == (0, "['l2_norm']\n")
    (entry,) = cache.iterdir()
    assert norma.cache.read(entry.stem) is not None


def test_a_process_killed_while_it_compiles_leaves_a_cache_to_trust(cache, tmp_path, counted):
    slow = tmp_path / "slow"
    slow.write_text('#!/bin/sh\n[ "$1" = --version ] && echo slow && exit 0\ntouch "$0.started"\nsleep 60\n')
    slow.chmod(0o755)
    process = in_process("norma.compile(SOURCE, target='sm_90a')", cache, NORMA_NORMAC=str(slow))
    while not Path(f"{slow}.started").exists():
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert compiled().functions == ["l2_norm"]
    assert counted() == 1


def test_a_process_killed_while_it_writes_leaves_a_cache_to_trust(cache, counted):
    code = """
    import os
    real = os.replace
    def replace(*paths):
        print("here", flush=True)
        import time; time.sleep(60)
    os.replace = replace
    norma.compile(SOURCE, target='sm_90a')
    """
    process = in_process(code, cache)
    assert process.stdout.readline() == "here\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (unfinished,) = cache.iterdir()
    assert compiled().functions == ["l2_norm"]
    assert counted() == 2
    # The leftover file is deleted once it is too old to belong to a process that still runs.
    os.utime(unfinished, (0, 0))
    compiled(by_size=True)
    assert not unfinished.exists() and len(list(cache.iterdir())) == 2


def test_without_a_compiler_what_any_compiler_made_is_used(monkeypatch, tmp_path):
    compiled()
    forget()
    monkeypatch.setenv("NORMA_NORMAC", str(tmp_path / "none"))
    assert compiled().functions == ["l2_norm"]
    with pytest.raises(norma.CompilerNotFoundError):
        compiled(by_size=True)


@pytest.fixture
def ahead_of_time(monkeypatch, tmp_path):
    """Writes a bundle as `normac` does, and takes the compiler away; returns the folder of the bundle's folder."""

    def written(*options, source=SOURCE.encode()):
        command = [compiler.Compiler.find().path, "-", "--output", str(tmp_path / "kernels" / "l2_norm"), *options]
        subprocess.run(command, input=source, check=True, capture_output=True)
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.delenv("NORMA_NORMAC")
        monkeypatch.setattr(compiler, "BESIDE_THE_PACKAGE", tmp_path / "normac")
        return tmp_path / "kernels"

    return written


@pytest.mark.parametrize("options", [["--target", "sm_90a"], ["--target", "sm_80,sm_90a", "--ptx-fallback"]])
def test_a_bundle_of_a_folder_that_is_used_needs_no_compiler(ahead_of_time, options):
    folder = ahead_of_time(*options)
    for given in (folder, folder / "l2_norm"):
        norma.use_bundles(given)
        assert (compiled().functions, compiled().targets) == (["l2_norm"], ["sm_90a"])
    if "--ptx-fallback" in options:
        assert norma.compile(SOURCE, target=["sm_80", "sm_90a"]).targets == ["sm_80", "sm_90a"]


def test_a_bundle_is_used_for_its_text_options_and_target_only(ahead_of_time):
    norma.use_bundles(ahead_of_time("--target", "sm_90a"))
    for source, options in (
        (SOURCE + "\n", {"target": "sm_90a"}),
        (SOURCE, {"target": "sm_80"}),
        (SOURCE, {"target": "sm_90a", "by_size": True}),
        (SOURCE, {"target": "sm_90a", "batch_invariant": True}),
        (SOURCE, {"target": "sm_90a", "portable_clusters": True}),
        (SOURCE, {"target": ["sm_80", "sm_90a"]}),
    ):
        with pytest.raises(norma.CompilerNotFoundError, match="its bundle is not in .*kernels either"):
            norma.compile(source, **options)


def test_the_text_of_a_bundle_has_the_ends_of_lines_of_its_file(ahead_of_time, tmp_path):
    path = tmp_path / "crlf.mlir"
    path.write_bytes(SOURCE.replace("\n", "\r\n").encode())
    norma.use_bundles(ahead_of_time("--target", "sm_90a", source=path.read_bytes()))
    assert norma.compile(path, target="sm_90a") is norma.compile(path.read_bytes().decode(), target="sm_90a")
    with pytest.raises(norma.CompilerNotFoundError):
        compiled()


def test_a_bundle_for_an_architecture_is_used_for_its_parts(ahead_of_time):
    norma.use_bundles(ahead_of_time("--target", "sm_90a"))
    assert norma.compile(SOURCE, target="sm_90a-h100").targets == ["sm_90a"]


def test_a_bundle_of_a_folder_that_is_used_comes_before_the_compiler(ahead_of_time, counted, monkeypatch):
    counting = os.environ["NORMA_NORMAC"]
    folder = ahead_of_time("--target", "sm_90a")
    monkeypatch.setenv("NORMA_NORMAC", counting)
    runs = counted()
    norma.use_bundles(folder)
    assert compiled() is compiled()
    assert counted() == runs


def test_a_folder_without_bundles_is_refused(tmp_path):
    with pytest.raises(
        norma.BundleError, match="expected a folder of bundles that normac wrote, got '.*', which has none"
    ):
        norma.use_bundles(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(norma.BundleError, match="cannot use the manifest '.*manifest.json'"):
        norma.use_bundles(tmp_path)


def test_a_bundle_of_several_programs_is_not_used(tmp_path):
    manifest = {"functions": [{"provenance": {"source": digest, "options": []}} for digest in ("a", "b")]}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(
        norma.BundleError, match="expected bundles of one program each, got '.*', whose functions are of several"
    ):
        norma.use_bundles(tmp_path)


def test_without_a_home_nothing_is_kept(monkeypatch, tmp_path):
    monkeypatch.delenv("NORMA_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.chdir(tmp_path)
    assert norma.cache.folder() is None and norma.cache.find("key") is None
    with pytest.warns(
        RuntimeWarning, match="cannot keep .* '~/.cache/norma', .* may name: the home directory '~' is not known"
    ):
        assert compiled().functions == ["l2_norm"]
    assert list(tmp_path.iterdir()) == []


def test_a_home_that_is_not_known_is_named(monkeypatch):
    monkeypatch.setenv("NORMA_CACHE_DIR", "~no_such_user/kernels")
    with pytest.warns(
        RuntimeWarning, match="'~no_such_user/kernels', .*: the home directory '~no_such_user' is not known"
    ):
        assert compiled().functions == ["l2_norm"]


def test_the_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.delenv("NORMA_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert norma.cache.folder() == tmp_path / "norma"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/someone")
    assert norma.cache.folder() == Path("/home/someone/.cache/norma")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert norma.cache.folder() == Path("/home/someone/.cache/norma")
    monkeypatch.setenv("NORMA_CACHE_DIR", "~/kernels")
    assert norma.cache.folder() == Path("/home/someone/kernels")
    monkeypatch.setenv("HOME", "")
    assert norma.cache.folder() is None
