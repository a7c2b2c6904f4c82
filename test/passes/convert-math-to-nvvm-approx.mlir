// Each op of the table becomes approximate instructions; other types and ops are left alone.
// RUN: norma-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(convert-math-to-nvvm-approx))' | FileCheck %s
// RUN: norma-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(convert-math-to-nvvm-approx{flush-denormals=false fast-tanh=true}))' | FileCheck %s --check-prefix=OPTIONS

// CHECK-LABEL: @exp
// CHECK-SAME: %[[X:.*]]: f32
// CHECK: %[[LOG2E:.*]] = arith.constant 1.44269502 : f32
// CHECK: %[[SCALED:.*]] = arith.mulf %[[X]], %[[LOG2E]] : f32
// CHECK: %[[EXP:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%[[SCALED]]) : (f32) -> f32
// CHECK: return %[[EXP]]
// OPTIONS-LABEL: @exp
// OPTIONS: "llvm.nvvm.ex2.approx.f32"
gpu.module @kernels {
  func.func @exp(%x: f32) -> f32 {
    %0 = math.exp %x : f32
    return %0 : f32
  }
}

// -----

// A division becomes `div.full` where its flags allow that, and a product with `rcp.approx` where they allow more.
// CHECK-LABEL: @division
// CHECK: llvm.call_intrinsic "llvm.nvvm.div.full.ftz"(%[[X:.*]], %[[Y:.*]]) : (f32, f32) -> f32
// CHECK: arith.divf %[[X]], %[[Y]] : f32
// CHECK: arith.divf %{{.*}}, %{{.*}} fastmath<arcp> : f64
// CHECK: %[[R:.*]] = llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"(%[[Y]]) : (f32) -> f32
// CHECK: arith.mulf %[[X]], %[[R]] : f32
// OPTIONS-LABEL: @division
// OPTIONS: "llvm.nvvm.div.full"
// OPTIONS: "llvm.nvvm.rcp.approx.f"
gpu.module @kernels {
  func.func @division(%x: f32, %y: f32, %z: f64) -> (f32, f32, f64, f32) {
    %0 = arith.divf %x, %y fastmath<arcp> : f32
    %1 = arith.divf %x, %y : f32
    %2 = arith.divf %z, %z fastmath<arcp> : f64
    %3 = arith.divf %x, %y fastmath<arcp,afn> : f32
    return %0, %1, %2, %3 : f32, f32, f64, f32
  }
}

// -----

// CHECK-LABEL: @one_instruction
// CHECK: "llvm.nvvm.rsqrt.approx.ftz.f"(%{{.*}}) : (f32) -> f32
// CHECK: "llvm.nvvm.sqrt.rn.ftz.f"
// CHECK: "llvm.nvvm.ex2.approx.ftz.f32"
// CHECK: "llvm.nvvm.lg2.approx.ftz.f"
// CHECK: llvm.intr.fabs
// CHECK: llvm.intr.floor
// CHECK: llvm.intr.ceil
// CHECK: llvm.intr.trunc
// CHECK: llvm.intr.roundeven
// CHECK: llvm.intr.copysign
// CHECK: llvm.intr.fma(%{{.*}}, %{{.*}}, %{{.*}}) : (f32, f32, f32) -> f32
// CHECK-NOT: math.
// OPTIONS-LABEL: @one_instruction
// OPTIONS: "llvm.nvvm.rsqrt.approx.f"
gpu.module @kernels {
  func.func @one_instruction(%x: f32) -> f32 {
    %0 = math.rsqrt %x : f32
    %1 = math.sqrt %0 : f32
    %2 = math.exp2 %1 : f32
    %3 = math.log2 %2 : f32
    %4 = math.absf %3 : f32
    %5 = math.floor %4 : f32
    %6 = math.ceil %5 : f32
    %7 = math.trunc %6 : f32
    %8 = math.roundeven %7 : f32
    %9 = math.copysign %8, %x : f32
    %10 = math.fma %9, %8, %x : f32
    return %10 : f32
  }
}

// -----

// CHECK-LABEL: @logarithms_scale_afterwards
// CHECK: %[[LOG:.*]] = llvm.call_intrinsic "llvm.nvvm.lg2.approx.ftz.f"
// CHECK: %[[LN2:.*]] = arith.constant 0.693147182 : f32
// CHECK: arith.mulf %[[LOG]], %[[LN2]]
// CHECK: "llvm.nvvm.lg2.approx.ftz.f"
// CHECK: arith.constant 3.010300e-01 : f32
gpu.module @kernels {
  func.func @logarithms_scale_afterwards(%x: f32) -> (f32, f32) {
    %0 = math.log %x : f32
    %1 = math.log10 %x : f32
    return %0, %1 : f32, f32
  }
}

// -----

// CHECK-LABEL: @tanh
// CHECK: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// CHECK: %[[EXP:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
// CHECK: %[[SUM:.*]] = arith.addf %[[EXP]], %[[ONE]]
// CHECK: %[[RCP:.*]] = llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"(%[[SUM]])
// CHECK: %[[MINUS2:.*]] = arith.constant -2.000000e+00 : f32
// CHECK: llvm.intr.fma(%[[RCP]], %[[MINUS2]], %[[ONE]])
// OPTIONS-LABEL: @tanh
// OPTIONS: llvm.intr.tanh({{.*}}) {fastmathFlags = #llvm.fastmath<afn>} : (f32) -> f32
gpu.module @kernels {
  func.func @tanh(%x: f32) -> f32 {
    %0 = math.tanh %x : f32
    return %0 : f32
  }
}

// -----

// CHECK-LABEL: @vectors_come_apart
// CHECK-SAME: %[[V:.*]]: vector<2x1xf32>
// CHECK: %[[E:.*]]:2 = vector.to_elements %[[V]] : vector<2x1xf32>
// CHECK: %[[R0:.*]] = llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.ftz.f"(%[[E]]#0)
// CHECK: %[[R1:.*]] = llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.ftz.f"(%[[E]]#1)
// CHECK: vector.from_elements %[[R0]], %[[R1]] : vector<2x1xf32>
gpu.module @kernels {
  func.func @vectors_come_apart(%x: vector<2x1xf32>) -> vector<2x1xf32> {
    %0 = math.rsqrt %x : vector<2x1xf32>
    return %0 : vector<2x1xf32>
  }
}

// -----

// Narrow floats are computed in f32 and rounded once, except by ops that are exact on them.

// CHECK-LABEL: @narrow
// CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : bf16 to f32
// CHECK: %[[ROOT:.*]] = llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.ftz.f"(%[[WIDE]])
// CHECK: %[[NARROW:.*]] = arith.truncf %[[ROOT]] : f32 to bf16
// CHECK: llvm.intr.fabs(%[[NARROW]]) : (bf16) -> bf16
gpu.module @kernels {
  func.func @narrow(%x: bf16) -> bf16 {
    %0 = math.rsqrt %x : bf16
    %1 = math.absf %0 : bf16
    return %1 : bf16
  }
}

// -----

// CHECK-LABEL: @double
// CHECK: llvm.intr.sqrt(%{{.*}}) : (f64) -> f64
// CHECK: arith.divf %{{.*}}, %{{.*}} : f64
// CHECK: llvm.intr.roundeven(%{{.*}}) : (f64) -> f64
// CHECK: arith.fptosi %{{.*}} : f64 to i64
// CHECK: return
gpu.module @kernels {
  func.func @double(%x: f64) -> f64 {
    %0 = math.rsqrt %x : f64
    %1 = math.exp %0 : f64
    return %1 : f64
  }
}

// -----

// CHECK-LABEL: @integers
// CHECK: "llvm.intr.abs"(%{{.*}}) <{is_int_min_poison = false}> : (i32) -> i32
// CHECK: "llvm.intr.ctlz"(%{{.*}}) <{is_zero_poison = false}> : (i32) -> i32
// CHECK: llvm.intr.ctpop(%{{.*}}) : (i32) -> i32
gpu.module @kernels {
  func.func @integers(%x: i32) -> i32 {
    %0 = math.absi %x : i32
    %1 = math.ctlz %0 : i32
    %2 = math.ctpop %1 : i32
    return %2 : i32
  }
}

// -----

// The bounds are the second and the third operand.

// CHECK-LABEL: @clamp
// CHECK-SAME: %[[X:.*]]: f32, %[[LOW:.*]]: f32, %[[HIGH:.*]]: f32
// CHECK: %[[BELOW:.*]] = arith.minimumf %[[X]], %[[HIGH]]
// CHECK: arith.maximumf %[[BELOW]], %[[LOW]]
gpu.module @kernels {
  func.func @clamp(%x: f32, %low: f32, %high: f32) -> f32 {
    %0 = math.clampf %x to [%low, %high] : f32
    return %0 : f32
  }
}

// -----

// CHECK-LABEL: @several_instructions
// CHECK-NOT: math.
// CHECK: return
gpu.module @kernels {
  func.func @several_instructions(%x: f32) -> f32 {
    %0 = math.erf %x : f32
    %1 = math.expm1 %0 : f32
    %2 = math.log1p %1 : f32
    %3 = math.sin %2 : f32
    %4 = math.cos %3 : f32
    %5 = math.powf %4, %x : f32
    %6 = math.round %5 : f32
    return %6 : f32
  }
}

// -----

// CHECK-LABEL: @other_types_and_ops_stay
// CHECK: math.erf %{{.*}} : f64
// CHECK: math.exp %{{.*}} : vector<[4]xf32>
// CHECK: math.cbrt %{{.*}} : f32
gpu.module @kernels {
  func.func @other_types_and_ops_stay(%a: f64, %c: vector<[4]xf32>, %d: f32)
      -> (f64, vector<[4]xf32>, f32) {
    %0 = math.erf %a : f64
    %1 = math.exp %c : vector<[4]xf32>
    %2 = math.cbrt %d : f32
    return %0, %1, %2 : f64, vector<[4]xf32>, f32
  }
}
