//! The names of a bundle's files, which contain a hash of their content: a file that a manifest names never changes, and one that was
//! damaged is found.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// The extensions of a bundle's files, which follow the hash of the content.
const EXTENSIONS: [&str; 3] = [".cubin", ".nvvm.mlir", ".ptx"];
/// The number of bytes of the content's SHA-256 in a file's name.
const HASH_BYTES: usize = 8;

/// Inserts the hash of a file's content into its name: `kernel.sm_90a.cubin` becomes `kernel.sm_90a.0123456789abcdef.cubin`.
pub fn name(name: &str, bytes: &[u8]) -> String {
    let extension = EXTENSIONS.iter().find(|extension| name.ends_with(*extension));
    let stem = extension
        .and_then(|extension| name.strip_suffix(extension))
        .unwrap_or(name);
    format!("{stem}.{}{}", hash(bytes), extension.unwrap_or(&""))
}

/// The name as [`name`] gives it, or the name itself if it contains a hash already.
pub fn hashed_name(of: &str, bytes: &[u8]) -> String {
    match hash_in(of) {
        Some(_) => of.to_owned(),
        None => name(of, bytes),
    }
}

/// The hash in the name of a bundle's file; `None` if the name has none.
pub fn hash_in(name: &str) -> Option<&str> {
    let stem = EXTENSIONS
        .iter()
        .find_map(|extension| name.strip_suffix(extension))?;
    let (_, hash) = stem.rsplit_once('.')?;
    let is_hash = hash.len() == 2 * HASH_BYTES && hash.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hash.then_some(hash)
}

/// The hash of a content, as names contain it.
pub fn hash(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let mut text = String::with_capacity(2 * HASH_BYTES);
    for byte in &digest[..HASH_BYTES] {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_contains_the_hash_of_the_content() {
        let own = name("kernel.sm_90a.cubin", b"code");
        assert_eq!(own, "kernel.sm_90a.5694d08a2e53ffca.cubin");
        assert_eq!(hash_in(&own), Some(hash(b"code").as_str()));
        assert_eq!(
            name("kernel.nvvm.mlir", b"code"),
            "kernel.5694d08a2e53ffca.nvvm.mlir"
        );
        assert_eq!(hashed_name("kernel.sm_90a.cubin", b"code"), own);
        // Also where the content is another, so that this is found when it is loaded.
        assert_eq!(hashed_name(&own, b"damaged"), own);
    }

    #[test]
    fn other_names_have_none() {
        for name in [
            "kernel.sm_90a.cubin",
            "0123456789abcdef.cubin",
            "kernel.0123456789abcdeg.cubin",
            "kernel.0123456789abcdef.elf",
        ] {
            assert_eq!(hash_in(name), None, "{name}");
        }
    }
}
