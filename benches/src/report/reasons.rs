//! The reasons of figures: what is done at each engine that the other does not do. The parts of a cost
//! are in the order in which a profile shows them, the largest first; those of `recover` and of servers
//! are read from the code.

/// The differences between engines: the other engine, the workloads, and what each does there that
/// the other does not.
pub(super) const PEERS: &[(&str, &[&str], &str)] = &[
    (
        "graph-flow",
        &["start", "chain", "heavy-chain", "cycle", "loop"],
        "its tasks change one map of JSON values in place, and a step leaves nothing behind. \
         A step of fugato hands its task a snapshot that nothing changes, keeps a panic of the task \
         within its run, checks what a router chose against what was declared, and looks for a request \
         to stop and for a budget that is used up. Its time goes to memory, for the future of each \
         task and the list of its updates, then to the counts of what task and run share, then to \
         these looks. A start also makes and drops the tables of a run: its tasks, its joins, its \
         effects.",
    ),
    (
        "graph-flow",
        &["loop-memory"],
        "what it saves are pointers to the same map, so that nothing is serialised. fugato writes \
         each step as the record that it writes to a disk. What a step costs more than in `loop` goes \
         to memory for records and messages, which one thread takes and another gives back, to the \
         search for characters to escape, to the compare-and-set of the append, and to two looks at \
         a clock: one for the record, one for the lease.",
    ),
    (
        "adk-graph",
        &["events"],
        "it hands each event to one reader as it is. fugato keeps the text of open blocks for \
         readers that come later, merges what a slow reader has not taken, and names the task of \
         each event.",
    ),
    (
        "adk-graph",
        &["open"],
        "it stores the whole state with each step, so that the newest row is all that it reads; \
         `loop-normal` says what that costs on the disk. fugato reads a snapshot and applies the \
         records after it. Its time goes to the messages themselves, to the copies out of the \
         database, to the check sums of rows and snapshot, and to the memory of each record; the \
         limit, which checks nothing, reads as many messages.",
    ),
];

/// The reasons of goals that are missed: the workloads, and where the time goes that the hand-written
/// program does not need.
pub(super) const GOALS: &[(&[&str], &str)] = &[
    (
        &["loop-memory"],
        "the limit appends the update alone to a list of its own thread. fugato writes a record with \
         its time, its task and its routes, appends it under the lease and the position that it \
         expects, and keeps a copy that others can read.",
    ),
    (
        &["loop-normal"],
        "nearly all of a step is SQLite's transaction, which the limit has too. fugato's rows have a \
         check sum, a time and a nonce besides; the bytes on the disk include the snapshots that \
         make a thread quick to open.",
    ),
    (
        &["idempotent", "keyed", "once"],
        "the limit adds rows to a list and calls nobody. An effect of fugato is a call to the driver \
         of its run, which looks whether it was done before, stores what came before it, and writes \
         its receipt. Its time goes to the kernel of graphs, which makes the digest, the key and two \
         replies, then to memory, to the wakers of the replies, and to clocks; `once` is stored \
         twice more, and acts in a task of its own, so that nothing breaks it off.",
    ),
    (
        &["idempotent-full", "keyed-full", "once-full"],
        "each waits for the disk as often as the limit does. What is more are records: the receipt \
         beside the step, and the row that finds its nonce. The limit also never leaves its thread, \
         and fugato lets other tasks have the thread while it waits for the disk.",
    ),
    (
        &["interrupt"],
        "the limit writes two rows for each thread: it takes no lease, makes no thread, reads no \
         question and checks no answer. fugato writes four times, though it waits for the disk with \
         only two of them: the lease and the question, then the lease and the answer, which it checks \
         against the schema of the question that it reads from the log. Its time goes to the threads \
         of the runtime that wake each other, since 64 requests share the transactions of one \
         writer, then to SQLite, to memory, and to the runs themselves.",
    ),
    (
        &["postgres", "redis"],
        "the time is the server's. On PostgreSQL the statement of the limit counts a position up and \
         adds a row; that of fugato also checks the nonce of a repeated commit, takes signals, and \
         stores the status, the time and the end of the lease, so that the server plans and writes \
         more for each. On Redis the limit pushes to a list; fugato runs a script that does the same \
         as on PostgreSQL, and Redis runs one script at a time.",
    ),
    (
        &["chat-stream", "relay"],
        "the limit looks for the text of each chunk in the bytes of one blocking socket. fugato reads \
         the whole chunk: the reasons to stop, tool calls, usage and errors of a server. Its time goes \
         to the parsing of JSON, of which the limit has less, to the client of HTTP, which hands each \
         piece from the task of the connection to that of the reader, to the kernel's sockets, to the \
         waking of tasks, and to the clock, for the time limit of a silent server.",
    ),
    (
        &["recover"],
        "most is the start of a process, and what SQLite does with the write-ahead log of one that \
         was killed; the limit has both. fugato reads that log before SQLite does, and refuses it if \
         commits are lost in it; it checks every page of a small database, and of one whose last \
         pages are in that log alone; then it opens a connection for readers, reads the thread with \
         all that `open` does, takes the lease, and stores that it has taken over before a node \
         runs: a node that kills its process would else do so for ever.",
    ),
];

/// The reasons of costs that grow.
pub(super) const GROWTH: &[(&[&str], &str)] = &[
    (
        &["subgraph"],
        "a subgraph is found by its address in an ordered tree, which gets deeper; all subgraphs of \
         the step are in memory at once, and more than the caches hold. The limit keeps one list, \
         and no subgraph outlives its call.",
    ),
    (
        &["parked"],
        "SQLite walks from the name to the thread, its snapshot and its records, in trees that get \
         deeper, and reads from the file each page that is in no cache. A reader's cache does not \
         outlast the commit of another connection, and with many threads at rest each of the answered \
         ones lies in other pages. The limit has one tree, one connection and small keys.",
    ),
];

/// Tells the reasons of those workloads of which `is_wanted` is true.
pub(super) fn told<'a>(
    reasons: &[(&'a [&'a str], &'a str)],
    is_wanted: impl Fn(&str) -> bool,
) -> String {
    let told = reasons.iter().map(|(workloads, reason)| {
        let wanted = workloads.iter().filter(|name| is_wanted(name));
        let names: Vec<_> = wanted.map(|name| format!("`{name}`")).collect();
        if names.is_empty() {
            return String::new();
        }
        format!("\n{}: {reason}\n", names.join(", "))
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;
    use crate::workload::Workload;

    #[test]
    fn reasons_are_given_for_workloads_that_there_are() {
        let known: Vec<_> = Workload::value_variants()
            .iter()
            .map(|workload| workload.spec().name)
            .collect();
        let peers = PEERS.iter().map(|(_, workloads, _)| workloads);
        let own = GOALS.iter().chain(GROWTH).map(|(workloads, _)| workloads);
        for name in peers.chain(own).copied().flatten() {
            assert!(known.contains(name), "{name}");
        }
    }
}
