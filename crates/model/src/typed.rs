//! Contenders as typed: file system, options, and an optional lab.
//!
//! ```text
//! [ LAB "/" ] CONTENDER
//!
//! uml/reiserfs:notail             in a guest, independent of the other contenders
//! host/ext4                       on this machine
//! ssh:root@bsd/dir:/mnt/soft      a directory of another machine
//! ext4                            in the lab of the plan, or in one that can run it
//! ```
//!
//! The text before the first `/` is a lab only if it parses as one: `dir:/mnt/nfs` has none.
//! [`Contender::parse`] parses the contender itself.

use crate::contender::{Contender, FilesystemKind, GrammarError};
use crate::lab::LabChoice;

/// A contender with the lab that was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContenderSpec {
    /// The contender. Its label begins with the lab if one was typed; its lab is chosen later.
    pub contender: Contender,
    /// The typed lab; none if none was typed, which is different from the host.
    pub lab: Option<LabChoice>,
}

impl ContenderSpec {
    /// A contender of that lab; its label is the lab and the short form.
    pub fn new(mut contender: Contender, lab: Option<LabChoice>) -> Self {
        contender.label = match &lab {
            Some(lab) => in_lab(lab, &contender.short_form()),
            None => contender.short_form(),
        };
        Self { contender, lab }
    }

    /// Parses a list in short form. `kind_of` returns the kind of a file system, or none for other
    /// names.
    pub fn parse_list(
        text: &str,
        kind_of: &dyn Fn(&str) -> Option<FilesystemKind>,
    ) -> Result<Vec<Self>, GrammarError> {
        let parts = split_list(text, kind_of)?;
        if parts.is_empty() {
            return Err(GrammarError::Empty);
        }
        let typed = parts.iter().map(|part| Self::parse(part, kind_of));
        typed.collect()
    }

    /// Parses one contender in short form.
    pub fn parse(
        text: &str,
        kind_of: &dyn Fn(&str) -> Option<FilesystemKind>,
    ) -> Result<Self, GrammarError> {
        let (lab, rest) = split_lab(text);
        Ok(Self::new(Contender::parse(rest, kind_of)?, lab))
    }
}

/// The name of an item in a lab: `uml/ext4`.
pub fn in_lab(lab: &LabChoice, name: &str) -> String {
    format!("{lab}/{name}")
}

/// The lab before a contender, and the contender.
fn split_lab(text: &str) -> (Option<LabChoice>, &str) {
    let split = text.split_once('/');
    let lab = split.and_then(|(before, rest)| Some((before.parse().ok()?, rest)));
    lab.map_or((None, text), |(lab, rest)| (Some(lab), rest))
}

/// Splits a list into contenders. A comma, a blank or `;` begins the next contender if a lab or the
/// name of a file system follows. Otherwise the mount options of the previous one continue.
fn split_list(
    text: &str,
    kind_of: &dyn Fn(&str) -> Option<FilesystemKind>,
) -> Result<Vec<String>, GrammarError> {
    let mut parts: Vec<String> = Vec::new();
    // Whether the previous contender can continue after a comma.
    let mut open = false;
    for (separator, token) in tokens(text) {
        let (lab, contender) = split_lab(token);
        let name_end = contender.find(['[', '@', ':']).unwrap_or(contender.len());
        let begins = lab.is_some() || kind_of(&contender[..name_end]).is_some();
        match parts.last_mut() {
            Some(part) if separator == ',' && open && !begins => {
                part.push(',');
                part.push_str(token);
            }
            _ if token.is_empty() => {
                return Err(GrammarError::Malformed {
                    text: text.to_owned(),
                    what: "there is an empty place between two commas".to_owned(),
                });
            }
            _ => {
                open = contender.contains(':');
                parts.push(token.to_owned());
            }
        }
    }
    Ok(parts)
}

/// The tokens of a list, each with the separator before it. Brackets keep blanks and commas.
fn tokens(text: &str) -> Vec<(char, &str)> {
    let text = text.trim();
    let mut tokens = Vec::new();
    let (mut depth, mut start, mut separator) = (0_u32, 0, ' ');
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            ',' | ';' | ' ' if depth == 0 => {
                if c == ',' && text[start..at].is_empty() && separator == ' ' && !tokens.is_empty()
                {
                    // Blanks before a comma: the comma separates.
                    separator = ',';
                } else if c == ',' || !text[start..at].is_empty() {
                    tokens.push((separator, &text[start..at]));
                    separator = c;
                }
                start = at + 1;
            }
            _ => {}
        }
    }
    if !text.is_empty() {
        tokens.push((separator, &text[start..]));
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::tests::kind_of;
    use proptest::prelude::*;

    fn labels(text: &str) -> Vec<String> {
        ContenderSpec::parse_list(text, &kind_of)
            .unwrap_or_else(|e| panic!("{text}: {e}"))
            .into_iter()
            .map(|typed| typed.contender.label)
            .collect()
    }

    #[test]
    fn a_comma_continues_options_until_a_file_system_follows() {
        for (text, expected) in [
            ("ext4,xfs", vec!["ext4", "xfs"]),
            (
                "ext4:noatime,data=writeback,xfs",
                vec!["ext4:noatime,data=writeback", "xfs"],
            ),
            (
                "ext4:strictatime,ext4:noatime",
                vec!["ext4:strictatime", "ext4:noatime"],
            ),
            (
                "btrfs@pool2,btrfs:compress=zstd",
                vec!["btrfs@pool2", "btrfs:compress=zstd"],
            ),
            (
                "ext3[-O ^dir_index,extents],xfs",
                vec!["ext3[-O ^dir_index,extents]", "xfs"],
            ),
            ("dir:/a,dir:/b", vec!["dir:/a", "dir:/b"]),
            (
                "ext4 xfs; btrfs, tmpfs",
                vec!["ext4", "xfs", "btrfs", "tmpfs"],
            ),
        ] {
            assert_eq!(labels(text), expected, "{text}");
        }
    }

    #[test]
    fn a_lab_is_parsed_before_the_first_slash() {
        let ssh = |destination: &str| LabChoice::Ssh(destination.to_owned());
        for (text, lab, form) in [
            ("ext4", None, "ext4"),
            ("host/ext4", Some(LabChoice::Host), "ext4"),
            ("uml/xfs:noatime", Some(LabChoice::Uml), "xfs:noatime"),
            ("qemu/btrfs@pool2", Some(LabChoice::Qemu), "btrfs@pool2"),
            ("dir:/mnt/nfs", None, "dir:/mnt/nfs"),
            ("host/dir:/mnt/nfs", Some(LabChoice::Host), "dir:/mnt/nfs"),
            (
                "ssh:root@bsd/dir:/mnt/soft",
                Some(ssh("root@bsd")),
                "dir:/mnt/soft",
            ),
            ("ssh:a@[::1]/ext4", Some(ssh("a@[::1]")), "ext4"),
        ] {
            let typed =
                ContenderSpec::parse(text, &kind_of).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(typed.lab, lab, "{text}");
            assert_eq!(typed.contender.short_form(), form);
            assert_eq!(typed.contender.label, text);
        }
    }

    #[test]
    fn in_a_list_a_lab_begins_the_next_contender() {
        for (text, expected) in [
            ("ext4,uml/ext4", vec!["ext4", "uml/ext4"]),
            (
                "ext4:noatime,sync,uml/xfs:noatime,sync,btrfs",
                vec!["ext4:noatime,sync", "uml/xfs:noatime,sync", "btrfs"],
            ),
            (
                "ssh:root@bsd/ext4,ssh:root@bsd/dir:/a/b,xfs",
                vec!["ssh:root@bsd/ext4", "ssh:root@bsd/dir:/a/b", "xfs"],
            ),
        ] {
            assert_eq!(labels(text), expected, "{text}");
        }
    }

    #[test]
    fn errors_name_the_malformed_entry() {
        for (text, expected) in [
            ("", "no contender named"),
            ("ext4,xsf", "`xsf` is no file system"),
            ("ext4,,xfs", "empty place"),
            ("ext4,uml/", "`` is no file system"),
            // It would be a mount option if only a file system could begin the next contender.
            ("ext4:noatime,uml/xsf", "`xsf` is no file system"),
            ("lxc/ext4", "`lxc/ext4` is no file system"),
            ("ssh:-oX/ext4", "`ssh` is no file system"),
        ] {
            let error = ContenderSpec::parse_list(text, &kind_of)
                .expect_err(text)
                .to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn what_a_typed_contender_is_called_reads_back_to_it(
            name in prop::sample::select(vec!["ext4", "xfs", "btrfs", "tmpfs"]),
            mkfs in prop::collection::vec("-?[a-zA-Z0-9^=_/]{1,8}", 0..3),
            mount in prop::collection::vec("[a-z]{1,8}(=[a-z0-9/]{1,4})?", 0..3),
            lab in prop::option::of(prop_oneof![
                Just(LabChoice::Host),
                Just(LabChoice::Uml),
                Just(LabChoice::Qemu),
                Just(LabChoice::Vm),
                "[a-z@.:\\[\\]0-9]{1,12}".prop_map(LabChoice::Ssh),
            ]),
        ) {
            let contender = Contender { mkfs, mount, ..Contender::plain(name) };
            let typed = ContenderSpec::new(contender, lab);
            prop_assert_eq!(&ContenderSpec::parse(&typed.contender.label, &kind_of).unwrap(), &typed);
        }
    }
}
