//! The parameters of a kind of phase: the form and the default of each.

/// A parameter of a kind of phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Its name, as typed.
    pub name: &'static str,
    /// A description of one line.
    pub about: &'static str,
    /// The form of its value.
    pub form: Form,
    /// Its default value.
    pub given: Given,
}

/// The form of a parameter's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Any text except the empty one.
    Text,
    /// A size: `64M`.
    Size,
    /// A whole number from the first to the second.
    Number(u64, u64),
    /// One of these names.
    OneOf(&'static [&'static str]),
    /// One of these names, or a whole number from the second to the third.
    OneOfOrNumber(&'static [&'static str], u64, u64),
    /// A file of the user, relative to the plan file or to the current directory.
    File,
}

/// The default value of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    /// The user must set it.
    Required,
    /// The parameter is absent.
    Absent,
    /// This value.
    Fixed(&'static str),
    /// The first number times the scale, rounded to whole multiples of the second, with a minimum
    /// of one.
    Scaled(u64, u64),
}

/// The input of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// The newest tree.
    Tree,
    /// The archive of the dataset.
    Archive,
    /// No input: the phase creates its own files.
    Nothing,
}
