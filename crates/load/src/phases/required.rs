//! The capabilities that a phase requires of its file system.

use super::{bonnie, mongo, op, work};
use fsdyno_model::capability::Required;
use fsdyno_model::plan::PhasePlan;

/// The capabilities that a phase requires, by its kind and its parameters. They are unknown for
/// external programs.
pub fn required(phase: &PhasePlan) -> Vec<Required> {
    op::required(phase)
        .or_else(|| bonnie::required(phase))
        .or_else(|| mongo::required(phase))
        .or_else(|| work::required(phase))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_model::evidence::CacheState;
    use fsdyno_model::units::Bytes;

    fn check(kind: &str, parameters: &[(&str, &str)], expected: &[Required]) {
        let phase = PhasePlan {
            label: kind.to_owned(),
            kind: kind.to_owned(),
            cache: CacheState::default(),
            pattern: None,
            parameters: parameters
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            judge: None,
        };
        assert_eq!(required(&phase), expected, "{kind} {parameters:?}");
    }

    #[test]
    fn phases_require_the_capabilities_that_they_use() {
        let gib = |n: u64| Required::FileOf(Bytes(n << 30));
        check("copy", &[], &[]);
        check("op-create", &[], &[]);
        check("op-link", &[], &[Required::HardLinks]);
        check("op-write", &[("size", "8589934592")], &[gib(8)]);
        // Each worker has its own file.
        let workers = [("size", "8589934592"), ("workers", "4")];
        check("op-write", &workers, &[gib(2)]);
        let sparse = [("size", "1073741824"), ("lay", "sparse")];
        check("op-random-write", &sparse, &[gib(1), Required::SparseFiles]);
        let direct = [("size", "1073741824"), ("cache", "direct")];
        check("op-read", &direct, &[gib(1), Required::DirectIo]);
        check("bonnie-write", &[("size", "5368709120")], &[gib(5)]);
        let made = |what| [("made", what)];
        check("bonnie-create", &made("hard-links"), &[Required::HardLinks]);
        check("bonnie-delete", &made("symlinks"), &[Required::Symlinks]);
        check("bonnie-create", &made("files"), &[]);
        check("mongo-symlinks", &[], &[Required::Symlinks]);
        check("mongo-create", &[], &[]);
        check("mail-deliver", &[], &[]);
        check("containers-pull", &[], &[Required::HardLinks]);
        let devices = [Required::HardLinks, Required::SpecialFiles];
        check("containers-start", &[], &devices);
    }
}
