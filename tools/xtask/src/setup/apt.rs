//! Debian's packages: which are installed, which are available, and installing them.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use crate::child;
use crate::failure::Failure;

/// Whether this machine has Debian's package tools.
pub fn is_available() -> bool {
    child::find("dpkg-query").is_some() && child::find("apt-get").is_some()
}

/// The packages that are not installed.
///
/// # Errors
/// If dpkg-query cannot be run.
pub fn missing<'a>(packages: &[&'a str]) -> Result<Vec<&'a str>, Failure> {
    let mut query = Command::new("dpkg-query");
    query
        .args(["-W", "-f", "${db:Status-Abbrev} ${Package}\n"])
        .args(packages);
    // Exit status 1 only means that some of them are unknown.
    let output = query.output().map_err(|error| Failure::start(&query, &error))?;
    let listing = String::from_utf8_lossy(&output.stdout);
    let installed = installed(&listing);
    Ok(packages
        .iter()
        .copied()
        .filter(|package| !installed.contains(*package))
        .collect())
}

/// Installs packages, after `apt-get update` if one of them is not known yet.
///
/// # Errors
/// If a package is not available here, or apt fails.
pub fn install(packages: &[&str]) -> Result<(), Failure> {
    if !unknown(packages)?.is_empty() {
        update()?;
        let unknown = unknown(packages)?;
        if !unknown.is_empty() {
            return Err(Failure::User(format!(
                "this system's package sources do not offer {}; docs/install.md, \"LLVM 22 elsewhere\", says where to get it",
                unknown.join(", ")
            )));
        }
    }
    eprintln!("set-up: installing packages: {}", packages.join(" "));
    // Configures what an interrupted run left unconfigured; otherwise apt-get refuses to continue.
    child::run(as_root("dpkg")?.args(["--configure", "-a"]))?;
    let mut install = as_root("apt-get")?;
    install.args([
        "-q",
        "install",
        "-y",
        "--no-install-recommends",
        "-o",
        "DPkg::Lock::Timeout=300",
    ]);
    child::run(install.args(packages))
}

/// Updates the package lists.
///
/// # Errors
/// If apt fails.
pub fn update() -> Result<(), Failure> {
    eprintln!("set-up: updating the package lists");
    child::run(as_root("apt-get")?.args(["-q", "update"]))
}

/// Packages that no configured source offers.
fn unknown<'a>(packages: &[&'a str]) -> Result<Vec<&'a str>, Failure> {
    let mut policy = Command::new("apt-cache");
    let output = child::ask(policy.arg("policy").args(packages).env("LC_ALL", "C"))?;
    let offered = offered(&output);
    Ok(packages
        .iter()
        .copied()
        .filter(|package| !offered.contains(*package))
        .collect())
}

/// A command run as root: directly if this process is root, otherwise through sudo.
fn as_root(program: &str) -> Result<Command, Failure> {
    let mut command = if is_root() {
        Command::new("env")
    } else if child::find("sudo").is_some() {
        let mut sudo = Command::new("sudo");
        sudo.arg("env");
        sudo
    } else {
        return Err(Failure::User(format!(
            "cannot run {program} as root: this is not root and there is no sudo"
        )));
    };
    command.args(["DEBIAN_FRONTEND=noninteractive", program]);
    Ok(command)
}

/// Whether this process is root. Linux shows the effective user as the second number of `Uid:` in `/proc/self/status`.
fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let uid = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    uid.and_then(|ids| ids.split_whitespace().nth(1)) == Some("0")
}

/// Parses `dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n'`: only the status `ii` means installed and configured.
fn installed(output: &str) -> BTreeSet<&str> {
    output
        .lines()
        .filter_map(|line| line.strip_prefix("ii "))
        .map(str::trim)
        .collect()
}

/// Parses `apt-cache policy`: a package's block starts with `name:` at the margin, and its candidate is indented below it.
fn offered(output: &str) -> BTreeSet<&str> {
    let mut package = "";
    let mut offered = BTreeSet::new();
    for line in output.lines() {
        if !line.starts_with(' ') {
            package = line.trim_end_matches(':');
        } else if let Some(candidate) = line.trim().strip_prefix("Candidate: ")
            && candidate != "(none)"
        {
            offered.insert(package);
        }
    }
    offered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_configured_packages_count_as_installed() {
        let output = "ii  llvm-22-dev\nrc  libmlir-22-dev\nun  libpolly-22-dev\niU  mlir-22-tools\n";
        assert_eq!(installed(output), BTreeSet::from(["llvm-22-dev"]));
    }

    #[test]
    fn nothing_is_installed_where_dpkg_knows_none() {
        assert!(installed("").is_empty());
    }

    #[test]
    fn a_package_without_candidate_is_not_offered() {
        let output = "llvm-22-dev:\n  Installed: (none)\n  Candidate: 1:22.1.8\n  Version table:\n     1:22.1.8 500\n\
                      libmlir-22-dev:\n  Installed: (none)\n  Candidate: (none)\n  Version table:\n";
        assert_eq!(offered(output), BTreeSet::from(["llvm-22-dev"]));
    }
}
