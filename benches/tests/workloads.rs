//! Every workload runs, and checks what came of it, on fugato and on the hand-written programs.
use std::{path::Path, process::Command, thread};

use clap::ValueEnum;
use fugato_benches::{
    host::Hosts,
    measure::{Answer, Measurement},
    report::{FUGATO, LIMIT},
    workload::Workload,
};

#[test]
fn each_workload_runs_and_does_what_it_should() {
    let folder = tempfile::tempdir().expect("the system has room for a folder");
    let mut hosts = Hosts::default();
    let trials = Workload::value_variants().iter().filter_map(|workload| {
        let host = workload.host().map(|host| hosts.url(host));
        (host != Some(None)).then(|| (*workload, host.flatten()))
    });
    let (trials, folder) = (trials.collect::<Vec<_>>(), folder.path());
    // Most wait for a disk or a server.
    thread::scope(|scope| {
        for some in trials.chunks(trials.len().div_ceil(4)) {
            scope.spawn(move || {
                for (workload, host) in some {
                    for system in [FUGATO, LIMIT] {
                        try_out(system, *workload, folder, host.clone());
                    }
                }
            });
        }
    });
    let left: Vec<_> = folder.read_dir().expect("it is there").collect();
    assert!(left.is_empty(), "databases are removed: {left:?}");
}

fn try_out(system: &str, workload: Workload, folder: &Path, server: Option<String>) {
    let measured = measure(system, workload, folder, server);
    let has_disk = matches!(workload, Workload::LoopNormal | Workload::LoopFull);
    assert_eq!(measured.bytes.is_some(), has_disk, "{system} {workload:?}");
    let is_ranked = matches!(
        workload,
        Workload::Parked | Workload::Relay | Workload::SearchText | Workload::SearchVectors
    );
    assert_eq!(
        measured.p99_us.is_some(),
        is_ranked,
        "{system} {workload:?}"
    );
    assert!(measured.us_wall > 0.0, "{system} {workload:?}");
}

fn measure(system: &str, workload: Workload, folder: &Path, server: Option<String>) -> Measurement {
    let output = Command::new(env!("CARGO_BIN_EXE_compare"))
        .args(["--run", system, workload.spec().name, "4", "0"])
        .arg(folder)
        .args(server)
        .output()
        .expect("the program was built");
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{system} {workload:?}: {why}");
    match serde_json::from_slice(&output.stdout).expect("a line of JSON") {
        Answer::Measured(measured) => measured,
        Answer::Unsupported { unsupported } => panic!("{system} {workload:?}: {unsupported}"),
    }
}
