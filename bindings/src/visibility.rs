//! Which modules of a process find an object's functions by their names.

/// Which modules of a process, its program and shared objects, find the functions of an object by their names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Visibility {
    /// The module alone that the object is linked into, so that another's function of the same name is not called in its place.
    #[default]
    Hidden,
    /// All modules, as a shared object that exports the functions needs; the first module that has a name is the one that all call.
    Default,
}

impl Visibility {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Default, Self::Hidden];

    /// The name, which is the one that compilers of C have for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hidden => "hidden",
            Self::Default => "default",
        }
    }
}
