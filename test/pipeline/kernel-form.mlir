// Kernels that no named op covers yet, written in kernel form. From there on they are compiled as RMSNorm is, because no pass
// after the kernel form knows the origin of a kernel.
// RUN: normac %s --from=kernel --emit=gl | FileCheck %s --check-prefix=GL
// RUN: normac %s --from=kernel --emit=ptx > %t
// RUN: FileCheck %s --input-file=%t --check-prefix=PTX
// RUN: FileCheck %s --input-file=%t --check-prefix=NOWHERE
// kernel-form-sim.test runs them in the simulator, kernel-form-gpu.test on a GPU.

// NOWHERE-NOT: .local
// NOWHERE-NOT: f64

// LayerNorm by Welford's method: reductions of three tiles, whose combiner keeps its constant.
// GL-LABEL:  gpu.func @layer_norm_welford(
// GL:        gl.reduce %{{.*}}, %{{.*}}, %{{.*}} axis
// GL-NEXT:   ^bb0(
// GL:        arith.constant 1.000000e+00 : f32
// GL:        gl.yield %{{.*}}, %{{.*}}, %{{.*}} : f32, f32, f32
// PTX-LABEL: .visible .entry layer_norm_welford(
// PTX:       ld.global{{[^ ]*}}.v4.b32
// PTX:       bar.sync
// PTX:       st.global{{[^ ]*}}.v4.b32
func.func @layer_norm_host(%x: memref<?x8192xbf16> {norm.name = "x"}, %g: memref<8192xbf16> {norm.name = "g"}, %b: memref<8192xbf16> {norm.name = "b"}, %y: memref<?x8192xbf16> {norm.name = "y", norm.output}) {
  norm.launch @layer_norm_welford(%x, %g, %b, %y) : memref<?x8192xbf16>, memref<8192xbf16>, memref<8192xbf16>, memref<?x8192xbf16>
  return
}
norm.kernel @layer_norm_welford(%x: memref<?x8192xbf16>, %g: memref<8192xbf16>, %b: memref<8192xbf16>, %y: memref<?x8192xbf16>)
    space(%m = dim(%x, 0), %n = 8192) align(16, 16, 16, 16) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %eps = arith.constant 1.0e-5 : f32
  %raw = norm.read %x[%m, %n] : memref<?x8192xbf16>
  %v = arith.extf %raw : bf16 to f32
  %mean, %m2, %count = norm.reduce %v, %zero, %one over(%n) identity [0.0 : f32, 0.0 : f32, 0.0 : f32] : f32, f32, f32 combine {
  ^bb0(%mean0: f32, %m20: f32, %n0: f32, %mean1: f32, %m21: f32, %n1: f32):
    %at_least = arith.constant 1.0 : f32
    %total = arith.addf %n0, %n1 : f32
    %divisor = arith.maximumf %total, %at_least : f32
    %delta = arith.subf %mean1, %mean0 : f32
    %share = arith.divf %n1, %divisor : f32
    %step = arith.mulf %delta, %share : f32
    %merged_mean = arith.addf %mean0, %step : f32
    %between = arith.mulf %delta, %step : f32
    %weighted = arith.mulf %between, %n0 : f32
    %within = arith.addf %m20, %m21 : f32
    %merged_m2 = arith.addf %within, %weighted : f32
    norm.yield %merged_mean, %merged_m2, %total : f32, f32, f32
  }
  %var = arith.divf %m2, %count : f32
  %shifted = arith.addf %var, %eps : f32
  %rstd = math.rsqrt %shifted : f32
  %centred = arith.subf %v, %mean : f32
  %scaled = arith.mulf %centred, %rstd : f32
  %g0 = norm.read %g[%n] : memref<8192xbf16>
  %g1 = arith.extf %g0 : bf16 to f32
  %b0 = norm.read %b[%n] : memref<8192xbf16>
  %b1 = arith.extf %b0 : bf16 to f32
  %out = math.fma %scaled, %g1, %b1 : f32
  %narrow = arith.truncf %out : f32 to bf16
  norm.write %narrow, %y[%m, %n] : memref<?x8192xbf16>
}

// Cross-entropy: columns are compared with the label, and nothing is gathered.
// GL-LABEL:  gpu.func @cross_entropy(
// GL:        gl.coordinates
// GL:        arith.cmpi eq
// PTX-LABEL: .visible .entry cross_entropy(
// PTX:       ld.global{{[^ ]*}}.v4.b32
// PTX:       ex2.approx.ftz.f32
// PTX:       lg2.approx.ftz.f32
func.func @cross_entropy_host(%x: memref<?x32000xbf16> {norm.name = "x"}, %labels: memref<?xi64> {norm.name = "labels"}, %loss: memref<?xf32> {norm.name = "loss", norm.output}) {
  norm.launch @cross_entropy(%x, %labels, %loss) : memref<?x32000xbf16>, memref<?xi64>, memref<?xf32>
  return
}
norm.kernel @cross_entropy(%x: memref<?x32000xbf16>, %labels: memref<?xi64>, %loss: memref<?xf32>)
    space(%m = dim(%x, 0), %n = 32000) align(16, 16, 16) {
  %zero = arith.constant 0.0 : f32
  %x0 = norm.read %x[%m, %n] : memref<?x32000xbf16>
  %x1 = arith.extf %x0 : bf16 to f32
  %max = norm.reduce max %x1 over(%n) : f32
  %d = arith.subf %x1, %max : f32
  %e = math.exp %d : f32
  %sum = norm.reduce add %e over(%n) : f32
  %label = norm.read %labels[%m] : memref<?xi64>
  %column = arith.index_cast %label : i64 to index
  %hit = arith.cmpi eq, %n, %column : index
  %picked = arith.select %hit, %d, %zero : f32
  %logit = norm.reduce add %picked over(%n) : f32
  %log = math.log %sum : f32
  %l = arith.subf %log, %logit : f32
  norm.write %l, %loss[%m] : memref<?xf32>
}

// QK-norm and rotate-half: two reads and two writes of one buffer, half a head apart.
// GL-LABEL:      gpu.func @qk_norm_rotate_half(
// GL-COUNT-2:    gl.store
// PTX-LABEL:     .visible .entry qk_norm_rotate_half(
// PTX:           ld.global{{[^ ]*}}.v4.b32
// PTX:           st.global{{[^ ]*}}.v4.b32
func.func @qk_norm_rotate_half_host(%x: memref<?x32x128xbf16> {norm.name = "x"}, %w: memref<128xbf16> {norm.name = "w"}, %cos: memref<?x64xf32> {norm.name = "cos"}, %sin: memref<?x64xf32> {norm.name = "sin"}, %y: memref<?x32x128xbf16> {norm.name = "y", norm.output}) {
  norm.launch @qk_norm_rotate_half(%x, %w, %cos, %sin, %y) : memref<?x32x128xbf16>, memref<128xbf16>, memref<?x64xf32>, memref<?x64xf32>, memref<?x32x128xbf16>
  return
}
norm.kernel @qk_norm_rotate_half(%x: memref<?x32x128xbf16>, %w: memref<128xbf16>, %cos: memref<?x64xf32>, %sin: memref<?x64xf32>,
                                 %y: memref<?x32x128xbf16>) space(%t = dim(%x, 0), %h = 32, %j = 64) align(16, 16, 16, 16, 16) {
  %per_column = arith.constant 7.8125e-3 : f32
  %eps = arith.constant 1.0e-6 : f32
  %a0 = norm.read %x[%t, %h, %j] : memref<?x32x128xbf16>
  %b0 = norm.read %x[%t, %h, %j + 64] : memref<?x32x128xbf16>
  %a1 = arith.extf %a0 : bf16 to f32
  %b1 = arith.extf %b0 : bf16 to f32
  %aa = arith.mulf %a1, %a1 : f32
  %both = math.fma %b1, %b1, %aa : f32
  %squares = norm.reduce add %both over(%j) : f32
  %mean = arith.mulf %squares, %per_column : f32
  %shifted = arith.addf %mean, %eps : f32
  %rstd = math.rsqrt %shifted : f32
  %wa0 = norm.read %w[%j] : memref<128xbf16>
  %wb0 = norm.read %w[%j + 64] : memref<128xbf16>
  %wa1 = arith.extf %wa0 : bf16 to f32
  %wb1 = arith.extf %wb0 : bf16 to f32
  %a2 = arith.mulf %a1, %rstd : f32
  %b2 = arith.mulf %b1, %rstd : f32
  %a = arith.mulf %a2, %wa1 : f32
  %b = arith.mulf %b2, %wb1 : f32
  %c = norm.read %cos[%t, %j] : memref<?x64xf32>
  %s = norm.read %sin[%t, %j] : memref<?x64xf32>
  %ac = arith.mulf %a, %c : f32
  %bs = arith.mulf %b, %s : f32
  %first = arith.subf %ac, %bs : f32
  %bc = arith.mulf %b, %c : f32
  %second = math.fma %a, %s, %bc : f32
  %first0 = arith.truncf %first : f32 to bf16
  %second0 = arith.truncf %second : f32 to bf16
  norm.write %first0, %y[%t, %h, %j] : memref<?x32x128xbf16>
  norm.write %second0, %y[%t, %h, %j + 64] : memref<?x32x128xbf16>
}

// Variance and largest magnitude of one input, which is read once.
// GL-LABEL:      gpu.func @variance_and_amax(
// GL-COUNT-1:    gl.load
// GL-NOT:        gl.load
// GL-COUNT-2:    gl.store
// PTX-LABEL:     .visible .entry variance_and_amax(
func.func @variance_and_amax_host(%x: memref<?x4096xf32> {norm.name = "x"}, %var: memref<?xf32> {norm.name = "var", norm.output}, %amax: memref<?xf32> {norm.name = "amax", norm.output}) {
  norm.launch @variance_and_amax(%x, %var, %amax) : memref<?x4096xf32>, memref<?xf32>, memref<?xf32>
  return
}
norm.kernel @variance_and_amax(%x: memref<?x4096xf32>, %var: memref<?xf32>, %amax: memref<?xf32>)
    space(%m = dim(%x, 0), %n = 4096) align(16, 16, 16) {
  %per_column = arith.constant 2.44140625e-4 : f32
  %v = norm.read %x[%m, %n] : memref<?x4096xf32>
  %abs = math.absf %v : f32
  %a = norm.reduce max %abs over(%n) : f32
  norm.write %a, %amax[%m] : memref<?xf32>
  %sum = norm.reduce add %v over(%n) : f32
  %mean = arith.mulf %sum, %per_column : f32
  %centred = arith.subf %v, %mean : f32
  %square = arith.mulf %centred, %centred : f32
  %squares = norm.reduce add %square over(%n) : f32
  %s = arith.mulf %squares, %per_column : f32
  norm.write %s, %var[%m] : memref<?xf32>
}
