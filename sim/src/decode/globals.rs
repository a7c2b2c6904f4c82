//! The variables of a module, and the layout of those in shared memory.
//!
//! A kernel's static shared memory holds the variables it names, in the order of the module, each at the next address
//! that its alignment allows. An external array without elements is dynamic shared memory, which begins after them; all
//! such arrays begin at one place. Here a gap lies between any two, so that an access beyond the end of one is in none,
//! even if all of its bytes are beyond; PTX leaves open where variables lie.

use std::{collections::HashSet, rc::Rc};

use super::{
    error::{Fault, Result, internal, invalid, unsupported},
    op::Op,
    shape::{Shape, space},
};
use crate::program::{SharedVariable, Space};
use melior::ir::{Attribute, AttributeLike, Type};

/// The variables of a module.
#[derive(Default)]
pub(super) struct Globals {
    variables: Vec<Variable>,
}

struct Variable {
    name: String,
    space: Result<Space>,
    shape: Result<Rc<Shape>>,
    align: Option<u64>,
    external: bool,
}

/// Bytes between variables: the width of all 32 banks, so that bank conflicts are the same as without gaps.
const GAP: u64 = 128;

/// The shared memory of a kernel.
#[derive(Default)]
pub(super) struct SharedMemory {
    pub variables: Vec<SharedVariable>,
    /// Bytes of static shared memory.
    pub bytes: u32,
    /// Bytes ahead of dynamic shared memory without gaps, as on a device.
    pub packed: u32,
    /// Where dynamic shared memory begins.
    pub dynamic: u32,
}

impl Globals {
    /// Records an `llvm.mlir.global`. An error in it matters only if a kernel names it.
    pub fn add(&mut self, op: &Op<'_, '_>) -> Result<()> {
        let ty = op
            .attribute("global_type")
            .ok_or_else(|| internal("lacks its type"))?;
        let address_space = op.integer("addr_space").unwrap_or(0);
        self.variables.push(Variable {
            name: op.need_text("sym_name")?.to_owned(),
            space: u32::try_from(address_space).map_err(internal).and_then(space),
            shape: Shape::of(type_of(ty)),
            align: op.integer("alignment").map(|align| align as u64),
            external: op.keyword("linkage").is_some_and(|linkage| linkage == "external"),
        });
        Ok(())
    }

    fn find(&self, name: &str) -> Result<&Variable> {
        self.variables
            .iter()
            .find(|variable| variable.name == name)
            .ok_or_else(|| invalid(format!("names '{name}', which is no variable of its module")))
    }

    /// Fails unless `name` is a variable in shared memory.
    fn check_shared(&self, name: &str) -> Result<()> {
        let variable = self.find(name)?;
        variable.shape.clone()?;
        match variable.space.clone()? {
            Space::Shared => Ok(()),
            other => Err(unsupported(format!(
                "names '{name}' in {other:?} memory; only variables in shared memory are modelled"
            ))),
        }
    }

    /// Lays out the variables that `ops` name, and calls `note` for each op that names one wrongly.
    pub fn lay_out<'c: 'a, 'a>(
        &self,
        ops: impl Iterator<Item = Op<'c, 'a>>,
        mut note: impl FnMut(&Op<'c, 'a>, Fault),
    ) -> Result<SharedMemory> {
        let mut names = HashSet::new();
        for op in ops.filter(|op| op.name == "llvm.mlir.addressof") {
            match op
                .need_text("global_name")
                .and_then(|name| self.check_shared(name).map(|()| name))
            {
                Ok(name) => {
                    names.insert(name);
                }
                Err(fault) => note(&op, fault),
            }
        }
        let mut memory = SharedMemory::default();
        let (mut end, mut packed, mut dynamic_align) = (0u64, 0u64, 1);
        let mut dynamic = Vec::new();
        for variable in &self.variables {
            if !names.contains(variable.name.as_str()) {
                continue;
            }
            let shape = variable.shape.clone()?;
            let align = variable.align.unwrap_or_else(|| shape.align());
            // LLVM gives a variable of its own at least a byte (`.shared .b8 x[1]`), whatever its type.
            let bytes = if variable.external {
                shape.size()
            } else {
                shape.size().max(1)
            };
            if bytes == 0 {
                dynamic_align = dynamic_align.max(align);
                dynamic.push(variable.name.clone());
                continue;
            }
            packed = packed.next_multiple_of(align) + bytes;
            let gap = if memory.variables.is_empty() { 0 } else { GAP };
            let offset = (end + gap).next_multiple_of(align);
            end = offset + bytes;
            memory.variables.push(SharedVariable {
                name: variable.name.clone(),
                offset: offset as u32,
                bytes: bytes as u32,
            });
        }
        if end >= 1 << crate::address::SHARED_OFFSET_BITS {
            return Err(invalid(format!("has {end} bytes of static shared memory")));
        }
        memory.bytes = end as u32;
        memory.packed = packed.next_multiple_of(dynamic_align) as u32;
        let gap = if memory.variables.is_empty() { 0 } else { GAP };
        memory.dynamic = (end + gap).next_multiple_of(dynamic_align) as u32;
        memory
            .variables
            .extend(dynamic.into_iter().map(|name| SharedVariable {
                name,
                offset: memory.dynamic,
                bytes: 0,
            }));
        Ok(memory)
    }
}

impl SharedMemory {
    /// Where a variable begins.
    pub fn offset(&self, name: &str) -> Option<u32> {
        self.variables
            .iter()
            .find(|variable| variable.name == name)
            .map(|variable| variable.offset)
    }
}

fn type_of(attribute: Attribute<'_>) -> Type<'_> {
    // SAFETY: `global_type` is a type attribute, as MLIR's verifier ensures.
    unsafe { Type::from_raw(mlir_sys::mlirTypeAttrGetValue(attribute.to_raw())) }
}
