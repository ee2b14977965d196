//! The system call that searches a tree of a mounted file system: `BTRFS_IOC_TREE_SEARCH`, as in
//! the kernel's `include/uapi/linux/btrfs.h`. It requires root. The caller interprets the items.

use rustix::fd::AsFd;
use rustix::io::{self, Errno};
use rustix::ioctl::{Opcode, Updater, ioctl, opcode};

const TREE_SEARCH: Opcode = opcode::read_write::<Request>(0x94, 17);

/// Space for items: together with the key it is one page.
const RESULT_BYTES: usize = 4096 - size_of::<Key>();
/// Bytes before each item: `struct btrfs_ioctl_search_header`.
const HEADER: usize = 32;

/// `struct btrfs_ioctl_search_key`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Key {
    tree: u64,
    least_objectid: u64,
    most_objectid: u64,
    least_offset: u64,
    most_offset: u64,
    least_transaction: u64,
    most_transaction: u64,
    least_kind: u32,
    most_kind: u32,
    /// The maximum number before the call, the found number after it.
    items: u32,
    unused: u32,
    unused64: [u64; 4],
}

/// `struct btrfs_ioctl_search_args`.
#[repr(C)]
struct Request {
    key: Key,
    room: [u8; RESULT_BYTES],
}

#[derive(Debug, PartialEq)]
pub(super) struct Item<'a> {
    pub objectid: u64,
    pub kind: u32,
    pub offset: u64,
    pub data: &'a [u8],
}

/// Calls `each` with every item of a tree, in the order of their keys, until it returns false.
/// Returns whether it reached the end.
pub(super) fn each_item(
    file: impl AsFd,
    tree: u64,
    each: &mut dyn FnMut(&Item<'_>) -> bool,
) -> io::Result<bool> {
    let mut request = Box::new(Request {
        key: Key::default(),
        room: [0; RESULT_BYTES],
    });
    let (mut objectid, mut kind, mut offset) = (0, 0, 0);
    loop {
        request.key = Key {
            tree,
            least_objectid: objectid,
            least_kind: kind,
            least_offset: offset,
            most_objectid: u64::MAX,
            most_kind: u32::MAX,
            most_offset: u64::MAX,
            most_transaction: u64::MAX,
            items: u32::MAX,
            ..Key::default()
        };
        // SAFETY: the opcode is that of the whole request, key and space, which is exclusively
        // borrowed; the kernel writes to no other memory.
        let call = unsafe { Updater::<TREE_SEARCH, Request>::new(&mut request) };
        // SAFETY: as above; the request outlives the call.
        unsafe { ioctl(&file, call)? };
        let found = read(&request.room, request.key.items).ok_or(Errno::INVAL)?;
        let Some(last) = found.last() else {
            return Ok(true);
        };
        if !found.iter().all(&mut *each) {
            return Ok(false);
        }
        match after(last) {
            Some(next) => (objectid, kind, offset) = next,
            None => return Ok(true),
        }
    }
}

/// The next key after that of an item.
fn after(item: &Item<'_>) -> Option<(u64, u32, u64)> {
    if let Some(offset) = item.offset.checked_add(1) {
        return Some((item.objectid, item.kind, offset));
    }
    // On the device, a kind is one byte.
    if item.kind < u32::from(u8::MAX) {
        return Some((item.objectid, item.kind + 1, 0));
    }
    Some((item.objectid.checked_add(1)?, 0, 0))
}

/// The items that the kernel wrote; none if there are fewer than it reports.
fn read(room: &[u8], items: u32) -> Option<Vec<Item<'_>>> {
    let long = |at: &[u8]| Some(u64::from_ne_bytes(at.get(..8)?.try_into().ok()?));
    let short = |at: &[u8]| Some(u32::from_ne_bytes(at.get(..4)?.try_into().ok()?));
    let mut left = room;
    let mut all = Vec::new();
    for _ in 0..items {
        let (header, rest) = left.split_at_checked(HEADER)?;
        let length = usize::try_from(short(&header[28..])?).ok()?;
        let (data, rest) = rest.split_at_checked(length)?;
        all.push(Item {
            objectid: long(&header[8..])?,
            offset: long(&header[16..])?,
            kind: short(&header[24..])?,
            data,
        });
        left = rest;
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result of Linux 6.18 for the free space tree of a new file system.
    const ANSWER: &[u8] = include_bytes!("../../tests/outputs/tree-search.bin");

    #[test]
    fn a_real_answer_is_read_whole_and_a_truncated_one_not_at_all() {
        let items = read(ANSWER, COUNT).unwrap();
        assert_eq!(items.len(), COUNT as usize);
        assert!(items.windows(2).all(|two| {
            (two[0].objectid, two[0].kind, two[0].offset)
                < (two[1].objectid, two[1].kind, two[1].offset)
        }));
        let of_kind = |kind| items.iter().filter(move |item| item.kind == kind);
        // Every block group has an account, of 8 bytes; a free extent is a key alone.
        assert!(of_kind(198).all(|item| item.data.len() == 8));
        assert_eq!(of_kind(198).count(), GROUPS);
        assert!(of_kind(199).all(|item| item.data.is_empty()));
        let counted: u32 = of_kind(198)
            .map(|item| u32::from_le_bytes(item.data[..4].try_into().unwrap()))
            .sum();
        assert_eq!(counted as usize, of_kind(199).count());
        assert_eq!(read(&ANSWER[..ANSWER.len() - 1], COUNT), None);
        assert_eq!(read(ANSWER, u32::MAX), None);
        assert_eq!(read(&[], 0), Some(Vec::new()));
    }

    const COUNT: u32 = 17;
    const GROUPS: usize = 5;

    #[test]
    fn the_key_after_another_is_the_next_possible_one() {
        let item = |objectid, kind, offset| Item {
            objectid,
            kind,
            offset,
            data: &[],
        };
        assert_eq!(after(&item(7, 199, 5)), Some((7, 199, 6)));
        assert_eq!(after(&item(7, 199, u64::MAX)), Some((7, 200, 0)));
        assert_eq!(after(&item(7, 255, u64::MAX)), Some((8, 0, 0)));
        assert_eq!(after(&item(u64::MAX, 255, u64::MAX)), None);
    }

    #[test]
    fn the_request_is_a_page_as_the_kernel_has_it() {
        assert_eq!((size_of::<Key>(), size_of::<Request>()), (104, 4096));
    }
}
