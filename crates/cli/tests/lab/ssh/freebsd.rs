//! Cells on a machine that answers as FreeBSD: its programs are scripts with the recorded answers of
//! 13.2 to 15.0, and its file systems are a directory.

use super::server::{Kind, PROGRAMS, Server, script};
use crate::support::{Home, root_and};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

/// The programs of this machine that FreeBSD has with the same options.
const SAME: [&str; 27] = [
    "cat", "chmod", "cksum", "cmp", "df", "dirname", "env", "false", "find", "grep", "head", "id",
    "kill", "ln", "mkdir", "ps", "rm", "rmdir", "sed", "sh", "sleep", "sort", "sync", "tail",
    "truncate", "true", "wc",
];

/// A time counter as FreeBSD has it in a virtual machine without KVM. It wraps every 43 s.
const SYSCTL: &str = r#"case $2 in
    hw.model) echo "QEMU Virtual CPU version 2.5+" ;;
    hw.ncpu) echo 1 ;;
    hw.physmem) echo 1045164032 ;;
    kern.disks) echo "vtbd1 vtbd0" ;;
    kern.cp_time) echo "100 0 200 10 4000" ;;
    kern.clockrate) echo "{ hz = 100, tick = 10000, profhz = 8126, stathz = 127 }" ;;
    kern.timecounter.hardware) echo HPET ;;
    kern.timecounter.tc.HPET.frequency) echo 100000000 ;;
    kern.timecounter.tc.HPET.mask) echo 4294967295 ;;
    kern.timecounter.tc.HPET.counter) echo $(($(/bin/date +%s%N) / 10 % 4294967296)) ;;
    *) echo "sysctl: unknown oid '$2'" >&2; exit 1 ;;
esac"#;

/// time(1) in its POSIX form, in steps of 10 ms.
const TIME: &str = r#"begin=$(/bin/date +%s%N)
shift
"$@"
status=$?
ticks=$((($(/bin/date +%s%N) - begin) / 10000000))
printf 'real %d.%02d\nuser 0.01\nsys 0.02\n' $((ticks / 100)) $((ticks % 100)) >&2
exit $status"#;

/// Makes the directory of the programs of a release.
pub fn programs(home: &Home, release: &str) -> PathBuf {
    let bin = home.path("freebsd");
    fs::create_dir(&bin).unwrap();
    for name in SAME {
        let places = ["/usr/bin", "/usr/sbin"].map(|place| PathBuf::from(place).join(name));
        let place = places.into_iter().find(|place| place.exists()).unwrap();
        symlink(place, bin.join(name)).unwrap();
    }
    let log = home.path("log").display().to_string();
    let logged = |name: &str, answer: &str| {
        script(
            &bin.join(name),
            &format!("echo \"{name} $*\" >>{log}\n{answer}"),
        );
    };
    let uname = format!(
        "case $1 in -s) echo FreeBSD;; -r) echo {release}-RELEASE;; -m) echo amd64;;\n\
         -v) echo \"FreeBSD {release}-RELEASE releng/{release} GENERIC\";; esac"
    );
    script(&bin.join("uname"), &uname);
    // Before 14.1 date(1) does not know %N, and prints the letter.
    let date = if release.starts_with("13") {
        "case $1 in *%N) echo \"$(/bin/date +%s).N\";; *) exec /bin/date \"$@\";; esac"
    } else {
        "exec /bin/date \"$@\""
    };
    script(&bin.join("date"), date);
    script(&bin.join("sysctl"), SYSCTL);
    script(&bin.join("time"), TIME);
    script(&bin.join("tar"), "exec /bin/tar \"$@\"");
    let cp = "case $* in *--reflink*) echo 'cp: illegal option -- -' >&2; exit 64;; esac\n\
              exec /bin/cp \"$@\"";
    script(&bin.join("cp"), cp);
    logged("mdconfig", "[ \"$1\" = -d ] || echo md0");
    let store = home.path("store").display().to_string();
    let made = "echo 'super-block backups (for fsck_ffs -b #) at: 192, 1282432'";
    logged("newfs", &format!("rm -rf {store}; mkdir {store}; {made}"));
    logged(
        "tunefs",
        "echo 'tunefs: soft updates remains unchanged as disabled' >&2",
    );
    logged("dumpfs", "echo 'magic\t19540119 (UFS2)'");
    logged("fsck_ffs", "echo '***** FILE SYSTEM IS CLEAN *****'");
    logged("fsck", "");
    logged(
        "zpool",
        "printf '  pool: tank\\n\\tNAME STATE\\n\\ttank ONLINE\\n\\t  zero ONLINE\\n'",
    );
    script(
        &bin.join("swapinfo"),
        "echo 'Device 1K-blocks Used Avail Capacity'",
    );
    let loaded = home.path("zfs-is-loaded").display().to_string();
    script(
        &bin.join("kldstat"),
        &format!("[ \"$*\" = '-q -m zfs' ] && [ -e {loaded} ]"),
    );
    let mount = format!(
        "[ $# -gt 0 ] || {{ echo '/dev/vtbd0p4 on / (ufs, local)'; \
                 echo '/dev/null on /data (ufs, local)'; exit; }}\n\
                 for target; do :; done\nexec /bin/mount --bind {store} \"$target\""
    );
    logged("mount", &mount);
    script(&bin.join("umount"), "exec /bin/umount \"$@\"");
    bin
}

/// A server of a release; none if a program is missing, or this is not root.
fn server(release: &'static str, test: &str) -> Option<Server> {
    if !root_and(&PROGRAMS, test) {
        return None;
    }
    Server::start(&Kind::FreeBsd(release), test)
}

fn log(server: &Server) -> String {
    fs::read_to_string(server.home.path("log")).unwrap_or_default()
}

const COPY: [&str; 6] = ["--dataset", "ports", "--scale", "0.003", "--phases", "copy"];

#[test]
fn every_mode_of_ufs_is_made_as_it_is_named_and_timed_finer_than_by_time() {
    let test = "every_mode_of_ufs_is_made_as_it_is_named_and_timed_finer_than_by_time";
    for (release, clock) in [("13.2", "the time counter HPET"), ("15.0", "date(1)")] {
        let Some(server) = server(release, test) else {
            return;
        };
        let list = "ufs1,ufs2,ufs2:async,ufs2[-U],ufs2[-j]";
        let printed = server.run(&[&["--fs", list], &COPY[..]].concat());
        assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
        let log = log(&server);
        for line in [
            "newfs -O 1 /dev/md0\ntunefs -n disable /dev/md0\n",
            "newfs -O 2 /dev/md0\ntunefs -n disable /dev/md0\n",
            "newfs -O 2 -U /dev/md0\nmount ",
            "newfs -O 2 -j /dev/md0\nmount ",
            "mount -t ufs -o async /dev/md0 ",
            "fsck_ffs -n -f /dev/md0\n",
        ] {
            assert!(log.contains(line), "{line}: {log}");
        }
        let result = server.home.result("last");
        for (number, label) in list.split(',').enumerate() {
            assert_eq!(result["run"]["plan"]["contenders"][number]["label"], label);
        }
        let cells = result["cells"].as_array().unwrap();
        assert_eq!(cells.len(), 5);
        for cell in cells {
            let about = cell["effective"].to_string();
            assert!(
                about.contains(&format!("timed there by {clock}")),
                "{about}"
            );
            let time = cell["samples"][0]["return_ns"].as_u64().unwrap();
            assert!(time % 10_000_000 != 0, "{time}");
            let durable = cell["samples"][0]["durable_ns"].as_u64().unwrap();
            assert!(durable >= time, "{durable} {time}");
        }
        server.assert_nothing_left();
    }
}

#[test]
fn a_failed_transfer_of_a_dataset_leaves_nothing_and_the_next_cell_sends_it_again() {
    let test = "a_failed_transfer_of_a_dataset_leaves_nothing_and_the_next_cell_sends_it_again";
    let Some(server) = server("13.2", test) else {
        return;
    };
    // What tar of FreeBSD prints when a file system has no inodes left.
    let (failed, tar) = (server.home.path("failed"), server.home.path("freebsd/tar"));
    let lines = format!(
        "[ -e {0} ] || {{ : >{0}; head -c 512 >part; echo 'tar: a: No space left on device' >&2; \
         exit 1; }}\nexec /bin/tar \"$@\"",
        failed.display()
    );
    script(&tar, &lines);
    let printed = server.run(&[&["--fs", "ufs2,ufs2[-U]"], &COPY[..]].concat());
    assert_eq!(printed.code, Some(1), "{}{}", printed.out, printed.err);
    let result = server.home.result("last");
    let [first, second] = [0, 1].map(|number| result["cells"][number].to_string());
    assert!(first.contains("No space left on device"), "{first}");
    assert!(
        !second.contains("File exists") && second.contains("return_ns"),
        "{second}"
    );
    server.assert_nothing_left();
}

#[test]
fn a_device_in_use_is_refused_and_the_check_loads_no_module() {
    let test = "a_device_in_use_is_refused_and_the_check_loads_no_module";
    let Some(server) = server("14.3", test) else {
        return;
    };
    let run = |device: &str| {
        let args = ["--fs", "ufs2", "--on", device, "--erase", device, "--long"];
        let printed = server.run(&[&args[..], &COPY[..]].concat());
        assert_eq!(printed.code, Some(1), "{}{}", printed.out, printed.err);
        format!("{}{}", printed.out, printed.err)
    };
    let printed = run("/dev/null");
    assert!(
        printed.contains("in use there (`/dev/null on /data"),
        "{printed}"
    );
    assert!(!log(&server).contains("zpool"), "{}", log(&server));
    fs::write(server.home.path("zfs-is-loaded"), "").unwrap();
    let printed = run("/dev/zero");
    assert!(printed.contains("in use there (`zero ONLINE"), "{printed}");
    assert!(!log(&server).contains("newfs"), "{}", log(&server));
    server.assert_nothing_left();
}

#[test]
fn missing_programs_of_a_contender_are_named_together() {
    let test = "missing_programs_of_a_contender_are_named_together";
    let Some(server) = server("13.2", test) else {
        return;
    };
    for name in ["newfs", "tunefs"] {
        fs::remove_file(server.home.path("freebsd").join(name)).unwrap();
    }
    let printed = server.run(&[&["--fs", "ufs2"], &COPY[..]].concat());
    assert_eq!(printed.code, Some(4), "{}{}", printed.out, printed.err);
    let named = "there is no program `newfs`, there is no program `tunefs`";
    assert!(printed.err.contains(named), "{}", printed.err);
    server.assert_nothing_left();
}

#[test]
fn an_interrupted_or_killed_cell_is_undone_there() {
    let test = "an_interrupted_or_killed_cell_is_undone_there";
    let Some(server) = server("13.2", test) else {
        return;
    };
    for (signal, code) in [("-INT", Some(130)), ("-KILL", None)] {
        server.end_in_a_phase("ufs2", signal, code);
        let log = log(&server);
        assert!(log.trim_end().ends_with("mdconfig -d -u md0"), "{log}");
    }
}
