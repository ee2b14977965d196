//! What a program takes, as values that a plan is checked against. No value is read here.

/// One thing a program takes.
#[derive(Debug)]
pub struct Parameter {
    /// What it is called.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// How it is written.
    pub form: Form,
    /// What it is where nobody says.
    pub given: Given,
}

/// How a parameter is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Any text.
    Text,
    /// A size: `64M`.
    Size,
    /// A whole number from the first to the second.
    Number(u64, u64),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A file of the user's, seen from the plan file or the present directory.
    File,
}

/// What a parameter is where nobody says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    /// It must be said.
    Required,
    /// It is left out.
    Absent,
    /// This.
    Fixed(&'static str),
    /// So much at scale 1, but never less than the second, in whole multiples of it.
    Scaled(u64, u64),
}
