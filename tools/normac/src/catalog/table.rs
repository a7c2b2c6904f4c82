//! Parses a catalog's file, and lists the bundles that it asks for.
//!
//! ```toml
//! targets = ["sm_90a", "sm_100a"]    # one or a list, for all kernels that name none; default: --target
//!
//! [[kernel]]
//! op = "rms_norm"                    # a named op, with its options under their ODS names
//! shape = ["m,4096", "m,8192"]       # one bundle for each shape and dtype
//! dtype = ["bf16", "f16"]
//! eps = 1e-5
//! name = "norm"                      # names its bundles norm_mx4096_bf16, ... instead of by the op
//! weight = true                      # present, absent (false), or of this type ("f32")
//! max = { m = 65536 }                # promises about sizes, as are min and multiple
//! devices = 2                        # how many GPUs share the reduced axis, the last one if there are several
//!
//! [[kernel]]
//! file = "add_rms_norm.mlir"         # beside the catalog
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use norma_compiler::named_op::{ChoiceKind, NamedOp};
use norma_compiler::preset::{self, Extent, Preset, Wanted};
use norma_compiler::{CompileOptions, Error, Result, Target};
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::{Spanned, Value};

use crate::args::{CompileArgs, drop_repeated};
use crate::input::InputText;
use crate::ops::{self, PROMISES};

/// A bundle to compile.
pub struct Unit {
    /// The entry that asks for it, with its place: `kernels.toml:3:1: kernel 1 (rms_norm)`.
    pub entry: String,
    /// The name of its folder.
    pub name: String,
    /// The name of the source in diagnostics.
    pub source: String,
    /// The source.
    pub text: String,
    /// The target and the options of the compilation.
    pub options: CompileOptions,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    targets: Option<OneOrMore>,
    #[serde(default, deserialize_with = "entries")]
    kernel: Vec<Spanned<Entry>>,
}

/// Reads the list of entries. Serde's own message for a single table, which `[kernel]` begins, would not say how a list is written.
fn entries<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Vec<Spanned<Entry>>, D::Error> {
    struct Entries;

    impl<'de> Visitor<'de> for Entries {
        type Value = Vec<Spanned<Entry>>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a list of tables, each of which begins with [[kernel]]")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<Self::Value, A::Error> {
            let mut entries = Vec::new();
            while let Some(entry) = list.next_element()? {
                entries.push(entry);
            }
            Ok(entries)
        }
    }

    deserializer.deserialize_seq(Entries)
}

#[derive(Deserialize)]
struct Entry {
    op: Option<String>,
    file: Option<String>,
    name: Option<String>,
    targets: Option<OneOrMore>,
    #[serde(default)]
    by_size: bool,
    #[serde(default)]
    batch_invariant: bool,
    #[serde(default)]
    portable_clusters: bool,
    #[serde(default)]
    shape: OneOrMore,
    #[serde(default)]
    dtype: OneOrMore,
    #[serde(default)]
    multiple: BTreeMap<String, Whole>,
    #[serde(default)]
    min: BTreeMap<String, Whole>,
    #[serde(default)]
    max: BTreeMap<String, Whole>,
    devices: Option<Whole>,
    /// Settings of the op's operands, attributes and results.
    #[serde(flatten)]
    of_op: BTreeMap<String, Value>,
}

/// A whole number. Serde's own message for another value would speak of Rust's types.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "Value")]
struct Whole(i64);

impl TryFrom<Value> for Whole {
    type Error = String;

    fn try_from(value: Value) -> std::result::Result<Self, String> {
        let number = value.as_integer().map(Self);
        number.ok_or_else(|| format!("expected a whole number, got {value}"))
    }
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a string or a list of strings")]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl Default for OneOrMore {
    fn default() -> Self {
        Self::More(Vec::new())
    }
}

impl OneOrMore {
    fn all(&self) -> &[String] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::More(all) => all,
        }
    }
}

/// The bundles that a catalog asks for, in its order. Files are resolved relative to `folder`; `has_target` is whether the command line
/// has a target.
///
/// # Errors
///
/// The text is not a catalog, contains a setting that its op does not have, asks for two bundles with the same name, or names the targets
/// of all entries although the command line has one.
pub fn units(text: &InputText, folder: &Path, args: &CompileArgs, has_target: bool) -> Result<Vec<Unit>> {
    let table: Table = toml::from_str(&text.text).map_err(|error| {
        let place = place(text, error.span().map_or(0, |span| span.start));
        // Serde puts names between other marks than all messages here.
        Error::user(format!("{place}: {}", error.message().replace('`', "'")))
    })?;
    let mut units: Vec<Unit> = Vec::new();
    let mut known = BTreeSet::new();
    for (index, entry) in table.kernel.iter().enumerate() {
        let place = place(text, entry.span().start);
        let entry = entry.get_ref();
        let named = entry.op.as_deref().or(entry.file.as_deref());
        let named = named.map_or_else(String::new, |named| format!(" ({named})"));
        let at = format!("{place}: kernel {}{named}", index + 1);
        let located = |error: Error| {
            let notes = error.notes().to_vec();
            let error = Error::user(format!("{at}: {error}"));
            notes.into_iter().fold(error, Error::note)
        };
        let by_size = entry.by_size || args.by_size;
        let batch_invariant = entry.batch_invariant || args.batch_invariant;
        if by_size && batch_invariant {
            let message = "expected one of batch_invariant and by_size, got both";
            return Err(located(Error::user(message)));
        }
        let targets = targets(entry.targets.as_ref().or(table.targets.as_ref()), args).map_err(located)?;
        for Source { name, source, text } in entry.sources(folder).map_err(located)? {
            if !known.insert(name.clone()) {
                return Err(located(Error::user(format!(
                    "expected names that differ, got '{name}' again; an entry's 'name' gives it another"
                ))));
            }
            units.extend(targets.iter().map(|target| Unit {
                entry: at.clone(),
                name: name.clone(),
                source: source.clone(),
                text: text.clone(),
                options: CompileOptions {
                    by_size,
                    batch_invariant,
                    portable_clusters: entry.portable_clusters || args.portable_clusters,
                    ..args.options(target)
                },
            }));
        }
    }
    let takes_target = |entry: &Spanned<Entry>| entry.get_ref().targets.is_none();
    let takes_target = table.targets.is_none() && table.kernel.iter().any(takes_target);
    if has_target && !takes_target && !units.is_empty() {
        return Err(Error::user(format!(
            "--target is for entries that name no targets: expected one in '{}', which has the targets of all entries",
            text.name
        )));
    }
    match units.is_empty() {
        true => Err(Error::user(format!(
            "'{}' asks for nothing: expected a [[kernel]]",
            text.name
        ))),
        false => Ok(units),
    }
}

/// `kernels.toml:3:1`, the line and column of a byte of the text.
fn place(text: &InputText, byte: usize) -> String {
    let before = text.text.get(..byte).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
    format!("{}:{line}:{column}", text.name)
}

fn targets(names: Option<&OneOrMore>, args: &CompileArgs) -> Result<Vec<&'static Target>> {
    let Some(names) = names else {
        return Ok(args.target.clone());
    };
    let target = |name: &String| {
        Target::parse(name).map_err(|error| {
            let hint = error.hint();
            hint.into_iter().fold(Error::user(error.to_string()), Error::note)
        })
    };
    let mut targets = names.all().iter().map(target).collect::<Result<Vec<_>>>()?;
    drop_repeated(&mut targets);
    match targets.is_empty() {
        true => Err(Error::user("expected targets to name at least one, got none")),
        false => Ok(targets),
    }
}

/// A source of an entry.
struct Source {
    name: String,
    source: String,
    text: String,
}

impl Entry {
    fn sources(&self, folder: &Path) -> Result<Vec<Source>> {
        self.name.as_deref().map_or(Ok(()), check_folder_name)?;
        match (&self.op, &self.file) {
            (Some(op), None) => {
                let found = preset::find_op(op).map_err(|error| match ops::nearest(op) {
                    Some(nearest) => error.note(format!("there is an op '{nearest}'")),
                    None => error,
                });
                self.presets(found?)
            }
            (None, Some(file)) => self.file(&folder.join(file)).map(|source| vec![source]),
            (None, None) => Err(Error::user("expected either op or file, got neither")),
            (Some(_), Some(_)) => Err(Error::user("expected either op or file, got both")),
        }
    }

    fn file(&self, path: &Path) -> Result<Source> {
        let of_op = self.of_op.keys().map(String::as_str);
        let says_shape = !self.shape.all().is_empty() || !self.dtype.all().is_empty();
        let says_sizes = [&self.multiple, &self.min, &self.max]
            .iter()
            .any(|promises| !promises.is_empty());
        if let Some(name) = of_op
            .chain(says_shape.then_some("shape or dtype"))
            .chain(says_sizes.then_some("a promise of sizes"))
            .chain(self.devices.map(|_| "devices"))
            .next()
        {
            return Err(Error::user(format!(
                "a file says all of its kernels itself, got {name} too"
            )));
        }
        let InputText { name: source, text } = InputText::read(path)?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let name = self.name.clone().unwrap_or_else(|| stem.into_owned());
        check_folder_name(&name)?;
        Ok(Source { name, source, text })
    }

    /// One source for each shape and type.
    fn presets(&self, op: &'static NamedOp) -> Result<Vec<Source>> {
        let first = op.operands.first();
        if let Some(first) = first.filter(|first| self.of_op.contains_key(first.name)) {
            return Err(Error::user(format!(
                "expected the type of {} as dtype, got a setting '{0}'",
                first.name
            )));
        }
        if let Some(name) = self
            .of_op
            .keys()
            .find(|name| !known(op).any(|known| known == *name))
        {
            let known: Vec<&str> = known(op).collect();
            return Err(Error::user(format!(
                "'{name}' is nothing that {} has; it has {}",
                op.mnemonic,
                known.join(", ")
            )));
        }
        if self.shape.all().is_empty() {
            return Err(Error::user("expected a shape, such as \"m,4096\""));
        }
        let dtypes: Vec<Option<&str>> = match self.dtype.all() {
            [] => vec![None],
            all => all.iter().map(|dtype| Some(dtype.as_str())).collect(),
        };
        let mut sources = Vec::new();
        for shape in self.shape.all() {
            for dtype in &dtypes {
                let preset = self.preset(op, shape, *dtype)?;
                sources.push(Source {
                    source: format!("<{}>", preset.name),
                    text: preset.source()?,
                    name: preset.name,
                });
            }
        }
        Ok(sources)
    }

    fn preset(&self, op: &'static NamedOp, shape: &str, dtype: Option<&str>) -> Result<Preset> {
        let extents = preset::parse_shape(shape).map_err(Error::user)?;
        let spelt: Vec<String> = extents
            .iter()
            .map(|extent| match extent {
                Extent::Static(extent) => extent.to_string(),
                Extent::Dynamic(name) => name.clone(),
            })
            .collect();
        let base = self.name.as_deref().unwrap_or(op.mnemonic);
        let mut preset = Preset::new(op, extents);
        preset.dtype = dtype.map(str::to_owned);
        preset.devices = self.devices.map_or(1, |devices| devices.0);
        if preset.devices < 1 {
            return Err(Error::user(format!(
                "expected devices to be at least 1, got {}",
                preset.devices
            )));
        }
        for (name, value) in &self.of_op {
            say(&mut preset, name, value)?;
        }
        let said = [&self.multiple, &self.min, &self.max];
        for (promises, (_, promise_of)) in said.into_iter().zip(PROMISES) {
            for (size, number) in promises {
                *promise_of(preset.promises.entry(size.clone()).or_default()) = Some(number.0);
            }
        }
        // The usual type may depend on the op's attributes.
        preset.name = format!("{base}_{}_{}", spelt.join("x"), preset.dtype()?);
        Ok(preset)
    }
}

/// The names of an op's attributes, of its operands but the first, which is always there and of type `dtype`, and of its results.
fn known(op: &'static NamedOp) -> impl Iterator<Item = &'static str> {
    let first = op.operands.first().map(|first| first.name);
    let tensors = op.tensors().map(|tensor| tensor.name);
    let tensors = tensors.filter(move |name| Some(*name) != first);
    op.choices.iter().map(|choice| choice.name).chain(tensors)
}

/// Applies the setting of an operand, attribute or result of the op; another name says nothing.
fn say(preset: &mut Preset, name: &str, value: &Value) -> Result<()> {
    let expected = |what: &str| Error::user(format!("expected {name} to be {what}, got {value}"));
    if let Some(choice) = preset.op.choices.iter().find(|choice| choice.name == name) {
        let said = match (&choice.kind, value) {
            (ChoiceKind::Flag, Value::Boolean(said)) => said.to_string(),
            (ChoiceKind::Flag, _) => return Err(expected("true or false")),
            (ChoiceKind::Number, Value::Float(_) | Value::Integer(_))
            | (ChoiceKind::Integer, Value::Integer(_)) => value.to_string(),
            (ChoiceKind::Number, _) => return Err(expected("a number")),
            (ChoiceKind::Integer, _) => return Err(expected("an integer")),
            (ChoiceKind::Integers, Value::Array(all)) if all.iter().all(Value::is_integer) => {
                let all: Vec<String> = all.iter().map(Value::to_string).collect();
                all.join(",")
            }
            (ChoiceKind::Integers, _) => return Err(expected("a list of integers")),
            (ChoiceKind::Keyword(_), Value::String(word)) => word.clone(),
            (ChoiceKind::Keyword(_), _) => return Err(expected("a word")),
        };
        preset.choices.insert(choice.name, said);
        return Ok(());
    }
    if let Some(tensor) = preset.op.tensors().find(|tensor| tensor.name == name) {
        let wanted = match value {
            Value::Boolean(true) => Wanted::Present(None),
            Value::Boolean(false) => Wanted::Absent,
            Value::String(element) => Wanted::Present(Some(element.clone())),
            _ => return Err(expected("true, false or an element type")),
        };
        preset.tensors.insert(tensor.name, wanted);
    }
    Ok(())
}

/// Refuses a name that could lead out of the catalog's folder.
fn check_folder_name(name: &str) -> Result<()> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    match !name.is_empty() && !name.starts_with('.') && name.chars().all(is_plain) {
        true => Ok(()),
        false => Err(Error::user(format!(
            "expected a name of letters, digits, '_', '-' and '.', got '{name}'"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::Args;

    fn read(text: &str) -> Result<Vec<Unit>> {
        let args = Args::parse_from(["normac", "--catalog=x", "-o", "out"]);
        let text = InputText {
            name: "kernels.toml".to_owned(),
            text: text.to_owned(),
        };
        units(&text, Path::new(""), &args.compile, false)
    }

    #[test]
    fn a_target_of_the_command_line_is_of_use() {
        let args = Args::parse_from(["normac", "--catalog=x", "-o", "out", "--target=sm_80"]);
        let read = |text: &str| {
            let text = InputText {
                name: "kernels.toml".to_owned(),
                text: text.to_owned(),
            };
            units(&text, Path::new(""), &args.compile, true)
        };
        let (plain, own) = (
            "[[kernel]]\nop = \"softmax\"\nshape = \"m,64\"\n",
            "targets = \"sm_90a\"\n",
        );
        let names = |text: &str| {
            let units = read(text).unwrap();
            let names = units.iter().map(|unit| unit.options.target.name);
            names.collect::<Vec<_>>()
        };
        assert_eq!(names(plain), ["sm_80"]);
        let mixed = format!("{plain}{own}{}", plain.replace("64", "128"));
        assert_eq!(names(&mixed), ["sm_90a", "sm_80"]);
        for text in [format!("{own}{plain}"), format!("{plain}{own}")] {
            assert_eq!(
                read(&text).err().map(|error| error.to_string()).as_deref(),
                Some(
                    "--target is for entries that name no targets: expected one in 'kernels.toml', which has the targets of all entries"
                )
            );
        }
    }

    #[test]
    fn one_target_needs_no_list() {
        let units = read("targets = \"sm_80\"\n[[kernel]]\nop = \"softmax\"\nshape = \"m,64\"").unwrap();
        assert_eq!(units[0].options.target.name, "sm_80");
    }

    #[test]
    fn the_usual_type_follows_from_the_attributes() {
        let name = |line: &str| {
            let text = format!("[[kernel]]\nop = \"dequantize\"\nshape = \"m,32\"\n{line}");
            read(&text).unwrap()[0].name.clone()
        };
        assert_eq!(name(""), "dequantize_mx32_f8E4M3FN");
        assert_eq!(name("e2m1 = true"), "dequantize_mx32_i8");
    }

    #[test]
    fn a_target_that_is_named_twice_is_compiled_for_once() {
        let units = read(
            "[[kernel]]\nop = \"softmax\"\nshape = \"m,64\"\ntargets = [\"sm_80\", \"sm_90a\", \"sm_80\"]",
        );
        let targets = units.unwrap().into_iter().map(|unit| unit.options.target.name);
        assert_eq!(targets.collect::<Vec<_>>(), ["sm_80", "sm_90a"]);
    }

    #[test]
    fn a_line_of_another_type_is_refused_in_the_words_of_catalogs() {
        let refusal = |line: &str| {
            let text = format!("[[kernel]]\nop = \"softmax\"\n{line}");
            read(&text)
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default()
        };
        let found = refusal("shape = 7");
        assert_eq!(found, "kernels.toml:3:9: expected a string or a list of strings");
        let found = refusal("devices = \"4\"");
        assert_eq!(found, "kernels.toml:3:11: expected a whole number, got \"4\"");
        let found = refusal("max = { m = 1.5 }");
        assert_eq!(found, "kernels.toml:3:13: expected a whole number, got 1.5");
        let found = refusal("shape = \"m,64\"\ntargets = []");
        assert_eq!(
            found,
            "kernels.toml:1:1: kernel 1 (softmax): expected targets to name at least one, got none"
        );
        let found = refusal("shape = \"m,64\"\ndevices = 0");
        assert_eq!(
            found,
            "kernels.toml:1:1: kernel 1 (softmax): expected devices to be at least 1, got 0"
        );
    }

    #[test]
    fn an_entry_is_a_bundle_for_each_shape_type_and_target() {
        let units = read(
            "targets = [\"sm_80\", \"sm_90a\"]\n[[kernel]]\nop = \"rms_norm\"\nshape = [\"m,64\", \"m,128\"]\n\
             dtype = [\"bf16\", \"f16\"]\nweight = \"f32\"\neps = 1e-5\naxes = [-1]\n\
             [[kernel]]\nop = \"softmax\"\nshape = \"m,64\"\ntargets = [\"sm_80\"]\nmask = false",
        )
        .unwrap_or_else(|error| panic!("{error}"));
        let names: Vec<_> = units
            .iter()
            .map(|unit| format!("{} {}", unit.name, unit.options.target.name))
            .collect();
        assert_eq!(names.len(), 9);
        assert_eq!(names[0], "rms_norm_mx64_bf16 sm_80");
        assert_eq!(names[7], "rms_norm_mx128_f16 sm_90a");
        assert_eq!(names[8], "softmax_mx64_bf16 sm_80");
        assert!(
            units[0].text.contains("%weight: tensor<64xf32>"),
            "{}",
            units[0].text
        );
    }

    #[test]
    fn what_is_no_catalog_is_refused_with_its_place() {
        for (text, part) in [
            ("", "'kernels.toml' asks for nothing"),
            ("kernels = 1", "kernels.toml:1:1: unknown field 'kernels'"),
            (
                "[kernel]\nop = \"softmax\"",
                "expected a list of tables, each of which begins with [[kernel]]",
            ),
            (
                "[[kernel]]\nop = \"softmax\"\nshapes = \"m,8\"",
                "'shapes' is nothing that softmax has",
            ),
            (
                "[[kernel]]",
                "kernels.toml:1:1: kernel 1: expected either op or file, got neither",
            ),
            (
                "\n[[kernel]]\nop = \"softmax\"\nfile = \"a.mlir\"",
                "kernels.toml:2:1: kernel 1 (softmax): expected either op or file, got both",
            ),
            (
                "[[kernel]]\nop = \"rms\"\nshape = \"m,8\"",
                "kernel 1 (rms): expected a named op, ",
            ),
            ("[[kernel]]\nop = \"softmax\"", "expected a shape"),
            (
                "[[kernel]]\nop = \"softmax\"\nshape = \"m,8\"\nweight = true",
                "'weight' is nothing that softmax has",
            ),
            (
                "[[kernel]]\nop = \"softmax\"\nshape = \"m,8\"\nscale = \"big\"",
                "expected scale to be a number, got \"big\"",
            ),
            (
                "[[kernel]]\nop = \"softmax\"\nshape = \"m,8\"\ntargets = [\"sm_90\"]",
                "unknown target 'sm_90'",
            ),
            (
                "[[kernel]]\nop = \"softmax\"\nshape = \"m,8\"\nx = \"f32\"",
                "kernels.toml:1:1: kernel 1 (softmax): expected the type of x as dtype, got a setting 'x'",
            ),
            (
                "[[kernel]]\nop = \"softmax\"\nshape = \"m,8\"\nby_size = true\nbatch_invariant = true",
                "kernels.toml:1:1: kernel 1 (softmax): expected one of batch_invariant and by_size, got both",
            ),
            (
                "[[kernel]]\nop = \"rms_norm\"\nshape = \"m,8\"\neps = 1e-50",
                "kernels.toml:1:1: kernel 1 (rms_norm): eps: expected 0, or a number of f32's range, ",
            ),
            (
                "[[kernel]]\nop = \"softmax\"\nshape = \"d0,8\"",
                "kernels.toml:1:1: kernel 1 (softmax): expected a size's name other than the reserved ",
            ),
            (
                "[[kernel]]\nop = \"softmax\"\nshape = [\"m,8\", \"m,8\"]",
                "got 'softmax_mx8_bf16' again; an entry's 'name' gives it another",
            ),
            (
                "[[kernel]]\nop = \"softmax\"\nshape = \"m,8\"\nname = \"\"",
                "kernels.toml:1:1: kernel 1 (softmax): expected a name of letters, digits, '_', '-' and '.', got ''",
            ),
            (
                "[[kernel]]\nop = \"softmax\"\nshape = \"m,8\"\nname = \"../up\"",
                "expected a name of letters, digits, '_', '-' and '.', got '../up'",
            ),
            ("[[kernel]]\nfile = \"a.mlir\"\neps = 1", "got eps too"),
            ("[[kernel]]\nfile = \"none.mlir\"", "cannot read 'none.mlir'"),
        ] {
            let error = read(text)
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
