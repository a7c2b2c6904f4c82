//! Discardable attributes: what is documented of them.

const NAMES: &str = include_str!("../src/attributes.rs");
const DOCUMENTED: [&str; 3] = [
    include_str!("../gl/README.md"),
    include_str!("../norm/README.md"),
    include_str!("../../passes/Passes.md"),
];

#[test]
fn every_discardable_attribute_is_documented() {
    let names = NAMES.lines().filter_map(|line| {
        let (_, value) = line.trim().strip_prefix("pub const ")?.split_once("&str = \"")?;
        value.strip_suffix("\";")
    });
    let names: Vec<_> = names.collect();
    assert!(names.contains(&"gl.launch"), "{names:?}");
    let is_missing = |name: &&str| {
        let quoted = format!("`{name}`");
        !DOCUMENTED.iter().any(|text| text.contains(&quoted))
    };
    let missing: Vec<_> = names.into_iter().filter(is_missing).collect();
    assert!(
        missing.is_empty(),
        "expected to find each of these in a README or in Passes.md: {missing:?}"
    );
}
