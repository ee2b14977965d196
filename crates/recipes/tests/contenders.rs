//! Validation of contenders: which ones pass, and the error messages of the others.

use fsdyno_model::{Contender, LayoutChoice};
use fsdyno_recipes::{check_options, find, fs, kind_of, layouts, validate};
use std::collections::HashSet;
use std::path::Path;

/// The error message for a contender in short form, or an empty text.
fn messages(text: &str) -> String {
    let contender = Contender::parse(text, &kind_of).unwrap_or_else(|e| panic!("{text}: {e}"));
    match validate(&contender).and_then(|()| check_options(&contender)) {
        Ok(()) => String::new(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn valid_contenders_pass() {
    for text in [
        "ext2",
        "ext3[-O ^dir_index,extent]",
        "ext4[-b 1024 -i4096 -E lazy_itable_init=0 -F]:noatime,data=writeback,commit=30",
        "xfs[-m reflink=0,crc=1 -d agcount=4 -lsize=64m]:lazytime,logbsize=256k",
        "btrfs[-n 16k --csum xxhash -d raid10]@pool4:compress-force=zstd:3,nodatacow",
        "tmpfs:size=1g,huge=always",
        "zfs[-o ashift=12 -o version=23 -O utf8only=on]@pool2:compression=lz4,noatime,copies=2",
        "zfs@raid0x2:sync=disabled,primarycache=metadata",
        "dir:/srv",
        // Options that fsdyno does not know and that resemble no known one pass: the kernel
        // decides.
        "ext4:journal_path_of_tomorrow=7",
        // Options of other systems or versions pass: the kernel's error is better than a guess.
        "xfs:nobarrier",
        "ext2:data=writeback",
        "ext4:noacl",
        "ext4:compress=zstd",
    ] {
        assert_eq!(messages(text), "", "{text}");
    }
}

#[test]
fn typing_errors_give_suggestions_and_a_remedy() {
    for (text, expected) in [
        ("ext4:noatme", "did you mean `noatime`"),
        ("ext4:dat=writeback", "did you mean `data`"),
        ("xfs:logbufsize=4", "did you mean `logbsize` or `logbufs`"),
        ("btrfs:compres=zstd", "did you mean `compress`"),
        ("zfs:recordsiz=8k", "did you mean `recordsize`"),
        ("zfs:noatme", "did you mean `noatime`"),
        ("ext4:noatme", "(--unchecked-options passes it"),
        (
            "ext4:noatime,xsf",
            "neither a file system nor a mount option",
        ),
        ("ext4:noatime,xsf", "did you mean `xfs`"),
    ] {
        assert!(
            messages(text).contains(expected),
            "{text}: {}",
            messages(text)
        );
    }
}

#[test]
fn soft_updates_are_rejected_with_a_remedy() {
    for text in ["ufs1[-U]", "ufs2[-Lname -j]"] {
        let message = messages(text);
        assert!(message.contains("only in BSD kernels"), "{message}");
        assert!(message.contains("--lab vm --image FILE"), "{message}");
    }
}

#[test]
fn impossible_contenders_are_rejected_by_name() {
    for (text, expected) in [
        ("ext4@pool2", "ext4 has no layout `pool`; it has `single`"),
        ("btrfs@pol2", "`pol` is no layout; write `single`, `pool`,"),
        ("btrfs@pool", "made of 2 to 16 devices, not 1"),
        ("btrfs@single2", "made of 1 devices, not 2"),
        ("tmpfs[-q]", "tmpfs takes no mkfs options; nothing is made"),
        ("ext4:remount", "does something else than to mount"),
        ("ext4:=5", "has no name"),
        ("zfs:dirsync", "no property of zfs does that"),
        ("zfs:ro", "nothing could be written to it"),
        ("zfs:compression", "with a value: compression=VALUE"),
    ] {
        assert!(
            messages(text).contains(expected),
            "{text}: {}",
            messages(text)
        );
    }
}

/// The device guard checks a contender's devices. Options must not reach anything else.
#[test]
fn options_that_reach_another_device_or_file_are_rejected() {
    for text in [
        "ext4[/dev/sda]",
        "ext4[sda]",
        "ext4[-b 1024 sda]",
        "ext4[-F sda]",
        "ext4[-J device=UUID=1-2]",
        "ext4[-Jsize=4,device=LABEL=x]",
        "ext4[-d home]",
        "ext4[-Fdhome]",
        "ext4[-z undo]",
        "ext4[-- sda]",
        "ext4[-]",
        "xfs[-l logdev=sdb]",
        "xfs[-l size=4m,logdev=sdb]",
        "xfs[-d name=sdb]",
        "xfs[-rrtdev=sdb]",
        "xfs[-p proto]",
        "xfs[-K sdb]",
        "btrfs[sdb]",
        "btrfs[-f sdb]",
        "btrfs[--mixed sdb]",
        "btrfs[-r home]",
        "btrfs[--rootdir=home]",
        "btrfs[--rootd=home]",
        "btrfs[--root home]",
        "ufs1[-O 2]",
        "ufs2[sda]",
        "ufs2[-U]",
        "ufs2[-nj]",
        "zfs[sdb]",
        "zfs[mirror]",
        "zfs[-R home]",
        "zfs[-m none]",
        "zfs[-o cachefile=none]",
        "zfs[-Omountpoint=none]",
    ] {
        assert!(
            messages(text).contains("is refused"),
            "{text}: {}",
            messages(text)
        );
    }
    for text in [
        "xfs:logdev=/dev/sdb",
        "xfs:rtdev=/dev/sdb",
        "ext4:journal_dev=0x811",
        "ext4:journal_path=/dev/sdb",
        "btrfs:device=/dev/sdb",
        "ext4:loop",
        "zfs:mountpoint=/srv",
        "zfs:sharenfs=on",
    ] {
        assert!(
            messages(text).contains("is refused"),
            "{text}: {}",
            messages(text)
        );
    }
}

#[test]
fn contenders_without_a_short_form_are_validated() {
    let mut contender = Contender::plain("dir");
    let error = validate(&contender).unwrap_err().to_string();
    assert!(error.contains("name the directory"), "{error}");
    contender.directory = Some("/srv".into());
    assert_eq!(validate(&contender), Ok(()));
    contender.mount = vec!["noatime".to_owned()];
    let error = validate(&contender).unwrap_err().to_string();
    assert!(error.contains("takes no mount options"), "{error}");

    let mut contender = Contender::plain("ext4");
    contender.mount = vec!["noatime,nodev".to_owned()];
    let error = validate(&contender).unwrap_err().to_string();
    assert!(error.contains("one option each"), "{error}");
    contender.mount.clear();
    contender.directory = Some("/srv".into());
    let error = validate(&contender).unwrap_err().to_string();
    assert!(error.contains("takes no directory"), "{error}");

    let error = validate(&Contender::plain("xsf")).unwrap_err().to_string();
    assert!(error.contains("did you mean `xfs`"), "{error}");
}

#[test]
fn reflink_support_is_known() {
    for (text, shares, compresses) in [
        ("ext4", false, false),
        ("xfs", true, false),
        ("xfs[-m crc=1,reflink=0]", false, false),
        ("btrfs", true, false),
        ("btrfs:compress", true, true),
        ("btrfs:compress=zstd", true, true),
        ("btrfs:compress-force=lzo,noatime", true, true),
        ("btrfs:compress=zstd,compress=no", true, false),
        ("zfs", true, true),
        ("zfs:compression=off", true, false),
        ("zfs:compression=lz4", true, true),
        ("zfs[-O compression=gzip]:compression=off", true, false),
    ] {
        let contender = Contender::parse(text, &kind_of).unwrap();
        let fs = find(&contender.filesystem).unwrap();
        assert_eq!(fs.shares_blocks(&contender), shares, "{text}");
        assert_eq!(fs.compresses(&contender), compresses, "{text}");
    }
}

#[test]
fn names_are_unique_and_layouts_exist() {
    let mut seen = HashSet::new();
    for fs in fs::ALL {
        assert!(seen.insert(fs.name()), "{} is listed twice", fs.name());
        assert!(
            fs.layouts()
                .contains(&LayoutChoice::default().name.as_str())
        );
        for layout in fs.layouts() {
            assert!(layouts::find(layout).is_some(), "{}@{layout}", fs.name());
        }
    }
}

/// The lines of a source, before its tests, that compare a text with the name of a file system.
fn decisions(text: &str) -> Vec<usize> {
    const BEFORE: [&str; 7] = [
        "==",
        "!=",
        "|",
        "_with(",
        "contains(",
        "strip_prefix(",
        "eq(",
    ];
    // `dir` is a keyword of the plan too.
    let recipes = fs::ALL
        .iter()
        .map(|one| one.name())
        .filter(|name| *name != "dir");
    let names: Vec<String> = recipes.map(|name| format!("\"{name}\"")).collect();
    let decides = |line: &str| {
        names.iter().any(|name| {
            line.match_indices(name).any(|(at, _)| {
                let (before, after) = (line[..at].trim_end(), line[at + name.len()..].trim_start());
                let is_pattern = ["=>", "|", "==", "!=", "if "]
                    .iter()
                    .any(|op| after.starts_with(op));
                is_pattern || BEFORE.iter().any(|op| before.ends_with(op))
            })
        })
    };
    let is_test = |at: &usize| {
        text[*at..]
            .lines()
            .nth(1)
            .is_some_and(|line| line.ends_with('{'))
    };
    let mut tests = text
        .match_indices("#[cfg(test)]\n")
        .map(|(at, _)| at)
        .filter(is_test);
    let product = &text[..tests.next().unwrap_or(text.len())];
    let lines = (1..).zip(product.lines()).filter(|(_, line)| decides(line));
    lines.map(|(number, _)| number).collect()
}

#[test]
fn no_name_of_a_file_system_decides_anything_outside_its_recipe() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let (mut folders, mut read, mut found) = (vec![crates.to_owned()], 0, Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            let is_source = path.extension().is_some_and(|end| end == "rs") && name != "tests.rs";
            let exempt = ["tests", "benches", "target"].contains(&name);
            if path.is_dir() && !exempt && !path.ends_with("recipes/src/fs") {
                folders.push(path);
            } else if path.is_file() && is_source {
                read += 1;
                let lines = decisions(&std::fs::read_to_string(&path).unwrap());
                found.extend(
                    lines
                        .iter()
                        .map(|line| format!("{}:{line}", path.display())),
                );
            }
        }
    }
    assert_eq!(found, [""; 0]);
    assert!(read > 500, "only {read} sources were found");
    let bad = "if a == \"xfs\" {\n\"ext4\" | \"a\" => b\na.starts_with(\"zfs\")\nlet a = \"xfs\";\n\
               #[cfg(test)]\nmod tests {\na == \"xfs\"";
    assert_eq!(decisions(bad), [1, 2, 3]);
}
