//! Pairs of f32 with one element, which LLVM's NVPTX backend may fail to select.

use inkwell::llvm_sys::LLVMTypeKind;
use inkwell::llvm_sys::core::{
    LLVMGetElementType, LLVMGetFirstUse, LLVMGetMaskValue, LLVMGetNextUse, LLVMGetNumMaskElements,
    LLVMGetOperand, LLVMGetTypeKind, LLVMGetUndefMaskElem, LLVMGetUser, LLVMGetVectorSize,
    LLVMIsAInsertElementInst, LLVMIsPoison, LLVMTypeOf,
};
use inkwell::llvm_sys::prelude::{LLVMTypeRef, LLVMValueRef};
use inkwell::module::Module;
use inkwell::values::{AsValueRef, InstructionOpcode};

/// Whether a module computes with a pair of f32 one of whose elements is poison: what is left of an odd number of elements that are computed in
/// pairs.
///
/// The backend puts such an element into a pair of integers if it comes from inline PTX, and has no instruction for that ("Cannot select: v2i32 =
/// scalar_to_vector", LLVM 22).
pub(super) fn has_lone_element(module: &Module) -> bool {
    let blocks = module
        .get_functions()
        .flat_map(|function| function.get_basic_block_iter());
    let mut instructions = blocks.flat_map(|block| block.get_instructions());
    instructions.any(|instruction| {
        let value = instruction.as_value_ref();
        // SAFETY: the instruction is live, and each function gets an instruction of the opcode that it is for.
        unsafe {
            is_pair(LLVMTypeOf(value))
                && match instruction.get_opcode() {
                    InstructionOpcode::ShuffleVector => leaves_out_an_element(value),
                    InstructionOpcode::InsertElement => inserts_the_only_element(value),
                    _ => false,
                }
        }
    })
}

/// Whether a type is a pair of f32.
///
/// # Safety
///
/// The type is live.
unsafe fn is_pair(ty: LLVMTypeRef) -> bool {
    // SAFETY: the type is live, and asked for its elements only if it is a vector.
    unsafe {
        LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMVectorTypeKind
            && LLVMGetVectorSize(ty) == 2
            && LLVMGetTypeKind(LLVMGetElementType(ty)) == LLVMTypeKind::LLVMFloatTypeKind
    }
}

/// Whether a `shufflevector` takes no element of its operands for one of its own.
///
/// # Safety
///
/// The value is a live `shufflevector`.
unsafe fn leaves_out_an_element(shuffle: LLVMValueRef) -> bool {
    // SAFETY: the value is a `shufflevector`, whose mask has so many elements.
    unsafe {
        let mut mask = (0..LLVMGetNumMaskElements(shuffle)).map(|index| LLVMGetMaskValue(shuffle, index));
        mask.any(|element| element == LLVMGetUndefMaskElem())
    }
}

/// Whether an `insertelement` begins a vector to which no other adds an element.
///
/// # Safety
///
/// The value is a live `insertelement`.
unsafe fn inserts_the_only_element(insert: LLVMValueRef) -> bool {
    // SAFETY: the value is an `insertelement`, which has operands, and nothing changes its uses meanwhile.
    unsafe {
        if LLVMIsPoison(LLVMGetOperand(insert, 0)) == 0 {
            return false;
        }
        let mut one = LLVMGetFirstUse(insert);
        while !one.is_null() {
            if !LLVMIsAInsertElementInst(LLVMGetUser(one)).is_null() {
                return false;
            }
            one = LLVMGetNextUse(one);
        }
        true
    }
}
