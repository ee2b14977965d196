//! Offsets of fields in structures of the running kernel, from its type information
//! (`/sys/kernel/btf/vmlinux`; kernel: Documentation/bpf/btf.rst).

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
    /// Memory.
    pub mm: u32,
}

const MAGIC: u16 = 0xeb9f;
const STRUCT: u32 = 4;

/// Reads the offsets. None if the types are missing or have an unknown form.
pub fn task_offsets(btf: &[u8]) -> Option<TaskOffsets> {
    let fields = fields(btf, b"task_struct")?;
    let offset = |name: &[u8]| {
        let field = fields.iter().find(|(field, _)| *field == name);
        field.map(|(_, bits)| bits / 8)
    };
    Some(TaskOffsets {
        pid: offset(b"pid")?,
        tgid: offset(b"tgid")?,
        files: offset(b"files")?,
        fs: offset(b"fs")?,
        mm: offset(b"mm")?,
    })
}

/// The named fields of a structure, with their offsets in bits.
fn fields<'b>(btf: &'b [u8], structure: &[u8]) -> Option<Vec<(&'b [u8], u32)>> {
    if u16::from_ne_bytes(btf.get(..2)?.try_into().ok()?) != MAGIC {
        return None;
    }
    let header = |at| number(btf, at);
    let length = header(4)? as usize;
    let section = |offset: u32, size: u32| {
        let start = length.checked_add(offset as usize)?;
        btf.get(start..start.checked_add(size as usize)?)
    };
    let types = section(header(8)?, header(12)?)?;
    let strings = section(header(16)?, header(20)?)?;
    let name = |offset: u32| {
        let text = strings.get(offset as usize..)?;
        text.split(|byte| *byte == 0).next()
    };
    let mut at = 0;
    while at < types.len() {
        let (called, info) = (number(types, at)?, number(types, at + 4)?);
        let (count, kind, flag) = ((info & 0xffff) as usize, info >> 24 & 0x1f, info >> 31);
        at += 12;
        if kind == STRUCT && count > 0 && name(called)? == structure {
            let members = (0..count).map(|member| {
                let at = at + 12 * member;
                let offset = number(types, at + 8)?;
                // With the flag, the upper byte is the size of a bit field.
                let offset = if flag == 1 {
                    offset & 0x00ff_ffff
                } else {
                    offset
                };
                Some((name(number(types, at)?)?, offset))
            });
            return members.collect();
        }
        at += match kind {
            // Integer, variable, declaration tag.
            1 | 14 | 17 => 4,
            // Array.
            3 => 12,
            // Structure, union; 64-bit enumeration; section.
            4 | 5 | 15 | 19 => 12 * count,
            // Enumeration, parameters of a function.
            6 | 13 => 8 * count,
            // Pointer, forward, typedef, qualifiers, function, float, type tag.
            2 | 7..=12 | 16 | 18 => 0,
            _ => return None,
        };
    }
    None
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
        let found = task_offsets(&btf).unwrap();
        // Declared one after the other.
        assert_eq!(found.tgid, found.pid + 4);
        assert_eq!(found.files, found.fs + 8);
        assert_eq!(found.mm % 8, 0);
        assert_eq!(task_offsets(&btf[..btf.len() / 2]), None);
        assert_eq!(task_offsets(b"\x9f\xeb"), None);
        assert_eq!(task_offsets(b""), None);
    }
}
