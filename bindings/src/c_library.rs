//! Names that C's library has taken.
//!
//! A function of such a name would replace the library's in the whole program that links it, and its header could not be included
//! beside the library's. A macro of such a name would replace even the name of a parameter.

/// What the headers of C and POSIX declare, with glibc's additions, which a compiler of C++ always asks for: functions, types and
/// variables. Each header's name has a colon behind it. The headers include all whose functions the runtime calls, as its archive would
/// call a kernel's function of that name instead.
const DECLARED: &str = include_str!("c_library.txt");

/// The headers whose functions have two more forms each, with these letters behind the name: for `float` and for `long double`.
const IN_THREE_TYPES: [&str; 2] = ["math.h", "complex.h"];
const OF_OTHER_TYPES: [char; 2] = ['f', 'l'];

/// Macros that compilers of C define themselves or that headers of C define, besides limits of types.
const MACROS: &[&str] = &[
    "BUFSIZ",
    "EOF",
    "EXIT_FAILURE",
    "EXIT_SUCCESS",
    "HUGE_VAL",
    "HUGE_VALF",
    "HUGE_VALL",
    "I",
    "INFINITY",
    "L_ctermid",
    "L_tmpnam",
    "NAN",
    "NULL",
    "P_tmpdir",
    "SEEK_CUR",
    "SEEK_END",
    "SEEK_SET",
    "assert",
    "complex",
    "errno",
    "i386",
    "linux",
    "offsetof",
    "stderr",
    "stdin",
    "stdout",
    "unix",
];

/// The ends of the names of macros for the limits of types and for numbers of them, which are in capitals: `INT8_MAX`, `UINT64_C`.
const OF_TYPES: [&str; 4] = ["_C", "_MAX", "_MIN", "_WIDTH"];

/// The header that declares a name.
pub(crate) fn header_of(name: &str) -> Option<&'static str> {
    let of_other_type = || {
        let header = declaring(name.strip_suffix(OF_OTHER_TYPES)?)?;
        IN_THREE_TYPES.contains(&header).then_some(header)
    };
    declaring(name).or_else(of_other_type)
}

fn declaring(name: &str) -> Option<&'static str> {
    let mut header = "";
    for word in DECLARED.split_whitespace() {
        match word.strip_suffix(':') {
            Some(next) => header = next,
            None if word == name => return Some(header),
            None => {}
        }
    }
    None
}

/// Whether a macro has the name.
pub(crate) fn is_macro(name: &str) -> bool {
    let is_in_capitals = !name.contains(|letter: char| letter.is_ascii_lowercase());
    MACROS.contains(&name) || (is_in_capitals && OF_TYPES.iter().any(|end| name.ends_with(end)))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;

    /// What the C compiler writes for a source.
    fn compiled(options: &[&str], source: &str) -> String {
        let mut command = Command::new("cc");
        command
            .args(["-std=gnu11", "-D_GNU_SOURCE", "-x", "c", "-"])
            .args(options);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(source.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn a_name_has_the_header_that_declares_it() {
        for (name, header) in [
            ("exp", Some("math.h")),
            ("expf", Some("math.h")),
            ("free", Some("stdlib.h")),
            ("memcpy", Some("string.h")),
            ("int32_t", Some("stdint.h")),
            ("read", Some("unistd.h")),
            ("dlsym", Some("dlfcn.h")),
            ("mmap64", Some("sys/mman.h")),
            ("uint", Some("sys/types.h")),
            ("freef", None),
            ("rms_norm", None),
            ("stdlib.h", None),
        ] {
            assert_eq!(header_of(name), header, "{name}");
        }
    }

    #[test]
    fn every_name_is_declared_in_its_header() {
        let mut words = DECLARED.split_whitespace().peekable();
        while let Some(header) = words.next().and_then(|word| word.strip_suffix(':')) {
            let mut source = format!("#include <{header}>\n");
            while let Some(name) = words.next_if(|word| !word.ends_with(':')) {
                source += &format!("#ifndef {name}\nextern __typeof__({name}) *of_{name};\n#endif\n");
            }
            compiled(&["-fsyntax-only", "-w"], &source);
        }
    }

    #[test]
    fn no_macro_that_the_generated_code_meets_is_forgotten() {
        let source = "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n";
        let defined = compiled(&["-E", "-dM", "-U_GNU_SOURCE"], source);
        let names = defined.lines().filter_map(|line| line.split([' ', '(']).nth(1));
        let of_users =
            names.filter(|name| !name.starts_with('_') && !["bool", "false", "true"].contains(name));
        let forgotten: Vec<&str> = of_users.filter(|name| !is_macro(name)).collect();
        assert_eq!(forgotten, [""; 0]);
    }

    #[test]
    fn macros_are_in_order() {
        assert!(MACROS.is_sorted());
    }
}
