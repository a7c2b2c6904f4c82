//! Compiles the C++ shim and turns Passes.td into Rust.
//!
//! `llvm-tblgen --dump-json` evaluates the table. Each entry becomes a type with its options, statistics and registration data
//! (`table.rs` in `OUT_DIR`, included by `src/lib.rs`).

use std::{
    env,
    error::Error,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Namespaces whose dialects this workspace defines; every other dialect comes from mlir-sys.
const OWN_DIALECTS: [&str; 2] = ["norm", "gl"];

fn main() -> Result<()> {
    println!("cargo:rerun-if-env-changed=MLIR_SYS_220_PREFIX");
    let prefix =
        PathBuf::from(env::var_os("MLIR_SYS_220_PREFIX").unwrap_or_else(|| "/usr/lib/llvm-22".into()));
    if !is_clippy() {
        compile_shim(&prefix)?;
    }

    println!("cargo:rerun-if-changed=Passes.td");
    let table = evaluate_table(&prefix, Path::new("Passes.td"))?;
    let out = PathBuf::from(env::var("OUT_DIR")?).join("table.rs");
    fs::write(out, generate(&table)?)?;
    Ok(())
}

/// Whether this is a build for clippy. Such a build links nothing, so compiling the C++ would be wasted time; Cargo keeps its outputs
/// apart from those of other builds.
fn is_clippy() -> bool {
    env::var_os("RUSTC_WORKSPACE_WRAPPER").is_some_and(|wrapper| wrapper.to_string_lossy().contains("clippy"))
}

/// Builds capi/*.cpp with LLVM's own assertion mode: a different NDEBUG would change the layout of `llvm::Statistic`.
fn compile_shim(prefix: &Path) -> Result<()> {
    println!("cargo:rerun-if-changed=capi");
    let mut sources = Vec::new();
    for entry in fs::read_dir("capi")? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "cpp") {
            sources.push(path);
        }
    }
    sources.sort();
    let assertions = output(Command::new(prefix.join("bin/llvm-config")).arg("--assertion-mode"))?;
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .std("c++17")
        .flag("-fno-exceptions")
        // The debug information of MLIR's headers takes half of the compile time and most of the object size; CXXFLAGS=-g asks for it.
        .debug(false)
        .flag("-isystem")
        .flag(prefix.join("include"))
        .warnings(true)
        .flag_if_supported("-Wno-unused-parameter")
        .files(sources);
    if assertions.trim() == "OFF" {
        build.define("NDEBUG", None);
    }
    build.try_compile("norma_passes_capi")?;
    Ok(())
}

fn output(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .map_err(|error| format!("failed to run {command:?}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn evaluate_table(prefix: &Path, table: &Path) -> Result<Value> {
    let json = output(
        Command::new(prefix.join("bin/llvm-tblgen"))
            .arg("--dump-json")
            .arg("-I")
            .arg(prefix.join("include"))
            .arg(table),
    )?;
    Ok(serde_json::from_str(&json)?)
}

/// Generates the text of table.rs: one block for each pass, and a function that registers them all.
fn generate(table: &Value) -> Result<String> {
    let mut passes = Vec::new();
    for name in array(&table["!instanceof"], "RustPass")? {
        passes.push(name.as_str().ok_or("a pass has no name")?);
    }
    passes.sort_by_key(|name| table[*name]["argument"].as_str());
    let mut code = String::new();
    for name in &passes {
        generate_pass(&mut code, table, name, &table[*name])
            .map_err(|error| format!("Passes.td: {name}: {error}"))?;
    }
    writeln!(
        code,
        "/// Adds every pass of Passes.td to MLIR's registry, without regard to repetition."
    )?;
    writeln!(code, "fn register_each() {{")?;
    for name in &passes {
        writeln!(code, "    crate::mlir::pass::register::<{name}>();")?;
    }
    writeln!(code, "}}")?;
    Ok(code)
}

fn generate_pass(code: &mut String, table: &Value, name: &str, pass: &Value) -> Result<()> {
    let argument = text(pass, "argument")?;
    let summary = text(pass, "summary")?;
    if summary.is_empty() || text(pass, "description")?.trim().is_empty() {
        return Err("a pass needs a summary and a description".into());
    }
    let options = records(table, pass, "options")?
        .into_iter()
        .map(|record| PassOption::new(table, record))
        .collect::<Result<Vec<_>>>()?;
    let statistics = records(table, pass, "statistics")?;

    writeln!(code, "/// `{argument}`: {}.\n///", lower_first(summary))?;
    writeln!(code, "{}", doc(text(pass, "description")?))?;
    writeln!(code, "#[derive(Clone, Copy, Debug)]\npub struct {name};\n")?;

    generate_options(code, argument, name, &options)?;
    generate_statistics(code, argument, name, &statistics)?;

    writeln!(code, "impl crate::mlir::pass::Pass for {name} {{")?;
    writeln!(
        code,
        "    type Options = {name}Options;\n    type Statistic = {name}Statistic;"
    )?;
    writeln!(code, "    const NAME: &'static str = {name:?};")?;
    writeln!(code, "    const ARGUMENT: &'static str = {argument:?};")?;
    writeln!(code, "    const SUMMARY: &'static str = {summary:?};")?;
    writeln!(
        code,
        "    const ANCHOR: &'static str = {:?};",
        text(pass, "anchorOp")?
    )?;
    declare_parameters(code, &options, &statistics)?;
    writeln!(
        code,
        "    const DIALECTS: &'static [crate::mlir::pass::DialectHandle] = &["
    )?;
    for dialect in array(pass, "dependentDialects")? {
        let dialect = dialect.as_str().ok_or("a dependent dialect is not a string")?;
        let module = if OWN_DIALECTS.contains(&dialect) {
            "crate::mlir::dialects"
        } else {
            "mlir_sys"
        };
        writeln!(code, "        {module}::mlirGetDialectHandle__{dialect}__,")?;
    }
    writeln!(code, "    ];\n")?;
    generate_readers(code, &options, &statistics)?;
    writeln!(
        code,
        "    fn run<'c, 'a>(op: melior::ir::OperationRef<'c, 'a>, cx: &crate::mlir::pass::PassContext<'c, Self>) \
         -> crate::mlir::pass::PassResult<'c> {{\n        crate::{}::run(op, cx)\n    }}",
        module_of(argument)
    )?;
    writeln!(code, "}}\n")?;
    Ok(())
}

/// Generates the struct of a pass's options, with their defaults.
fn generate_options(code: &mut String, argument: &str, name: &str, options: &[PassOption<'_>]) -> Result<()> {
    writeln!(code, "/// Options of `{argument}`.")?;
    writeln!(
        code,
        "#[derive(Clone, Debug, PartialEq)]\npub struct {name}Options {{"
    )?;
    for option in options {
        writeln!(code, "{}", doc(option.description))?;
        writeln!(code, "    pub {}: {},", option.field, option.kind.rust_type())?;
    }
    writeln!(code, "}}\n")?;
    writeln!(
        code,
        "#[allow(clippy::derivable_impls, reason = \"defaults are the table's, whatever they are\")]\n\
         impl Default for {name}Options {{\n    fn default() -> Self {{\n        Self {{"
    )?;
    for option in options {
        writeln!(code, "            {}: {},", option.field, option.rust_default()?)?;
    }
    writeln!(code, "        }}\n    }}\n}}\n")?;
    Ok(())
}

/// Generates the enum of a pass's statistics.
fn generate_statistics(code: &mut String, argument: &str, name: &str, statistics: &[&Value]) -> Result<()> {
    writeln!(code, "/// Statistics of `{argument}`.")?;
    writeln!(
        code,
        "#[derive(Clone, Copy, Debug, PartialEq, Eq)]\npub enum {name}Statistic {{"
    )?;
    for statistic in statistics {
        writeln!(code, "{}", doc(text(statistic, "description")?))?;
        writeln!(code, "    {},", upper_first(text(statistic, "cppName")?))?;
    }
    writeln!(code, "}}\n")?;
    Ok(())
}

/// Generates the declarations of options and statistics by which the pass is registered.
fn declare_parameters(code: &mut String, options: &[PassOption<'_>], statistics: &[&Value]) -> Result<()> {
    writeln!(
        code,
        "    const OPTIONS: &'static [crate::mlir::pass::OptionDeclaration] = &["
    )?;
    for option in options {
        writeln!(
            code,
            "        crate::mlir::pass::OptionDeclaration {{ argument: {:?}, description: {:?}, default: {} }},",
            option.argument,
            option.description,
            option.declared_default()?
        )?;
    }
    writeln!(code, "    ];")?;
    writeln!(
        code,
        "    const STATISTICS: &'static [crate::mlir::pass::StatisticDeclaration] = &["
    )?;
    for statistic in statistics {
        writeln!(
            code,
            "        crate::mlir::pass::StatisticDeclaration {{ name: {:?}, description: {:?} }},",
            text(statistic, "name")?,
            text(statistic, "description")?
        )?;
    }
    writeln!(code, "    ];")?;
    Ok(())
}

/// Generates the functions that read the options' values and number the statistics.
fn generate_readers(code: &mut String, options: &[PassOption<'_>], statistics: &[&Value]) -> Result<()> {
    writeln!(
        code,
        "    fn read_options({}: &crate::mlir::pass::OptionValues<'_>) -> Self::Options {{",
        if options.is_empty() { "_values" } else { "values" }
    )?;
    writeln!(code, "        Self::Options {{")?;
    for (index, option) in options.iter().enumerate() {
        writeln!(
            code,
            "            {}: values.{}({index}),",
            option.field,
            option.kind.reader()
        )?;
    }
    writeln!(code, "        }}\n    }}\n")?;
    writeln!(
        code,
        "    fn statistic_index(statistic: Self::Statistic) -> usize {{"
    )?;
    if statistics.is_empty() {
        writeln!(code, "        match statistic {{}}")?;
    } else {
        writeln!(code, "        statistic as usize")?;
    }
    writeln!(code, "    }}\n")?;
    Ok(())
}

#[derive(Clone, Copy)]
enum OptionKind {
    Integer,
    Bool,
    Text,
    IntegerList,
}

impl OptionKind {
    fn rust_type(self) -> &'static str {
        match self {
            Self::Integer => "i64",
            Self::Bool => "bool",
            Self::Text => "String",
            Self::IntegerList => "Vec<i64>",
        }
    }

    fn reader(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Bool => "boolean",
            Self::Text => "text",
            Self::IntegerList => "integer_list",
        }
    }
}

struct PassOption<'a> {
    argument: &'a str,
    field: String,
    description: &'a str,
    kind: OptionKind,
    default: &'a str,
}

impl<'a> PassOption<'a> {
    fn new(table: &Value, record: &'a Value) -> Result<Self> {
        let name = text(record, "!name")?;
        let is_list = array(&table["!instanceof"], "ListOption")?
            .iter()
            .any(|other| other == name);
        let kind = match (is_list, text(record, "type")?) {
            (false, "int64_t") => OptionKind::Integer,
            (false, "bool") => OptionKind::Bool,
            (false, "std::string") => OptionKind::Text,
            (true, "int64_t") => OptionKind::IntegerList,
            (_, other) => {
                let argument = text(record, "argument")?;
                return Err(format!("option {argument}: type '{other}' is not supported").into());
            }
        };
        Ok(Self {
            argument: text(record, "argument")?,
            field: snake_case(text(record, "cppName")?),
            description: text(record, "description")?,
            kind,
            default: text(record, "defaultValue")?,
        })
    }

    fn rust_default(&self) -> Result<String> {
        Ok(match self.kind {
            OptionKind::Integer => self.integer_default()?.to_string(),
            OptionKind::Bool => self.bool_default()?.to_string(),
            OptionKind::Text => format!("{:?}.to_owned()", self.text_default()),
            OptionKind::IntegerList => "Vec::new()".to_owned(),
        })
    }

    fn declared_default(&self) -> Result<String> {
        let value = match self.kind {
            OptionKind::Integer => format!("Integer({})", self.integer_default()?),
            OptionKind::Bool => format!("Bool({})", self.bool_default()?),
            OptionKind::Text => format!("Text({:?})", self.text_default()),
            OptionKind::IntegerList => "EmptyList".to_owned(),
        };
        Ok(format!("crate::mlir::pass::OptionDefault::{value}"))
    }

    fn integer_default(&self) -> Result<i64> {
        if self.default.is_empty() {
            return Ok(0);
        }
        let error = |_| {
            format!(
                "option {}: default '{}' is not an integer",
                self.argument, self.default
            )
        };
        Ok(self.default.parse().map_err(error)?)
    }

    fn bool_default(&self) -> Result<bool> {
        match self.default {
            "true" => Ok(true),
            "false" | "" => Ok(false),
            other => Err(format!("option {}: default '{other}' is not a bool", self.argument).into()),
        }
    }

    /// Returns the default without its quotes: PassBase.td wants a string's default as a C++ literal.
    fn text_default(&self) -> &'a str {
        self.default.trim_matches('"')
    }
}

fn text<'a>(record: &'a Value, field: &str) -> Result<&'a str> {
    record[field]
        .as_str()
        .ok_or_else(|| format!("field '{field}' is not a string").into())
}

fn array<'a>(record: &'a Value, field: &str) -> Result<&'a Vec<Value>> {
    record[field]
        .as_array()
        .ok_or_else(|| format!("field '{field}' is not a list").into())
}

/// Follows a list of record references.
fn records<'a>(table: &'a Value, record: &Value, field: &str) -> Result<Vec<&'a Value>> {
    array(record, field)?
        .iter()
        .map(|reference| Ok(&table[text(reference, "def")?]))
        .collect()
}

/// Formats a text as a doc comment, without the indentation that all of its lines share.
fn doc(text: &str) -> String {
    let text = text.trim_matches('\n').trim_end();
    let indent = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.len() - line.trim_start().len())
        .min()
        .unwrap_or(0);
    let lines = text
        .lines()
        .map(|line| format!("/// {}", line.get(indent..).unwrap_or("").trim_end()));
    lines
        .map(|line| line.trim_end().to_owned())
        .collect::<Vec<_>>()
        .join("\n")
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for character in name.chars() {
        if character.is_uppercase() {
            snake.push('_');
        }
        snake.extend(character.to_lowercase());
    }
    snake
}

fn upper_first(name: &str) -> String {
    let mut characters = name.chars();
    characters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(characters).collect()
    })
}

fn lower_first(name: &str) -> String {
    let mut characters = name.chars();
    characters.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(characters).collect()
    })
}

/// Returns the path of a pass's module within the crate: the first word of its argument is the folder, which is its level, and the rest
/// the file.
fn module_of(argument: &str) -> String {
    argument.replacen('-', "::", 1).replace('-', "_")
}
