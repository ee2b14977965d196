//! The parameters of a kind of phase: how each is written and what its default is.

/// A parameter of a kind of phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Its name, as typed.
    pub name: &'static str,
    /// What it sets, in one line.
    pub about: &'static str,
    /// How its value is written.
    pub form: Form,
    /// Its value where the user sets none.
    pub given: Given,
}

/// How the value of a parameter is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Any text except the empty one.
    Text,
    /// A size: `64M`.
    Size,
    /// A whole number from the first to the second.
    Number(u64, u64),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A file of the user, relative to the plan file or to the current directory.
    File,
}

/// The value of a parameter where the user sets none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    /// The user must set it.
    Required,
    /// The parameter is absent.
    Absent,
    /// This value.
    Fixed(&'static str),
    /// The first at scale 1, in whole multiples of the second and at least one of them.
    Scaled(u64, u64),
}

/// What a phase works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// The newest tree.
    Tree,
    /// The archive of the dataset.
    Archive,
    /// Nothing: it makes what it works on.
    Nothing,
}
