//! Checks functions on buffers, which launch kernels: those that users write beside their kernels, and those that the pass has made.
//!
//! What they say about their arguments is checked as that of functions on tensors is ([`signature`]), and an output may be the same memory
//! as an input under the same conditions ([`aliases`]): the `aliases` of every kernel that writes the one and gets the other say so, and no
//! launch behind one that writes the output reads the input. Where a kernel is no `norm.kernel` any more, nothing is known of what it
//! accesses, and nothing is refused for it: the function was checked while it was one.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use melior::ir::{Location, OperationRef, Value, ValueLike, operation::OperationLike};
use norma_dialects::norm::{KernelOp, LaunchOp};

use super::{
    aliases,
    signature::{self, Argument, Tensor},
};
use crate::{
    kernel::{
        launch_order::{behind, callee, root, views},
        space::Space,
    },
    mlir::{
        diagnostic::Diagnostic,
        pass::{PassError, PassResult},
        types,
        values::{argument_number, key},
        walk,
    },
};

/// Checks the kernels of a module and the functions that launch kernels, before anything relies on what they say.
///
/// # Errors
///
/// An attribute of an argument is wrong or missing, or buffers that may be the same memory cannot be.
pub fn check<'c>(module: OperationRef<'c, '_>) -> PassResult<'c> {
    let mut kernels = HashMap::new();
    for op in walk::all(module, KernelOp::from_op) {
        // Dims of a tiled kernel are parts of those that its accesses were checked for.
        if op.roles().is_none() {
            aliases::check_kernel(op)?;
        }
        kernels.insert(op.sym_name()?, Kernel::of(op)?);
    }
    for function in walk::named(module, "func.func") {
        let launches = walk::all(function, LaunchOp::from_op);
        if launches.is_empty() {
            continue;
        }
        let function = Function {
            location: function.location(),
            arguments: signature::read_buffers(function)?,
            launches: launches
                .into_iter()
                .map(|launch| Launch::of(launch, &kernels))
                .collect(),
        };
        function.check_outputs()?;
        function.check_aliases()?;
        function
            .launches
            .iter()
            .try_for_each(Launch::check_same_buffers)?;
    }
    Ok(())
}

/// What a kernel does with its buffers, by their positions.
struct Kernel<'c> {
    name: &'c str,
    location: Location<'c>,
    reads: BTreeSet<usize>,
    /// Where each buffer that it writes is written.
    writes: BTreeMap<usize, Location<'c>>,
    /// Pairs (output, input) that may be the same memory.
    aliases: Vec<(usize, usize)>,
}

impl<'c> Kernel<'c> {
    fn of<'a>(kernel: KernelOp<'c, 'a>) -> Result<Self, PassError<'c>>
    where
        'c: 'a,
    {
        let space = Space::of(kernel)?;
        let (mut reads, mut writes) = (BTreeSet::new(), BTreeMap::new());
        for access in space.accesses()? {
            if access.is_write {
                writes.entry(access.buffer).or_insert(access.op.location());
            } else {
                reads.insert(access.buffer);
            }
        }
        Ok(Self {
            name: kernel.sym_name()?,
            location: kernel.op().location(),
            reads,
            writes,
            aliases: space.aliases(),
        })
    }
}

/// A launch, with its kernel if that is a `norm.kernel`.
struct Launch<'c, 'a, 'k> {
    op: LaunchOp<'c, 'a>,
    kernel: Option<&'k Kernel<'c>>,
    /// The kernel's buffers, in order.
    buffers: Vec<Value<'c, 'a>>,
}

impl<'c: 'a, 'a, 'k> Launch<'c, 'a, 'k> {
    fn of(op: LaunchOp<'c, 'a>, kernels: &'k HashMap<&'c str, Kernel<'c>>) -> Self {
        let mut buffers = op.arguments();
        buffers.retain(|argument| types::is_memref(argument.r#type()));
        Self {
            op,
            kernel: callee(op).and_then(|name| kernels.get(name)),
            buffers,
        }
    }

    fn location(&self) -> Location<'c> {
        self.op.op().location()
    }

    /// The memory that a buffer is in, as a [`key`].
    fn memory(&self, buffer: usize) -> Option<usize> {
        self.buffers.get(buffer).map(|value| key(root(*value)))
    }

    /// The argument of the function that a buffer is a view of.
    fn argument(&self, buffer: usize) -> Option<usize> {
        argument_number(root(*self.buffers.get(buffer)?))
    }

    fn writes(&self, memory: usize) -> bool {
        let mut written = self.kernel.into_iter().flat_map(|kernel| kernel.writes.keys());
        written.any(|buffer| self.memory(*buffer) == Some(memory))
    }

    fn reads(&self, memory: usize) -> bool {
        let mut read = self.kernel.into_iter().flat_map(|kernel| &kernel.reads);
        read.any(|buffer| self.memory(*buffer) == Some(memory))
    }

    /// Two buffers of the kernel that it may not get if two memories are the same, of which it writes the first, and why.
    fn conflict(&self, output: usize, input: usize) -> Option<Conflict<'c>> {
        let kernel = self.kernel?;
        let of_output = kernel.writes.keys().copied();
        let of_output = of_output.filter(|buffer| self.memory(*buffer) == Some(output));
        let pairs = of_output.flat_map(|written| (0..self.buffers.len()).map(move |other| (written, other)));
        let mut pairs =
            pairs.filter(|(written, other)| written != other && self.memory(*other) == Some(input));
        pairs.find_map(|(output, input)| {
            let why = if !kernel.aliases.contains(&(output, input)) {
                "gets both, and its aliases do not say so"
            } else if joined_axes(self.buffers[output]) != joined_axes(self.buffers[input]) {
                "gets both with different axes joined"
            } else {
                return None;
            };
            Some(Conflict {
                output,
                input,
                why: format!("kernel '{}' {why}", kernel.name),
                kernel: kernel.location,
            })
        })
    }

    /// Refuses a buffer that the kernel writes and gets a second time, unless its `aliases` say that it may.
    fn check_same_buffers(&self) -> PassResult<'c> {
        let written = self.kernel.into_iter().flat_map(|kernel| kernel.writes.keys());
        let mut memories = written.filter_map(|buffer| self.memory(*buffer));
        let Some(conflict) = memories.find_map(|memory| self.conflict(memory, memory)) else {
            return Ok(());
        };
        let message = format!(
            "buffer {} cannot be the same memory as buffer {}: {}",
            conflict.output, conflict.input, conflict.why
        );
        Err(Diagnostic::user(self.location(), message)
            .note(conflict.kernel, "the kernel is here")
            .into())
    }
}

/// Two buffers of a kernel that cannot be the same memory.
struct Conflict<'c> {
    output: usize,
    input: usize,
    why: String,
    kernel: Location<'c>,
}

/// Which axes of a buffer the views of it join, the last view first.
fn joined_axes(buffer: Value<'_, '_>) -> Vec<String> {
    let joined = views(buffer).into_iter();
    let joined = joined.filter_map(|view| view.attribute("reassociation").ok());
    joined.map(|axes| axes.to_string()).collect()
}

/// A function on buffers.
struct Function<'c, 'a, 'k> {
    location: Location<'c>,
    arguments: Vec<Argument<'c>>,
    /// In order.
    launches: Vec<Launch<'c, 'a, 'k>>,
}

impl<'c: 'a, 'a> Function<'c, 'a, '_> {
    /// The buffers among the arguments that kernels may write, each with its position.
    fn outputs(&self) -> impl Iterator<Item = (usize, &Tensor<'c>)> {
        let tensors = self.arguments.iter().enumerate();
        tensors.filter_map(|(index, argument)| {
            Some((index, argument.tensor().filter(|tensor| tensor.is_output)?))
        })
    }

    /// Checks that kernels write the outputs and no other argument.
    fn check_outputs(&self) -> PassResult<'c> {
        let mut written = BTreeSet::new();
        for launch in &self.launches {
            let Some(kernel) = launch.kernel else { continue };
            for (buffer, location) in &kernel.writes {
                let Some(argument) = launch.argument(*buffer) else {
                    continue;
                };
                written.insert(argument);
                if self.outputs().all(|(output, _)| output != argument) {
                    let message = format!(
                        "expected norm.output for argument {argument}, which kernel '{}' writes",
                        kernel.name
                    );
                    return Err(Diagnostic::user(self.location, message)
                        .note(launch.location(), "the kernel is launched here")
                        .note(*location, "it is written here")
                        .into());
                }
            }
        }
        if self.launches.iter().any(|launch| launch.kernel.is_none()) {
            return Ok(());
        }
        // Nothing has to write what holds no element.
        let holds_elements =
            |tensor: &Tensor<'c>| !types::shape(tensor.buffer).unwrap_or_default().contains(&Some(0));
        let mut left = self
            .outputs()
            .filter(|(output, tensor)| holds_elements(tensor) && !written.contains(output));
        match left.next() {
            None => Ok(()),
            Some((output, _)) => {
                let message = format!(
                    "expected a launch of a kernel that writes argument {output}, which has norm.output, got none"
                );
                Err(Diagnostic::user(self.location, message).into())
            }
        }
    }

    /// Checks every `norm.may_alias`.
    fn check_aliases(&self) -> PassResult<'c> {
        let mut taken = BTreeSet::new();
        for (index, output) in self.outputs() {
            let Some(name) = &output.may_alias else {
                continue;
            };
            let refused = |why: &str| {
                let message = format!("argument {index} cannot be the same memory as '{name}': {why}");
                Diagnostic::user(self.location, message)
            };
            let input = aliases::target(output, name, &self.arguments).map_err(|why| refused(&why))?;
            if !taken.insert(input) {
                return Err(refused("another output may be that already").into());
            }
            let (Some(output), Some(input)) = (self.memory(index), self.memory(input)) else {
                continue;
            };
            for launch in self.launches.iter().filter(|launch| launch.writes(output)) {
                if let Some(conflict) = launch.conflict(output, input) {
                    return Err(refused(&conflict.why)
                        .note(launch.location(), "the kernel is launched here")
                        .note(conflict.kernel, "the kernel is here")
                        .into());
                }
                let behind = behind(launch.op);
                let reads =
                    |other: &&Launch| behind.iter().any(|op| op.op() == other.op.op()) && other.reads(input);
                if let Some(reader) = self.launches.iter().find(reads) {
                    return Err(refused("a later launch reads the argument")
                        .note(launch.location(), "it is overwritten here")
                        .note(reader.location(), "it is read here")
                        .into());
                }
            }
        }
        Ok(())
    }

    /// The memory of an argument, as launches know it; `None` if no kernel gets it.
    fn memory(&self, argument: usize) -> Option<usize> {
        self.launches.iter().find_map(|launch| {
            let mut buffers = 0..launch.buffers.len();
            let buffer = buffers.find(|buffer| launch.argument(*buffer) == Some(argument))?;
            launch.memory(buffer)
        })
    }
}
