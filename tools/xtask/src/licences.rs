//! The licences of the software that packages contain besides Norma: what there is, and the texts that go into an archive or a wheel.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::child;
use crate::failure::Failure;
use crate::setup::Setup;
use crate::workspace;

/// The page that lists the components, in the folder of their texts.
const INDEX: &str = "README.md";
/// What the names of files with licences begin with, in capitals.
const NAMES: [&str; 6] = [
    "LICENSE",
    "LICENCE",
    "COPYING",
    "COPYRIGHT",
    "NOTICE",
    "UNLICENSE",
];
/// Norma's own licence, Apache-2.0 with LLVM's exceptions, which is the text for components that have these terms and no text of their own.
const OWN: &str = "LICENSE";
/// Terms that [`OWN`] states.
const TERMS_OF_OWN: [&str; 2] = ["Apache-2.0", "Apache-2.0 WITH LLVM-exception"];

/// A component of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Component {
    /// Its name, which is also that of the folder of its texts.
    pub name: String,
    /// Its version, or what is known of it.
    version: String,
    /// Its terms, as an SPDX expression if there is one.
    terms: String,
    /// The files with the texts, on this machine.
    texts: Vec<PathBuf>,
}

/// Everything in programs and libraries that are built from the crates `roots`, of which one links MLIR.
///
/// # Errors
/// If a component has no text on this machine, or cargo does not say what there is.
pub fn components(setup: &Setup, roots: &[&str]) -> Result<Vec<Component>, Failure> {
    let metadata = workspace::metadata(setup)?;
    let mut components = crates(&metadata, roots)?;
    let documents = Path::new("/usr/share/doc");
    let llvm = Component {
        name: "llvm".to_owned(),
        version: setup.llvm.version.to_string(),
        terms: "Apache-2.0 WITH LLVM-exception, and other terms for parts".to_owned(),
        texts: vec![
            workspace::root().join(OWN),
            documents.join("libmlir-22-dev/copyright"),
        ],
    };
    let zstd = Component {
        name: "zstd".to_owned(),
        version: "Debian's".to_owned(),
        terms: "BSD-3-Clause".to_owned(),
        texts: vec![documents.join("libzstd-dev/copyright")],
    };
    let libstdcxx = Component {
        name: "libstdc++".to_owned(),
        version: "Debian's".to_owned(),
        terms: "GPL-3.0-or-later WITH GCC-exception-3.1".to_owned(),
        texts: vec![documents.join("libstdc++6/copyright")],
    };
    let sysroot = child::ask(
        Command::new("rustc")
            .args(["--print", "sysroot"])
            .current_dir(workspace::root()),
    )?;
    let release = child::ask(
        Command::new("rustc")
            .arg("--version")
            .current_dir(workspace::root()),
    )?;
    let std = Component {
        name: "rust-std".to_owned(),
        version: release.split_whitespace().nth(1).unwrap_or("?").to_owned(),
        terms: "MIT OR Apache-2.0, and other terms for parts".to_owned(),
        texts: vec![Path::new(sysroot.trim()).join("share/doc/rust/COPYRIGHT-library.html")],
    };
    components.extend([llvm, zstd, libstdcxx, std]);
    if let Some(cuda) = &setup.cuda {
        components.push(Component {
            name: "libnvptxcompiler".to_owned(),
            version: crate::setup::CUDA_RELEASE.to_owned(),
            terms:
                "CUDA Toolkit's End User License Agreement, whose attachment A lists it as redistributable"
                    .to_owned(),
            texts: vec![cuda.library_licence()],
        });
    }
    components.sort_by(|a, b| a.name.cmp(&b.name));
    let missing = components.iter().flat_map(|component| &component.texts);
    match missing.into_iter().find(|text| !text.is_file()) {
        None => Ok(components),
        Some(text) => Err(Failure::Check(format!(
            "a licence is missing: expected {}",
            text.display()
        ))),
    }
}

/// Copies the texts into `folder`, which is made anew, each into the subfolder of its component, and lists the components there.
///
/// # Errors
/// If a file cannot be read or written.
pub fn write(components: &[Component], folder: &Path) -> Result<(), Failure> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(Failure::file("remove", folder))?;
    }
    for component in components {
        let place = folder.join(&component.name);
        fs::create_dir_all(&place).map_err(Failure::file("make", &place))?;
        for text in &component.texts {
            let copy = place.join(text.file_name().unwrap_or_default());
            fs::copy(text, &copy).map_err(Failure::file("copy", text))?;
        }
    }
    let index = folder.join(INDEX);
    fs::write(&index, list(components)).map_err(Failure::file("write", &index))
}

/// Checks that `folder` lists the components and has a text for each.
///
/// # Errors
/// If one is missing.
pub fn check(components: &[Component], folder: &Path) -> Result<(), Failure> {
    let index = folder.join(INDEX);
    let listed = fs::read_to_string(&index).map_err(Failure::file("read", &index))?;
    let has_texts = |component: &Component| {
        let mut texts = component.texts.iter().filter_map(|text| text.file_name());
        texts.all(|text| folder.join(&component.name).join(text).is_file())
    };
    let is_there =
        |component: &Component| listed.contains(&format!("| {} |", component.name)) && has_texts(component);
    match components.iter().find(|component| !is_there(component)) {
        None => Ok(()),
        Some(component) => Err(Failure::Check(format!(
            "expected the licence of {} in {}",
            component.name,
            folder.display()
        ))),
    }
}

fn list(components: &[Component]) -> String {
    let mut text = String::from(
        "# What is in these programs besides Norma\n\nThe text of each licence is in the folder of the component's name.\n\n\
         | component | version | licence |\n|---|---|---|\n",
    );
    for Component {
        name, version, terms, ..
    } in components
    {
        let _ = writeln!(text, "| {name} | {version} | {terms} |");
    }
    text
}

/// The crates of others that are linked into what is built from `roots`, from the output of `cargo metadata`.
fn crates(metadata: &Value, roots: &[&str]) -> Result<Vec<Component>, Failure> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let field = |package: &Value, name: &str| package[name].as_str().unwrap_or("?").to_owned();
    let packages: BTreeMap<String, Value> = list(&metadata["packages"])
        .into_iter()
        .map(|package| (field(&package, "id"), package))
        .collect();
    let nodes: BTreeMap<String, Value> = list(&metadata["resolve"]["nodes"])
        .into_iter()
        .map(|node| (field(&node, "id"), node))
        .collect();
    // Procedural macros run in the compiler; nothing of them gets into what it compiles but text.
    let is_macro = |package: &Value| {
        list(&package["targets"])
            .iter()
            .any(|target| list(&target["kind"]).contains(&Value::from("proc-macro")))
    };
    let is_linked = |dep: &&Value| list(&dep["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());

    let mut components = BTreeMap::new();
    let mut seen = Vec::new();
    let mut open: Vec<String> = packages
        .iter()
        .filter(|(_, package)| roots.contains(&field(package, "name").as_str()))
        .map(|(id, _)| id.clone())
        .collect();
    while let Some(id) = open.pop() {
        let (Some(package), Some(node)) = (packages.get(&id), nodes.get(&id)) else {
            continue;
        };
        if is_macro(package) || seen.contains(&id) {
            continue;
        }
        // Crates without a source are the workspace's own.
        if package["source"].is_string() {
            let (name, version, terms) = (
                field(package, "name"),
                field(package, "version"),
                field(package, "license"),
            );
            let manifest = PathBuf::from(field(package, "manifest_path"));
            let texts = texts(manifest.parent().unwrap_or(Path::new("")), &terms)?;
            components.insert(
                format!("{name}-{version}"),
                Component {
                    name: format!("{name}-{version}"),
                    version,
                    terms,
                    texts,
                },
            );
        }
        open.extend(
            list(&node["deps"])
                .iter()
                .filter(is_linked)
                .map(|dep| field(dep, "pkg")),
        );
        seen.push(id);
    }
    Ok(components.into_values().collect())
}

/// The files with a crate's licences, in its folder.
fn texts(folder: &Path, terms: &str) -> Result<Vec<PathBuf>, Failure> {
    let entries = fs::read_dir(folder).map_err(Failure::file("read", folder))?;
    let is_text = |path: &PathBuf| {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .to_uppercase();
        path.is_file() && NAMES.iter().any(|known| name.starts_with(known))
    };
    let mut texts: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(is_text)
        .collect();
    texts.sort();
    if texts.is_empty() && TERMS_OF_OWN.contains(&terms) {
        texts.push(workspace::root().join(OWN));
    }
    match texts.is_empty() {
        false => Ok(texts),
        true => Err(Failure::Check(format!(
            "expected the text of the licence '{terms}' in {}",
            folder.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A package of `cargo metadata` with a folder that contains `files`.
    fn package(root: &Path, name: &str, kind: &str, terms: &str, files: &[&str]) -> Value {
        let folder = root.join(name);
        fs::create_dir_all(&folder).unwrap();
        for file in files {
            fs::write(folder.join(file), "text").unwrap();
        }
        json!({"id": name, "name": name, "version": "1.0.0", "license": terms, "source": "registry",
               "manifest_path": folder.join("Cargo.toml"), "targets": [{"kind": [kind]}]})
    }

    fn own(name: &str) -> Value {
        json!({"id": name, "name": name, "version": "0.1.0", "license": "Apache-2.0", "source": null, "targets": []})
    }

    fn node(name: &str, deps: &[(&str, Option<&str>)]) -> Value {
        let deps = deps
            .iter()
            .map(|(pkg, kind)| json!({"pkg": pkg, "dep_kinds": [{"kind": kind}]}));
        json!({"id": name, "deps": deps.collect::<Vec<_>>()})
    }

    #[test]
    fn crates_are_those_that_are_linked() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let packages = [
            own("tool"),
            own("library"),
            package(root, "linked", "lib", "MIT", &["LICENSE-MIT", "README.md"]),
            package(root, "macros", "proc-macro", "MIT", &[]),
            package(root, "tester", "lib", "MIT", &[]),
            package(root, "other", "lib", "MIT", &[]),
        ];
        let nodes = [
            node("tool", &[("library", None), ("tester", Some("dev"))]),
            node("library", &[("linked", None), ("macros", None)]),
            node("linked", &[]),
            node("macros", &[]),
            node("tester", &[]),
            node("other", &[]),
        ];
        let metadata = json!({"packages": packages, "resolve": {"nodes": nodes}});
        let found = crates(&metadata, &["tool"]).unwrap();
        assert_eq!(
            found,
            [Component {
                name: "linked-1.0.0".to_owned(),
                version: "1.0.0".to_owned(),
                terms: "MIT".to_owned(),
                texts: vec![root.join("linked/LICENSE-MIT")]
            }]
        );
    }

    #[test]
    fn a_crate_without_a_text_is_refused_unless_its_terms_are_ours() {
        let folder = tempfile::tempdir().unwrap();
        let error = texts(folder.path(), "MIT").unwrap_err();
        assert!(error.to_string().contains("the licence 'MIT'"), "{error}");
        assert_eq!(
            texts(folder.path(), "Apache-2.0").unwrap(),
            [workspace::root().join(OWN)]
        );
    }

    #[test]
    fn a_licence_that_is_missing_is_found() {
        let root = tempfile::tempdir().unwrap();
        let text = root.path().join("LICENSE-MIT");
        fs::write(&text, "text").unwrap();
        let component = |name: &str| Component {
            name: name.to_owned(),
            version: "1".to_owned(),
            terms: "MIT".to_owned(),
            texts: vec![text.clone()],
        };
        let folder = root.path().join("licences");
        write(&[component("one")], &folder).unwrap();
        check(&[component("one")], &folder).unwrap();
        let error = check(&[component("one"), component("two")], &folder).unwrap_err();
        assert!(
            error.to_string().starts_with("expected the licence of two in"),
            "{error}"
        );
        fs::remove_file(folder.join("one/LICENSE-MIT")).unwrap();
        check(&[component("one")], &folder).unwrap_err();
    }
}
