//! Loads a bundle together with its modules of level `nvvm`: from a folder that `normac --keep-nvvm` wrote, or compiled in
//! memory.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use norma_bundle::Manifest;
use norma_bundle::manifest::{FILE_NAME, Function, Kernel};
use norma_command_line::RunOptionsError;
use norma_compiler::compile::{self, Input, Outcome};
use norma_compiler::target::TARGETS;
use norma_compiler::{CompileOptions, Level, Target};
use norma_simulator::decode;
use norma_simulator::mutation::Mutation;
use norma_simulator::program::Program;

use crate::error::Error;

/// A manifest and the modules of its kernels.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// What a launcher reads.
    pub manifest: Manifest,
    /// The modules by their file names in the manifest.
    programs: BTreeMap<String, Program>,
}

impl Bundle {
    /// Compiles a text to level `nvvm`; `outcome` holds the diagnostics.
    ///
    /// # Errors
    /// The compiler's error, or an op that the simulator does not model.
    pub fn compile(input: Input, options: &CompileOptions, outcome: &mut Outcome) -> Result<Bundle, Error> {
        let lowered = compile::lowered(input, options, outcome)?;
        let mut bundle = Self::new(lowered.manifest, lowered.modules)?;
        if options.from == Level::Nvvm {
            // The input is the module itself: line numbers in another print of it would help nobody.
            let programs = bundle.programs.values_mut();
            let sites = programs.flat_map(|program| &mut program.sites);
            sites.for_each(|site| site.in_module = None);
        }
        Ok(bundle)
    }

    /// Loads the bundle in a folder, or that for `target` in a folder which has one for each of several targets.
    ///
    /// # Errors
    /// A manifest or module that cannot be read or used, a bundle that was written without modules, or several bundles none of
    /// which is for the target.
    pub fn load(root: &Path, target: &Target) -> Result<Bundle, Error> {
        let folder = folder_in(root, target)?;
        let manifest = Manifest::load(&folder)?;
        let mut modules = BTreeMap::new();
        for kernel in manifest.functions.iter().flat_map(|function| &function.kernels) {
            let name = kernel.module.as_ref().ok_or_else(|| {
                Error::Request(format!(
                    "the bundle has no module for kernel '{}': write it by normac --keep-nvvm",
                    kernel.symbol
                ))
            })?;
            let path = folder.join(name);
            let text = fs::read_to_string(&path)
                .map_err(|error| Error::Request(format!("cannot read '{}': {error}", path.display())))?;
            modules.insert(name.clone(), text);
        }
        Self::new(manifest, modules)
    }

    fn new(manifest: Manifest, modules: impl IntoIterator<Item = (String, String)>) -> Result<Bundle, Error> {
        let mut programs = BTreeMap::new();
        for (name, text) in modules {
            let program = decode::parse(&text, &name)?;
            programs.insert(name, program);
        }
        Ok(Bundle { manifest, programs })
    }

    /// Takes from another compilation the properties of a function that a module of a low level has lost: what it computes, and
    /// which sizes of its tensors are equal. The kernels' assumptions about the tensors stay.
    ///
    /// # Errors
    /// The other compilation has no such function, or no definition of it.
    pub fn define_by(&mut self, name: &str, other: &Manifest) -> Result<(), Error> {
        let source = other
            .choose(Some(name))
            .map_err(RunOptionsError::from)?
            .function();
        if source.definition.is_none() {
            let message = format!("'{name}' has no definition in a module of so low a level");
            return Err(Error::Request(message));
        }
        let whole = self.manifest.sharded.iter_mut().map(|sharded| &mut sharded.whole);
        let own = self.manifest.functions.iter_mut().chain(whole);
        for function in own.filter(|function| function.name == name) {
            define(function, source);
        }
        Ok(())
    }

    /// A copy of the bundle in which one kernel is mutated.
    pub fn mutant(&self, kernel: &Kernel, mutation: &Mutation) -> Bundle {
        let mut mutant = self.clone();
        let program = kernel
            .module
            .as_ref()
            .and_then(|name| mutant.programs.get_mut(name));
        let code =
            program.and_then(|program| program.kernels.iter_mut().find(|code| code.name == kernel.symbol));
        if let Some(code) = code {
            *code = mutation.apply(code);
        }
        mutant
    }

    /// The target of its kernels.
    ///
    /// # Errors
    /// The target is not in the target table.
    pub fn target(&self) -> Result<&'static Target, Error> {
        Target::parse(self.manifest.target_name()).map_err(|error| Error::Request(error.to_string()))
    }

    /// The module that contains a kernel.
    ///
    /// # Errors
    /// The manifest names none.
    pub fn program(&self, kernel: &Kernel) -> Result<&Program, Error> {
        let program = kernel.module.as_ref().and_then(|name| self.programs.get(name));
        program.ok_or_else(|| Error::Request(format!("there is no module for kernel '{}'", kernel.symbol)))
    }
}

/// The folder of the bundle for `target` in `root`, which holds a bundle itself or, as of several targets, in a folder for each.
fn folder_in(root: &Path, target: &Target) -> Result<PathBuf, Error> {
    let has_bundle = |folder: &Path| folder.join(FILE_NAME).exists();
    let of_target = |target: &Target| Some(root.join(target.name)).filter(|folder| has_bundle(folder));
    if has_bundle(root) {
        return Ok(root.to_owned());
    }
    if let Some(folder) = of_target(target) {
        return Ok(folder);
    }
    let others = TARGETS.iter().filter(|other| of_target(other).is_some());
    let others: Vec<&str> = others.map(|other| other.name).collect();
    match others.is_empty() {
        true => Ok(root.to_owned()),
        false => Err(Error::Request(format!(
            "expected a bundle for {} in '{}', got those for {}: name one by --target",
            target.name,
            root.display(),
            others.join(", ")
        ))),
    }
}

/// Takes the definition of a function, and which sizes are equal, from its source.
fn define(function: &mut Function, source: &Function) {
    function.definition.clone_from(&source.definition);
    for tensor in function.inputs.iter_mut().chain(&mut function.outputs) {
        if let Some(source) = source.tensor(&tensor.name) {
            tensor.shape.clone_from(&source.shape);
            tensor.strides.clone_from(&source.strides);
        }
    }
}
