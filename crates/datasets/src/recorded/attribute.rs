//! Values of extended attributes that a kernel interprets: equivalents of the recorded ones, because no
//! values are recorded.

/// Version of the format of access lists (`linux/posix_acl_xattr.h`).
const ACL_VERSION: u32 = 2;

/// Tags of entries (`linux/posix_acl.h`).
const USER_OBJ: u16 = 1;
const USER: u16 = 2;
const GROUP_OBJ: u16 = 4;
const MASK: u16 = 0x10;
const OTHER: u16 = 0x20;

/// The first user that is named; entries are in the order of their numbers.
const FIRST_USER: u32 = 1000;

/// Revisions of a capability (`linux/capability.h`), by the length of its value.
const CAPABILITIES: [(usize, u32); 2] = [(20, 0x0200_0000), (24, 0x0300_0000)];

/// An access list with so many entries, and the permissions of its owner, of its group or mask, and of
/// others. With more than the three entries of a mode, it has a mask and named users.
pub fn acl(entries: u32, permissions: u32) -> Vec<u8> {
    let bits = |shift: u32| u16::try_from(permissions >> shift & 7).unwrap_or(0);
    let mut value = ACL_VERSION.to_le_bytes().to_vec();
    let mut add = |tag: u16, bits: u16, id: u32| {
        value.extend(tag.to_le_bytes());
        value.extend(bits.to_le_bytes());
        value.extend(id.to_le_bytes());
    };
    add(USER_OBJ, bits(6), u32::MAX);
    for id in 0..entries.saturating_sub(4) {
        add(USER, bits(3), FIRST_USER + id);
    }
    add(GROUP_OBJ, bits(3), u32::MAX);
    if entries > 3 {
        add(MASK, bits(3), u32::MAX);
    }
    add(OTHER, bits(0), u32::MAX);
    value
}

/// The parts of a label of `SELinux` around its type.
const LABEL: (&str, &str) = ("system_u:object_r:", ":s0\0");

/// The first byte of a value of IMA: a hash (`IMA_XATTR_DIGEST` of the kernel).
const IMA_DIGEST: u8 = 1;

/// The longest label of Smack.
const SMACK_MAX: usize = 255;

/// An equivalent of a value of that length, for an attribute that a kernel interprets: an access list
/// with these permissions, a capability without rights, a label of no known type. None for others.
pub fn equivalent(name: &str, length: usize, permissions: u32) -> Option<Vec<u8>> {
    match name {
        "system.posix_acl_access" | "system.posix_acl_default" => {
            let entries = length.checked_sub(4).filter(|rest| rest % 8 == 0)? / 8;
            let entries = u32::try_from(entries)
                .ok()
                .filter(|entries| *entries >= 3)?;
            Some(acl(entries, permissions))
        }
        "security.capability" => {
            let (_, revision) = CAPABILITIES.iter().find(|(of, _)| *of == length)?;
            let mut value = revision.to_le_bytes().to_vec();
            value.resize(length, 0);
            Some(value)
        }
        "security.selinux" => {
            let (before, after) = LABEL;
            let rest = length.checked_sub(before.len() + after.len() + 1)? + 1;
            Some(format!("{before}{}{after}", "x".repeat(rest)).into_bytes())
        }
        "security.SMACK64" | "security.SMACK64EXEC" | "security.SMACK64MMAP" => (1..=SMACK_MAX)
            .contains(&length)
            .then(|| vec![b'x'; length]),
        "security.ima" => {
            let mut value = vec![0x5a; length];
            *value.first_mut()? = IMA_DIGEST;
            Some(value)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equivalents_have_the_length_of_the_value() {
        for length in [28, 36, 44, 52] {
            let name = "system.posix_acl_access";
            assert_eq!(equivalent(name, length, 0o640).unwrap().len(), length);
        }
        let minimal = [
            [2, 0, 0, 0, 1, 0, 6, 0],
            [255, 255, 255, 255, 4, 0, 4, 0],
            [255, 255, 255, 255, 32, 0, 0, 0],
        ];
        assert_eq!(acl(3, 0o640)[..24], minimal.concat());
        assert_eq!(equivalent("security.capability", 20, 0).unwrap().len(), 20);
        assert_eq!(equivalent("security.capability", 21, 0), None);
        assert_eq!(equivalent("user.a", 28, 0), None);
        for name in ["security.selinux", "security.SMACK64", "security.ima"] {
            assert_eq!(equivalent(name, 33, 0).unwrap().len(), 33);
        }
        assert_eq!(
            equivalent("security.selinux", 23, 0).unwrap(),
            b"system_u:object_r:x:s0\0"
        );
        assert_eq!(equivalent("security.selinux", 22, 0), None);
    }
}
