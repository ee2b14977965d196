//! The signatures on a device: file systems, swap, arrays, encryption and partition tables, as
//! `wipefs -n` and `blkid -p` find them. Both use one library in two ways: wipefs lists every magic
//! string, blkid prints the consistent interpretation.

use super::GuardError;
use crate::command::{self, Finished, Limits};
use crate::signals;
use crate::sysfs::Block;
use fsdyno_files::programs;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;

/// A signature of a file system, a RAID or a partition table on a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Signature {
    /// The kernel's name of the device with the signature: the examined one, or a partition of it.
    pub device: String,
    /// The type, in the words of libblkid (`ext4`, `gpt`, `LVM2_member`).
    pub kind: String,
    /// Its usage (`filesystem`, `raid`, `crypto`, `partition-table`, `other`).
    pub usage: Option<String>,
    /// The offset of its magic string on that device, in bytes.
    pub offset: u64,
    pub label: Option<String>,
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.usage.as_deref() {
            Some("filesystem") => " file system",
            Some("partition-table") => " partition table",
            Some("raid") => " member of an array or a pool",
            Some("crypto") => " encrypted container",
            _ => " signature",
        };
        // English article: an ext file system, an xfs file system, but a udf.
        let article = if self.kind.starts_with(['a', 'e', 'i', 'o', 'x']) {
            "an"
        } else {
            "a"
        };
        write!(f, "{article} {}{what}", self.kind)?;
        match &self.label {
            Some(label) => write!(f, " labelled `{label}`"),
            None => Ok(()),
        }
    }
}

/// The signatures of a device and of its partitions.
pub(super) fn find(block: &Block) -> Result<Vec<Signature>, GuardError> {
    let partitions = block.partitions().map_err(GuardError::unreadable(format!(
        "the partitions of {}",
        block.name
    )))?;
    let mut found = Vec::new();
    let devices = std::iter::once(block).chain(&partitions);
    // A drive without a medium has no signatures, and the programs would fail on it.
    for device in devices.filter(|device| device.size_bytes() > 0) {
        found.extend(on(&device.node(), &device.name)?);
    }
    Ok(found)
}

/// The names by which configuration files refer to the contents of a node: `UUID`, `LABEL`,
/// `PARTUUID`, `PARTLABEL`, each with its value.
pub(super) fn tags(node: &Path) -> Result<Vec<(String, String)>, GuardError> {
    let undecided = |problem: String| GuardError::undecided(node, problem);
    let mut tags = Vec::new();
    let probed = run_probe("blkid", &["-p", "-o", "export", "--"], node).map_err(undecided)?;
    for line in probed.stdout.lines() {
        let Some((name, value)) = line.split_once('=') else {
            continue;
        };
        let tag = match name {
            "UUID" | "LABEL" => name,
            "PART_ENTRY_UUID" => "PARTUUID",
            "PART_ENTRY_NAME" => "PARTLABEL",
            _ => continue,
        };
        // Characters that are special in a shell have a backslash before them.
        tags.push((tag.to_owned(), value.replace('\\', "")));
    }
    // If two signatures contradict each other, blkid reports neither.
    let columns = ["-n", "-J", "-O", "OFFSET,TYPE,UUID,LABEL", "--"];
    let listed = run_probe("wipefs", &columns, node).map_err(undecided)?;
    let listing: Listing = match listed.stdout.trim() {
        "" => return Ok(tags),
        text => serde_json::from_str(text).map_err(|error| undecided(error.to_string()))?,
    };
    for entry in listing.signatures {
        let found = [("UUID", entry.uuid), ("LABEL", entry.label)];
        tags.extend(
            found
                .into_iter()
                .filter_map(|(tag, value)| Some((tag.to_owned(), value?))),
        );
    }
    Ok(tags)
}

pub(super) fn on(node: &Path, name: &str) -> Result<Vec<Signature>, GuardError> {
    let undecided = |problem: String| GuardError::undecided(node, problem);
    let listed = run_probe(
        "wipefs",
        &["-n", "-J", "-O", "OFFSET,TYPE,USAGE,LABEL", "--"],
        node,
    )
    .map_err(undecided)?;
    if !listed.success() {
        return Err(undecided(failure("wipefs", &listed)));
    }
    let mut found = parse_wipefs(&listed.stdout, name)
        .map_err(|error| undecided(format!("the output of wipefs is not understood: {error}")))?;

    let probed = run_probe("blkid", &["-p", "-o", "export", "--"], node).map_err(undecided)?;
    match probed.status {
        Some(0) => {
            let second = parse_blkid(&probed.stdout, name);
            for signature in second {
                if !found
                    .iter()
                    .any(|known| known.kind.eq_ignore_ascii_case(&signature.kind))
                {
                    found.push(signature);
                }
            }
        }
        // blkid(8): 2 is "nothing found" (without a message), 8 "ambivalent": then all are listed.
        Some(2) if probed.stderr.is_empty() => {}
        Some(8) if !found.is_empty() => {}
        _ => return Err(undecided(failure("blkid", &probed))),
    }
    // The protective MBR is a part of its GPT, not another table to be acknowledged.
    if found.iter().any(|signature| signature.kind == "gpt") {
        found.retain(|signature| signature.kind != "PMBR");
    }
    Ok(found)
}

/// Runs a program that only reads.
fn run_probe(program: &str, arguments: &[&str], node: &Path) -> Result<Finished, String> {
    let mut command = programs::command(program)
        .map_err(|_| format!("no program `{program}`; apt-get install util-linux"))?;
    command
        .args(arguments)
        .arg(node)
        .env("LC_ALL", "C")
        // It would wait for the lock of the guard itself.
        .env_remove("LOCK_BLOCK_DEVICE");
    let line = format!("{program} {}", node.display());
    command::query_command(command, line, Limits::SHORT, &signals::of_process())
        .map_err(|error| error.to_string())
}

fn failure(program: &str, ended: &Finished) -> String {
    format!("{program} {}: {}", ended.ended(), ended.stderr.trim())
}

#[derive(Deserialize)]
struct Listing {
    signatures: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    offset: String,
    #[serde(rename = "type")]
    kind: String,
    usage: Option<String>,
    uuid: Option<String>,
    label: Option<String>,
}

/// Reads `wipefs -J`. Versions before 2.36 print nothing if there is nothing.
pub(crate) fn parse_wipefs(text: &str, device: &str) -> Result<Vec<Signature>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let listing: Listing = serde_json::from_str(text).map_err(|error| error.to_string())?;
    listing
        .signatures
        .into_iter()
        .map(|entry| {
            let digits = entry.offset.trim_start_matches("0x");
            let offset = u64::from_str_radix(digits, 16)
                .map_err(|_| format!("`{}` is no offset", entry.offset))?;
            Ok(Signature {
                device: device.to_owned(),
                kind: entry.kind,
                usage: entry.usage,
                offset,
                label: entry.label,
            })
        })
        .collect()
}

/// Parses `blkid -p -o export`: one `KEY=value` a line; it does not print the offset of the magic.
pub(crate) fn parse_blkid(text: &str, device: &str) -> Vec<Signature> {
    let value = |key: &str| {
        text.lines()
            .filter_map(|line| line.split_once('='))
            .find(|(name, _)| *name == key)
            .map(|(_, value)| value.to_owned())
    };
    let signature = |kind: String, usage: Option<String>, label: Option<String>| Signature {
        device: device.to_owned(),
        kind,
        usage,
        offset: 0,
        label,
    };
    let content = value("TYPE").map(|kind| signature(kind, value("USAGE"), value("LABEL")));
    let table =
        value("PTTYPE").map(|kind| signature(kind, Some("partition-table".to_owned()), None));
    content.into_iter().chain(table).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_of_wipefs_is_read() {
        let text = r#"{ "signatures": [
            {"offset":"0x200", "type":"gpt", "usage":"partition-table", "label":null},
            {"offset":"0x438", "type":"ext4", "usage":"filesystem", "label":"a \"b\" ü"},
            {"offset":"0xff6", "type":"swap", "usage":"other", "label":null}
        ] }"#;
        let found = parse_wipefs(text, "sda").unwrap();
        let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "a gpt partition table",
                "an ext4 file system labelled `a \"b\" ü`",
                "a swap signature"
            ]
        );
        assert_eq!(found[1].offset, 0x438);
    }

    #[test]
    fn empty_output_means_no_signature_and_other_output_is_an_error() {
        assert_eq!(parse_wipefs("", "sda").unwrap(), []);
        assert_eq!(parse_wipefs("{\"signatures\": [ ]}", "sda").unwrap(), []);
        for broken in [
            "{}",
            "{\"signatures\": [",
            "{\"signatures\": [{\"type\": \"gpt\"}]}",
            "{\"signatures\": [{\"offset\": \"x\", \"type\": \"gpt\", \"usage\": null, \"label\": null}]}",
        ] {
            assert!(parse_wipefs(broken, "sda").is_err(), "{broken}");
        }
    }

    #[test]
    fn blkid_reports_content_and_partition_table() {
        let found = parse_blkid(
            "DEVNAME=/dev/sda\nLABEL=a\\ b\nTYPE=xfs\nUSAGE=filesystem\nPTTYPE=dos\n",
            "sda",
        );
        let kinds: Vec<&str> = found.iter().map(|s| s.kind.as_str()).collect();
        assert_eq!(kinds, ["xfs", "dos"]);
        assert_eq!(found[1].to_string(), "a dos partition table");
        assert_eq!(parse_blkid("", "sda"), []);
    }
}
