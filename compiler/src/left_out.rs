//! Leaves out of programs what their libraries' bindings could call and Norma does not: LLVM's code generators but NVPTX, what executes
//! code on this machine, and MLIR's lists of everything.
//!
//! The crates inkwell and melior wrap functions that name all of these. Norma calls no such wrapper, and linkers remove them; but by then a
//! linker has taken the object files that they name from LLVM's archives, and it keeps the static constructors of these files, with all
//! that they reach: 10 MB, and options that each start of a program registers. A linker that finds a function here looks no further.
//!
//! The functions are true to their names in a program that has nothing to initialize, and in which no code can be executed. C's calling
//! convention lets a function ignore its arguments, so that they are declared without. `test/tools/linked.test` looks for what should not be
//! there.

use std::ffi::{c_int, c_void};
use std::ptr;

/// Defines functions for C, which ignore their arguments and return the same value each time.
macro_rules! define {
    ($result:ty = $value:expr; $($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> $result {
                $value
            }
        )*
    };
}

// There is nothing to initialize, to register, to link, to run or to dispose of.
define! { () = ();
    LLVM_InitializeAllTargetInfos
    LLVM_InitializeAllTargets
    LLVM_InitializeAllTargetMCs
    LLVM_InitializeAllAsmPrinters
    LLVM_InitializeAllAsmParsers
    LLVM_InitializeAllDisassemblers
    LLVMAddGlobalMapping
    LLVMAddModule
    LLVMDisposeExecutionEngine
    LLVMDisposeGenericValue
    LLVMFreeMachineCodeForFunction
    LLVMLinkInInterpreter
    LLVMLinkInMCJIT
    LLVMRunStaticConstructors
    LLVMRunStaticDestructors
    mlirExecutionEngineDestroy
    mlirExecutionEngineDumpToObjectFile
    mlirExecutionEngineRegisterSymbol
    mlirRegisterAllDialects
    mlirRegisterAllLLVMTranslations
    mlirRegisterAllPasses
}

// These fail with 1.
define! { c_int = 1;
    LLVM_InitializeNativeTarget
    LLVM_InitializeNativeAsmPrinter
    LLVM_InitializeNativeAsmParser
    LLVM_InitializeNativeDisassembler
    LLVMCreateExecutionEngineForModule
    LLVMCreateInterpreterForModule
    LLVMCreateJITCompilerForModule
    LLVMFindFunction
    LLVMRemoveModule
    LLVMRunFunctionAsMain
}

// This one fails with 0, as MLIR's results do.
define! { i8 = 0;
    mlirExecutionEngineInvokePacked
}

// There is no engine, no function and no value.
define! { *mut c_void = ptr::null_mut();
    LLVMCreateGenericValueOfFloat
    LLVMCreateGenericValueOfInt
    LLVMGetExecutionEngineTargetData
    LLVMRunFunction
    mlirExecutionEngineCreate
    mlirExecutionEngineLookup
}
define! { u64 = 0;
    LLVMGenericValueIntWidth
    LLVMGenericValueToInt
    LLVMGetFunctionAddress
}
define! { f64 = 0.0;
    LLVMGenericValueToFloat
}
