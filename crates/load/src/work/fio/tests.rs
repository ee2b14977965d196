use super::*;
use crate::work::{Settings, Summary, lines, phases};

/// Reads, writes and syncs of all workers, with the bytes of the first two.
fn counted(text: &str) -> [(u64, u64); 3] {
    let translated = translate(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut all = [(0, 0); 3];
    for (_, work) in phases(&translated).unwrap() {
        let summary = Summary::of(&work, &Settings::default());
        for step in summary.groups.into_iter().flatten() {
            let place = match step.text.split(' ').next().unwrap() {
                "read" => 0,
                "write" | "append" => 1,
                "fsync" | "fdatasync" => 2,
                _ => continue,
            };
            all[place].0 += step.operations;
            all[place].1 += step.bytes.0;
        }
    }
    all
}

#[test]
fn a_job_does_the_operations_that_fio_does() {
    // The numbers are those that fio 3.33 reports.
    for (job, expected) in [
        (
            "rw=write\nbs=2300\nsize=100k",
            [(0, 0), (44, 101_200), (0, 0)],
        ),
        (
            "rw=randread\nbs=3000\nsize=100k",
            [(34, 102_000), (0, 0), (0, 0)],
        ),
        (
            "rw=write\nsize=1m\nnrfiles=3",
            [(0, 0), (255, 1_044_480), (0, 0)],
        ),
        (
            "rw=write\nbs=4k\nsize=1m\nnrfiles=3\nnumjobs=2",
            [(0, 0), (510, 2_088_960), (0, 0)],
        ),
        (
            "rw=write\nsize=1m\nfsync=1",
            [(0, 0), (256, 1 << 20), (255, 0)],
        ),
        (
            "rw=randwrite\nsize=1m\nfsync=32",
            [(0, 0), (256, 1 << 20), (7, 0)],
        ),
        (
            "rw=write\nsize=1m\nio_size=2m",
            [(0, 0), (512, 2 << 20), (0, 0)],
        ),
        (
            "rw=read\nsize=1m\nloops=2",
            [(512, 2 << 20), (0, 0), (0, 0)],
        ),
        (
            "rw=write\nbs=4k,8k\nsize=1m",
            [(0, 0), (128, 1 << 20), (0, 0)],
        ),
        (
            "rw=read\nfilesize=512k\nnrfiles=4\nsize=1m",
            [(256, 1 << 20), (0, 0), (0, 0)],
        ),
        (
            "rw=read\nfilesize=512k\nnrfiles=4",
            [(512, 2 << 20), (0, 0), (0, 0)],
        ),
    ] {
        assert_eq!(counted(&format!("[a]\n{job}\n")), expected, "{job}");
    }
    let [reads, _, _] =
        counted("[a]\nrw=randread\nsize=4m\nbssplit=4k/90:64k/10:1m/0\nnumjobs=2\n");
    // A mean of 10 KiB; the last operation of each worker may be one of the longest.
    assert!(
        (8 << 20..(8 << 20) + (128 << 10)).contains(&reads.1),
        "{reads:?}"
    );
    assert!((600..1100).contains(&reads.0), "{reads:?}");
    let mixed = "[a]\nrw=randrw ; both\nsize=1m\nrwmixwrite=10\nrwmixread=70\nfsync=1\n";
    let [reads, writes, syncs] = counted(mixed);
    assert_eq!((reads.0 + writes.0, syncs.0), (256, 255));
    assert!((150..210).contains(&reads.0), "{reads:?}");
}

#[test]
fn rates_are_intervals_of_each_direction_and_includes_are_lines_of_their_section() {
    let text = "[a]\nsize=1m\nrw=randrw\nrate_iops=1000,250\nnrfiles=2\n";
    let translated = translate(text).unwrap();
    for line in [
        "do = \"read @f0 random 4096\", weight = 50, every = \"2ms\"",
        "do = \"write @f1 random 4096\", weight = 50, every = \"8ms\"",
    ] {
        assert!(translated.contains(line), "{line}: {translated}");
    }
    let rate = translate("[a]\nsize=1m\nrw=write\nbs=1m\nrate=4m\n").unwrap();
    assert!(rate.contains("every = \"250ms\""), "{rate}");
    for (wrong, message) in [
        ("rate=x", "this is no rate"),
        ("rate=1m\nrate_iops=5", "the job has rate and rate_iops"),
        ("verify=crc32c", "does not read what it wrote"),
        ("rate_process=poisson", "it has no translation"),
    ] {
        let error = translate(&format!("[a]\nsize=1m\nrw=write\n{wrong}\n")).unwrap_err();
        assert!(error.message.contains(message), "{}", error.message);
    }
    let mut read = |name: &str| match name {
        "size.inc" => Ok("size=1m\ninclude more".to_owned()),
        "more" => Ok("bs=8k # a comment".to_owned()),
        "job.inc" => Ok("[b]\nsize=1m".to_owned()),
        "loop" => Ok("include loop".to_owned()),
        _ => Err("it does not exist".to_owned()),
    };
    let mut whole = |text: &str| with_includes(text, &mut read);
    let text = "[a]\nrw=write\ninclude size.inc\n[b]\nrw=read\nsize=4m\n";
    let expected = "[a]\nrw=write\nsize=1m\nbs=8k # a comment\n\n[b]\nrw=read\nsize=4m\n";
    assert_eq!(whole(text).unwrap(), expected);
    for (file, message) in [
        ("job.inc", "job.inc has a section"),
        ("none", "cannot read none: it does not exist"),
        ("loop", "8 files include each other"),
    ] {
        let text = format!("[a]\n  include {file}\n");
        let error = whole(&text).unwrap_err();
        assert!(error.message.contains(message), "{}", error.message);
        assert_eq!(&text[error.span], format!("include {file}"));
    }
}

#[test]
fn steps_are_those_of_the_job() {
    let text = "; a comment\n[global]\nsize=1m\ndirect=1\nioengine=libaio\niodepth=16\n\n\
                [log file]\nrw=write\nbs=256k\nfdatasync=2\nthinktime=500\n\
                [mixed]\nrw=rw\nnumjobs=2\ndirect=0\nruntime=30\n";
    let translated = translate(text).unwrap();
    for line in [
        "# Left out: line 5: ioengine=libaio: each worker performs one operation at a time, by the \
         engine of the run",
        "# Left out: line 6: iodepth=16: ",
        "# Left out: fallocate: new files are not preallocated",
        "name = \"log-file\"\ncount = 1\nsize = \"1048576\"\npresent = \"0%\"",
        "  { do = \"create log-file as f0\", direct = true },",
        "  { do = \"append @f0 262144\", block = \"262144\", think = \"500us\", repeat = 2 },",
        "  \"fdatasync @f0\",",
        "  \"open mixed:in-order as f0\",\n  \"open mixed:same as w0\",",
        "  { steps = [{ do = \"read @f0 next 4096\", weight = 50 }, { do = \"write @w0 next 4096\", \
         weight = 50 }] },",
        "loops = 256\ntime = \"30s\"",
    ] {
        assert!(translated.contains(line), "{line}: {translated}");
    }
    // Each of the two jobs has a file of its own.
    let work = translated.parse().unwrap();
    let all = lines(&work, &Settings::default(), 1);
    let first: Vec<String> = all.iter().map(|lines| lines[0].to_string()).collect();
    assert_eq!(
        first,
        [
            "create log-file/f0000001",
            "open mixed/f0000000 as f0-2",
            "open mixedx/f0000000 as f0-3"
        ]
    );
}

#[test]
fn jobs_behind_a_stonewall_are_phases_and_files_with_a_name_are_shared() {
    let text = "[global]\nsize=64k\n[fill]\nrw=write\nfilename=/mnt/data\n[scan]\nstonewall\nfilename=/mnt/data\n\
                [other]\nrw=randread\nnumjobs=2\n";
    let translated = translate(text).unwrap();
    for line in [
        "[[phases]]\nname = \"fill\"",
        "[[phases]]\nname = \"scan\"\nabout = \"performs scan, other\"",
        "[[files]]\nname = \"data\"\ncount = 1\nsize = \"65536\"\n\n",
        "\"write @f0 next 4096\"",
        "\"read @f0 next 4096\"",
    ] {
        assert!(translated.contains(line), "{line}: {translated}");
    }
    assert_eq!(translated.matches("name = \"data\"").count(), 1);
}

#[test]
fn what_cannot_be_translated_is_refused_at_its_place() {
    for (options, place, message) in [
        ("rw=trim", "rw=trim", "it has no translation"),
        ("rw=randread:8", "rw=randread:8", "it has no translation"),
        ("bsrange=4k-64k", "bsrange", "one size here"),
        ("ioengine=filestat", "ioengine", "no equivalent"),
        (
            "bssplit=4k/60,8k/40",
            "bssplit",
            "is no length with its share",
        ),
        (
            "bssplit=4k/60:512/40\ndirect=1",
            "direct",
            "multiple of 4096",
        ),
        ("zonemode=zbd", "zonemode", "it has no translation"),
        ("include other.fio", "include", "includes are not read"),
        ("size=50%", "size=50%", "this is no size"),
        ("size=100kib", "size=100kib", "this is no size"),
        ("bs=4k,8k\nrw=randrw", "bs=", "one size"),
        ("rw=randrw\nfsync=8", "fsync=8", "only 1 is translated"),
        (
            "rw=write\nfsync=1\nfdatasync=1",
            "fdatasync",
            "fsync and fdatasync",
        ),
        ("nrfiles=100", "[a]", "100 files"),
        ("nrfiles=0", "nrfiles", "this is no number"),
        ("direct=1\nbs=512", "direct", "multiple of 4096"),
        ("sync=1", "sync=1", "only dsync"),
        ("time_based", "[a]", "has no time"),
        ("runtime=5x", "runtime", "this is no time"),
        ("filename=/dev/sda", "[a]", "a device"),
        ("bs=2m", "[a]", "smaller than one operation"),
        ("rwmixread=120\nrw=rw", "rwmixread", "no share"),
    ] {
        let text = format!("[a]\nsize=1m\n{options}\n");
        let error = translate(&text).expect_err(options);
        assert!(error.message.contains(message), "{options}: {error}");
        assert!(
            text[error.span.start..].starts_with(place),
            "{options}: {error:?}"
        );
    }
    for (text, message) in [
        ("", "it has no job"),
        ("size=1m\n[a]\n", "in no section"),
        ("[a]\nrw=read\n", "it has no size"),
    ] {
        let error = translate(text).expect_err(text);
        assert!(error.message.contains(message), "{text}: {error}");
    }
}

#[test]
fn numbers_of_operations_and_bytes_are_those_of_fio() {
    const JOBS: [&str; 8] = [
        "[a]\nrw=randread\nbs=3000\nsize=100k\n",
        "[a]\nrw=write\nbs=64k\nsize=1000k\nnrfiles=3\nnumjobs=2\ngroup_reporting\n",
        "[a]\nrw=randwrite\nsize=512k\nfsync=3\n",
        "[a]\nrw=write\nbs=2300\nsize=200k\nio_size=300k\n",
        "[a]\nrw=read\nfilesize=64k\nnrfiles=5\nsize=200k\nloops=2\n",
        "[global]\nsize=256k\n[w]\nrw=write\nfilename=x\n[r]\nstonewall\nrw=randread\nbs=1k,8k\nfilename=x\n",
        "[a]\nrw=randwrite\nbs=4k\nsize=1m\noverwrite=1\ndirect=0\nfilename=p:q\n",
        "[a]\nrw=write\nsize=64k\nfsync=1\nnrfiles=2\n",
    ];
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else {
        println!("SKIP /dev/shm: numbers_of_operations_and_bytes_are_those_of_fio");
        return;
    };
    for job in JOBS {
        let file = folder.path().join("job.fio");
        std::fs::write(&file, job).unwrap();
        let run = std::process::Command::new("fio")
            .args(["--output-format=json", "job.fio"])
            .current_dir(folder.path())
            .output();
        let Ok(run) = run else {
            println!("SKIP fio: numbers_of_operations_and_bytes_are_those_of_fio");
            return;
        };
        let printed = String::from_utf8(run.stdout).unwrap();
        let start = printed.find('{').expect(&printed);
        let report: serde_json::Value = serde_json::from_str(&printed[start..]).unwrap();
        let mut expected = [(0, 0); 3];
        for one in report["jobs"].as_array().unwrap() {
            let number = |key: &str, name: &str| one[key][name].as_u64().unwrap();
            for (sum, key) in expected.iter_mut().zip(["read", "write", "sync"]) {
                sum.0 += number(key, "total_ios");
                sum.1 += one[key]["io_bytes"].as_u64().unwrap_or(0);
            }
        }
        // Of several files each is synced here after its last operation, too.
        let also = u64::from(job.contains("fsync=1"));
        expected[2].0 += also;
        assert_eq!(counted(job), expected, "{job}");
    }
}
