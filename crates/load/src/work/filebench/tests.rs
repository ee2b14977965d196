//! Personalities in the language of Filebench, written for these tests.

use super::*;
use crate::work::{Settings, Summary, lines};

const MAIL: &str = r#"
# A mail server.
set $dir=/tmp
set $count=200
set $size=cvar(type=cvar-gamma,parameters=mean:16384;gamma:1.5)
set $append=16k
set mode quit timeout

define fileset name="inbox",path=$dir,size=$size,entries=$count,dirwidth=1000000,
    prealloc=80
define process name=server,instances=2
{
  thread name=clerk,memsize=10m,instances=3
  {
    flowop deletefile name=d1,filesetname="inbox"
    flowop createfile name=c2,filesetname="inbox",fd=1
    flowop appendfilerand name=a2,iosize=$append,fd=1
    flowop fsync name=s2,fd=1
    flowop closefile name=x2, fd=1
    flowop openfile name=o3,filesetname="inbox",fd=1
    flowop readwholefile name=r3,fd=1,iosize=1m
    flowop closefile name=x3,fd=1
    flowop opslimit name=limit
  }
}
echo "ready: $count files"
usage "run 60"
run 30
"#;

#[test]
fn a_personality_becomes_the_same_operations_on_the_same_files() {
    let text = translate(MAIL).unwrap();
    assert_eq!(
        text,
        r#"# Translated from a personality of Filebench.
# Left out: flowop opslimit: there are no rates

[[files]]
name = "inbox"
count = 200
size = "gamma(16384, 1.5)"
present = "80%"

# clerk
[[workers]]
count = 6
time = "30s"
steps = [
  "unlink inbox",
  "create inbox as fd1",
  { do = "append @fd1 uniform(1, 16384)", block = "16384" },
  "fsync @fd1",
  "close fd1",
  "open inbox as fd1",
  { do = "read @fd1", block = "1048576" },
  "close fd1",
]
"#
    );
    let summary = Summary::of(&text.parse().unwrap(), &Settings::default());
    assert_eq!((summary.workers, summary.files[0].1), (6, 160));
}

#[test]
fn files_that_no_flowop_opens_are_opened_once() {
    let text = r"
set $nthreads=4
define fileset name=pages,size=8k,entries=40,dirwidth=5,prealloc
define fileset name=log,size=0,entries=1,prealloc
define file name=big,size=1m,prealloc=100
define process name=p,instances=1
{
  thread name=t,instances=$nthreads
  {
    flowop read name=r,filesetname=pages,iosize=2k,random,iters=3,opennext,directio=0
    flowop aiowrite name=w,filename=big,iosize=8k,random,directio,dsync
    flowop aiowait name=aw
    flowop appendfilerand name=a,filesetname=log,iosize=100,fd=2
    flowop statfile name=s,filesetname=pages
    flowop hog name=h,value=100
    flowop finishoncount name=f,value=80,target=r
    flowop delay name=d,value=0
  }
}
";
    let translated = translate(text).unwrap();
    for line in [
        "begin = [\"open pages:in-order as pages-fd0\", { do = \"open big as big-fd0\", direct = true, \
         dsync = true }, \"open log as log-fd2-append\"]",
        "  { do = \"read @pages-fd0 random 2048\", repeat = 3, think = \"0s\" },",
        "  \"write @big-fd0 random 8192\",",
        "  \"append @log-fd2-append uniform(1, 100)\",",
        "  \"stat pages\",",
        "loops = 20",
        "# Left out: flowop hog: it computes, and no file operation",
        "width = 5\ndepth = 2",
    ] {
        assert!(translated.contains(line), "{line}: {translated}");
    }
    let work = translated.parse().unwrap();
    let first = &lines(&work, &Settings::default(), 4)[0];
    let first: Vec<String> = first.iter().map(ToString::to_string).collect();
    assert!(first[0].starts_with("open pages/d000"), "{first:?}");
    assert!(first[3].starts_with("read @pages-fd0-1 "), "{first:?}");
}

#[test]
fn a_thread_that_uses_up_its_files_needs_no_time() {
    let text = "set mode quit firstdone\ndefine fileset name=old,entries=30,prealloc,size=1k\n\
                define process name=p { thread name=t { flowop deletefile name=d,filesetname=old } }\n\
                run\n";
    let translated = translate(text).unwrap();
    assert!(!translated.contains("time ="), "{translated}");
    let summary = Summary::of(&translated.parse().unwrap(), &Settings::default());
    assert_eq!(summary.operations(), 30);
}

#[test]
fn random_variables_and_composite_flowops_are_translated() {
    let text = r"
define randvar name=$r, type=uniform, min=1k, mean=2k
define randvar name=$t, type=tabular, min=1k, round=1k, randtable =
{{ 85, 1k, 3k },
 { 15, 8k, 8k }
}
define fileset name=f,entries=10,prealloc,size=$t,filesizegamma=0
set $n=3 * 5
define file name=one,size=$n,prealloc
define flowop name=look,$set=g
{
  flowop openfile name=o,filesetname=$set,fd=3
  flowop createfile name=c,filesetname=f,fd=1
  flowop writewholefile name=w,fd=1,srcfd=3
  flowop readwholefile name=r,fd=1
  flowop closefile name=x,fd=1
  flowop closefile name=y,fd=3
}
define process name=p,instances=1
{
  thread name=t,instances=1
  {
    flowop look name=l,iters=2,$set=f
    flowop appendfile name=a,filesetname=f,iosize=$r
    flowop fsync name=s
    flowop finishonbytes name=b,value=1m
  }
}
psrun -10 60
";
    let translated = translate(text).unwrap();
    for line in [
        "size = \"choice(2048*85, 8192*15)\"",
        "append @f-fd0-append uniform(1024, 3072)",
        "  \"fsync @f-fd0-append\",",
        "name = \"one\"\ncount = 1\nsize = \"15\"",
        "bytes = \"1048576\"",
        "\"close fd1\",\n  \"open f:newest as fd1\",\n  \"read @fd1\"",
    ] {
        assert!(translated.contains(line), "{line}: {translated}");
    }
    assert_eq!(translated.matches("create f as fd1").count(), 2);
}

#[test]
fn a_mistake_has_its_place_in_the_personality() {
    for (text, place, message) in [
        ("set dir=/tmp", "dir", "expected a variable"),
        ("set $a=$b", "$b", "`$b` has no value"),
        (
            "define procss name=x",
            "procss",
            "`define procss` is unknown",
        ),
        ("flowop read", "flowop", "begins no command"),
        (
            "define process name=p { thread name=t { flowop read name=r,fd=1 } }",
            "name=r",
            "no file is open",
        ),
        (
            "define process name=p { thread name=t { flowop statfile name=r,filesetname=x } }",
            "name=r",
            "no fileset is named `x`",
        ),
        ("usage \"x", "\"x", "no closing"),
        ("define process name=p { thread name=t", "", "expected `{`"),
        ("run 60", "", "no process"),
    ] {
        let error = translate(text).expect_err(text);
        assert!(error.message.contains(message), "{text}: {error}");
        assert!(
            text[error.span.start..].starts_with(place),
            "{text}: {error:?}"
        );
    }
}
