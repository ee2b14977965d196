//! Offsets of fields in structures of the running kernel, from its type information
//! (`/sys/kernel/btf/vmlinux`; kernel: Documentation/bpf/btf.rst).

use std::collections::HashMap;

/// Offsets in `struct task_struct`, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskOffsets {
    /// Number of the thread.
    pub pid: u32,
    /// Number of the process.
    pub tgid: u32,
    /// Table of descriptors.
    pub files: u32,
    /// Working and root directory.
    pub fs: u32,
    pub mm: u32,
}

/// Offsets on the way from a task to the device of an open file, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileOffsets {
    /// `files_struct.fdt`.
    pub table: u32,
    /// `fdtable.fd`.
    pub array: u32,
    /// `file.f_inode`.
    pub inode: u32,
    /// `inode.i_sb`.
    pub file_system: u32,
    /// `super_block.s_dev`.
    pub device: u32,
}

/// Offsets on the way from a task to the numbers of its control groups, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupOffsets {
    /// `task_struct.cgroups`.
    pub groups: u32,
    /// `css_set.dfl_cgrp`.
    pub unified: u32,
    /// `cgroup.level`.
    pub level: u32,
    /// `cgroup.ancestors`.
    pub ancestors: u32,
    /// `cgroup.kn`.
    pub node: u32,
    /// `kernfs_node.id`.
    pub id: u32,
}

/// Offsets on the way from a request of `io_uring` to its entry in the ring, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestOffsets {
    /// `io_kiocb.ctx`.
    pub context: u32,
    /// `io_kiocb.cqe`, and in it the result.
    pub result: u32,
    /// `io_ring_ctx.flags`.
    pub flags: u32,
    /// `io_ring_ctx.cached_sq_head`.
    pub head: u32,
    /// `io_ring_ctx.sq_entries`.
    pub entries: u32,
    /// `io_ring_ctx.sq_array`.
    pub order: u32,
    /// `io_ring_ctx.sq_sqes`.
    pub requests: u32,
}

/// Offsets in structures of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offsets {
    pub task: TaskOffsets,
    /// None if this kernel has other structures.
    pub file: Option<FileOffsets>,
    /// None before Linux 6.1.
    pub group: Option<GroupOffsets>,
    /// None before Linux 5.19.
    pub request: Option<RequestOffsets>,
}

const MAGIC: u16 = 0xeb9f;
const STRUCT: u32 = 4;
const UNION: u32 = 5;

/// Structures in structures without a name, at most.
const DEEPEST: usize = 4;

/// The structures whose fields are looked up.
const STRUCTURES: [&str; 11] = [
    "task_struct",
    "files_struct",
    "fdtable",
    "file",
    "inode",
    "super_block",
    "css_set",
    "cgroup",
    "kernfs_node",
    "io_kiocb",
    "io_ring_ctx",
];

/// Reads the offsets. None if the types are missing or have an unknown form.
pub fn offsets(btf: &[u8]) -> Option<Offsets> {
    let types = Types::parse(btf)?;
    let of = |structure: &str, field: &str| types.offset(structure, field);
    let task = |field: &str| of("task_struct", field);
    let ring = |field: &str| of("io_ring_ctx", field);
    let file = || {
        Some(FileOffsets {
            table: of("files_struct", "fdt")?,
            array: of("fdtable", "fd")?,
            inode: of("file", "f_inode")?,
            file_system: of("inode", "i_sb")?,
            device: of("super_block", "s_dev")?,
        })
    };
    let group = || {
        Some(GroupOffsets {
            groups: task("cgroups")?,
            unified: of("css_set", "dfl_cgrp")?,
            level: of("cgroup", "level")?,
            ancestors: of("cgroup", "ancestors")?,
            node: of("cgroup", "kn")?,
            id: of("kernfs_node", "id")?,
        })
    };
    let request = || {
        Some(RequestOffsets {
            context: of("io_kiocb", "ctx")?,
            // `struct io_cqe`: 8 bytes for the program, then the result.
            result: of("io_kiocb", "cqe")? + 8,
            flags: ring("flags")?,
            head: ring("cached_sq_head")?,
            entries: ring("sq_entries")?,
            order: ring("sq_array")?,
            requests: ring("sq_sqes")?,
        })
    };
    Some(Offsets {
        task: TaskOffsets {
            pid: task("pid")?,
            tgid: task("tgid")?,
            files: task("files")?,
            fs: task("fs")?,
            mm: task("mm")?,
        },
        file: file(),
        group: group(),
        request: request(),
    })
}

struct Types<'b> {
    content: &'b [u8],
    strings: &'b [u8],
    /// Where each type begins; the first has the number 1.
    starts: Vec<u32>,
    /// Where each of [`STRUCTURES`] begins.
    structures: HashMap<&'static str, usize>,
}

impl<'b> Types<'b> {
    fn parse(btf: &'b [u8]) -> Option<Self> {
        if u16::from_ne_bytes(btf.get(..2)?.try_into().ok()?) != MAGIC {
            return None;
        }
        let header = |at| number(btf, at);
        let length = header(4)? as usize;
        let section = |offset: u32, size: u32| {
            let start = length.checked_add(offset as usize)?;
            btf.get(start..start.checked_add(size as usize)?)
        };
        let mut found = Self {
            content: section(header(8)?, header(12)?)?,
            strings: section(header(16)?, header(20)?)?,
            starts: Vec::new(),
            structures: HashMap::new(),
        };
        let mut at = 0;
        while at < found.content.len() {
            found.starts.push(u32::try_from(at).ok()?);
            let (name, kind, count) = found.head(at)?;
            if kind == STRUCT && count > 0 {
                let name = found.text(name)?;
                let wanted = STRUCTURES.iter().find(|one| one.as_bytes() == name);
                if let Some(wanted) = wanted {
                    found.structures.entry(wanted).or_insert(at);
                }
            }
            at += 12
                + match kind {
                    // Integer, variable, declaration tag.
                    1 | 14 | 17 => 4,
                    // Array.
                    3 => 12,
                    // Structure, union; 64-bit enumeration; section.
                    STRUCT | UNION | 15 | 19 => 12 * count,
                    // Enumeration, parameters of a function.
                    6 | 13 => 8 * count,
                    // Pointer, forward, typedef, qualifiers, function, float, type tag.
                    2 | 7..=12 | 16 | 18 => 0,
                    _ => return None,
                };
        }
        Some(found)
    }

    /// Name, kind and number of members of the type that begins there.
    fn head(&self, at: usize) -> Option<(u32, u32, usize)> {
        let info = number(self.content, at + 4)?;
        let count = (info & 0xffff) as usize;
        Some((number(self.content, at)?, info >> 24 & 0x1f, count))
    }

    fn text(&self, offset: u32) -> Option<&'b [u8]> {
        let text = self.strings.get(offset as usize..)?;
        text.split(|byte| *byte == 0).next()
    }

    /// The offset of a field, bytes.
    fn offset(&self, structure: &str, field: &str) -> Option<u32> {
        let at = *self.structures.get(structure)?;
        self.field(at, field.as_bytes(), DEEPEST)
            .map(|bits| bits / 8)
    }

    /// The offset of a field in the structure that begins there, or in a structure without a name
    /// in it, bits.
    fn field(&self, at: usize, field: &[u8], depth: usize) -> Option<u32> {
        let (_, kind, count) = self.head(at)?;
        if !matches!(kind, STRUCT | UNION) {
            return None;
        }
        let has_sizes = number(self.content, at + 4)? >> 31 == 1;
        for member in 0..count {
            let at = at + 12 + 12 * member;
            let mut offset = number(self.content, at + 8)?;
            if has_sizes {
                // The upper byte is the size of a bit field.
                offset &= 0x00ff_ffff;
            }
            let name = self.text(number(self.content, at)?)?;
            if name == field {
                return Some(offset);
            }
            if name.is_empty() && depth > 0 {
                let number = number(self.content, at + 4)?.checked_sub(1)?;
                let inner = *self.starts.get(number as usize)? as usize;
                if let Some(within) = self.field(inner, field, depth - 1) {
                    return Some(offset + within);
                }
            }
        }
        None
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(
        bytes.get(at..at.checked_add(4)?)?.try_into().ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_those_of_the_running_kernel() {
        let Ok(btf) = std::fs::read("/sys/kernel/btf/vmlinux") else {
            println!("SKIP type information of the kernel (BTF): offsets of the running kernel");
            return;
        };
        let found = offsets(&btf).unwrap();
        // Declared one after the other.
        assert_eq!(found.task.tgid, found.task.pid + 4);
        assert_eq!(found.task.files, found.task.fs + 8);
        assert_eq!(found.task.mm % 8, 0);
        // Fields of structures without a name.
        if let Some(request) = found.request {
            assert_eq!(request.order % 8, 0);
            assert_eq!(request.entries % 4, 0);
        }
        assert_eq!(offsets(&btf[..btf.len() / 2]), None);
        assert_eq!(offsets(b"\x9f\xeb"), None);
        assert_eq!(offsets(b""), None);
    }
}
