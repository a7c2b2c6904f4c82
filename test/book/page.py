"""A page as a test: its blocks are taken in order, in a folder of its own beside links to `examples/` and `catalog/`.

  ```console              each `$ command` runs in bash, and prints the lines below it; `...` stands for any lines
  ```console varies       each command succeeds; what it prints is what the compiler chose or estimated when the page was written
  ```console fails        each command refuses what it is given
  ```mlir                 is compiled for sm_90a; attributes by themselves are parsed
  ```LANGUAGE file=NAME   is written to NAME as well, for the commands after it

What needs a GPU, a network or minutes is in blocks of `sh`, which are not run. Listings in languages of programs are those of
examples/, which other tests run (`cargo xtask tidy` compares them).
"""

import difflib
import os
import re
import shutil
import subprocess

import lit.formats
import lit.Test

FENCE = re.compile(r"^```(?P<info>[^\n`]+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
# What users see besides the tools' paths.
LINKS = ["examples", "catalog"]


class Block:
    """What stands between fences: a language, words that say more, and the text from offset `start` of the page."""

    def __init__(self, match, page):
        self.language, *self.words = match["info"].split()
        self.text = match["text"]
        self.start = match.start("text")
        self.line = page.count("\n", 0, self.start)

    def file(self):
        """The name that the block's text is kept under, if any."""
        return next((word.removeprefix("file=") for word in self.words if word.startswith("file=")), None)

    def is_checked(self):
        return self.language in ("console", "mlir") or self.file() is not None

    def commands(self):
        """Each command with the lines that are shown below it. A command goes on where a line ends in a backslash."""
        commands = []
        for line in self.text.splitlines(keepends=True):
            if line.startswith("$ "):
                commands.append((line[2:], ""))
            elif commands and commands[-1][0].endswith("\\\n"):
                commands[-1] = (commands[-1][0] + line, "")
            elif commands:
                commands[-1] = (commands[-1][0], commands[-1][1] + line)
        return commands


class Failure(Exception):
    """What a page shows is not so."""


class Run:
    """A page being followed: its folder, and what its commands printed."""

    def __init__(self, folder, environment, root, update):
        self.folder = folder
        self.environment = environment
        self.update = update
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        for name in LINKS:
            os.symlink(os.path.join(root, name), os.path.join(folder, name))

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)

    def bash(self, command):
        """The exit status of a command, and what it prints on either stream."""
        done = subprocess.run(
            ["bash", "-c", "set -o pipefail\n" + command],
            cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)  # fmt: skip
        return done.returncode, done.stdout

    def compile(self, block):
        if block.text.startswith("#"):
            attributes = re.split(r"^(?=#)", block.text, flags=re.MULTILINE)[1:]
            self.write("attributes.mlir", "".join(f"#a{i} = {text}" for i, text in enumerate(attributes)))
            status, printed = self.bash("norma-opt attributes.mlir")
        else:
            name = block.file() or f"line-{block.line}.mlir"
            self.write(name, block.text)
            status, printed = self.bash(f"normac ./{name} --target sm_90a -o ./compiled")
        if status != 0:
            raise Failure(f"{block.line}: does not compile:\n{printed}")

    def console(self, block):
        """The block as it would have to be. Raises what cannot be put right by showing something else."""
        text = ""
        for command, shown in block.commands():
            status, printed = self.bash(command)
            # 1: the input is at fault, 2: the command line. Anything else is the compiler's.
            if (status in (1, 2)) != ("fails" in block.words) or status not in (0, 1, 2):
                raise Failure(f"{block.line}: exit status {status}: {command}{printed}")
            printed = re.sub(r"[ \t]+$", "", printed, flags=re.MULTILINE)
            is_right = agrees(shown, printed) or ("varies" in block.words and not self.update)
            if not is_right and "...\n" in shown.splitlines(keepends=True):
                raise Failure(f"{block.line}: {command}{difference(shown, printed)}")
            text += "$ " + command + (shown if is_right else printed)
        return text


def agrees(shown, printed):
    """Whether a command printed what is shown."""
    lines = shown.splitlines(keepends=True)
    pattern = "".join(r"(?:.*\n)*?" if line == "...\n" else re.escape(line) for line in lines)
    return re.fullmatch(pattern, printed) is not None


def difference(shown, printed):
    lines = difflib.unified_diff(shown.splitlines(True), printed.splitlines(True), "shown", "printed")
    return "".join(lines)


def blocks(page):
    return [Block(match, page) for match in FENCE.finditer(page)]


class Book(lit.formats.FileBasedTest):
    """Each page that shows something that can be checked, and README, which lies beside the folder of the pages."""

    def __init__(self, root, update):
        self.root = root
        self.update = update

    def getTestsInDirectory(self, suite, path_in_suite, lit_config, local_config):
        yield from super().getTestsInDirectory(suite, path_in_suite, lit_config, local_config)
        if not path_in_suite:
            yield from self.getTestsForPath(suite, (os.pardir, "README.md"), lit_config, local_config)

    def getTestsForPath(self, suite, path_in_suite, lit_config, local_config):
        for test in super().getTestsForPath(suite, path_in_suite, lit_config, local_config):
            with open(test.getSourcePath()) as page:
                if any(block.is_checked() for block in blocks(page.read())):
                    yield test

    def execute(self, test, lit_config):
        path = test.getSourcePath()
        with open(path) as file:
            page = file.read()
        run = Run(test.getExecPath() + ".tmp", test.config.environment, self.root, self.update)
        updated, end = "", 0
        try:
            for block in filter(Block.is_checked, blocks(page)):
                text = block.text
                if block.language == "console":
                    text = run.console(block)
                elif block.language == "mlir":
                    run.compile(block)
                else:
                    run.write(block.file(), block.text)
                if text != block.text and not self.update:
                    raise Failure(f"{block.line}: prints something else now:\n{difference(block.text, text)}")
                updated += page[end : block.start] + text
                end = block.start + len(block.text)
        except Failure as failure:
            return lit.Test.FAIL, f"{path}:{failure}"
        if self.update and updated + page[end:] != page:
            with open(path, "w") as file:
                file.write(updated + page[end:])
        shutil.rmtree(run.folder)
        return lit.Test.PASS, ""
