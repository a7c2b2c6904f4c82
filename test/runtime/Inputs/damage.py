"""Copies a program in which a bundle's cubin is embedded, with zeros in the middle of the cubin.

  damage.py PROGRAM BUNDLE COPY
"""

import glob
import os
import shutil
import sys

program, bundle, copy = sys.argv[1:]
(path,) = glob.glob(os.path.join(bundle, "*.cubin"))
cubin = open(path, "rb").read()
whole = open(program, "rb").read()
if whole.count(cubin) != 1:
    sys.exit(f"expected '{path}' once in '{program}', got it {whole.count(cubin)} times")
middle = len(cubin) // 2
damaged = cubin[:middle] + bytes(1500) + cubin[middle + 1500 :]
shutil.copy(program, copy)
with open(copy, "wb") as file:
    file.write(whole.replace(cubin, damaged))
