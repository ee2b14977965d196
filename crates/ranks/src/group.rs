//! Communication between ranks. Every wait has a limit, and ends at once after an [`Alarm`].

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The ranks of a program, as one of them sees them.
pub trait Group {
    /// The number of this rank, from 0.
    fn rank(&self) -> usize;

    fn size(&self) -> usize;

    /// Returns after all ranks have called it.
    fn barrier(&self, wait: &Wait<'_>) -> Result<(), Halt>;

    /// Sends a message to another rank.
    fn send(&self, to: usize, message: &[u8], wait: &Wait<'_>) -> Result<(), Halt>;

    /// Receives the next message of another rank.
    fn receive(&self, from: usize, wait: &Wait<'_>) -> Result<Vec<u8>, Halt>;
}

/// The reason why the ranks cannot continue together. The program ends all of them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Halt {
    /// The monitor reported a failure.
    #[error("{0}")]
    Alarm(String),
    /// A rank did not answer in time.
    #[error(
        "{who} did not answer within {} s during {during}. It hangs, or it needs more time: \
         raise --phase-timeout",
        limit.as_secs()
    )]
    Late {
        who: String,
        during: String,
        limit: Duration,
    },
    /// The ranks do not agree, or this program is wrong.
    #[error("{0}")]
    Broken(String),
}

/// A failure that ends all waits of this rank. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Alarm(Arc<Mutex<Option<String>>>);

impl Alarm {
    /// Raises the alarm; the first message stays.
    pub fn raise(&self, message: &str) {
        let mut raised = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        raised.get_or_insert_with(|| message.to_owned());
    }

    /// The message, if the alarm was raised.
    pub fn raised(&self) -> Option<String> {
        let raised = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        raised.clone()
    }
}

/// A limited wait for other ranks.
#[derive(Debug, Clone)]
pub struct Wait<'a> {
    alarm: &'a Alarm,
    limit: Duration,
    during: String,
}

impl<'a> Wait<'a> {
    /// Waits for at most this time during a part of the work.
    pub fn new(alarm: &'a Alarm, limit: Duration, during: impl Into<String>) -> Self {
        let during = during.into();
        Self {
            alarm,
            limit,
            during,
        }
    }

    /// Polls until there is a result; `who` names the awaited ranks.
    pub fn poll<T>(
        &self,
        who: impl Fn() -> String,
        mut poll: impl FnMut() -> Option<T>,
    ) -> Result<T, Halt> {
        /// Polls without sleep, and polls between two looks at the clock.
        const BUSY: u32 = 2000;
        const MAX_PAUSE: Duration = Duration::from_millis(1);
        let began = Instant::now();
        let mut polls = 0_u32;
        let mut pause = Duration::from_micros(20);
        loop {
            if let Some(result) = poll() {
                return Ok(result);
            }
            polls = polls.saturating_add(1);
            if polls < BUSY {
                // Other ranks may need this processor.
                std::thread::yield_now();
                continue;
            }
            if let Some(message) = self.alarm.raised() {
                return Err(Halt::Alarm(message));
            }
            if began.elapsed() > self.limit {
                return Err(Halt::Late {
                    who: who(),
                    during: self.during.clone(),
                    limit: self.limit,
                });
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }
}

/// Collects a value of each rank at rank 0, in their order; the others get nothing.
pub fn gather<T: Serialize + DeserializeOwned>(
    group: &impl Group,
    own: T,
    wait: &Wait<'_>,
) -> Result<Vec<T>, Halt> {
    if group.rank() > 0 {
        group.send(0, &encode(&own)?, wait)?;
        return Ok(Vec::new());
    }
    let mut all = vec![own];
    for from in 1..group.size() {
        all.push(decode(&group.receive(from, wait)?)?);
    }
    Ok(all)
}

/// Sends the value of rank 0 to all ranks. The other ranks pass nothing.
pub fn broadcast<T: Serialize + DeserializeOwned>(
    group: &impl Group,
    own: Option<T>,
    wait: &Wait<'_>,
) -> Result<T, Halt> {
    if group.rank() > 0 {
        return decode(&group.receive(0, wait)?);
    }
    let own = own.ok_or_else(|| Halt::Broken("rank 0 has nothing to send".to_owned()))?;
    let message = encode(&own)?;
    for to in 1..group.size() {
        group.send(to, &message, wait)?;
    }
    Ok(own)
}

fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, Halt> {
    serde_json::to_vec(value).map_err(|error| Halt::Broken(format!("cannot send: {error}")))
}

fn decode<T: DeserializeOwned>(message: &[u8]) -> Result<T, Halt> {
    serde_json::from_slice(message).map_err(|error| {
        Halt::Broken(format!(
            "a message of another rank cannot be read: {error}. All ranks need the same version \
             of fsdyno-mpi"
        ))
    })
}

#[cfg(test)]
pub(crate) mod threads {
    //! Ranks that are threads.

    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// A rank in a thread.
    pub struct Thread {
        rank: usize,
        to: Vec<Sender<Vec<u8>>>,
        from: Vec<Mutex<Receiver<Vec<u8>>>>,
        arrived: Arc<AtomicUsize>,
        rounds: AtomicUsize,
    }

    impl Group for Thread {
        fn rank(&self) -> usize {
            self.rank
        }

        fn size(&self) -> usize {
            self.to.len()
        }

        fn barrier(&self, wait: &Wait<'_>) -> Result<(), Halt> {
            let round = self.rounds.fetch_add(1, Ordering::SeqCst) + 1;
            self.arrived.fetch_add(1, Ordering::SeqCst);
            let all = round * self.size();
            let here = || (self.arrived.load(Ordering::SeqCst) >= all).then_some(());
            wait.poll(|| "a rank".to_owned(), here)
        }

        fn send(&self, to: usize, message: &[u8], _: &Wait<'_>) -> Result<(), Halt> {
            let _ = self.to[to].send(message.to_vec());
            Ok(())
        }

        fn receive(&self, from: usize, wait: &Wait<'_>) -> Result<Vec<u8>, Halt> {
            let channel = self.from[from].lock().unwrap();
            wait.poll(|| format!("rank {from}"), || channel.try_recv().ok())
        }
    }

    /// Runs a function on this many ranks; returns their results in order.
    pub fn run<T: Send>(size: usize, work: impl Fn(&Thread) -> T + Sync) -> Vec<T> {
        let mut receivers: Vec<Vec<_>> = (0..size).map(|_| Vec::new()).collect();
        let arrived = Arc::new(AtomicUsize::new(0));
        let mut ranks = Vec::new();
        for rank in 0..size {
            let to = receivers.iter_mut().map(|receivers| {
                let (sender, receiver) = channel();
                receivers.push(Mutex::new(receiver));
                sender
            });
            let to = to.collect();
            ranks.push((rank, to));
        }
        let ranks: Vec<Thread> = ranks
            .into_iter()
            .zip(receivers)
            .map(|((rank, to), from)| Thread {
                rank,
                to,
                from,
                arrived: Arc::clone(&arrived),
                rounds: AtomicUsize::new(0),
            })
            .collect();
        std::thread::scope(|scope| {
            let work = &work;
            let threads: Vec<_> = ranks
                .iter()
                .map(|rank| scope.spawn(move || work(rank)))
                .collect();
            let ends = threads.into_iter().map(|thread| thread.join().unwrap());
            ends.collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_gathered_in_order_and_broadcast() {
        let alarm = Alarm::default();
        let results = threads::run(5, |group| {
            let wait = Wait::new(&alarm, Duration::from_secs(60), "test");
            let all = gather(group, group.rank() * 10, &wait).unwrap();
            let sum = (group.rank() == 0).then(|| all.iter().sum::<usize>());
            broadcast(group, sum, &wait).unwrap()
        });
        assert_eq!(results, [100; 5]);
    }

    #[test]
    fn a_rank_that_does_not_answer_is_named_and_an_alarm_ends_the_wait() {
        let results = threads::run(2, |group| {
            let alarm = Alarm::default();
            if group.rank() == 1 {
                return None;
            }
            let wait = Wait::new(&alarm, Duration::from_millis(1), "op-create");
            let late = gather(group, 0, &wait).unwrap_err().to_string();
            alarm.raise("rank 1 died");
            let wait = Wait::new(&alarm, Duration::from_secs(600), "op-create");
            let halt = group.barrier(&wait).unwrap_err();
            Some((late, halt))
        });
        let (late, halt) = results[0].clone().unwrap();
        assert!(
            late.contains("rank 1") && late.contains("op-create"),
            "{late}"
        );
        assert_eq!(halt, Halt::Alarm("rank 1 died".to_owned()));
    }
}
