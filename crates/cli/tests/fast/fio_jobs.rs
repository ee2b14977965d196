//! Job files of fio as workloads.

use crate::support::Home;

const JOBS: &str = "[global]
size=64k
ioengine=libaio
iodepth=16
[fill]
rw=randwrite
fsync=4
[read]
stonewall
rw=randread
numjobs=2
";

#[test]
fn a_job_file_runs_with_a_phase_for_each_stonewall_and_names_what_it_leaves_out() {
    let home = Home::new();
    let directory = home.path("mine");
    std::fs::create_dir(&directory).unwrap();
    let job = home.path("job.fio");
    std::fs::write(&job, JOBS).unwrap();
    let job = job.to_str().unwrap();
    let on = format!("dir:{}", directory.display());
    let run = |more: &[&str]| {
        let words = ["run", "--on", &on, "-n", "1", "--no-model", "--work", job];
        home.fsdyno(&[&words[..], more].concat())
    };
    let output = run(&[]);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    assert!(
        output
            .err
            .contains("left out: line 4: iodepth=16: each worker"),
        "{}",
        output.err
    );
    let result = home.result("last");
    let samples = result["cells"][0]["samples"].as_array().unwrap();
    let labels: Vec<&str> = samples
        .iter()
        .map(|sample| sample["label"].as_str().unwrap())
        .collect();
    assert_eq!(labels, ["fill", "read"]);
    let shown = home.fsdyno(&["work", "show", job]);
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    for line in ["# phase fill", "# phase read", "2 workers, 34 operations"] {
        assert!(shown.out.contains(line), "{line}: {}", shown.out);
    }
    let translated = home.path("job.toml");
    let imported = home.fsdyno(&["work", "import", job]);
    std::fs::write(&translated, &imported.out).unwrap();
    let again = home.fsdyno(&["work", "show", translated.to_str().unwrap()]);
    assert_eq!(again.out, shown.out);
    let one = run(&["--set", "work.phase=read"]);
    assert_eq!(one.code, Some(0), "{}{}", one.out, one.err);
    let samples = &home.result("last")["cells"][0]["samples"];
    assert_eq!(samples.as_array().unwrap().len(), 1, "{samples}");
    std::fs::write(job, JOBS.replace("numjobs=2", "zonemode=zbd")).unwrap();
    let refused = run(&[]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    for part in ["job.fio:11", "zonemode=zbd", "fio.job=FILE"] {
        assert!(refused.err.contains(part), "{part}: {}", refused.err);
    }
}
