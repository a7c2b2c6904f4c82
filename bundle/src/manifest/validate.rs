//! Checks the rules for manifests that need no device; a launcher relies on them.

use std::collections::BTreeSet;
use std::path::Path;

use super::alternatives;
use super::{
    Argument, CONDITIONAL_VERSION, CTAS_PER_SM, DEVICE_SYMBOLS, Function, Kernel, MANIFEST_VERSION,
    MAX_TENSOR_MAP_RANK, Manifest, ManifestError, NUM_SMS, ScalarValue, Tensor, TensorMap,
};
use crate::expression::Expression;

/// The largest alignment that LLVM can express, in bytes.
const LARGEST_ALIGNMENT: u64 = 1 << 32;

impl Manifest {
    /// Checks everything that needs no device: the version, that every name refers to something, that ranks agree, that
    /// expressions use known symbols, and that files lie in the bundle's directory.
    ///
    /// # Errors
    /// The first inconsistency, with its place.
    pub fn validate(&self) -> Result<(), ManifestError> {
        if ![MANIFEST_VERSION, CONDITIONAL_VERSION].contains(&self.manifest_version) {
            let got = self.manifest_version;
            let message = format!("expected {MANIFEST_VERSION} or {CONDITIONAL_VERSION}, got {got}");
            return Err(inconsistent("manifest_version", message));
        }
        if self.manifest_version < Manifest::version_of(&self.functions) {
            let message = format!("expected {CONDITIONAL_VERSION} for kernels with 'when'");
            return Err(inconsistent("manifest_version", message));
        }
        let mut names = BTreeSet::new();
        for function in &self.functions {
            if !names.insert(&function.name) {
                return Err(inconsistent(&function.name, "two functions have this name"));
            }
            function.validate(&self.target)?;
        }
        for sharded in &self.sharded {
            if !names.insert(&sharded.whole.name) {
                return Err(inconsistent(&sharded.whole.name, "two functions have this name"));
            }
            sharded.whole.validate(&self.target)?;
            sharded.validate(&self.functions)?;
        }
        Ok(())
    }
}

impl Function {
    fn validate(&self, target: &str) -> Result<(), ManifestError> {
        let mut names = BTreeSet::new();
        for tensor in self.tensors() {
            let at = format!("{}.{}", self.name, tensor.name);
            if !names.insert(&tensor.name) {
                return Err(inconsistent(&at, "two tensors have this name"));
            }
            tensor.validate(&at)?;
            let sizes = self.size_symbols();
            let minimums = tensor.shape_minimums.iter().flat_map(Expression::symbols);
            if let Some(name) = minimums.into_iter().find(|name| !sizes.contains(name)) {
                return Err(inconsistent(
                    &at,
                    format!("shape_minimums use '{name}', which is no size"),
                ));
            }
        }
        for output in &self.outputs {
            let Some(name) = &output.may_alias else { continue };
            let input = self.inputs.iter().find(|input| input.name == *name);
            let is_alike = |input: &Tensor| {
                (input.dtype, &input.shape, &input.strides) == (output.dtype, &output.shape, &output.strides)
            };
            if !input.is_some_and(is_alike) {
                let at = format!("{}.{}", self.name, output.name);
                let message = format!("expected an input '{name}' of the same type, shape and strides");
                return Err(inconsistent(&at, message));
            }
        }
        if let Some(input) = self.inputs.iter().find(|input| input.may_alias.is_some()) {
            let at = format!("{}.{}", self.name, input.name);
            return Err(inconsistent(&at, "expected may_alias on outputs only"));
        }
        let symbols = self.size_and_number_symbols();
        for (index, condition) in self.conditions.iter().enumerate() {
            let used = condition
                .left
                .symbols()
                .into_iter()
                .chain(condition.right.symbols());
            if let Some(unknown) = used.into_iter().find(|name| !symbols.contains(name)) {
                let message =
                    format!("expected sizes of the function's tensors, or its numbers, got '{unknown}'");
                return Err(inconsistent(
                    &format!("{}.conditions[{index}]", self.name),
                    message,
                ));
            }
        }
        for (index, kernel) in self.kernels.iter().enumerate() {
            kernel.validate(self, target, &format!("{}.kernels[{index}]", self.name))?;
        }
        let conditions = self.kernels.iter().map(|kernel| kernel.when.as_slice());
        if let Err((index, condition)) = alternatives::check(&conditions.collect::<Vec<_>>()) {
            let message = format!(
                "expected kernels behind it for the sizes that do not satisfy '{} {} {}'",
                condition.left,
                condition.relation.name(),
                condition.right
            );
            return Err(inconsistent(
                &format!("{}.kernels[{index}].when", self.name),
                message,
            ));
        }
        if let Some(definition) = &self.definition {
            definition.validate(self).map_err(|error| {
                inconsistent(&format!("{}.definition.{}", self.name, error.at), error.message)
            })?;
        }
        Ok(())
    }

    /// The tensor that the manifest names at a place.
    fn find_tensor(&self, name: &str, at: &str) -> Result<&Tensor, ManifestError> {
        let tensor = self.tensor(name);
        tensor.ok_or_else(|| inconsistent(at, format!("no tensor is named '{name}'")))
    }
}

impl Tensor {
    fn validate(&self, at: &str) -> Result<(), ManifestError> {
        let rank = self.shape.len();
        if self.strides.len() != rank {
            return Err(inconsistent(
                at,
                format!("expected {rank} strides, got {}", self.strides.len()),
            ));
        }
        for (field, multiples) in [
            ("shape_multiples", &self.shape_multiples),
            ("stride_multiples", &self.stride_multiples),
        ] {
            if !multiples.is_empty() && multiples.len() != rank {
                let message = format!("expected {rank} {field}, got {}", multiples.len());
                return Err(inconsistent(at, message));
            }
            if multiples.contains(&0) {
                return Err(inconsistent(at, format!("expected positive {field}, got 0")));
            }
        }
        if !self.align.is_power_of_two() || self.align > LARGEST_ALIGNMENT {
            return Err(inconsistent(
                at,
                format!(
                    "expected align to be a power of two up to 2^32, got {}",
                    self.align
                ),
            ));
        }
        if !self.shape_minimums.is_empty() && self.shape_minimums.len() != rank {
            let message = format!(
                "expected {rank} shape_minimums, got {}",
                self.shape_minimums.len()
            );
            return Err(inconsistent(at, message));
        }
        if let Some(bits) = self.index_bits
            && bits != 32
            && bits != 64
        {
            return Err(inconsistent(
                at,
                format!("expected index_bits to be 32 or 64, got {bits}"),
            ));
        }
        Ok(())
    }
}

impl Kernel {
    fn validate(&self, function: &Function, target: &str, at: &str) -> Result<(), ManifestError> {
        if self.target != target {
            let message = format!("expected target '{target}', got '{}'", self.target);
            return Err(inconsistent(at, message));
        }
        self.check_files(at)?;
        let mut extents = self.block.iter().chain(&self.cluster);
        if extents.any(|extent| !(1..=1024).contains(extent)) {
            let message = "expected block and cluster extents from 1 to 1024";
            return Err(inconsistent(at, message));
        }
        if self.shared_carveout.is_some_and(|percent| percent > 100) {
            let message = "expected shared_carveout to be at most 100 per cent";
            return Err(inconsistent(at, message));
        }
        self.check_symbols(function, at)?;
        self.check_when(&format!("{at}.when"))?;
        for extent in &self.grid {
            self.check_count(extent, &format!("{at}.grid"))?;
        }
        self.check_count(&self.shared_bytes, &format!("{at}.shared_bytes"))?;
        self.check_size(&self.bytes_read, &format!("{at}.bytes_read"))?;
        self.check_size(&self.bytes_written, &format!("{at}.bytes_written"))?;
        for (index, argument) in self.args.iter().enumerate() {
            argument.validate(function, self, &format!("{at}.args[{index}]"))?;
        }
        Ok(())
    }

    /// Checks the names of the kernel's files. A bundle may come from anywhere, but the files that it names must lie in its
    /// folder.
    fn check_files(&self, at: &str) -> Result<(), ManifestError> {
        let files = [
            ("cubin", Some(&self.cubin)),
            ("module", self.module.as_ref()),
            ("ptx", self.ptx.as_ref()),
        ];
        for (what, file) in files.into_iter().filter_map(|(what, file)| Some((what, file?))) {
            let name = Path::new(file).file_name();
            if name.is_none_or(|name| name != file.as_str()) {
                let message = format!("expected {what} to be a file name, got '{file}'");
                return Err(inconsistent(at, message));
            }
        }
        Ok(())
    }

    /// Checks that the kernel's symbols have names of their own, and are read from dims that exist.
    fn check_symbols(&self, function: &Function, at: &str) -> Result<(), ManifestError> {
        for (index, symbol) in self.symbols.iter().enumerate() {
            let at = format!("{at}.symbols.{}", symbol.name);
            if DEVICE_SYMBOLS.contains(&symbol.name.as_str()) {
                return Err(inconsistent(&at, "the name is the device's"));
            }
            let mut others = self.symbols[..index].iter();
            if others.any(|other| other.name == symbol.name) {
                return Err(inconsistent(&at, "two symbols have this name"));
            }
            let rank = function.find_tensor(&symbol.tensor, &at)?.shape.len();
            if symbol.dim >= rank {
                let message = format!(
                    "expected a dim below {rank} of '{}', got {}",
                    symbol.tensor, symbol.dim
                );
                return Err(inconsistent(&at, message));
            }
        }
        Ok(())
    }

    /// Checks the conditions under which the kernel is launched.
    fn check_when(&self, at: &str) -> Result<(), ManifestError> {
        for side in self
            .when
            .iter()
            .flat_map(|condition| [&condition.left, &condition.right])
        {
            self.check_size(side, at)?;
            // The number of CTAs that fit is known only once the kernel is loaded.
            if side.symbols().contains(CTAS_PER_SM) {
                let message = format!("expected sizes and {NUM_SMS}, got '{CTAS_PER_SM}'");
                return Err(inconsistent(at, message));
            }
        }
        Ok(())
    }

    /// Checks that an expression uses only symbols of the kernel and of the device.
    fn check_size(&self, expression: &Expression, at: &str) -> Result<(), ManifestError> {
        let is_known = |name: &str| {
            DEVICE_SYMBOLS.contains(&name) || self.symbols.iter().any(|symbol| symbol.name == name)
        };
        match expression.symbols().into_iter().find(|name| !is_known(name)) {
            None => Ok(()),
            Some(name) => Err(inconsistent(
                at,
                format!("'{expression}' uses '{name}', which is no symbol"),
            )),
        }
    }

    /// Checks an expression that must not be negative.
    fn check_count(&self, expression: &Expression, at: &str) -> Result<(), ManifestError> {
        self.check_size(expression, at)?;
        match expression.least() {
            Some(0..) => Ok(()),
            _ => Err(inconsistent(
                at,
                format!("'{expression}' may be negative, expected at least 0 whatever the sizes"),
            )),
        }
    }
}

impl Argument {
    fn validate(&self, function: &Function, kernel: &Kernel, at: &str) -> Result<(), ManifestError> {
        match self {
            Argument::Pointer { tensor } => function.find_tensor(tensor, at).map(|_| ()),
            Argument::Scalar { scalar, value, .. } => match value {
                ScalarValue::Expression(value) => kernel.check_size(value, at),
                ScalarValue::Float(_) if scalar.is_float() => Ok(()),
                ScalarValue::Float(_) => {
                    Err(inconsistent(at, "expected an integer value for an integer type"))
                }
            },
            Argument::Workspace { bytes, .. } => kernel.check_count(bytes, at),
            Argument::TensorMap(map) => map.validate(function, kernel, at),
        }
    }
}

impl TensorMap {
    fn validate(&self, function: &Function, kernel: &Kernel, at: &str) -> Result<(), ManifestError> {
        function.find_tensor(&self.tensor, at)?;
        for size in self.dims.iter().chain(&self.strides_bytes) {
            kernel.check_size(size, at)?;
        }
        let (rank, strides, extents) = (self.dims.len(), self.strides_bytes.len(), self.box_dims.len());
        if (1..=MAX_TENSOR_MAP_RANK).contains(&rank) && strides + 1 == rank && extents == rank {
            return Ok(());
        }
        Err(inconsistent(
            at,
            format!(
                "expected 1 to {MAX_TENSOR_MAP_RANK} dims, as many box extents and one stride fewer, got {rank}, {extents} and \
                 {strides}"
            ),
        ))
    }
}

/// The error for a contradiction at a place in the manifest.
pub(super) fn inconsistent(at: &str, message: impl Into<String>) -> ManifestError {
    ManifestError::Inconsistent {
        at: at.to_owned(),
        message: message.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::condition::{Condition, Relation};
    use crate::manifest::WorkspaceInit;

    fn rms_norm() -> Manifest {
        serde_json::from_str(include_str!("../../testdata/rms_norm.json")).unwrap()
    }

    fn complaint(change: impl FnOnce(&mut Manifest)) -> String {
        let mut manifest = rms_norm();
        change(&mut manifest);
        manifest.validate().unwrap_err().to_string()
    }

    #[test]
    fn a_future_version_is_refused() {
        assert!(complaint(|m| m.manifest_version = 3).contains("expected 1 or 2, got 3"));
    }

    #[test]
    fn names_must_refer_to_something() {
        let pointer = |m: &mut Manifest| {
            m.functions[0].kernels[0].args[0] = Argument::Pointer { tensor: "z".into() };
        };
        assert_eq!(
            complaint(pointer),
            "the manifest is inconsistent: rms_norm.kernels[0].args[0]: no tensor is named 'z'"
        );
        let grid = |m: &mut Manifest| m.functions[0].kernels[0].grid[1] = Expression::symbol("k");
        assert!(complaint(grid).contains("'k' uses 'k', which is no symbol"));
        let dim = |m: &mut Manifest| m.functions[0].kernels[0].symbols[0].dim = 2;
        assert!(complaint(dim).contains("expected a dim below 2 of 'x', got 2"));
    }

    #[test]
    fn conditions_are_over_sizes_and_numbers() {
        let condition = |m: &mut Manifest| {
            m.functions[0].conditions.push(Condition {
                left: Expression::symbol("m"),
                relation: Relation::AtLeast,
                right: Expression::symbol("x_stride"),
                text: String::new(),
            });
        };
        assert_eq!(
            complaint(condition),
            "the manifest is inconsistent: rms_norm.conditions[0]: expected sizes of the function's tensors, or its \
             numbers, got 'x_stride'"
        );
    }

    #[test]
    fn kernels_for_some_sizes_have_alternatives_for_the_others() {
        let some = |m: &mut Manifest| {
            m.manifest_version = CONDITIONAL_VERSION;
            m.functions[0].kernels[0].when = vec![Condition {
                left: Expression::Integer(263),
                relation: Relation::AtLeast,
                right: Expression::symbol("m"),
                text: String::new(),
            }];
        };
        assert!(complaint(some).contains(
            "kernels[0].when: expected kernels behind it for the sizes that do not satisfy '263 >= m'"
        ));
        let other = |m: &mut Manifest| {
            some(m);
            let mut other = m.functions[0].kernels[0].clone();
            other.when[0] = other.when[0].negated().unwrap();
            m.functions[0].kernels.push(other);
        };
        let mut manifest = rms_norm();
        other(&mut manifest);
        assert!(manifest.validate().is_ok());
        let old = |m: &mut Manifest| {
            other(m);
            m.manifest_version = MANIFEST_VERSION;
        };
        assert!(complaint(old).contains("expected 2 for kernels with 'when'"));
        let late = |m: &mut Manifest| {
            other(m);
            m.functions[0].kernels[1].when[0].right = Expression::symbol("ctas_per_sm");
        };
        assert!(complaint(late).contains("expected sizes and num_sms, got 'ctas_per_sm'"));
    }

    #[test]
    fn files_lie_in_the_bundle() {
        for path in ["../evil.cubin", "/tmp/evil.cubin", "a/b.cubin", ""] {
            let cubin = |m: &mut Manifest| m.functions[0].kernels[0].cubin = path.into();
            assert!(
                complaint(cubin).contains("expected cubin to be a file name"),
                "{path}"
            );
            let module = |m: &mut Manifest| m.functions[0].kernels[0].module = Some(path.into());
            assert!(
                complaint(module).contains("expected module to be a file name"),
                "{path}"
            );
            let ptx = |m: &mut Manifest| m.functions[0].kernels[0].ptx = Some(path.into());
            assert!(
                complaint(ptx).contains("expected ptx to be a file name"),
                "{path}"
            );
        }
    }

    #[test]
    fn kernels_are_checked() {
        let kernel = |change: fn(&mut Kernel)| complaint(|m| change(&mut m.functions[0].kernels[0]));
        assert!(kernel(|k| k.symbols.push(k.symbols[0].clone())).contains("two symbols have this name"));
        assert!(kernel(|k| k.symbols[0].name = "num_sms".into()).contains("the name is the device's"));
        assert!(kernel(|k| k.shared_carveout = Some(4_000_000_000)).contains("at most 100 per cent"));
        assert!(kernel(|k| k.grid[0] = Expression::symbol("m") - 5).contains("'m - 5' may be negative"));
        assert!(
            kernel(|k| {
                k.args.push(Argument::Workspace {
                    name: "w".into(),
                    bytes: Expression::Integer(-8),
                    init: WorkspaceInit::Zero,
                })
            })
            .contains("'-8' may be negative")
        );
    }

    #[test]
    fn tensor_maps_have_as_many_dims_as_the_copy_engine_takes() {
        let map = |rank: usize, strides: usize, extents: usize| {
            move |m: &mut Manifest| {
                m.functions[0].kernels[0].args[0] = Argument::TensorMap(TensorMap {
                    tensor: "x".into(),
                    element: crate::Element::BF16,
                    dims: vec![Expression::Integer(8); rank],
                    strides_bytes: vec![Expression::Integer(16); strides],
                    box_dims: vec![8; extents],
                    swizzle: 0,
                    l2_promotion: 0,
                });
            }
        };
        let mut longest = rms_norm();
        map(5, 4, 5)(&mut longest);
        longest.validate().unwrap();
        for (rank, strides, extents) in [(6, 5, 6), (0, 0, 0), (2, 2, 2), (2, 1, 1)] {
            let expected = format!(
                "args[0]: expected 1 to 5 dims, as many box extents and one stride fewer, got {rank}, {extents} and {strides}"
            );
            assert!(
                complaint(map(rank, strides, extents)).contains(&expected),
                "{expected}"
            );
        }
    }

    #[test]
    fn only_outputs_like_an_input_may_be_it() {
        let alias = |change: fn(&mut crate::manifest::Function)| {
            complaint(|m| {
                m.functions[0].outputs[0].may_alias = Some("x".into());
                m.functions[0].outputs[0].strides = m.functions[0].inputs[0].strides.clone();
                change(&mut m.functions[0]);
            })
        };
        let message = "expected an input 'x' of the same type, shape and strides";
        assert!(alias(|f| f.inputs[0].dtype = crate::Element::F32).contains(message));
        assert!(alias(|f| f.inputs[0].name = "z".into()).contains("'x'"));
        assert!(alias(|f| f.inputs[0].may_alias = Some("y".into())).contains("on outputs only"));
    }

    #[test]
    fn tensors_are_checked() {
        assert!(complaint(|m| m.functions[0].inputs[0].align = 1 << 63).contains("up to 2^32"));
        assert!(
            complaint(|m| m.functions[0].inputs[0].shape_minimums = vec![Expression::Integer(1)])
                .contains("expected 2 shape_minimums, got 1")
        );
        assert!(complaint(|m| m.functions[0].inputs[0].align = 12).contains("power of two"));
        let rank = |m: &mut Manifest| {
            m.functions[0].inputs[0].strides.pop();
        };
        assert!(complaint(rank).contains("expected 2 strides, got 1"));
        let twice = |m: &mut Manifest| m.functions[0].outputs[0].name = "x".into();
        assert!(complaint(twice).contains("two tensors have this name"));
    }
}
