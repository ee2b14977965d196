//! Examples of each command, for `--help` and the man pages. A test parses every one of them.

use clap::Command;
use std::fmt::Write as _;

/// The examples of a command: its words without `fsdyno`, and for each example the arguments and
/// the effect.
type Examples = (&'static str, &'static [(&'static str, &'static str)]);

const ALL: &[Examples] = &[
    (
        "",
        &[
            ("run --fs ext4,xfs,btrfs", "compare three file systems"),
            (
                "report last -o report.html --format html",
                "write the report as a page",
            ),
            (
                "list filesystems",
                "list what can be compared, and whether it works here",
            ),
        ],
    ),
    (
        "run",
        &[
            (
                "run quick --fs ext4,xfs,btrfs -n 10",
                "compare three file systems, 10 repeats",
            ),
            (
                "run --fs ext4:noatime,ext4 --dataset tree:src",
                "compare options, on a copy of src",
            ),
            (
                "run --fs xfs,ext4 --exec 'make -j2 -C {tree}' --dataset tree:src",
                "time a command",
            ),
            (
                "run --on dir:/mnt/data --phases copy,delete",
                "measure a directory, without root",
            ),
            (
                "run --fs ext4,xfs --disk laptop-4200-2004",
                "compare on a model of a disk",
            ),
            (
                "run --lab vm --image FreeBSD.qcow2.xz --fs ufs2,ufs2[-U]",
                "compare on the system of an image",
            ),
            (
                "run --fs ext4,xfs --disk nvme --kernel lab,tree:linux",
                "compare kernels, one of them built of a directory",
            ),
            (
                "run --fs ext4,xfs --work mail.toml",
                "compare by a workload of one's own",
            ),
            ("run --resume last", "continue an interrupted run"),
            ("run --resume last --max-repeats 100", "extend the last run"),
            (
                "run --resume last --retry-failed",
                "repeat its failed cells",
            ),
        ],
    ),
    (
        "price",
        &[
            (
                "price --fs btrfs,ext4",
                "price checksums, compression, snapshots and mirrors for mail",
            ),
            (
                "price database --fs btrfs --snapshots 10,1000 --disk nvme",
                "price many snapshots under a database",
            ),
            (
                "price --run last -o prices.html",
                "show the prices of a recorded run as a page",
            ),
        ],
    ),
    (
        "atlas",
        &[
            (
                "atlas show",
                "show the fastest file systems by work and disk",
            ),
            (
                "atlas verify mail/nvme --sample 2",
                "measure two of these cells again",
            ),
        ],
    ),
    (
        "atlas show",
        &[(
            "atlas show --work mail --disk nvme",
            "show all contenders of a question",
        )],
    ),
    (
        "atlas verify",
        &[
            ("atlas verify", "measure a random 1 % again"),
            (
                "atlas verify mail/nvme/1/ext4",
                "measure all cells of a contender again",
            ),
        ],
    ),
    (
        "atlas build",
        &[
            (
                "atlas build plan.toml -o atlas.jsonl --budget 8h",
                "measure for a night; the same command continues",
            ),
            (
                "atlas build plan.toml --shard 1/2",
                "measure half of the questions",
            ),
        ],
    ),
    (
        "atlas diff",
        &[("atlas diff old.jsonl new.jsonl", "show what changed")],
    ),
    (
        "atlas site",
        &[("atlas site public", "write pages of all answers")],
    ),
    (
        "record",
        &[
            (
                "record -o make.trace -- make -j2",
                "record a command in the current directory",
            ),
            (
                "record --path /srv/mail --pid 4711 --for 60s -o mail.trace",
                "record a running process for a minute",
            ),
            (
                "record --app postgresql --phase select -o select.trace",
                "record a phase of an application",
            ),
            ("record show make.trace", "show what was recorded"),
        ],
    ),
    (
        "work",
        &[
            ("work show mail.toml", "print the operations of a workload"),
            (
                "work import varmail.f",
                "translate a personality of Filebench",
            ),
            (
                "work show random.fio",
                "print the operations of a job of fio",
            ),
        ],
    ),
    (
        "work show",
        &[
            ("work show mail.toml", "print files, operations and bytes"),
            (
                "work show mail.toml --first 20",
                "print the first operations of each worker",
            ),
        ],
    ),
    (
        "work import",
        &[
            (
                "work import varmail.f",
                "translate a personality of Filebench",
            ),
            ("work import random.fio", "translate a job file of fio"),
        ],
    ),
    (
        "record show",
        &[("record show make.trace", "show what was recorded")],
    ),
    (
        "merge",
        &[
            ("merge other.db", "copy the runs of another store"),
            ("merge shard-1.db shard-2.db", "join the shards of a run"),
        ],
    ),
    (
        "cluster",
        &[
            (
                "cluster slurm --dir /data/r1 -- run --fs ext4,xfs --disk nvme",
                "submit a run to Slurm",
            ),
            ("cluster status /data/r1", "list its shards"),
        ],
    ),
    (
        "cluster slurm",
        &[(
            "cluster slurm --dir /data/r1 --dry-run -- run --fs ext4,xfs --disk nvme",
            "print the scripts",
        )],
    ),
    (
        "cluster ssh",
        &[(
            "cluster ssh node1,node2 --dir /data/r1 -- run --fs ext4,xfs --disk nvme",
            "run shards on two machines, and merge them",
        )],
    ),
    (
        "cluster parallel",
        &[(
            "cluster parallel --dir /data/r1 -- run --fs ext4,xfs --disk nvme",
            "print the lines for GNU parallel",
        )],
    ),
    (
        "cluster task",
        &[(
            "cluster task /data/r1 2/4 -- run --fs ext4,xfs --disk nvme",
            "run the second of four shards here",
        )],
    ),
    (
        "cluster status",
        &[(
            "cluster status /data/r1",
            "list complete and missing shards",
        )],
    ),
    (
        "list",
        &[
            ("list", "list everything that a plan can name"),
            ("list phases --long", "list phases with their parameters"),
        ],
    ),
    (
        "doctor",
        &[(
            "doctor",
            "show what works here, and what to install for the rest",
        )],
    ),
    (
        "runs",
        &[
            ("runs", "list the runs in the store"),
            ("runs name last before-upgrade", "give the last run a name"),
            ("runs tag last kernel-6.12", "add a tag to the last run"),
            ("runs rm 20261121-1730-quick", "delete a run"),
        ],
    ),
    (
        "runs rm",
        &[("runs rm 20261121-1730-quick", "delete a run")],
    ),
    (
        "runs name",
        &[("runs name last before-upgrade", "give the last run a name")],
    ),
    (
        "runs tag",
        &[
            ("runs tag last kernel-6.12", "add a tag to the last run"),
            ("runs tag last kernel-6.12 --remove", "remove it"),
        ],
    ),
    (
        "show",
        &[
            ("show", "show the last run"),
            (
                "show last --commands 0",
                "print the commands of its first cell",
            ),
        ],
    ),
    (
        "report",
        &[
            ("report", "print the report of the last run"),
            (
                "report last --format html -o report.html",
                "write it as a page",
            ),
            (
                "report last --against btrfs-2008",
                "compare it with a published table",
            ),
        ],
    ),
    (
        "chart",
        &[
            ("chart", "list the charts of the last run"),
            ("chart last overview -o overview.svg", "draw one chart"),
            (
                "chart last flame --phase copy -o flames/",
                "draw flame graphs of profiles that why --functions stored",
            ),
        ],
    ),
    (
        "compare",
        &[
            (
                "compare before-upgrade last",
                "compare the last run with an earlier one",
            ),
            (
                "compare before-upgrade last --fail-if 'copy.durable > 1.05'",
                "exit with code 5 if copy is more than 5 % slower",
            ),
        ],
    ),
    (
        "history",
        &[
            (
                "history --fs ext4,xfs --phase copy",
                "list the figures of copy by kernel, with steps",
            ),
            (
                "history --by date --metric flushes -o flushes.html",
                "write the flushes of all phases by date as a page",
            ),
            (
                "history --function ext4_find_extent --by commit",
                "list the kernel blocks of a function by commit",
            ),
        ],
    ),
    (
        "site",
        &[(
            "site public",
            "write the site of all runs to the directory public",
        )],
    ),
    (
        "ci init",
        &[
            ("ci init", "write the files into this git repository"),
            (
                "ci init linux --fs ext4 --base master",
                "for one file system of a kernel tree",
            ),
        ],
    ),
    (
        "why",
        &[(
            "why last ext4 xfs copy",
            "split the difference in copy by cause",
        )],
    ),
    (
        "published list",
        &[("published list", "list all published tables")],
    ),
    (
        "published show",
        &[(
            "published show btrfs-2008",
            "show a table with its conclusions",
        )],
    ),
    (
        "rerun",
        &[
            ("rerun --list", "list the tables that can be rerun"),
            (
                "rerun btrfs-2008 --scale 0.1 --dry-run",
                "print its commands at a tenth of its size",
            ),
        ],
    ),
    (
        "clean",
        &[("clean --dry-run", "print what killed runs left")],
    ),
    (
        "selftest",
        &[
            ("selftest", "measure the overhead of fsdyno"),
            (
                "selftest --aa 20",
                "count false positives in 20 experiments",
            ),
        ],
    ),
    (
        "make",
        &[(
            "make mixed --in /mnt/test --scale 0.1",
            "create a small dataset",
        )],
    ),
    (
        "age",
        &[(
            "age --in /mnt/test --fill 80% --age 2",
            "fill a file system, and age it",
        )],
    ),
    (
        "phase",
        &[(
            "phase copy --in /mnt/test",
            "copy the dataset of `fsdyno make`, timed",
        )],
    ),
    (
        "completions",
        &[
            (
                "completions bash",
                "print the script; put `source <(...)` of it into ~/.bashrc",
            ),
            (
                "completions fish",
                "the same for ~/.config/fish/completions/fsdyno.fish",
            ),
        ],
    ),
    (
        "man",
        &[("man --dir man1", "write a page for each command to man1")],
    ),
    (
        "schema",
        &[(
            "schema report",
            "print the schema of `fsdyno report --format json`",
        )],
    ),
    (
        "advise",
        &[
            ("advise", "recommend a file system for the suite quick"),
            (
                "advise mail --disk sata-2008 --needs snapshots,shrink",
                "with needs, for mail on a hard disk",
            ),
            (
                "advise postgresql --disk nvme --set app.clients=16",
                "for an application, by its own figures",
            ),
            (
                "advise --fit /dev/vda --budget 10m",
                "on a model of this device, which is only read",
            ),
            (
                "advise --workload-trace build.trace -o advice.html",
                "for a recording of your programs, as a page",
            ),
        ],
    ),
    (
        "bisect",
        &[
            (
                "bisect --repo linux --good v6.11 --bad v6.12 --fs xfs --phase copy",
                "find the commit that made copies slower",
            ),
            ("bisect --resume", "resume the last search"),
            (
                "bisect --step --good v6.11 --fs ext4 --phase copy --metric flushes",
                "judge the commit that is checked out",
            ),
        ],
    ),
    (
        "crash",
        &[
            (
                "crash --fs ext4,btrfs --budget 10m",
                "search the states of power cuts for lost files",
            ),
            (
                "crash --fs ext4,xfs --random 20",
                "cut the power 20 times of each, and check the files",
            ),
        ],
    ),
    (
        "lose",
        &[
            (
                "lose --fs ext4,xfs,btrfs,btrfs@mirror2",
                "inject disk faults, and see which file systems notice them",
            ),
            (
                "lose power --fs ext4,xfs,btrfs",
                "cut the power during usual work, and see what is gone",
            ),
            (
                "lose full --fs ext4,xfs,btrfs",
                "fill the disks, and see what can still be done",
            ),
            (
                "lose quota --fs ext4,xfs,f2fs",
                "fill the quota of a user, and see what he can still do",
            ),
        ],
    ),
    (
        "ufs make",
        &[("ufs make -O 2 ufs.img", "make a UFS2 in a file")],
    ),
    ("ufs check", &[("ufs check ufs.img", "check it")]),
    (
        "bcachefs make",
        &[(
            "bcachefs make --replicas=2 a.img b.img",
            "make a bcachefs with two copies of everything",
        )],
    ),
    (
        "bcachefs check",
        &[("bcachefs check /dev/loop0", "check it")],
    ),
    (
        "lab list",
        &[("lab list", "list the labs, and the file systems of each")],
    ),
    (
        "lab shell",
        &[(
            "lab shell --disks 2",
            "start a shell in a guest with two disks",
        )],
    ),
    ("lab setup", &[("lab setup", "build the lab kernel")]),
    (
        "lab build",
        &[
            ("lab build tree:linux", "build the files of a directory"),
            (
                "lab build git:linux#v6.6..v6.12",
                "build every tag of a range",
            ),
        ],
    ),
    (
        "lab kernels",
        &[("lab kernels", "list built kernels with their sizes")],
    ),
    (
        "lab remove",
        &[
            (
                "lab remove --older-than 30 --dry-run",
                "print what is older than 30 days",
            ),
            ("lab remove --older-than 30", "remove it"),
        ],
    ),
    (
        "cpu list",
        &[("cpu list", "list the profiles of processors")],
    ),
    ("cpu show", &[("cpu show vm-2026", "print a profile")]),
    (
        "cpu fit",
        &[("cpu fit -o mine.toml", "fit a profile to this machine")],
    ),
    (
        "cpu check",
        &[(
            "cpu check vm-2026",
            "compare the predictions of a profile with this machine",
        )],
    ),
    (
        "disk list",
        &[("disk list", "list the profiles of model disks")],
    ),
    (
        "disk show",
        &[("disk show laptop-4200-2004", "print a profile")],
    ),
    (
        "disk fit",
        &[
            (
                "disk fit /dev/vda -o mine.toml",
                "measure a disk by reads, and write its profile",
            ),
            (
                "disk fit /dev/sdb --scratch /mnt/scratch -o mine.toml",
                "also measure writes and flushes, in a file on it",
            ),
        ],
    ),
    (
        "disk check",
        &[(
            "disk check laptop-4200-2004",
            "compare a profile with its data sheet",
        )],
    ),
    (
        "disk serve",
        &[
            (
                "disk serve laptop-4200-2004 --socket disk.sock",
                "serve a model disk to a guest",
            ),
            (
                "disk serve nvme --size 20G --directory disk.d",
                "serve a model disk as the file disk.d/disk0",
            ),
        ],
    ),
    (
        "disk trace",
        &[(
            "disk trace traces/cell-0-disk-0.trace --csv",
            "print a trace as CSV",
        )],
    ),
];

/// Adds its examples to the help of a command and of its subcommands.
pub fn add(command: Command, path: &str) -> Command {
    let command = match ALL.iter().find(|(of, _)| *of == path) {
        Some((_, examples)) => {
            let before = command.get_after_long_help().or(command.get_after_help());
            let mut text = before.map_or(String::new(), |help| format!("{help}\n\n"));
            text.push_str(&render(examples));
            command.after_long_help(text)
        }
        None => command,
    };
    command.mut_subcommands(|sub| {
        let path = format!("{path} {}", sub.get_name());
        add(sub, path.trim_start())
    })
}

fn render(examples: &[(&str, &str)]) -> String {
    let mut text = String::from("Examples:");
    for (arguments, about) in examples {
        let _ = write!(text, "\n  fsdyno {arguments}\n      {about}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line;
    use std::process::Command as Process;

    /// Splits a line as a shell does.
    fn words(line: &str) -> Vec<String> {
        let script = format!("printf '%s\\n' {line}");
        let output = Process::new("sh").args(["-c", &script]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn every_example_is_a_valid_command_line() {
        for (path, examples) in ALL {
            for (arguments, _) in *examples {
                assert!(arguments.starts_with(path), "{path}: {arguments}");
                let line = ["fsdyno".to_owned()].into_iter().chain(words(arguments));
                if let Err(error) = command_line::command().try_get_matches_from(line) {
                    panic!("fsdyno {arguments}: {error}");
                }
            }
        }
    }

    /// Calls a function with each visible command and its words.
    fn each(command: &Command, path: &str, seen: &mut dyn FnMut(&Command, &str)) {
        seen(command, path);
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            each(sub, format!("{path} {}", sub.get_name()).trim_start(), seen);
        }
    }

    #[test]
    fn every_visible_command_has_examples() {
        let mut command = command_line::command().disable_help_subcommand(true);
        command.build();
        let mut without = Vec::new();
        each(&command, "", &mut |command, path| {
            let has = ALL.iter().any(|(of, _)| *of == path);
            if !has && command.get_subcommands().next().is_none() {
                without.push(path.to_owned());
            }
        });
        assert_eq!(without, Vec::<String>::new());
    }

    #[test]
    fn every_help_text_fits_80_columns() {
        let mut command = command_line::command()
            .disable_help_subcommand(true)
            .term_width(0);
        command.build();
        let mut long = Vec::new();
        each(&command, "", &mut |command, path| {
            // Not wrapped by clap: texts that clap would break in the middle of a sentence or table.
            let texts = [
                command.get_after_help(),
                command.get_after_long_help(),
                command.get_about(),
            ];
            for text in texts.into_iter().flatten() {
                for line in text
                    .to_string()
                    .lines()
                    .filter(|line| line.chars().count() > 80)
                {
                    long.push(format!("fsdyno {path}: {line}"));
                }
            }
            for argument in command.get_arguments().filter(|one| !one.is_hide_set()) {
                let help = argument
                    .get_help()
                    .map(ToString::to_string)
                    .unwrap_or_default();
                if help.chars().count() > 80 {
                    long.push(format!("fsdyno {path} {}: {help}", argument.get_id()));
                }
            }
            let wrapped = command
                .clone()
                .term_width(80)
                .render_long_help()
                .to_string();
            for line in wrapped.lines().filter(|line| line.chars().count() > 80) {
                long.push(format!("fsdyno {path}, wrapped: {line}"));
            }
        });
        assert!(
            long.is_empty(),
            "{} lines are too long:\n{}",
            long.len(),
            long.join("\n")
        );
    }

    #[test]
    fn the_flags_of_run_are_in_groups() {
        let command = command_line::command();
        let run = command.find_subcommand("run").unwrap();
        for argument in run
            .get_arguments()
            .filter(|one| !one.is_positional() && !one.is_hide_set())
        {
            let known = argument.get_help_heading().is_some();
            assert!(known, "--{} is in no group", argument.get_id());
        }
    }
}
