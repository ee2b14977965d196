//! Workers side by side, each in a thread of its own.

/// Does one piece of work with each of these, all at the same time, and waits for the last; what each
/// came to, in their order. A panic of one is passed on.
pub(super) fn side_by_side<W: Send, T: Send>(
    workers: &mut [W],
    work: impl Fn(&mut W) -> T + Sync,
) -> Vec<T> {
    let work = &work;
    std::thread::scope(|scope| {
        let threads: Vec<_> = workers
            .iter_mut()
            .map(|worker| scope.spawn(move || work(worker)))
            .collect();
        let ends = threads.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        ends.collect()
    })
}
