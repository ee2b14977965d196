//! The shell script that shows a finding on any Linux machine with the same kernel.

use crate::operation::{DEVICE, Operation, Program, SpecialKind, Target, WriteKind};
use std::fmt::Write as _;

/// The content of a script.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// The kernel that showed it.
    pub kernel: &'a str,
    /// The command that made the file system, for the reader.
    pub mkfs: &'a str,
    /// The file system, as `mount -t` names it.
    pub filesystem: &'a str,
    /// The options of the mount; may be empty.
    pub options: &'a str,
    /// The kept image: the disk as the power cut left it.
    pub image: &'a str,
    /// The violations, one line each.
    pub wrong: &'a [String],
    /// The interrupted program.
    pub work: Work<'a>,
}

/// The program that a power cut interrupted.
#[derive(Debug, Clone, Copy)]
pub enum Work<'a> {
    /// The shortest program.
    Program(&'a Program),
    /// An application.
    Application {
        /// The shell command before it, if there is one.
        prepare: Option<&'a str>,
        /// Its shell command.
        command: &'a str,
        /// The shell command that checks its files.
        check: &'a str,
    },
}

/// Renders a script. It mounts a copy of the image and prints the recovered files.
pub fn render(shown: &Shown<'_>) -> String {
    let mut script = String::from("#!/bin/sh\n");
    let mut comment = |line: &str| {
        // A line break would end the comment.
        let line = line.replace(char::is_control, " ");
        let _ = writeln!(script, "# {}", line.trim_end());
    };
    comment("Shows what a power cut left. Run it as root.");
    comment(&format!("Kernel: {}", shown.kernel));
    comment(&format!("Made by: {}", shown.mkfs));
    comment("Wrong:");
    for wrong in shown.wrong {
        comment(&format!("  {wrong}"));
    }
    comment("The commands in the root of the file system before the power cut:");
    match shown.work {
        Work::Program(program) => {
            for operation in &program.setup {
                comment(&format!("  {}", self::command(operation)));
            }
            comment("  sync");
            for operation in &program.operations {
                comment(&format!("  {}", self::command(operation)));
            }
        }
        Work::Application {
            prepare,
            command,
            check,
        } => {
            for line in prepare.iter().flat_map(|prepare| prepare.lines()) {
                comment(&format!("  {line}"));
            }
            for line in command.lines() {
                comment(&format!("  {line}"));
            }
            comment("The check, whose standard input is what they had printed:");
            for line in check.lines() {
                comment(&format!("  {line}"));
            }
        }
    }
    let options = match shown.options {
        "" => "loop".to_owned(),
        options => format!("loop,{options}"),
    };
    let _ = write!(
        script,
        "set -eu\n\
         image={image}\n\
         if [ \"$(uname -r)\" != {kernel} ]; then\n    \
         echo 'This is another kernel: it may recover the image in another way.' >&2\n\
         fi\n\
         work=$(mktemp -d)\n\
         trap 'umount \"$work/mnt\" 2>/dev/null || true; rm -rf --one-file-system \"$work\"' EXIT\n\
         mkdir \"$work/mnt\"\n\
         # The mount changes the image: this is a copy.\n\
         cp --sparse=always -- \"$image\" \"$work/image\"\n\
         mount -t {filesystem} -o {options} \"$work/image\" \"$work/mnt\"\n\
         cd \"$work/mnt\"\n\
         find . -printf '%y %m %n %s %p %l\\n' | sort -k 5\n\
         find . -type f -exec sha256sum {{}} +\n",
        image = quote(shown.image),
        kernel = quote(shown.kernel),
        filesystem = quote(shown.filesystem),
        options = quote(&options),
    );
    if let Work::Program(program) = shown.work {
        for path in paths(program) {
            let _ = writeln!(script, "stat -- {0} || true", quote(&format!("./{path}")));
        }
    }
    script.push_str("cd /\n");
    script
}

/// All names of a program, each once.
fn paths(program: &Program) -> std::collections::BTreeSet<&str> {
    let operations = program.numbered().map(|(_, operation)| operation);
    operations
        .flat_map(Operation::paths)
        .filter(|path| !path.is_empty())
        .collect()
}

/// A word of a shell.
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=,:@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn shown_target(target: &Target) -> String {
    match target {
        Target::Path(path) if path.is_empty() => ".".to_owned(),
        Target::Path(path) => quote(path),
        Target::Descriptor(name) => format!("/dev/fd/{}", quote(name)),
    }
}

/// The command of an operation that few programs have.
fn rare_command(operation: &Operation) -> String {
    let io =
        |command: &str, target: &Target| format!("xfs_io -c '{command}' {}", shown_target(target));
    match operation {
        Operation::Copy {
            from,
            to,
            offset,
            length,
            shared,
        } => {
            let command = if *shared {
                format!("reflink {} {offset} {offset} {length}", shown_target(from))
            } else {
                format!(
                    "copy_range -s {offset} -d {offset} -l {length} {}",
                    shown_target(from)
                )
            };
            io(&command.replace('\'', "\""), to)
        }
        Operation::Msync {
            target,
            offset,
            length,
        } => io(
            &format!(
                "mmap -rw {} {}' -c 'msync -s {offset} {length}",
                offset - offset % 4096,
                length + offset % 4096
            ),
            target,
        ),
        Operation::SyncRange {
            target,
            offset,
            length,
        } => io(&format!("sync_range -b -w -a {offset} {length}"), target),
        Operation::Collapse {
            target,
            offset,
            length,
        } => io(&format!("fcollapse {offset} {length}"), target),
        Operation::Insert {
            target,
            offset,
            length,
        } => io(&format!("finsert {offset} {length}"), target),
        Operation::DropCaches => "echo 3 >/proc/sys/vm/drop_caches".to_owned(),
        Operation::MakeNode { path, kind } => match kind {
            SpecialKind::Fifo => format!("mkfifo {}", quote(path)),
            SpecialKind::Device => {
                let (major, minor) = DEVICE;
                format!("mknod {} c {major} {minor}", quote(path))
            }
        },
        _ => format!("# {operation}"),
    }
}

/// The command that performs an operation. A descriptor has its name instead of a number.
fn command(operation: &Operation) -> String {
    let io = |flags: &str, command: &str, target: &Target| {
        format!("xfs_io {flags}-c '{command}' {}", shown_target(target))
    };
    match operation {
        Operation::Mkdir { path } => format!("mkdir {}", quote(path)),
        Operation::Create { path } => format!("touch {}", quote(path)),
        Operation::Write {
            target,
            offset: Some(offset),
            length,
            kind,
        } => match kind {
            WriteKind::Plain => io("", &format!("pwrite {offset} {length}"), target),
            WriteKind::Mapped => {
                let end = offset + length;
                io(
                    "",
                    &format!("mmap -rw 0 {end}' -c 'mwrite {offset} {length}"),
                    target,
                )
            }
            WriteKind::DataSync | WriteKind::Sync => {
                let flag = "-s ";
                io(flag, &format!("pwrite {offset} {length}"), target)
            }
            WriteKind::Direct => io("-d ", &format!("pwrite {offset} {length}"), target),
        },
        Operation::Write { target, length, .. } => {
            format!(
                "head -c {length} /dev/urandom >>{}   # {operation}",
                shown_target(target)
            )
        }
        Operation::Allocate {
            target,
            offset,
            length,
            keep_size,
        } => {
            let keep = if *keep_size { "-k " } else { "" };
            io("", &format!("falloc {keep}{offset} {length}"), target)
        }
        Operation::Punch {
            target,
            offset,
            length,
        } => io("", &format!("fpunch {offset} {length}"), target),
        Operation::Zero {
            target,
            offset,
            length,
        } => io("", &format!("fzero {offset} {length}"), target),
        Operation::Collapse { .. }
        | Operation::Insert { .. }
        | Operation::Copy { .. }
        | Operation::Msync { .. }
        | Operation::SyncRange { .. }
        | Operation::DropCaches
        | Operation::MakeNode { .. } => rare_command(operation),
        Operation::Truncate { target, length } => io("", &format!("truncate {length}"), target),
        Operation::Link { from, to } => format!("ln {} {}", shown_target(from), quote(to)),
        Operation::Symlink { text, path } => format!("ln -s {} {}", quote(text), quote(path)),
        Operation::Rename { from, to } => format!("mv -T {} {}", quote(from), quote(to)),
        Operation::Exchange { one, other } => {
            format!("mv -T --exchange {} {}", quote(one), quote(other))
        }
        Operation::Unlink { path } => format!("unlink {}", quote(path)),
        Operation::Rmdir { path } => format!("rmdir {}", quote(path)),
        Operation::SetXattr { target, name, .. } => {
            format!(
                "setfattr -n {} -v value {}",
                quote(name),
                shown_target(target)
            )
        }
        Operation::RemoveXattr { target, name } => {
            format!("setfattr -x {} {}", quote(name), shown_target(target))
        }
        Operation::Chmod { target, mode } => format!("chmod {mode:o} {}", shown_target(target)),
        Operation::Open { path, descriptor } => format!("exec {{{descriptor}}}<>{}", quote(path)),
        Operation::Temporary { .. } => format!("# {operation}"),
        Operation::Close { descriptor } => format!("exec {{{descriptor}}}>&-"),
        Operation::Fsync { target } => format!("sync {}", shown_target(target)),
        Operation::Fdatasync { target } => format!("sync -d {}", shown_target(target)),
        Operation::Cut => "# a power cut, and the next mount".to_owned(),
        Operation::Sync => "sync".to_owned(),
        Operation::Syncfs => "sync -f .".to_owned(),
        Operation::Read {
            target,
            range: None,
        } => format!("cat {} >/dev/null", shown_target(target)),
        Operation::Read {
            target,
            range: Some((offset, length)),
        } => io("-r ", &format!("pread {offset} {length}"), target),
        Operation::Stat { target } => format!("stat {}", shown_target(target)),
        Operation::List { path } => format!("ls -U {}", quote(path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_script_is_valid_and_trusts_no_name() {
        let program = "mkdir \"A; rm x\"\ncreate \"A; rm x/it's\"\n---\nopen \"A; rm x/it's\" as h\n\
                       unlink \"A; rm x/it's\"\nfsync @h\n";
        let script = render(&Shown {
            kernel: "6.1.0 (x86)",
            mkfs: "mkfs.x\nreboot",
            filesystem: "btrfs",
            options: "",
            image: "/tmp/it's here.img",
            wrong: &["A/foo is back\nreboot".to_owned()],
            work: Work::Program(&program.parse().unwrap()),
        });
        assert!(
            script.contains("\nimage='/tmp/it'\\''s here.img'\n"),
            "{script}"
        );
        assert!(
            !script.lines().any(|line| line.starts_with("reboot")),
            "{script}"
        );
        assert!(script.contains("#   sync /dev/fd/h\n"), "{script}");
        let folder = std::env::temp_dir().join(format!("fsdyno-script-{}", std::process::id()));
        std::fs::write(&folder, &script).unwrap();
        for checker in [vec!["sh", "-n"], vec!["shellcheck"]] {
            let checked = Command::new(checker[0])
                .args(&checker[1..])
                .arg(&folder)
                .output();
            match checked {
                Ok(checked) => {
                    let output = String::from_utf8_lossy(&checked.stdout);
                    assert!(checked.status.success(), "{output}{script}");
                }
                Err(_) => println!("SKIP {}: a_script_is_valid_and_trusts_no_name", checker[0]),
            }
        }
        std::fs::remove_file(folder).unwrap();
    }
}
