// The command line: help, wrong flags (exit status 2), an output that cannot be written, a missing ptxas (1).
// RUN: normac --help | FileCheck %s --check-prefix=HELP
// HELP:     Usage: normac [OPTIONS] [INPUT]...
// HELP:     normac <OP>
// HELP:     rms_norm Root-mean-square normalization
// HELP:     --target
// HELP:     Levels:
// HELP:       tensor
// HELP:     Targets: sm_80, sm_89, sm_90a, sm_90a-h100, sm_100a, sm_103a, sm_120a
// HELP:     Exit status:

// Help by its word is that by its flag.
// RUN: normac --help > %t.help && normac help | diff %t.help -
// RUN: normac rms_norm --help > %t.help && normac help rms_norm | diff %t.help -
// RUN: bash -c 'normac help no_such_op; test $? = 2' 2>&1 | FileCheck %s --check-prefix=NO-OP
// NO-OP: error: unrecognized subcommand

// RUN: bash -c 'normac %s --no-such-flag; test $? = 2' 2>&1 | FileCheck %s --check-prefix=FLAG
// FLAG: error: unexpected argument '--no-such-flag' found
// RUN: bash -c 'normac -o %t; test $? = 2' 2>&1 | FileCheck %s --check-prefix=NO-INPUT
// NO-INPUT: error: the following required arguments were not provided
// RUN: bash -c 'normac %s; test $? = 2' 2>&1 | FileCheck %s --check-prefix=NO-OUTPUT
// NO-OUTPUT: --output <DIR>
// RUN: bash -c 'normac %s --target=sm_70 -o %t; test $? = 2' 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: unknown target 'sm_70', expected one of sm_80, sm_89, sm_90a, sm_90a-h100, sm_100a, sm_103a, sm_120a
// RUN: bash -c 'normac %s --target=sm_90 -o %t; test $? = 2' 2>&1 | FileCheck %s --check-prefix=SUFFIX
// SUFFIX: ask for 'sm_90a'
// RUN: bash -c 'normac %s --emit=assembly; test $? = 2' 2>&1 | FileCheck %s --check-prefix=LEVEL
// LEVEL: unknown level 'assembly', expected one of tensor, kernel, scheduled, tiled, gl, gl-lowered, nvvm, llvm, ptx, cubin, mlir, object
// RUN: bash -c 'normac %s --from=cubin --emit=cubin; test $? = 2' 2>&1 | FileCheck %s --check-prefix=SOURCE
// SOURCE: unknown level 'cubin', expected one of tensor, kernel, scheduled, tiled, gl, gl-lowered, nvvm, llvm, ptx{{$}}

// A catalog's options are those that catalogs take.
// RUN: bash -c 'normac --catalog x.toml; test $? = 2' 2>&1 | FileCheck %s --check-prefix=CATALOG
// CATALOG: error: a catalog's bundles go nowhere: expected --output <DIR>{{$}}

// Completions have the words of options, in each program.
// RUN: normac --completions bash | FileCheck %s --check-prefix=COMPLETIONS
// COMPLETIONS-DAG: compgen -W "sm_80 sm_89 sm_90a
// COMPLETIONS-DAG: compgen -W "tensor kernel scheduled tiled gl gl-lowered nvvm llvm ptx cubin mlir object"
// COMPLETIONS-DAG: compgen -W "fast on"
// RUN: norma-run --completions bash | grep sweep && norma-sim --completions zsh | grep 'sm_80 sm_89 sm_90a'

// Options that take numbers, and jobs without bundles.
// RUN: bash -c 'normac %s --jobs 2 -o %t; test $? = 2' 2>&1 | FileCheck %s --check-prefix=JOBS
// JOBS: error: --jobs 2 is how many bundles of a catalog are compiled at a time: expected --catalog <FILE.toml> with it
// RUN: bash -c 'normac --catalog x.toml --jobs many; test $? = 2' 2>&1 | FileCheck %s --check-prefix=MANY
// MANY: error: invalid value 'many' for '--jobs <N>': expected a whole number from 1 to 65535, got 'many'
// RUN: bash -c 'normac %s --candidates -1 -o %t; test $? = 2' 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// NEGATIVE: error: invalid value '-1' for '--candidates <N>': expected a whole number from 1 to 65535, got '-1'

// A folder that cannot be made, because a file is in its way.
// RUN: rm -rf %t && touch %t
// RUN: bash -c 'normac %S/bundle.mlir --from=nvvm -o %t/bundle; test $? = 1' 2>&1 | FileCheck %s --check-prefix=UNWRITABLE
// UNWRITABLE: error: cannot write the bundle to '{{.*}}command-line.mlir.tmp
// RUN: bash -c 'normac %S/bundle.mlir --from=nvvm -o %t; test $? = 1' 2>&1 | FileCheck %s --check-prefix=NO-DIRECTORY
// RUN: bash -c 'normac rms_norm --shape m,64 --candidates 2 -o %t; test $? = 1' 2>&1 | FileCheck %s --check-prefix=NO-DIRECTORY
// RUN: bash -c 'normac --catalog none.toml -o %t; test $? = 1' 2>&1 | FileCheck %s --check-prefix=NO-DIRECTORY
// NO-DIRECTORY: error: expected a folder for the bundle, got the file '{{.*}}command-line.mlir.tmp'

// RUN: rm -rf %t
// RUN: bash -c 'normac %S/bundle.mlir --from=nvvm --ptxas=/nowhere/ptxas -o %t; test $? = 1' 2>&1 | FileCheck %s --check-prefix=PTXAS
// PTXAS:      error: no ptxas at '/nowhere/ptxas', the path asked for
// PTXAS-NEXT: note: `cargo xtask setup` installs ptxas
// RUN: bash -c 'NORMA_PTXAS=/nowhere/ptxas normac %S/bundle.mlir --from=nvvm -o %t; test $? = 1' 2>&1 | FileCheck %s --check-prefix=VARIABLE
// VARIABLE: error: no ptxas at '/nowhere/ptxas', the path named by NORMA_PTXAS
// RUN: not ls %t

// A folder in the place of a file: nothing of the bundle is left in it.
// RUN: rm -rf %t && mkdir -p %t/manifest.json
// RUN: bash -c 'normac %S/bundle.mlir --from=nvvm -o %t; test $? = 1' 2>&1 | FileCheck %s --check-prefix=FOLDER
// FOLDER: 'manifest.json' is a folder there
// RUN: not ls %t/double.sm_90a.*.cubin
// RUN: rm -rf %t

// Errors name what was asked for, and no scratch file.
// RUN: bash -c 'normac %S/bundle.mlir --from=nvvm --emit=ptx -o %t/none/k.ptx; test $? = 1' 2>&1 | FileCheck %s --check-prefix=NO-FOLDER
// NO-FOLDER: error: cannot write '{{.*}}/none/k.ptx': No such file or directory (os error 2){{$}}
// RUN: bash -c 'TMPDIR=/nowhere normac %examples/rms_norm.mlir --emit=object -o %t.o; test $? = 1' 2>&1 | FileCheck %s --check-prefix=SCRATCH
// SCRATCH: error: expected TMPDIR to name a folder that exists, got '/nowhere'{{$}}
// RUN: bash -c 'touch %t.file; TMPDIR=%t.file normac %examples/rms_norm.mlir --emit=object -o %t.o; test $? = 1' 2>&1 | FileCheck %s --check-prefix=NO-SCRATCH
// NO-SCRATCH: error: expected TMPDIR to name a folder that exists, got '{{.*}}.file'{{$}}

// A target that is named twice is compiled once, and an empty variable is ignored.
// RUN: env NORMA_PTXAS= normac %S/bundle.mlir --from=nvvm --target=sm_90a,sm_90a -o %t
// RUN: ls %t/manifest.json && rm -rf %t

// Empty and impossible requests are refused: an empty schedule, standard input read twice, and more than one module where one
// is printed.
// RUN: bash -c 'normac %S/bundle.mlir --emit=nvvm --schedule="" ; test $? = 2' 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: error: invalid value '' for '--schedule <[KERNEL=]ATTRIBUTE>': expected a value that is not empty
// RUN: bash -c 'normac - - -o %t < %S/bundle.mlir; test $? = 2' 2>&1 | FileCheck %s --check-prefix=STDIN
// STDIN: error: standard input can be read once: '-' is given twice
// RUN: bash -c 'normac %S/bundle.mlir --from=nvvm --emit=ptx --target=sm_80,sm_90a; test $? = 2' 2>&1 | FileCheck %s --check-prefix=ONE
// ONE: error: --emit prints one module: expected one input and one target, got 1 and 2

// A file that --emit cannot write whole keeps what it has; messages and reports that cannot be written are no panic.
// RUN: rm -rf %t && mkdir %t && echo before > %t/out
// RUN: bash -c 'trap "" XFSZ; ulimit -f 1; normac %examples/rms_norm.mlir --emit=ptx -o %t/out; test $? = 1' 2>&1 | FileCheck %s --check-prefix=DISK
// DISK: error: cannot write '{{.*}}/out': File too large
// RUN: grep before %t/out && ls -A %t | wc -l | grep '^1$'
// RUN: normac %examples/rms_norm.mlir --emit=ptx -o %t/out && grep .target %t/out
// RUN: bash -c 'normac %examples/rms_norm.mlir --emit=ptx > /dev/full; test $? = 1' 2>&1 | FileCheck %s --check-prefix=FULL
// FULL: error: cannot write to standard output: No space left on device
// RUN: normac %examples/rms_norm.mlir --emit=nvvm --timing 2> /dev/full
// RUN: bash -c 'normac %s --from=nvvm -o %t/bundle 2> /dev/full; test $? = 1'
// RUN: rm -rf %t

// A schedule that could not be looked at.
// RUN: bash -c 'normac %S/bundle.mlir --emit=nvvm --schedule="}" ; test $? = 1' 2>&1 | FileCheck %s --check-prefix=BRACES
// BRACES: error: expected a schedule without braces and semicolons, got '}'
// RUN: bash -c 'normac %S/bundle.mlir --from=nvvm --emit=ptx --schedule="spread = [[grid]]" ; test $? = 1' 2>&1 | FileCheck %s --check-prefix=TOO-LATE
// TOO-LATE: error: a schedule is given to kernels of levels before 'scheduled', and the input is of level 'nvvm'

// Standard input, and a level on standard output or in a file.
// RUN: normac - --from=nvvm --emit=ptx < %S/bundle.mlir | FileCheck %s --check-prefix=PTX
// RUN: normac - --from=nvvm --emit=ptx -o %t < %S/bundle.mlir && FileCheck %s --check-prefix=PTX --input-file=%t
// RUN: rm -rf %t.dash && mkdir %t.dash && cd %t.dash && normac - --from=nvvm --emit=ptx -o - < %S/bundle.mlir | FileCheck %s --check-prefix=PTX
// RUN: not ls %t.dash/-
// RUN: bash -c 'normac - --from=nvvm -o - < %S/bundle.mlir; test $? = 2' 2>&1 | FileCheck %s --check-prefix=DASH
// RUN: bash -c 'normac - --emit=object -o - < %examples/rms_norm.mlir; test $? = 2' 2>&1 | FileCheck %s --check-prefix=DASH-OBJECT
// DASH: error: a bundle is a folder: expected its name by --output, got '-'
// DASH-OBJECT: error: --emit=object writes files: give the object's by --output
// PTX: .target sm_90a
// PTX: .visible .entry double(
