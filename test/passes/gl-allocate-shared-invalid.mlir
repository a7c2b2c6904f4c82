// Programs that gl-allocate-shared rejects.
// RUN: norma-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics --gl-allocate-shared='limit=4096'

gpu.module @kernels {
  // expected-error @+1 {{unsupported: expected at most 4096 bytes of shared memory, got 6144}}
  gpu.func @too_large() kernel {
    // expected-note @+1 {{2048 bytes allocated here}}
    %a = gl.local_alloc : !gl.memdesc<512xf32, #gl.plain<order = [0]>>
    // expected-note @+1 {{4096 bytes allocated here}}
    %b = gl.local_alloc : !gl.memdesc<1024xf32, #gl.plain<order = [0]>>
    "test.use"(%a, %b) : (!gl.memdesc<512xf32, #gl.plain<order = [0]>>, !gl.memdesc<1024xf32, #gl.plain<order = [0]>>) -> ()
    gpu.return
  }
}

// -----

!memory = !gl.memdesc<4xf32, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @selected(%c: i1) kernel {
    %a = gl.local_alloc : !memory
    %b = gl.local_alloc : !memory
    %m = arith.select %c, %a, %b : !memory
    // expected-error @+1 {{unsupported: expected shared memory that is allocated in the kernel or a stage of such}}
    "test.use"(%m) : (!memory) -> ()
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{unsupported: expected structured control flow, got a region of several blocks}}
  gpu.func @branches() kernel {
    cf.br ^bb1
  ^bb1:
    gpu.return
  }
}
