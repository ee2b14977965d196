//! Counts instructions and cycles of a phase by the hardware counters of the processors
//! (`perf_event_open(2)`).
//!
//! The counters are opened for the thread that runs a phase, and are inherited by all threads and
//! processes that it starts. They are opened and read outside of the measured time.

use fsdyno_model::hardware::HardwareEvent;
use fsdyno_model::sample::Figure;
use perf_event::events::{Event, Hardware};
use perf_event::{Builder, Counter};
use rustix::io::Errno;
use std::io;
use std::sync::OnceLock;
use std::time::Duration;

/// The open counters of a phase.
pub(crate) struct HardwareCounters {
    counters: Vec<(HardwareEvent, Counter)>,
}

/// Whether this machine counts for this user; if not, the reason.
pub fn availability() -> Result<(), String> {
    static KNOWN: OnceLock<Result<(), String>> = OnceLock::new();
    // Found out once: without counters, a phase makes no further system call.
    KNOWN
        .get_or_init(|| HardwareCounters::open_now().map(drop))
        .clone()
}

impl HardwareCounters {
    /// Opens the counters of this thread and of all that it starts from now on. Counts nothing
    /// before `begin`. `None` if there are no counters: a phase is measured without.
    pub fn open() -> Option<Self> {
        availability().ok()?;
        Self::open_now().ok()
    }

    fn open_now() -> Result<Self, String> {
        let event = |event| match event {
            HardwareEvent::UserInstructions | HardwareEvent::KernelInstructions => {
                Hardware::INSTRUCTIONS
            }
            HardwareEvent::UserCycles | HardwareEvent::KernelCycles => Hardware::CPU_CYCLES,
        };
        Self::open_events(|of| {
            let mut builder = builder(event(of));
            let kernel = of.in_kernel();
            builder.exclude_user(kernel).exclude_kernel(!kernel);
            builder
        })
    }

    /// Opens one counter for each event; fails if none can be opened.
    fn open_events<'a>(builder: impl Fn(HardwareEvent) -> Builder<'a>) -> Result<Self, String> {
        let mut counters = Vec::new();
        let mut refused = None;
        for event in HardwareEvent::ALL {
            match builder(event).build() {
                Ok(counter) => counters.push((event, counter)),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        match refused {
            Some(error) if counters.is_empty() => Err(reason(&error)),
            _ => Ok(Self { counters }),
        }
    }

    /// Counts from now on.
    pub fn begin(&mut self) {
        for (_, counter) in &mut self.counters {
            // A counter that did not start has not run, and gives no figure.
            let _ = counter.enable();
        }
    }

    /// Stops counting.
    pub fn end(&mut self) {
        for (_, counter) in &mut self.counters {
            let _ = counter.disable();
        }
    }

    /// The counts. A counter that never ran gives none.
    pub fn figures(mut self) -> Vec<Figure> {
        let counters = self.counters.iter_mut();
        let figures = counters.filter_map(|(event, counter)| {
            let read = counter.read_count_and_time().ok()?;
            let [enabled, running] =
                [read.time_enabled, read.time_running].map(Duration::from_nanos);
            Some(event.figure(scaled(read.count, enabled, running)?))
        });
        figures.collect()
    }
}

fn builder<'a>(event: impl Event) -> Builder<'a> {
    let mut builder = Builder::new(event);
    builder.inherit(true);
    builder
}

/// The count of the whole time, if the counter shared its register with others and ran for a part
/// of it. `None` if it did not run.
fn scaled(count: u64, enabled: Duration, running: Duration) -> Option<u64> {
    let (enabled, running) = (enabled.as_nanos(), running.as_nanos());
    if running == 0 {
        return None;
    }
    u64::try_from(u128::from(count) * enabled.max(running) / running).ok()
}

/// Returns the reason why a counter cannot be opened.
fn reason(error: &io::Error) -> String {
    match Errno::from_io_error(error) {
        Some(Errno::NOENT | Errno::NODEV | Errno::OPNOTSUPP) => {
            "the processors report none, as is usual in a virtual machine".to_owned()
        }
        Some(Errno::ACCESS | Errno::PERM) => {
            "this user may not read them (kernel.perf_event_paranoid)".to_owned()
        }
        Some(Errno::NOSYS) => "the kernel has no perf events".to_owned(),
        _ => format!("perf_event_open: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_event::events::Software;
    use std::process::Command;
    use std::thread;

    /// Counters of context switches, which need no hardware.
    fn of_switches() -> Result<HardwareCounters, String> {
        HardwareCounters::open_events(|_| {
            let mut builder = builder(Software::CONTEXT_SWITCHES);
            builder.exclude_kernel(false);
            builder
        })
    }

    /// Switches about as often: a sleep whose timer ends at once switches nothing.
    fn switch(times: u32) {
        for _ in 0..times {
            thread::sleep(Duration::from_micros(1));
        }
    }

    /// The count between begin and end; `None` if this user may not count.
    fn counted(within: impl FnOnce()) -> Option<u64> {
        let mut counters = match of_switches() {
            Ok(counters) => counters,
            Err(why) => {
                println!("SKIP perf software events ({why}): hardware counters");
                return None;
            }
        };
        switch(3000);
        counters.begin();
        within();
        counters.end();
        switch(3000);
        let figures = counters.figures();
        assert_eq!(figures.len(), HardwareEvent::ALL.len());
        assert_eq!(figures[1].name, "kernel instructions");
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a count"
        )]
        Some(figures[0].value as u64)
    }

    #[test]
    fn only_the_time_between_begin_and_end_is_counted() {
        if let Some(count) = counted(|| switch(100)) {
            assert!((50..3000).contains(&count), "{count}");
        }
    }

    #[test]
    fn threads_and_processes_of_a_phase_are_counted() {
        let threads = counted(|| {
            let workers = [0; 4].map(|_| thread::spawn(|| switch(100)));
            for worker in workers {
                worker.join().unwrap();
            }
        });
        assert!(threads.is_none_or(|count| count >= 200), "{threads:?}");
        let script = "i=0; while [ $i -lt 50 ]; do sleep 0; i=$((i+1)); done";
        let processes = counted(|| {
            let status = Command::new("sh").args(["-c", script]).status();
            assert!(status.unwrap().success());
        });
        assert!(processes.is_none_or(|count| count >= 25), "{processes:?}");
    }

    #[test]
    fn a_counter_that_shared_its_register_is_scaled_to_the_whole_time() {
        let ns = Duration::from_nanos;
        assert_eq!(scaled(100, ns(10), ns(10)), Some(100));
        assert_eq!(scaled(100, ns(40), ns(10)), Some(400));
        assert_eq!(scaled(0, ns(40), ns(0)), None);
        // The processors' sums may differ by a rounding.
        assert_eq!(scaled(100, ns(9), ns(10)), Some(100));
    }

    #[test]
    fn the_reason_names_what_is_missing() {
        let of = |errno: Errno| reason(&errno.into());
        assert!(of(Errno::NOENT).contains("virtual machine"));
        assert!(of(Errno::ACCESS).contains("perf_event_paranoid"));
        // A phase is measured with and without them.
        assert_eq!(HardwareCounters::open().is_some(), availability().is_ok());
    }
}
