//! Versions of tools, parsed from their output.

use std::fmt;

/// A dotted version of two or three numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// First number.
    pub major: u32,
    /// Second number.
    pub minor: u32,
    /// Third number, or zero.
    pub patch: u32,
}

impl Version {
    /// Parses the version at the start of a text and ignores what follows it, such as `git` or `rc1`.
    pub fn parse(text: &str) -> Option<Self> {
        let end = text
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len());
        let mut numbers = text[..end].split('.').map(str::parse);
        let major = numbers.next()?.ok()?;
        let minor = numbers.next()?.ok()?;
        let patch = numbers.next().and_then(Result::ok).unwrap_or(0);
        Some(Self { major, minor, patch })
    }

    /// Parses the output of `ptxas --version` and `nvdisasm --version`: `Cuda compilation tools, release 13.0, V13.0.88`.
    pub fn parse_cuda_tool(output: &str) -> Option<Self> {
        let line = output.lines().find(|line| line.contains("release "))?;
        line.rsplit_once(", V").and_then(|(_, full)| Self::parse(full))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn version(major: u32, minor: u32, patch: u32) -> Version {
        Version { major, minor, patch }
    }

    #[test]
    fn suffix_of_a_development_version_is_left_alone() {
        assert_eq!(Version::parse("22.1.8\n"), Some(version(22, 1, 8)));
        assert_eq!(Version::parse("23.0.0git"), Some(version(23, 0, 0)));
        assert_eq!(Version::parse("13.0"), Some(version(13, 0, 0)));
        assert_eq!(Version::parse("unknown"), None);
    }

    #[test]
    fn cuda_tool_version_is_the_full_one() {
        let output = "ptxas: NVIDIA (R) Ptx optimizing assembler\n\
                      Cuda compilation tools, release 13.0, V13.0.88\nBuild cuda_13.0.r13.0/compiler.36424714_0\n";
        assert_eq!(Version::parse_cuda_tool(output), Some(version(13, 0, 88)));
        assert_eq!(Version::parse_cuda_tool("not a CUDA tool"), None);
    }

    #[test]
    fn order_is_numeric() {
        assert!(version(12, 9, 86) < version(13, 0, 0));
        assert!(version(13, 10, 0) > version(13, 9, 0));
    }
}
