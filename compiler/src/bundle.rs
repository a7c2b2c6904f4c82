//! Assembles a bundle from a lowered module: the manifest and the cubins, first in memory and then in a folder.
//!
//! A manifest is put together from several sources:
//! - the host functions say which buffers each kernel gets ([`host`]);
//! - `gl.launch` and `gl.params` on a kernel say how it is launched ([`kernel`]);
//! - the kernel forms, kept from before they were scheduled, say which sizes are equal ([`kernel_form`]);
//! - the input, kept from before any pass, says what is computed ([`definition`]) and for which sizes ([`conditions`]);
//! - the attributes of tensors promise bounds of sizes, which become conditions too ([`bounds`]);
//! - sharded functions are also described as a whole ([`sharded`]).

mod affine;
mod bounds;
mod conditions;
mod definition;
mod host;
mod kernel;
mod kernel_form;
pub(crate) mod sharded;
mod sizes;
mod tensor_maps;
mod views;
mod write;

use std::collections::BTreeMap;

use melior::ir::Module;
use norma_bundle::manifest::{Function, Kernel, Sharded};
use norma_bundle::{Expression, Manifest};

use crate::emit::Cubin;
use crate::error::{Error, Result};
use crate::target::Target;
use host::{HostFunction, Role};

pub use conditions::SourceConditions;
pub use definition::SourceDefinition;
pub use kernel_form::KernelForms;
pub use write::{check_place, is_whole, retire, write_all};

/// A bundle for one target, in memory.
#[derive(Debug, Clone)]
pub struct Bundle {
    /// What a launcher reads.
    pub manifest: Manifest,
    /// File names and contents of the machine code; empty if none was asked for.
    pub cubins: Vec<(String, Vec<u8>)>,
    /// File names and texts of the modules of level `nvvm` that were kept.
    pub modules: Vec<(String, String)>,
    /// File names and texts of the PTX that was kept.
    pub ptx: Vec<(String, String)>,
    /// By kernel, how many registers of a thread the choice of its schedule expected.
    pub expected_registers: BTreeMap<String, u64>,
}

/// The products of one `gpu.module` that go into a bundle.
#[derive(Debug, Clone)]
pub struct Emitted {
    /// The module's name.
    pub module: String,
    /// Its machine code, if asked for.
    pub cubin: Option<Cubin>,
    /// Its text at level `nvvm`, if kept.
    pub text: Option<String>,
    /// Its PTX, if kept.
    pub ptx: Option<String>,
    /// By kernel, how many registers of a thread the choice of its schedule expected.
    pub expected_registers: BTreeMap<String, u64>,
}

impl Bundle {
    /// Adds the functions of another input.
    ///
    /// # Errors
    /// Both bundles have a function or a module of the same name.
    pub fn merge(&mut self, other: Self) -> Result<()> {
        let names = |bundle: &Self| -> Vec<String> {
            let whole = bundle.manifest.sharded.iter().map(|sharded| &sharded.whole);
            let functions = bundle.manifest.functions.iter().chain(whole);
            functions
                .map(|function| function.name.clone())
                .chain(bundle.cubins.iter().map(|(name, _)| name.clone()))
                .chain(bundle.modules.iter().map(|(name, _)| name.clone()))
                .collect()
        };
        let known = names(self);
        if let Some(name) = names(&other).into_iter().find(|name| known.contains(name)) {
            return Err(Error::user(format!(
                "two inputs define '{name}', and a bundle needs distinct names"
            )));
        }
        self.manifest.functions.extend(other.manifest.functions);
        self.manifest.sharded.extend(other.manifest.sharded);
        self.manifest.manifest_version = Manifest::version_of(&self.manifest.functions);
        self.cubins.extend(other.cubins);
        self.modules.extend(other.modules);
        self.ptx.extend(other.ptx);
        self.expected_registers.extend(other.expected_registers);
        Ok(())
    }
}

/// A kernel with the manifest's names for the sizes of its buffers.
#[derive(Debug, Clone)]
pub(crate) struct KernelSizes {
    /// Its symbol.
    pub kernel: String,
    /// Maps the manifest's name of a size to `size_<buffer>_<axis>`, a buffer and an axis of the kernel that have this size.
    pub names: BTreeMap<String, String>,
}

/// The kernels that a module of level `kernel` launches, with the names of their sizes.
pub(crate) fn kernel_sizes(module: &Module) -> Result<Vec<KernelSizes>> {
    let forms = KernelForms::collect(module)?;
    let mut kernels = Vec::<KernelSizes>::new();
    for host in host::functions(module)? {
        let sizes = sizes::name_sizes(&host, &forms);
        for launch in &host.launches {
            if kernels.iter().any(|kernel| kernel.kernel == launch.kernel) {
                continue;
            }
            let mut names = BTreeMap::new();
            for (index, buffer) in launch.buffers.iter().enumerate() {
                for axis in 0..buffer.groups.len() {
                    if let Some(Expression::Symbol(name)) = sizes.size(buffer, axis) {
                        let size = format!("size_{index}_{axis}");
                        names.entry(name).or_insert(size);
                    }
                }
            }
            kernels.push(KernelSizes {
                kernel: launch.kernel.clone(),
                names,
            });
        }
    }
    Ok(kernels)
}

/// Returns the expression with its symbols renamed by `names`.
pub(crate) fn renamed(expression: &Expression, names: &BTreeMap<String, String>) -> Expression {
    affine::substitute(expression, &|name| names.get(name).map(Expression::symbol))
}

/// Assembles a bundle from a module at level `nvvm`, the products of its `gpu.module`s, the kernel forms from before
/// scheduling, the definitions and conditions read off the input, and the descriptions of its sharded functions.
///
/// # Errors
///
/// A host function that a manifest cannot describe, or a kernel that lacks its launch attributes.
pub fn assemble(
    module: &Module,
    definitions: &[SourceDefinition],
    conditions: &[SourceConditions],
    forms: &KernelForms,
    emitted: &[Emitted],
    sharded: Vec<Sharded>,
    target: &Target,
) -> Result<Bundle> {
    let lowered = kernel::Kernels::of(module);
    let mut functions = Vec::new();
    for host in host::functions(module)? {
        let sizes = sizes::name_sizes(&host, forms);
        let kernels = host
            .launches
            .iter()
            .map(|launch| kernel::describe(&lowered, &host, launch, &sizes, emitted, target))
            .collect::<Result<Vec<_>>>()?;
        let lowered = Lowered {
            module: &lowered,
            kernels,
        };
        functions.push(describe(
            &host,
            &sizes,
            definitions,
            conditions,
            forms,
            Some(lowered),
        )?);
    }
    if functions.is_empty() {
        return Err(Error::user(
            "the input has no function that launches a kernel, and a bundle needs one",
        ));
    }
    let manifest = Manifest {
        manifest_version: Manifest::version_of(&functions),
        producer: concat!("norma ", env!("CARGO_PKG_VERSION")).to_owned(),
        target: target.architecture().to_owned(),
        part: Some(norma_bundle::Part {
            name: target.part.name.to_owned(),
            target: target.name.to_owned(),
            bandwidth: target.part.bandwidth as u64,
        }),
        functions,
        sharded,
    };
    manifest
        .validate()
        .map_err(|error| Error::internal(error.to_string()))?;
    for kernel in manifest.functions.iter().flat_map(|function| &function.kernels) {
        let is_its = |emitted: &&Emitted| cubin_name(&emitted.module, target) == kernel.cubin;
        if let Some(cubin) = emitted
            .iter()
            .find(is_its)
            .and_then(|emitted| emitted.cubin.as_ref())
        {
            let checked = norma_bundle::Cubin::parse(&cubin.bytes).and_then(|image| image.check(kernel));
            checked.map_err(|error| Error::internal(format!("the cubin '{}': {error}", kernel.cubin)))?;
        }
    }
    let cubins = emitted.iter().filter_map(|emitted| {
        let cubin = emitted.cubin.as_ref()?;
        Some((cubin_name(&emitted.module, target), cubin.bytes.clone()))
    });
    let modules = emitted.iter().filter_map(|emitted| {
        let text = emitted.text.clone()?;
        Some((module_name(&emitted.module, target), text))
    });
    let ptx = emitted.iter().filter_map(|emitted| {
        let text = emitted.ptx.clone()?;
        Some((ptx_name(&emitted.module, target), text))
    });
    let expected_registers = emitted
        .iter()
        .flat_map(|emitted| emitted.expected_registers.clone());
    Ok(Bundle {
        manifest,
        cubins: cubins.collect(),
        modules: modules.collect(),
        ptx: ptx.collect(),
        expected_registers: expected_registers.collect(),
    })
}

/// The kernels of a function once they are lowered.
struct Lowered<'k, 'c, 'a> {
    /// The lowered functions, by name.
    module: &'k kernel::Kernels<'c, 'a>,
    /// Their entries in the manifest, in launch order.
    kernels: Vec<Kernel>,
}

/// Describes a function for the manifest. Where its kernels are lowered, their assumptions about its tensors are included.
fn describe(
    host: &HostFunction,
    sizes: &sizes::Sizes,
    definitions: &[SourceDefinition],
    conditions: &[SourceConditions],
    forms: &KernelForms,
    lowered: Option<Lowered>,
) -> Result<Function> {
    let module = lowered.as_ref().map(|lowered| lowered.module);
    let (outputs, inputs) = sizes::tensors(host, sizes, module, forms)?
        .into_iter()
        .partition(|tensor| {
            let is_output = |role: &Role| matches!(role, Role::Output(_));
            host.tensors
                .iter()
                .any(|other| is_output(&other.role) && other.name == tensor.name)
        });
    let mut conditions = SourceConditions::find(conditions, host, sizes);
    for condition in bounds::conditions(host, sizes, module)? {
        if !conditions.iter().any(|other| other.is_same(&condition)) {
            conditions.push(condition);
        }
    }
    let mut function = Function {
        name: host.name.clone(),
        inputs,
        outputs,
        conditions,
        provenance: None,
        definition: None,
        kernels: lowered.map(|lowered| lowered.kernels).unwrap_or_default(),
    };
    function.definition = SourceDefinition::find(definitions, host, sizes)
        .filter(|definition| !definition.reads_unwritten_memory(&function));
    Ok(function)
}

/// The name of a module's cubin in a bundle.
fn cubin_name(module: &str, target: &Target) -> String {
    format!("{module}.{}.cubin", target.architecture())
}

/// The name of a module's PTX in a bundle.
fn ptx_name(module: &str, target: &Target) -> String {
    format!("{module}.{}.ptx", target.architecture())
}

/// The name of a module's text at level `nvvm` in a bundle.
fn module_name(module: &str, target: &Target) -> String {
    format!("{module}.{}.nvvm.mlir", target.architecture())
}
