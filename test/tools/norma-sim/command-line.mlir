// A run that is impossible is refused with a reason: status 1 if the input is at fault, 2 if the command line is.
// RUN: bash -c 'norma-sim %examples/rms_norm.mlir; test $? = 1' 2>&1 | FileCheck %s --check-prefix=SIZE
// SIZE: error: 'rms_norm' leaves size 'm' open: pass --size m=N
// RUN: bash -c 'norma-sim %examples/rms_norm.mlir --function softmax; test $? = 1' 2>&1 | FileCheck %s --check-prefix=FUNCTION
// FUNCTION: error: there is no function 'softmax', only rms_norm
// RUN: bash -c 'norma-sim %examples/rms_norm.mlir --size m=1 --size m=2; test $? = 1' 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: --size m=... is given twice
// RUN: bash -c 'sed "s/@rms_norm/@second/" %examples/rms_norm.mlir | cat %examples/rms_norm.mlir - | norma-sim - --size m=1; test $? = 1' 2>&1 | FileCheck %s --check-prefix=SEVERAL
// SEVERAL: error: there are 2 functions, name one by --function: rms_norm, second
// RUN: bash -c 'norma-sim - --oracle - < %examples/rms_norm.mlir; test $? = 1' 2>&1 | FileCheck %s --check-prefix=STDIN
// STDIN: error: standard input can be read once: it cannot be both INPUT and --oracle
// RUN: bash -c 'norma-sim %examples/rms_norm.mlir --from=ptx; test $? = 2' 2>&1 | FileCheck %s --check-prefix=LEVEL
// LEVEL: expected a level with ops to simulate, one of tensor, {{.*}}, nvvm, got 'ptx'
// RUN: rm -rf %t && normac %examples/rms_norm.mlir -o %t
// RUN: bash -c 'norma-sim %t --size m=1; test $? = 1' 2>&1 | FileCheck %s --check-prefix=KEEP
// KEEP: error: the bundle has no module for kernel 'rms_norm_0': write it by normac --keep-nvvm
// RUN: bash -c 'normac %examples/rms_norm.mlir --emit=nvvm | norma-sim - --size m=1 --size m1=1 --verify; test $? = 1' 2>&1 | FileCheck %s --check-prefix=VERIFY
// RUN: bash -c 'normac %examples/rms_norm.mlir --emit=nvvm | norma-sim - --size m=1; test $? = 1' 2>&1 | FileCheck %s --check-prefix=SIZES
// SIZES:      error: 'rms_norm' leaves size 'm1' open: pass --size m1=N
// SIZES-NEXT: note: --oracle <FILE>, the source that the module comes from, says which sizes are equal
// RUN: bash -c 'normac %examples/rms_norm.mlir --emit=nvvm | norma-sim - --size m=1 --size m1=1 --size n=1; test $? = 1' 2>&1 | FileCheck %s --check-prefix=NO-SIZE
// NO-SIZE:     error: 'rms_norm' has size m, m1, got 'n'
// NO-SIZE-NOT: --oracle
// VERIFY: error: 'rms_norm' has no definition to compare with: give the source that it comes from with --oracle

// The source of another function defines nothing, nor does a module of a low level; only the function that runs has to be there.
// RUN: bash -c 'norma-sim %examples/rms_norm.mlir --size m=1 --oracle %examples/l2_norm.mlir; test $? = 1' 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: error: --oracle '{{.*}}/l2_norm.mlir': there is no function 'rms_norm', only l2_norm
// RUN: normac %examples/rms_norm.mlir --emit=nvvm -o %t.nvvm.mlir
// RUN: bash -c 'norma-sim %t.nvvm.mlir --size m=1 --size m1=1 --oracle %t.nvvm.mlir; test $? = 1' 2>&1 | FileCheck %s --check-prefix=LOW
// LOW: error: --oracle '{{.*}}': 'rms_norm' has no definition in a module of so low a level
// RUN: bash -c 'sed "s/@rms_norm/@second/" %examples/rms_norm.mlir | cat %examples/rms_norm.mlir - | norma-sim - --size m=1 --seeds 1 --function second --oracle %examples/rms_norm.mlir; test $? = 1' 2>&1 | FileCheck %s --check-prefix=SECOND
// SECOND: error: --oracle '{{.*}}/rms_norm.mlir': there is no function 'second', only rms_norm
// RUN: bash -c 'sed "s/@rms_norm/@second/" %examples/rms_norm.mlir | cat %examples/rms_norm.mlir - | norma-sim - --size m=1 --seeds 1 --function rms_norm --oracle %examples/rms_norm.mlir' | FileCheck %s --check-prefix=RIGHT
// RIGHT: verify {{.*}}right

// Of bundles for several targets, that of --target runs.
// RUN: rm -rf %t.multi && normac %examples/rms_norm.mlir --target sm_80,sm_90a --keep-nvvm -o %t.multi
// RUN: norma-sim %t.multi --size m=1 --seeds 1 | FileCheck %s --check-prefix=DEFAULT
// DEFAULT: sm_90a
// RUN: norma-sim %t.multi --size m=1 --seeds 1 --target sm_80 | FileCheck %s --check-prefix=ASKED
// ASKED: sm_80
// RUN: bash -c 'norma-sim %t.multi --size m=1 --target sm_89; test $? = 1' 2>&1 | FileCheck %s --check-prefix=NO-BUNDLE
// NO-BUNDLE: error: expected a bundle for sm_89 in '{{.*}}', got those for sm_80, sm_90a: name one by --target

// More memory or more CTAs than a run may have, and a launch in a manifest that no device supports.
// RUN: bash -c 'norma-sim %examples/rms_norm.mlir --size m=100000000; test $? = 1' 2>&1 | FileCheck %s --check-prefix=MEMORY
// MEMORY:      error: 'x' takes 819200000000 bytes of simulated memory, and 1073741824 are left
// MEMORY-NEXT: note: --max-bytes raises the bound
// RUN: bash -c 'norma-sim %examples/rms_norm.mlir --size m=9 --max-ctas 2; test $? = 1' 2>&1 | FileCheck %s --check-prefix=CTAS
// CTAS:      error: expected at most 2 CTAs in a run, got {{[0-9]+}}
// CTAS-NEXT: note: --max-ctas raises the bound
// RUN: rm -rf %t && normac %examples/rms_norm.mlir --keep-nvvm -o %t && cp %t/manifest.json %t.json
// RUN: bash -c 'sed "s/\"registers\": [0-9]*/\"registers\": 16777216/" %t.json > %t/manifest.json; norma-sim %t --size m=1 --seeds 1' | FileCheck %s --check-prefix=REGISTERS
// REGISTERS: nothing found
// RUN: bash -c 'tr -d "\n" < %t.json | sed "s/\"block\": *\[[^]]*\]/\"block\": [1024, 1024, 1024]/" > %t/manifest.json; norma-sim %t --size m=1; test $? = 1' 2>&1 | FileCheck %s --check-prefix=BLOCK
// BLOCK: error: expected a block of
// RUN: bash -c 'tr -d "\n" < %t.json | sed "s/\"shared_bytes\": *[^,]*,/\"shared_bytes\": 4294966272,/" > %t/manifest.json; norma-sim %t --size m=1; test $? = 1' 2>&1 | FileCheck %s --check-prefix=SHARED
// SHARED: error: expected at most {{[0-9]+}} bytes of shared memory, got 42949
// RUN: bash -c 'tr -d "\n" < %t.json | sed "s/\"grid\": *\[[^]]*\]/\"grid\": [1, 1, 4294967295]/" > %t/manifest.json; norma-sim %t --size m=1; test $? = 1' 2>&1 | FileCheck %s --check-prefix=GRID
// GRID: error: expected a grid of at most [2147483647, 65535, 65535] CTAs, got [1, 1, 4294967295]

// A size that only the number of blocks has is explained by the size that it follows from.
// RUN: bash -c 'normac dequantize --shape m,n --block 1,16 --emit=mlir | norma-sim - --size m=3 --size n=64; test $? = 1' 2>&1 | FileCheck %s --check-prefix=BLOCKS
// BLOCKS: error: 'dequantize' leaves size 'm1' open, which is extent 1 of 'scale' and at least ceildiv(n, 16): pass --size m1=N

// A report that cannot be written is an error; a message that cannot be written is lost.
// RUN: bash -c 'norma-sim %examples/rms_norm.mlir --size m=1 --seeds 1 > /dev/full; test $? = 1' 2>&1 | FileCheck %s --check-prefix=FULL
// FULL: error: cannot write to standard output: No space left on device
// RUN: bash -c 'norma-sim %examples/rms_norm.mlir 2> /dev/full; test $? = 1'
// RUN: bash -c 'norma-sim %examples/rms_norm.mlir 2>&-; test $? = 1'

// RUN: bash -c 'norma-sim %s; test $? = 1' 2>&1 | FileCheck %s --check-prefix=DIAGNOSTIC
// DIAGNOSTIC: command-line.mlir:[[#@LINE+2]]:6: error:

%y = nonsense.op
