//! Names of the discardable attributes that passes and the compiler agree on.
//!
//! What they mean is written down with the dialect that each belongs to: dialects/gl/README.md and
//! dialects/norm/README.md.

/// Attributes of a kernel that has become a function.
pub mod kernel {
    /// How the host launches it, a `#gl.launch`.
    pub const LAUNCH: &str = "gl.launch";
    /// What its parameters hold, an array of `#gl.param`.
    pub const PARAMS: &str = "gl.params";
    /// Warps of a CTA, an i64.
    pub const NUM_WARPS: &str = "gl.num_warps";
    /// The fewest CTAs that an SM is to hold, an i64; absent where registers are not bounded.
    pub const MIN_CTAS_PER_SM: &str = "gl.min_ctas_per_sm";
    /// Pipelining stages: those of the rings through which loops bring tiles to shared memory or, where nothing is copied there,
    /// the tiles of a load that registers hold, this step's and later ones'. An i64; 1 where absent.
    pub const STAGES: &str = "gl.stages";
    /// Bytes of loads that a thread issues together in loops over memory, an i64; absent where loops are not unrolled.
    pub const UNROLL_BYTES: &str = "gl.unroll_bytes";
    /// Warps besides those of `gl.num_warps` that only issue copies, an i64; absent for none.
    pub const PRODUCER_WARPS: &str = "gl.producer_warps";
    /// Registers that a thread of the producer warps keeps, an i64; absent where registers are not handed over.
    pub const PRODUCER_REGISTERS: &str = "gl.producer_registers";
    /// Groups of `gl.num_warps` warps each that take the steps of a loop in turns, an i64; absent for one.
    pub const CONSUMER_GROUPS: &str = "gl.consumer_groups";
    /// Registers that every thread has when the kernel starts, an i64; absent where the assembler says how many.
    pub const START_REGISTERS: &str = "gl.start_registers";
    /// Bytes of shared memory that its allocations take, an i64.
    pub const SHARED_BYTES: &str = "gl.shared_bytes";
    /// Bytes of shared memory that a launch has to ask for, an i64; absent for none.
    pub const DYNAMIC_SHARED: &str = "gl.dynamic_shared";
    /// The `#norm.schedule` that it was made by.
    pub const SCHEDULE: &str = "norm.schedule";
    /// The `#norm.choice` that the schedule comes from; absent where the schedule was given.
    pub const CHOICE: &str = "norm.choice";
    /// Marks a `norm.kernel` with guards that a split of a reduction has left: its accesses were checked before the split.
    pub const PART: &str = "norm.part";
}

/// Attributes of scalar ops.
pub mod op {
    /// Marks an `arith.mulf` whose rounded result another value may be: a sum with it is no fma.
    pub const ROUNDED: &str = "norm.rounded";
}

/// Attributes of a host function.
pub mod function {
    /// Asks for the function's gradient: an array of the names of the arguments that it is with respect to, or a unit for all tensors
    /// of floats.
    pub const GRADIENT: &str = "norm.gradient";
    /// On the function that one device runs, the sharded function that it is a part of, as a dictionary: `function`, its name;
    /// `devices`, how many share it, an i64; and `axes`, a dictionary from the names of its sharded arguments and results to the
    /// axes along which they are sharded, each an i64.
    pub const SHARDED: &str = "norm.sharded";
}

/// Attributes of a host function's arguments and results.
pub mod tensor {
    /// The tensor's name in the bundle, a string.
    pub const NAME: &str = "norm.name";

    /// The name in the bundle of an argument that has no [`NAME`].
    pub fn argument_name(index: usize) -> String {
        format!("arg{index}")
    }

    /// The name in the bundle of a result that has no [`NAME`].
    pub fn result_name(index: usize) -> String {
        format!("result{index}")
    }

    /// Marks an argument that kernels write.
    pub const OUTPUT: &str = "norm.output";
    /// The memref that holds a tensor, with its strides, a type.
    pub const BUFFER: &str = "norm.buffer";
    /// Bytes that the base address and every stride of a dynamic strided layout are multiples of, an i64.
    pub const ALIGN: &str = "norm.align";
    /// What each extent is a multiple of, an array of i64.
    pub const MULTIPLES: &str = "norm.multiples";
    /// Over how many devices each axis is sharded, an array of i64: 1 for all axes but one. On arguments only.
    pub const DEVICES: &str = "norm.devices";
    /// The least that each extent is, an array of i64.
    pub const MIN: &str = "norm.min";
    /// The most that each extent is, an array of i64; -1 for no bound.
    pub const MAX: &str = "norm.max";
    /// What each dynamic extent is called, an array of strings; an empty one for no name.
    pub const SIZES: &str = "norm.sizes";
    /// What the programs of a function call each axis of dynamic size, an array of strings; an empty one for no name.
    /// Axes of one name may differ in size.
    pub const DIMS: &str = "norm.dims";
    /// The name of an argument that a result may be the same memory as, a string.
    pub const MAY_ALIAS: &str = "norm.may_alias";
    /// The value of a scalar argument where a launch sets none, a number of its type.
    pub const DEFAULT: &str = "norm.default";
}

/// Attributes of a `memref.alloc` in a host function.
pub mod scratch {
    /// Marks memory that kernels of one call hand to each other. Its name is `norm.name`.
    pub const SCRATCH: &str = "norm.scratch";
    /// Marks scratch that is zero before the first call, and that the kernels leave zero.
    pub const ZEROED: &str = "norm.zeroed";
    /// The alignment of its address, in bytes, which `cuMemAlloc` promises (CUDA C++ Programming Guide, "Device Memory Accesses").
    pub const ALIGNMENT: i64 = 256;
}
