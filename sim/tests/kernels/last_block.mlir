// y[0] = the sum of one f32 per CTA: each writes its own, and the last to come, which a counter tells, adds them up in
// order. The counter is left zero.
gpu.module @last_block {
  llvm.func @last_block(%x: !llvm.ptr<1>, %parts: !llvm.ptr<1>, %counter: !llvm.ptr<1>, %y: !llvm.ptr<1>)
      attributes {gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: 1, 1, 1>} {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %zero = llvm.mlir.constant(0.0 : f32) : f32
    %cta = nvvm.read.ptx.sreg.ctaid.x : i32
    %ctas = nvvm.read.ptx.sreg.nctaid.x : i32
    %from = llvm.getelementptr %x[%cta] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %v = llvm.load %from : !llvm.ptr<1> -> f32
    %part = llvm.getelementptr %parts[%cta] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    llvm.store %v, %part : f32, !llvm.ptr<1>
    llvm.fence syncscope("device") acq_rel
    %before = llvm.atomicrmw add %counter, %c1 monotonic : !llvm.ptr<1>, i32
    llvm.fence syncscope("device") acq_rel
    %end = llvm.sub %ctas, %c1 : i32
    %last = llvm.icmp "eq" %before, %end : i32
    llvm.cond_br %last, ^sum(%c0, %zero : i32, f32), ^done
  ^sum(%i: i32, %sum: f32):
    %theirs = llvm.getelementptr %parts[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %p = llvm.load %theirs : !llvm.ptr<1> -> f32
    %new = llvm.fadd %sum, %p : f32
    %next = llvm.add %i, %c1 : i32
    %more = llvm.icmp "ult" %next, %ctas : i32
    llvm.cond_br %more, ^sum(%next, %new : i32, f32), ^store
  ^store:
    llvm.store %new, %y : f32, !llvm.ptr<1>
    llvm.store %c0, %counter : i32, !llvm.ptr<1>
    llvm.br ^done
  ^done:
    llvm.return
  }
}
