//! The static description of a kind of phase: its name, its requirements, and its effects.

use fsdyno_model::{Needs, Parameter};

#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent properties of a kind, each read by another caller"
)]
pub struct PhaseKind {
    pub name: &'static str,
    /// A description of one line.
    pub title: &'static str,
    pub needs: Needs,
    pub parameters: &'static [Parameter],
    /// Whether further parameters are passed on to a program, which checks them.
    pub passes_on: bool,
    /// No parameter has its default value if one of these is set.
    pub no_defaults_with: &'static [&'static str],
    /// Whether it writes, and so has a time to durable.
    pub writes: bool,
    pub makes_tree: bool,
    /// Whether it reads every byte of the newest tree.
    pub reads_data: bool,
    /// Whether it searches for a pattern.
    pub searches: bool,
    /// Whether it removes the newest tree.
    pub removes_tree: bool,
}

impl PhaseKind {
    /// A kind that creates its own files. It writes, unless its module overrides this.
    pub(crate) const fn standalone(
        name: &'static str,
        title: &'static str,
        parameters: &'static [Parameter],
    ) -> Self {
        Self {
            name,
            title,
            needs: Needs::Nothing,
            parameters,
            passes_on: false,
            no_defaults_with: &[],
            writes: true,
            makes_tree: false,
            reads_data: false,
            searches: false,
            removes_tree: false,
        }
    }

    /// A kind that works on the newest tree. It does not write, unless its module overrides this.
    pub(crate) const fn on_tree(
        name: &'static str,
        title: &'static str,
        parameters: &'static [Parameter],
    ) -> Self {
        Self {
            needs: Needs::Tree,
            writes: false,
            ..Self::standalone(name, title, parameters)
        }
    }
}
