//! The ablation of a rerun: two runs, one on the unchanged disk and one on a disk that acknowledges
//! flushes without executing them. It compares the two.

use super::{RerunArgs, execution, options};
use crate::commands::rendering;
use crate::commands::run::{self, Execution, resolve_here};
use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_model::{CancelToken, Plan, ResultSet};
use fsdyno_report::published::{Published, Table};
use fsdyno_report::reruns::{Ablation, AblationSummary, Setting};
use fsdyno_report::{Format, Options};
use fsdyno_run::RunOptions;
use fsdyno_store::Store;
use std::path::Path;

/// The faults of a disk that acknowledges every flush at once.
const IGNORES_FLUSHES: &str = "[flush]\nignored = 1.0\n";

/// The lines of a screen for the ablation of a rerun, of which one is empty.
pub const LINES: usize = 12;

pub struct AblationRun<'a> {
    pub published: &'static Published,
    pub table: &'a Table,
    pub setting: &'a Setting,
    pub ablation: &'a Ablation,
}

impl AblationRun<'_> {
    /// Runs the ablation on both disks and prints its result.
    pub fn run(
        &self,
        args: &RerunArgs,
        store: &Path,
        stop: &CancelToken,
    ) -> Result<Code, CliError> {
        let disk = &self.setting.disk;
        let disks = [
            (format!("{disk} as it is"), None),
            (
                format!("{disk} that acknowledges flushes at once"),
                Some(IGNORES_FLUSHES),
            ),
        ];
        let (mut sets, mut code) = (Vec::new(), Code::Ok);
        for (words, faults) in disks {
            let mut plan = self.plan(args, faults)?;
            args.shard.restrict(&mut plan)?;
            if plan.cells() == 0 {
                // Other shards have its cells.
                continue;
            }
            let ended = run::fresh(plan, &silent(args), store, stop)?;
            if ended.code != Code::Ok {
                code = ended.code;
            }
            match ended.run {
                Some(run) if ended.complete => {
                    let store = Store::open_existing_read_only(store)?;
                    sets.push((words, store.load(&run)?));
                }
                Some(_) => return Ok(ended.code),
                None => {}
            }
        }
        if !sets.is_empty() && args.shard.shard.is_none() {
            self.print(args, &sets)?;
        }
        Ok(code)
    }

    /// The plan of the rerun, reduced to the workloads and contenders of the ablation.
    fn plan(&self, args: &RerunArgs, faults: Option<&str>) -> Result<Plan, CliError> {
        let contenders = self.ablation.contenders.iter();
        let options = RunOptions {
            contenders: contenders
                .map(|one| one.contender.as_str().into())
                .collect(),
            ..options(args, self.table, self.setting)
        };
        let mut plan = resolve_here(&options)?;
        plan.workloads
            .retain(|workload| self.ablation.workloads.contains(&workload.name));
        let mut name = self.ablation.name.clone();
        if faults.is_some() {
            name += "-ignored";
        }
        plan.name = self.published.rerun_name(Some(&name));
        if let Some(disk) = &mut plan.disk {
            disk.faults = faults.map(str::to_owned);
        }
        Ok(plan)
    }

    fn print(&self, args: &RerunArgs, sets: &[(String, ResultSet)]) -> Result<(), CliError> {
        let ran: Vec<(&str, &ResultSet)> = sets
            .iter()
            .map(|(disk, set)| (disk.as_str(), set))
            .collect();
        let summary = AblationSummary::of(self.setting, self.ablation, self.table, &ran);
        let options = Options {
            long: args.output.is_some(),
            lines: if args.ablation {
                fsdyno_report::LINES
            } else {
                LINES - 1
            },
            ..rendering::options(args.clock, false)
        };
        // An HTML page or CSV holds only the rerun. Unless only the ablation is requested, it is
        // printed on the terminal.
        let format = match args.format() {
            Format::Markdown if args.output.is_none() => Format::Markdown,
            Format::Json if args.ablation => Format::Json,
            _ => Format::Terminal,
        };
        let bytes = fsdyno_report::render_ablation(&summary, format, &options)
            .map_err(CliError::failure)?;
        let output = args.output.as_deref().filter(|_| args.ablation);
        if !args.ablation && args.format() == Format::Json && args.output.is_none() {
            // Standard output holds one document: the JSON of the rerun.
            output::note(format_args!("{}", String::from_utf8_lossy(&bytes)));
            return Ok(());
        }
        if !args.ablation && format != Format::Json {
            output::bytes(b"\n")?;
        }
        output::to(output, &bytes, output::existing(args.force))
    }
}

/// The two runs print no reports of their own. The ablation prints their comparison.
fn silent(args: &RerunArgs) -> Execution {
    Execution {
        silent: true,
        ..execution(args)
    }
}
