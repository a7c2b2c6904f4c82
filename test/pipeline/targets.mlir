// One input for every target of the table: each gets PTX of its own and, with ptxas at hand, a cubin.
// RUN: normac %examples/rms_norm.mlir --target=sm_80 --emit=ptx | FileCheck %s -DTARGET=sm_80
// RUN: normac %examples/rms_norm.mlir --target=sm_89 --emit=ptx | FileCheck %s -DTARGET=sm_89
// RUN: normac %examples/rms_norm.mlir --target=sm_90a --emit=ptx | FileCheck %s -DTARGET=sm_90a
// RUN: normac %examples/rms_norm.mlir --target=sm_100a --emit=ptx | FileCheck %s -DTARGET=sm_100a
// RUN: normac %examples/rms_norm.mlir --target=sm_103a --emit=ptx | FileCheck %s -DTARGET=sm_103a
// RUN: normac %examples/rms_norm.mlir --target=sm_120a --emit=ptx | FileCheck %s -DTARGET=sm_120a

// CHECK: .target [[TARGET]]{{$}}
// CHECK: .visible .entry rms_norm_0(
// CHECK: ld.global{{[^ ]*}}.v4.b32
// CHECK: st.global{{[^ ]*}}.v4.b32
