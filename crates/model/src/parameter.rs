//! The parameters of a kind of phase: the form and the default of each.

use std::ops::RangeInclusive;

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

impl Parameter {
    /// A parameter that is absent unless it is set.
    pub const fn new(name: &'static str, about: &'static str, form: Form) -> Self {
        Self {
            name,
            about,
            form,
            given: Given::Absent,
        }
    }

    /// A size.
    pub const fn size(name: &'static str, about: &'static str) -> Self {
        Self::new(name, about, Form::Size)
    }

    /// A size within these bounds, in bytes.
    pub const fn bytes(
        name: &'static str,
        about: &'static str,
        bounds: RangeInclusive<u64>,
    ) -> Self {
        let form = Form::SizeWithin(*bounds.start(), *bounds.end());
        Self::new(name, about, form)
    }

    /// A whole number within these bounds.
    pub const fn number(
        name: &'static str,
        about: &'static str,
        bounds: RangeInclusive<u64>,
    ) -> Self {
        Self::new(name, about, Form::Number(*bounds.start(), *bounds.end()))
    }

    /// One of these names.
    pub const fn one_of(
        name: &'static str,
        about: &'static str,
        names: &'static [&'static str],
    ) -> Self {
        Self::new(name, about, Form::OneOf(names))
    }

    /// With this default value.
    #[must_use]
    pub const fn fixed(self, value: &'static str) -> Self {
        Self {
            given: Given::Fixed(value),
            ..self
        }
    }

    /// With a default value that grows with the scale: [`Given::Scaled`].
    #[must_use]
    pub const fn scaled(self, value: u64, multiple: u64) -> Self {
        Self {
            given: Given::Scaled(value, multiple),
            ..self
        }
    }
}

/// The form of a parameter's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Any text except the empty one.
    Text,
    /// A size: `64M`.
    Size,
    /// A size from the first to the second, in bytes: `16K`.
    SizeWithin(u64, u64),
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
