//! The ranks of an MPI program. Every call polls: none waits in the MPI library for a rank that may
//! have died.

use fsdyno_ranks::{Group, Halt, Wait};
use mpi::request::{Request, StaticScope};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Source};

/// The tag of all messages. MPI delivers messages of one rank in their order.
const TAG: mpi::Tag = 1;

/// All ranks of the program.
pub struct World(pub SimpleCommunicator);

impl World {
    fn process(&self, rank: usize) -> Result<mpi::topology::Process<'_>, Halt> {
        let number = mpi::Rank::try_from(rank)
            .map_err(|_| Halt::Broken(format!("there is no rank {rank}")))?;
        Ok(self.0.process_at_rank(number))
    }
}

impl Group for World {
    fn rank(&self) -> usize {
        usize::try_from(self.0.rank()).unwrap_or_default()
    }

    fn size(&self) -> usize {
        usize::try_from(self.0.size()).unwrap_or(1)
    }

    fn barrier(&self, wait: &Wait<'_>) -> Result<(), Halt> {
        complete(self.0.immediate_barrier(), || "a rank".to_owned(), wait)
    }

    fn send(&self, to: usize, message: &[u8], wait: &Wait<'_>) -> Result<(), Halt> {
        let process = self.process(to)?;
        // MPI reads the buffer until the request is complete, which may be never.
        let buffer = Box::leak(message.to_vec().into_boxed_slice());
        let place = &raw mut *buffer;
        let request = process.immediate_send_with_tag(StaticScope, &*buffer, TAG);
        complete(request, || format!("rank {to}"), wait)?;
        // SAFETY: the memory is that of the box above, and its only user, the request, is complete.
        drop(unsafe { Box::from_raw(place) });
        Ok(())
    }

    fn receive(&self, from: usize, wait: &Wait<'_>) -> Result<Vec<u8>, Halt> {
        let process = self.process(from)?;
        wait.poll(
            || format!("rank {from}"),
            || process.immediate_probe_with_tag(TAG),
        )?;
        let (message, _) = process.receive_vec_with_tag::<u8>(TAG);
        Ok(message)
    }
}

/// Polls a request until it is complete. After an error it is never complete: the caller ends the
/// program with `MPI_Abort`.
fn complete<D: ?Sized>(
    request: Request<'static, D, StaticScope>,
    who: impl Fn() -> String,
    wait: &Wait<'_>,
) -> Result<(), Halt> {
    let mut pending = Some(request);
    let end = wait.poll(who, || match pending.take()?.test() {
        Ok(_) => Some(()),
        Err(request) => {
            pending = Some(request);
            None
        }
    });
    // To drop an incomplete request is a panic.
    std::mem::forget(pending);
    end
}
