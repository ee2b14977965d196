//! `selftest --aa` and `--ab`: experiments on this machine with a known result. A contender
//! competes with itself under two names, or with a copy that is slowed on purpose. The verdict of
//! each experiment is right or wrong.

use super::SelftestArgs;
use crate::commands::run::{self, resolve_here};
use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_host::signals;
use fsdyno_model::{
    CancelToken, CellRecord, Event, Outcome, Plan, Provenance, ResultSet, RunInfo, SkippedPhase,
    StopReason,
};
use fsdyno_run::RunOptions;
use fsdyno_run::conductor::{conduct, unix_now};
use fsdyno_run::schedule::schedule;
use fsdyno_stats::{Rule, Times, Verdict, judge_table, proportion_interval, reached};
use serde::Serialize;
use std::convert::Infallible;
use std::slice;
use std::time::{Duration, Instant};

/// Default number of experiments.
const TRIALS: u32 = 20;
/// The default maximum number of blocks. The ratio of a pair varies by 10 % and the margin is 2 %.
/// A difference of 5 % is then found within 240 blocks in 98 of 100 experiments, and within 60
/// blocks in 41.
const MAX_REPEATS: u32 = 240;
/// The default scale: a phase takes about 10 ms in memory. Phases are short, so blocks are many.
const SCALE: f64 = 0.02;

/// The verdict of one experiment, over the whole time of each of its phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TrialVerdict {
    /// The second contender is slower.
    Slower,
    /// The second contender is faster.
    Faster,
    /// Both are equivalent within the margin in every phase.
    Equivalent,
    /// No difference was found or excluded.
    Inconclusive,
}

#[derive(Debug, Serialize)]
struct Trials {
    contender: String,
    injected_percent: f64,
    margin_percent: f64,
    most_blocks: u32,
    experiments: u64,
    slower: u64,
    faster: u64,
    equivalent: u64,
    inconclusive: u64,
    /// Share of wrong verdicts in percent: any difference of equals, or `Faster` for a slowed
    /// contender.
    wrong_percent: f64,
    wrong_percent_interval: [f64; 2],
    /// Share of slowed contenders with the verdict `Slower`; `None` for equals.
    found_percent: Option<f64>,
    found_percent_interval: Option<[f64; 2]>,
    /// Median number of blocks of an experiment.
    blocks: f64,
    /// Median half-width of the interval of the ratio, in percent.
    reached_percent: Option<f64>,
    took_s: f64,
}

pub fn trials(args: &SelftestArgs) -> Result<Code, CliError> {
    let stop = signals::cancel_token()?;
    let mut plan = plan(args)?;
    let slower = args.ab.unwrap_or(0.0);
    let wanted = args.aa.unwrap_or(TRIALS);
    second(&mut plan, slower)?;
    run::assembled(&plan, &stop)?;
    let measuring = args.lock.take_for(&plan, &stop)?;
    measuring.print_warning();
    let began = Instant::now();
    let limit = args.budget.map(|budget| Duration::from_nanos(budget.0));
    let (mut all, mut code) = (Vec::new(), Code::Ok);
    for number in 1..=wanted {
        if limit.is_some_and(|limit| began.elapsed() >= limit) {
            output::note(format_args!(
                "fsdyno: the budget is used up after {} experiments",
                all.len()
            ));
            break;
        }
        plan.seed += 1;
        let Some(set) = experiment(&plan, &stop)? else {
            code = Code::Interrupted;
            break;
        };
        let (verdict, blocks) = (judge(&set), blocks(&set));
        output::note(format_args!(
            "experiment {number} of {wanted}: {} after {blocks} blocks",
            name_of(verdict)
        ));
        all.push((verdict, blocks, width(&set)));
    }
    let trials = summed(&plan, slower, &all, began.elapsed());
    if args.json {
        output::json(&trials)?;
    } else {
        output::bytes(text(&trials).as_bytes())?;
    }
    Ok(code)
}

fn name_of(verdict: TrialVerdict) -> &'static str {
    match verdict {
        TrialVerdict::Slower => "slower",
        TrialVerdict::Faster => "faster",
        TrialVerdict::Equivalent => "equivalent",
        TrialVerdict::Inconclusive => "inconclusive",
    }
}

/// The plan of an experiment, with one contender.
fn plan(args: &SelftestArgs) -> Result<Plan, CliError> {
    let phases = match &args.phases[..] {
        [] => vec!["copy".to_owned()],
        named => named.to_vec(),
    };
    let options = RunOptions {
        contenders: vec![args.fs.as_str().into()],
        dataset: Some("portage".to_owned()),
        phases,
        scale: Some(args.scale.unwrap_or(SCALE)),
        max_repeats: Some(args.max_repeats.unwrap_or(MAX_REPEATS)),
        precision: args.precision,
        margin: args.margin,
        check: Some(false),
        ..RunOptions::default()
    };
    resolve_here(&options)
}

/// Adds a second contender to a plan: the same one, slowed by this share.
fn second(plan: &mut Plan, slower: f64) -> Result<(), CliError> {
    let [first] = &mut plan.contenders[..] else {
        return Err(CliError::usage(
            "--fs: an experiment has one contender. Name one.",
        ));
    };
    if !first.lab.is_host() {
        return Err(CliError::usage(
            "--fs: experiments run on the host only. Leave out the lab.",
        ));
    }
    let mut again = first.clone();
    again.label = format!("{} again", first.label);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the arguments admit 0 to 1000 %"
    )]
    let permille = (slower * 1000.0).round() as u32;
    again.handicap_permille = permille;
    let skips = plan.skipped.clone();
    plan.skipped
        .extend(skips.into_iter().map(|one| SkippedPhase {
            contender: again.label.clone(),
            ..one
        }));
    plan.contenders.push(again);
    Ok(())
}

/// Runs a plan without a store; `None` if the user interrupts it.
pub fn experiment(plan: &Plan, stop: &CancelToken) -> Result<Option<ResultSet>, CliError> {
    let mut labs = run::assembled(plan, stop)?;
    labs.begin(plan);
    let mut run = RunInfo {
        id: "selftest".into(),
        started_unix_ns: unix_now(),
        ended_unix_ns: None,
        stop: None,
        plan_hash: plan.hash(),
        plan: plan.clone(),
        provenance: Provenance::default(),
        command_line: Vec::new(),
    };
    let mut cells: Vec<CellRecord> = Vec::new();
    let labs = slice::from_mut(&mut labs);
    let ended = conduct(&run, &[], &schedule(plan), labs, stop, &mut |event| {
        if let Event::CellEnded { record } = event {
            cells.push(CellRecord::clone(record));
        }
        Ok::<(), Infallible>(())
    });
    let unmeasured = cells.iter().find_map(|record| match &record.outcome {
        Outcome::Measured => None,
        Outcome::Skipped { reason, remedy, .. } => {
            Some(CliError::new(Code::Missing, format!("{reason}; {remedy}")))
        }
        Outcome::Failed(failure) => Some(CliError::failure(&failure.message)),
    });
    if let Some(error) = unmeasured {
        return Err(error);
    }
    run.stop = ended.ok();
    let set = ResultSet {
        schema: ResultSet::SCHEMA,
        run,
        cells,
        variants: Vec::new(),
    };
    Ok((set.run.stop != Some(StopReason::Interrupted)).then_some(set))
}

/// The verdict on the second contender over all phases.
fn judge(set: &ResultSet) -> TrialVerdict {
    let times: Vec<Times> = set.time_lines().iter().map(Times::from).collect();
    let table = judge_table(&times.iter().collect::<Vec<_>>(), &Rule::of(&set.run));
    let verdicts: Vec<_> = table.iter().map(|line| line.of(1, 0)).collect();
    let any = |wanted| verdicts.contains(&Some(wanted));
    if any(Verdict::Faster) {
        TrialVerdict::Faster
    } else if any(Verdict::Slower) {
        TrialVerdict::Slower
    } else if verdicts.iter().all(|v| *v == Some(Verdict::Equivalent)) {
        TrialVerdict::Equivalent
    } else {
        TrialVerdict::Inconclusive
    }
}

fn blocks(set: &ResultSet) -> u32 {
    let blocks = set.cells.iter().map(|record| record.cell.block + 1);
    blocks.max().unwrap_or(0)
}

/// The half-width of the widest interval.
fn width(set: &ResultSet) -> Option<f64> {
    let lines = set.time_lines().into_iter();
    let widths = lines.filter_map(|line| {
        let figures = Times::from(&line).figures();
        reached(&figures[1], &figures[0])
    });
    widths.max_by(f64::total_cmp)
}

fn summed(
    plan: &Plan,
    slower: f64,
    all: &[(TrialVerdict, u32, Option<f64>)],
    elapsed: Duration,
) -> Trials {
    let count = |wanted| all.iter().filter(|one| one.0 == wanted).count() as u64;
    let experiments = all.len() as u64;
    let faster = count(TrialVerdict::Faster);
    let found_slower = count(TrialVerdict::Slower);
    // For equals, both verdicts are wrong.
    let wrong = faster + if slower > 0.0 { 0 } else { found_slower };
    let share = |hits: u64| 100.0 * hits as f64 / experiments.max(1) as f64;
    let interval = |hits: u64| {
        let of = proportion_interval(hits, experiments.max(1));
        [100.0 * of.low, 100.0 * of.high]
    };
    let middle = |values: Vec<f64>| fsdyno_stats::median(&values);
    let found = (slower > 0.0).then_some(found_slower);
    Trials {
        contender: plan.contenders[0].label.clone(),
        injected_percent: slower * 100.0,
        margin_percent: plan.margin * 100.0,
        most_blocks: plan.most_repeats(),
        experiments,
        slower: found_slower,
        faster,
        equivalent: count(TrialVerdict::Equivalent),
        inconclusive: count(TrialVerdict::Inconclusive),
        wrong_percent: share(wrong),
        wrong_percent_interval: interval(wrong),
        found_percent: found.map(share),
        found_percent_interval: found.map(interval),
        blocks: middle(all.iter().map(|one| f64::from(one.1)).collect()).unwrap_or(0.0),
        reached_percent: middle(all.iter().filter_map(|one| one.2).collect())
            .map(|width| 100.0 * width),
        took_s: elapsed.as_secs_f64(),
    }
}

fn text(trials: &Trials) -> String {
    let what = if trials.injected_percent > 0.0 {
        format!(
            "{} compared with itself, slowed by {} %",
            trials.contender, trials.injected_percent
        )
    } else {
        format!("{} compared with itself", trials.contender)
    };
    let percent =
        |share: f64, [low, high]: [f64; 2]| format!("{share:.1} % (95 %: {low:.1}-{high:.1} %)");
    let mut text = format!(
        "{what}: {} experiments, {:.0} s\n  slower {}, faster {}, equivalent within {:.1} %: {}, inconclusive {}\n",
        trials.experiments,
        trials.took_s,
        trials.slower,
        trials.faster,
        trials.margin_percent,
        trials.equivalent,
        trials.inconclusive,
    );
    let wrong = percent(trials.wrong_percent, trials.wrong_percent_interval);
    text += &["  wrong:  ", &wrong, "\n"].concat();
    if let (Some(share), Some(interval)) = (trials.found_percent, trials.found_percent_interval) {
        text += &["  found:  ", &percent(share, interval), "\n"].concat();
    }
    let reached = trials.reached_percent;
    let reached = reached.map_or_else(String::new, |reached| {
        format!("; the interval of the ratio reached {reached:.1} % either way")
    });
    text + &format!(
        "  median of {:.0} blocks, at most {}{reached}\n",
        trials.blocks, trials.most_blocks
    )
}
