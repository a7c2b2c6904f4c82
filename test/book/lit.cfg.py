"""The pages of docs/ and README as a suite of lit's: what they show is compiled and run (page.py says how).

`cargo xtask test` runs it with all others; by hand, `lit-22 test/book`. With `-Dupdate=yes` commands are shown with what they print
now, which `cargo xtask book --update` does.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# Tests travel to other processes, which import what they are made of by its name.
sys.path.insert(0, HERE)

import page

# The tools under test and where they are found are the same.
lit_config.load_config(config, os.path.join(os.path.dirname(HERE), "lit.cfg.py"))

root = os.path.dirname(os.path.dirname(HERE))
config.name = "norma-book"
config.test_format = page.Book(root, update=lit_config.params.get("update") == "yes")
config.suffixes = [".md"]
config.test_source_root = os.path.join(root, "docs")
config.test_exec_root = os.path.join(config.test_exec_root, "book")
