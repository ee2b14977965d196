//! Programs that fsdyno runs: none from a `PATH` of another user, and none that never answers.
//! Uid 65534 is the other user. Skipped without root.

use crate::support::{Home, interruptible, printed, until};
use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const OTHER: u32 = 65_534;

/// Programs that fsdyno runs where they are installed.
const OPTIONAL: &str = "linux.uml qemu-system-x86_64 strace git sbatch ssh tar make gcc apt-get \
    apt-cache dpkg-query fio bonnie++ dbench postmark sysbench zfs-fuse zpool zfs mdadm btrfs \
    fusermount fusermount3 systemd-detect-virt lspci fsdyno";

/// A directory with a program of each name that the system has. Each one writes down its name.
struct Shims {
    directory: PathBuf,
    ran: PathBuf,
}

impl Shims {
    fn make(home: &Home) -> Self {
        fs::set_permissions(home.root.path(), Permissions::from_mode(0o755)).unwrap();
        let (directory, ran) = (home.path("shims"), home.path("ran"));
        fs::create_dir(&directory).unwrap();
        let mut names: BTreeSet<_> = OPTIONAL.split_whitespace().map(str::to_owned).collect();
        for folder in ["/usr/bin", "/usr/sbin", "/bin", "/sbin"] {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                names.extend(entry.file_name().into_string());
            }
        }
        let program = home.path("shim");
        let script = format!(
            "#!/bin/sh\necho \"${{0##*/}}\" >> {}\nexit 1\n",
            ran.display()
        );
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        for name in names {
            symlink(&program, directory.join(name)).unwrap();
        }
        Self { directory, ran }
    }

    fn ran(&self) -> String {
        fs::read_to_string(&self.ran).unwrap_or_default()
    }

    /// A `PATH` with these programs first.
    fn path(&self) -> String {
        format!("{}:/usr/bin:/bin", self.directory.display())
    }
}

fn repository(place: &Path) {
    fs::create_dir(place).unwrap();
    let script =
        "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m a";
    let made = Command::new("/bin/sh")
        .args(["-c", script])
        .current_dir(place)
        .status();
    assert!(made.unwrap().success());
}

#[test]
fn root_runs_nothing_from_a_path_of_another_user() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIP root: root_runs_nothing_from_a_path_of_another_user");
        return;
    }
    let home = Home::new();
    let shims = Shims::make(&home);
    repository(&home.path("linux"));
    let at = |name: &str| home.path(name).display().to_string();
    fs::create_dir(home.path("tree")).unwrap();
    let commands = [
        "doctor --long".to_owned(),
        format!(
            "run --fs ext4 --on loop:64M --exec true --repeats 1 --work-dir {}",
            at("work")
        ),
        format!(
            "run --fs dir:{} --phases copy --engine tools --dataset mixed --scale 0.001 --repeats 1",
            at("tree")
        ),
        "run --lab uml --fs tmpfs --exec true --repeats 1".to_owned(),
        "run --lab qemu --fs tmpfs --exec true --repeats 1".to_owned(),
        "run --lab ssh:nobody@localhost --fs ext4 --exec true --repeats 1".to_owned(),
        format!(
            "record --path {} --recorder strace --force -o {} -- sh -c true",
            at("tree"),
            at("t.trace")
        ),
        format!(
            "cluster slurm --dir {} -- run --fs tmpfs --exec true --repeats 1",
            at("cluster")
        ),
        format!(
            "bisect --fs ext4 --phase copy --repo {} --good HEAD --bad HEAD",
            at("linux")
        ),
    ];
    let all = |some: bool| {
        // Every attack is refused by the same check, so that the second and third need few commands.
        let few = |line: &&String| {
            !some
                || ["doctor", "record"]
                    .iter()
                    .any(|word| line.starts_with(word))
        };
        for line in commands.iter().filter(few) {
            // Without the flag, the directories of root are used: only by commands that read them.
            let reads = ["doctor", "record"]
                .iter()
                .any(|word| line.starts_with(word));
            for flag in [false, true].into_iter().filter(|flag| *flag || reads) {
                let mut command = home.command(&line.split(' ').collect::<Vec<_>>());
                if !flag {
                    command = without_flag(&command);
                }
                command
                    .env("PATH", shims.path())
                    .env("XDG_CACHE_HOME", home.path("cache"))
                    .env("HOME", home.path("home"));
                let errors = printed(&command.output().unwrap()).err;
                if fs::metadata(&shims.directory).unwrap().permissions().mode() & 0o002 != 0 {
                    assert_eq!(
                        errors.matches("of PATH is ignored").count(),
                        1,
                        "{line}: {errors}"
                    );
                }
            }
        }
    };
    // The programs would be run, if another user could not have written them.
    all(false);
    let ran = shims.ran();
    for name in ["strace", "mkfs.ext4", "ssh", "sbatch", "git"] {
        assert!(ran.lines().any(|line| line == name), "{name}: {ran}");
    }
    for attack in ["owner", "mode", "parent"] {
        fs::remove_file(&shims.ran).ok();
        let mode = if attack == "mode" { 0o777 } else { 0o755 };
        fs::set_permissions(&shims.directory, Permissions::from_mode(mode)).unwrap();
        let owner = |path: &Path, named| {
            chown(path, Some(if attack == named { OTHER } else { 0 }), None).unwrap();
        };
        owner(&shims.directory, "owner");
        owner(home.root.path(), "parent");
        // With a foreign parent, the directories of the home are refused too.
        all(attack != "owner");
        assert_eq!(shims.ran(), "", "{attack}");
    }
    chown(home.root.path(), Some(0), None).unwrap();
}

/// The same command without `--dirs-from-env`.
fn without_flag(command: &Command) -> Command {
    let mut other = Command::new(command.get_program());
    other.args(command.get_args().skip(1));
    other.stdin(Stdio::null());
    other
}

#[test]
fn a_guest_kernel_that_never_answers_can_be_interrupted_and_dies_with_fsdyno() {
    let home = Home::new();
    let kernel = home.path("kernel");
    fs::write(
        &kernel,
        format!(
            "#!/bin/sh\necho $$ > {}\nexec sleep 1000\n",
            home.path("pid").display()
        ),
    )
    .unwrap();
    fs::set_permissions(&kernel, Permissions::from_mode(0o755)).unwrap();
    let words = [
        "run",
        "--lab",
        "uml",
        "--fs",
        "tmpfs",
        "--exec",
        "true",
        "--guest-kernel",
    ];
    let words = words.map(str::to_owned).into_iter();
    let words: Vec<String> = words.chain([kernel.display().to_string()]).collect();
    for (signal, code) in [("INT", Some(130)), ("KILL", None)] {
        let mut fsdyno = interruptible(&home.command(&words));
        let fsdyno = fsdyno.stdout(Stdio::null()).stderr(Stdio::null());
        let mut fsdyno = fsdyno.process_group(0).spawn().unwrap();
        let pid = || fs::read_to_string(home.path("pid")).unwrap_or_default();
        until(Duration::from_secs(60), "the kernel runs", || {
            pid().ends_with('\n')
        });
        let pid = pid().trim().to_owned();
        let argv = [format!("-{signal}"), fsdyno.id().to_string()];
        assert!(
            Command::new("/bin/kill")
                .args(argv)
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(fsdyno.wait().unwrap().code(), code);
        until(Duration::from_secs(60), "the kernel has ended", || {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            !line.starts_with(b"sleep")
        });
        fs::remove_file(home.path("pid")).unwrap();
    }
}
