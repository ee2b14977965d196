//! The order of a run: all ranks call [`run`] with the same options, and do the same steps.

mod cells;
#[cfg(test)]
mod tests;

use crate::consent;
use crate::group::{Alarm, Group, Halt, Wait, broadcast, gather};
use crate::member::Member;
use crate::monitor::link::{Link, token};
use crate::monitor::sentinel::Sentinel;
use crate::monitor::{MonitorAddress, Order};
use crate::options::Options;
use crate::plan;
use cells::RankRun;
use fsdyno_host::signals::Signals;
use fsdyno_model::{CancelToken, Plan};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The limit of steps that take no time by themselves.
const SHORT: Duration = Duration::from_secs(120);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Complete,
    Failed,
    Interrupted,
    /// The options are wrong; rank 0 printed why.
    Usage,
}

impl End {
    /// The exit status, as that of `fsdyno`.
    pub fn status(self) -> i32 {
        match self {
            Self::Complete => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Interrupted => 130,
        }
    }
}

pub struct Environment<'a> {
    /// The program that [`crate::monitor::process::serve`] is called in, with [`crate::monitor::link::MONITOR`].
    pub program: &'a Path,
    pub store: PathBuf,
    pub addresses: Vec<String>,
    /// The MPI library, for the provenance.
    pub library: String,
    pub command_line: Vec<String>,
    /// The cancellation token that signals set.
    pub stop: &'a CancelToken,
    pub signals: Option<Signals>,
    /// The alarm that ends all waits.
    pub alarm: &'a Alarm,
}

/// Runs everything with a monitor.
pub fn run(
    group: &impl Group,
    options: &Options,
    environment: &Environment<'_>,
) -> Result<End, Halt> {
    let alarm = environment.alarm;
    let wait = Wait::new(alarm, SHORT, "the start");
    let Some((plan, members)) = agree(group, options, &wait)? else {
        return Ok(End::Usage);
    };
    if !is_permitted(group, options, environment, &plan)? {
        if environment.stop.requested() {
            return Ok(End::Interrupted);
        }
        return Ok(End::Usage);
    }
    let mut link = None;
    if group.rank() == 0 {
        link = Some(start_monitor(options, environment, group.size())?);
    }
    let contact = link.as_ref().map(|(_, contact)| contact.clone());
    let contact = broadcast(group, contact, &wait)?;
    let signals = environment.signals.clone();
    let sentinel = Sentinel::connect(&contact, group.rank(), alarm, environment.stop, signals);
    let unwatched = sentinel.as_ref().err().map(ToString::to_string);
    for (rank, reason) in gather(group, unwatched, &wait)?.into_iter().enumerate() {
        if let Some(reason) = reason {
            print(&format!(
                "warning: {} cannot connect to the monitor ({reason}): if it dies, its name is not \
                 reported. Open the TCP ports between the hosts",
                members[rank]
            ));
        }
    }
    group.barrier(&wait)?;
    let mut conduct = RankRun {
        group,
        options,
        environment,
        plan: &plan,
        members: &members,
        record: link.map(|(link, _)| link),
        failed: false,
    };
    let end = conduct.all()?;
    let mut link = conduct.record.take();
    if let Some(link) = &mut link {
        link.end()?;
        let run = link.run.clone().unwrap_or_default();
        print(&format!("recorded: fsdyno report {run}"));
    }
    group.barrier(&wait)?;
    if let Ok(sentinel) = sentinel {
        sentinel.leave();
    }
    if let Some(link) = link {
        link.join()?;
    }
    Ok(end)
}

fn print(line: &str) {
    // A reader that closed the pipe must not end the measurement.
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Resolves the plan on all ranks, and collects what is known of them; none if a rank cannot
/// begin.
fn agree(
    group: &impl Group,
    options: &Options,
    wait: &Wait<'_>,
) -> Result<Option<(Plan, Vec<Member>)>, Halt> {
    let plan = plan::plan(options, group.size());
    let directories: Vec<PathBuf> = plan.as_ref().map_or_else(
        |_| Vec::new(),
        |plan| {
            plan.contenders
                .iter()
                .filter_map(|one| one.directory.clone())
                .collect()
        },
    );
    let mut missing = directories.iter().filter(|directory| !directory.is_dir());
    let error = match (&plan, missing.next()) {
        (Err(error), _) => Some(error.clone()),
        (_, Some(directory)) => Some(format!(
            "{} is no directory here: mount the file system on all hosts",
            directory.display()
        )),
        _ => None,
    };
    let version = options.client_version.as_deref();
    let member = Member::here(group.rank(), &directories, version);
    let all = gather(group, (member, error), wait)?;
    let decided = (group.rank() == 0).then(|| {
        let error = all.iter().find_map(|(member, error)| {
            let error = error.as_ref()?;
            // An error in the options is the same on all ranks.
            Some(if plan.is_err() {
                error.clone()
            } else {
                format!("{member}: {error}")
            })
        });
        if let Some(error) = &error {
            eprintln!("fsdyno-mpi: {error}");
        }
        let members: Vec<Member> = all.into_iter().map(|(member, _)| member).collect();
        error.is_none().then_some(members)
    });
    let members = broadcast(group, decided, wait)?;
    Ok(plan.ok().zip(members))
}

/// Rank 0 states what is written, and requests consent. Returns whether all ranks may write.
fn is_permitted(
    group: &impl Group,
    options: &Options,
    environment: &Environment<'_>,
    plan: &Plan,
) -> Result<bool, Halt> {
    let decided = (group.rank() == 0).then(|| {
        let request = consent::request(options, plan, &environment.command_line, environment.stop);
        if let Err(why) = &request {
            eprintln!("fsdyno-mpi: {why}");
        }
        request.is_ok()
    });
    // A person may think about the answer.
    let wait = Wait::new(environment.alarm, options.phase_timeout, "the consent");
    broadcast(group, decided, &wait)
}

fn start_monitor(
    options: &Options,
    environment: &Environment<'_>,
    ranks: usize,
) -> Result<(Link, MonitorAddress), Halt> {
    let token = token().map_err(|error| Halt::Broken(format!("/dev/urandom: {error}")))?;
    let store = options
        .store
        .clone()
        .unwrap_or_else(|| environment.store.clone());
    let store = std::path::absolute(&store)
        .map_err(|error| Halt::Broken(format!("{}: {error}", store.display())))?;
    let order = Order {
        store,
        token: token.clone(),
        ranks,
        heartbeat_timeout: options.heartbeat_timeout,
        phase_timeout: options.phase_timeout,
    };
    let link = Link::start(environment.program, &order)?;
    let contact = MonitorAddress {
        host: crate::member::host_name(),
        addresses: environment.addresses.clone(),
        port: link.port,
        token,
    };
    Ok((link, contact))
}
