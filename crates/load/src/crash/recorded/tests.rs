//! Recordings that are written here, as programs of the crash explorer.

use super::*;
use crate::recording_script::{Script, read};
use fsdyno_trace::Action;

fn translated(script: Script) -> RecordedProgram {
    let translated = recorded_program(&read(&script.finish()));
    translated.program.check().unwrap();
    translated
}

const NEW: i32 = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC;

#[test]
fn a_replacement_by_rename_is_the_program_that_a_person_would_write() {
    let mut script = Script::new(1);
    script.entry("conf", EntryKind::Directory);
    script.file("conf/a", 5000);
    script.file("conf/unused", 5000);
    script.file("unused", 10);
    script.begin();
    let new = script.open(0, "conf/a.new", NEW);
    script.write(0, new, None, 100);
    script.write(0, new, None, 4000);
    script.add(0, Action::Fsync { handle: new }, 0);
    script.add(0, Action::Close { handle: new }, 0);
    let (from, to) = (script.path("conf/a.new"), script.path("conf/a"));
    script.add(0, Action::Rename { from, to, flags: 0 }, 0);
    let conf = script.open(0, "conf", libc::O_DIRECTORY);
    script.add(0, Action::Fsync { handle: conf }, 0);
    let translated = translated(script);
    let text = "mkdir conf\ncreate conf/a\nwrite conf/a 0 5000\n---\n\
                create conf/a.new\nwrite conf/a.new 0 4100\nfsync conf/a.new\n\
                rename conf/a.new conf/a\nfsync conf\n";
    assert_eq!(translated.program.to_string(), text);
    assert_eq!((translated.recorded, translated.represented), (6, 6));
    assert!(translated.left_out.is_empty());
}

#[test]
fn an_open_file_that_loses_its_name_is_used_through_a_descriptor() {
    let mut script = Script::new(1);
    script.file("f", 16);
    script.begin();
    let file = script.open(0, "f", libc::O_RDWR);
    let path = script.path("f");
    script.add(0, Action::Unlink { path }, 0);
    script.write(0, file, Some(16), 16);
    script.add(0, Action::Fdatasync { handle: file }, 0);
    script.add(0, Action::Close { handle: file }, 0);
    let temporary = script.open(0, "", libc::O_RDWR | libc::O_TMPFILE);
    script.write(0, temporary, None, 10);
    script.add(
        0,
        Action::LinkHandle {
            handle: temporary,
            to: path,
        },
        0,
    );
    script.add(0, Action::Fsync { handle: temporary }, 0);
    let text = "create f\nwrite f 0 16\n---\nopen f as h1\nunlink f\nwrite @h1 16 16\n\
                fdatasync @h1\nclose h1\ntemporary / as h2\nwrite @h2 0 10\nlink @h2 f\nfsync f\n";
    assert_eq!(translated(script).program.to_string(), text);
}

#[test]
fn what_a_program_cannot_represent_is_counted_and_failed_operations_are_nothing() {
    let mut script = Script::new(1);
    script.file("f", 100);
    script.entry(
        "link",
        EntryKind::Symlink {
            target: LinkTarget::Relative(b"f".to_vec()),
        },
    );
    let object = Object::Path(script.path("f"));
    script.begin();
    script.add(0, Action::SetTimes { object }, 0);
    let path = script.path("gone");
    script.add(0, Action::Unlink { path }, -2);
    let through = script.open(0, "link", libc::O_WRONLY | libc::O_APPEND | libc::O_DSYNC);
    script.write(0, through, None, 20);
    script.write(0, through, None, 3 << 20);
    let name = "security.x".to_owned();
    script.add(
        0,
        Action::SetXattr {
            object,
            name,
            length: 4,
            flags: 0,
        },
        0,
    );
    let made = script.path("pipe");
    script.add(
        0,
        Action::MakeNode {
            path: made,
            mode: libc::S_IFIFO | 0o644,
        },
        0,
    );
    let translated = translated(script);
    let text = "create f\nwrite f 0 100\nsymlink f link\n---\nappend-dsync f 20\n\
                append-dsync f 1048576\nfifo pipe\n";
    assert_eq!(translated.program.to_string(), text);
    assert_eq!((translated.recorded, translated.represented), (5, 3));
    let left_out = [(OWNERS, 1), (SHORTENED, 1), (XATTR, 1)];
    assert_eq!(translated.left_out, BTreeMap::from(left_out));
}

#[test]
fn a_long_recording_ends_at_the_bound_and_the_rest_is_counted() {
    let mut script = Script::new(1);
    script.begin();
    let file = script.open(0, "f", NEW);
    for _ in 0..600 {
        script.write(0, file, Some(0), 16);
        script.add(0, Action::Fsync { handle: file }, 0);
    }
    let translated = translated(script);
    assert_eq!(translated.program.operations.len(), MAX_OPERATIONS);
    assert_eq!(translated.recorded, 1201);
    assert_eq!(translated.left_out, BTreeMap::from([(BOUND, 201)]));
}
