//! What is known of a kind of phase before it runs: its name, what it needs, what it changes.

use fsdyno_model::{Needs, Parameter};

/// A kind of phase.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent properties of a kind, each read by another caller"
)]
pub struct PhaseKind {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a line.
    pub title: &'static str,
    /// What it works on.
    pub needs: Needs,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Whether it writes: then it has a time to durable.
    pub writes: bool,
    /// Whether it makes a tree.
    pub makes_tree: bool,
    /// Whether it reads every byte of the newest tree.
    pub reads_data: bool,
    /// Whether it searches for a pattern.
    pub searches: bool,
    /// Whether it removes the newest tree.
    pub removes_tree: bool,
}

impl PhaseKind {
    /// A kind that makes the files it works on. It writes, unless its file knows better.
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
            writes: true,
            makes_tree: false,
            reads_data: false,
            searches: false,
            removes_tree: false,
        }
    }
}
