//! Where a guest's kernel is while it waits for the answer of a disk: its call path, read from its memory.
//! The tables of `data/cpu_profile.c` hold the path of the block that it executed last.

use object::{Object, ObjectSymbol, SymbolKind};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The source file with the tables, as the symbols of a kernel name it.
const SOURCE: &str = "cpu_profile.c";

/// The largest number of frames in the shadow of the stack, and the bytes of one: its address, where it
/// returns to, and its path.
const DEPTH: usize = 128;
const FRAME: usize = 24;

/// A place in the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KernelPlace {
    /// Who executes, by its place in [`Profile::EXECUTORS`](fsdyno_model::profile::Profile::EXECUTORS).
    pub(super) executor: u32,
    /// Where the calls that lead to it return to, the outermost first.
    pub(super) returns_to: Box<[u32]>,
    /// The block that was executed last.
    pub(super) block: u64,
}

/// The addresses of the tables in a kernel.
#[derive(Debug, Clone, Copy)]
pub struct PlaceTables {
    last: u64,
    depth: u64,
    shadow: u64,
    context: u64,
}

impl PlaceTables {
    /// Those of a kernel file; none if it has no such tables.
    pub fn of(kernel: &Path) -> io::Result<Option<Self>> {
        let bytes = fs::read(kernel)?;
        let file = object::File::parse(&bytes[..]).map_err(io::Error::other)?;
        let mut is_source = false;
        let [mut last, mut depth, mut shadow, mut context] = [None; 4];
        for symbol in file.symbols() {
            let name = symbol.name().unwrap_or_default();
            if symbol.kind() == SymbolKind::File {
                // The local symbols of a source file are after its name.
                is_source = name == SOURCE;
                continue;
            }
            let found = match (name, symbol.size()) {
                ("last", 8) if is_source => &mut last,
                ("shadow_depth", 4) if is_source => &mut depth,
                ("shadow", size) if is_source && size == (DEPTH * FRAME) as u64 => &mut shadow,
                ("cpu_profile_context", 4) => &mut context,
                _ => continue,
            };
            *found = Some(symbol.address());
        }
        let tables = || {
            Some(Self {
                last: last?,
                depth: depth?,
                shadow: shadow?,
                context: context?,
            })
        };
        Ok(tables())
    }

    /// The place of a kernel that does not run meanwhile, from the memory of its process
    /// (`/proc/PID/mem`). None while it counts nothing.
    pub fn place(&self, memory: &File) -> io::Result<Option<KernelPlace>> {
        let executor = u32::from_le_bytes(read(memory, self.context)?);
        let last = u64::from_le_bytes(read(memory, self.last)?);
        if last == 0 || i32::try_from(executor).is_err() {
            return Ok(None);
        }
        // struct entry: its path, its context, its block.
        let entry: [u8; 16] = read(memory, last)?;
        let path = super::word(&entry, 0);
        let depth = u32::from_le_bytes(read(memory, self.depth)?) as usize;
        let mut frames = vec![0; depth.min(DEPTH) * FRAME];
        memory.read_exact_at(&mut frames, self.shadow)?;
        let innermost = frames.chunks_exact(FRAME).next_back();
        // The tables are full, or the stack is deeper than its shadow.
        if innermost.map_or(0, |frame| super::word(frame, 16)) != path {
            return Ok(None);
        }
        // Of a kernel of User-mode Linux, addresses of code have 32 bits.
        let returns_to = frames.chunks_exact(FRAME);
        let returns_to = returns_to.map(|frame| super::word(frame, 8));
        Ok(Some(KernelPlace {
            executor,
            returns_to: returns_to.collect(),
            block: super::number(&entry, 8),
        }))
    }
}

fn read<const N: usize>(memory: &File, at: u64) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    memory.read_exact_at(&mut bytes, at)?;
    Ok(bytes)
}
