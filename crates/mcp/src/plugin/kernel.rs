//! The restrictions that Linux enforces on a process at its own request, without privileges:
//! Landlock for files and scopes, seccomp for system calls, limits for resources.
use std::{collections::BTreeMap, fs, io, path::PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope, make_bitflags,
    path_beneath_rules,
};
use rustix::process::{Resource, Rlimit, setpriority_process, setrlimit};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

use super::lock::Lock;

/// The required version: with an older one a program could truncate files that it may only read.
const LEAST: ABI = ABI::V3;
/// The newest version that is used if available.
const MOST: ABI = ABI::V9;

/// The places of the system's programs and libraries, and files that nearly every program reads.
const SYSTEM: [&str; 11] = [
    "/bin",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/mime.types",
    "/lib",
    "/lib32",
    "/lib64",
    "/nix/store",
    "/opt",
    "/sbin",
    "/usr",
];
/// The files that network clients read.
const NETWORK: [&str; 8] = [
    "/etc/ca-certificates",
    "/etc/gai.conf",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/pki",
    "/etc/resolv.conf",
    "/etc/ssl",
];
/// Devices without data of others.
const DEVICES: [&str; 5] = [
    "/dev/full",
    "/dev/null",
    "/dev/random",
    "/dev/urandom",
    "/dev/zero",
];
const MICROPHONE: [&str; 1] = ["/dev/snd"];

/// The limits of processor time in seconds, of open files, and of the bytes of a file and of
/// memory.
const LIMITS: [(Resource, u64); 5] = [
    (Resource::Core, 0),
    (Resource::Cpu, 60 * 60),
    (Resource::Nofile, 1024),
    (Resource::Fsize, 1 << 30),
    (Resource::Data, 4 << 30),
];

/// The niceness of a plugin, so that other processes come first.
const PRIORITY: i32 = 10;

/// Checks that this kernel can enforce a lock.
pub(super) fn possible() -> io::Result<()> {
    ruleset(true).map_err(io::Error::other)?;
    filter(true).map(drop)
}

/// Locks this process in, permanently.
pub(super) fn enforce(lock: &Lock) -> io::Result<()> {
    for (resource, most) in LIMITS {
        let most = Some(most);
        let (current, maximum) = (most, most);
        // A limit that is lower already stays.
        let _ = setrlimit(resource, Rlimit { current, maximum });
    }
    // Other processes come first.
    let _ = setpriority_process(None, PRIORITY);
    landlock(lock).map_err(io::Error::other)?;
    apply_filter(&filter(lock.network)?).map_err(io::Error::other)
}

/// Creates the rules. Accesses without a rule are denied, those that no rule handles are allowed:
/// TCP is handled only without a network.
fn ruleset(network: bool) -> Result<landlock::RulesetCreated, RulesetError> {
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(LEAST))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(MOST))?
        .scope(Scope::from_all(MOST))?;
    let rules = if network {
        rules
    } else {
        rules.handle_access(AccessNet::from_all(MOST))?
    };
    rules.create()
}

fn landlock(lock: &Lock) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let read = make_bitflags!(AccessFs::{ReadFile | ReadDir});
    let run: BitFlags<AccessFs> = make_bitflags!(AccessFs::{Execute | ReadFile});
    // Plugins need to create no symbolic links and no devices.
    let write = make_bitflags!(AccessFs::{
        ReadFile | ReadDir | WriteFile | Truncate | MakeReg | MakeDir | RemoveFile | RemoveDir
            | Refer
    });
    let device = make_bitflags!(AccessFs::{ReadFile | WriteFile});
    let mut rules = ruleset(lock.network)?
        .add_rules(path_beneath_rules(SYSTEM, read))?
        .add_rules(path_beneath_rules(DEVICES, device))?
        .add_rules(path_beneath_rules(&lock.reads, read))?
        .add_rules(path_beneath_rules(&lock.writes, write))?
        .add_rules(path_beneath_rules(&lock.runs, run))?
        .add_rules(path_beneath_rules(loaders(), run))?;
    if lock.network {
        rules = rules.add_rules(path_beneath_rules(NETWORK, read))?;
    }
    if lock.commands {
        let run = read | AccessFs::Execute;
        rules = rules
            .add_rules(path_beneath_rules(SYSTEM, run))?
            .add_rules(path_beneath_rules(&lock.reads, run))?;
    }
    if lock.listens {
        let device = device | read | AccessFs::IoctlDev;
        rules = rules.add_rules(path_beneath_rules(MICROPHONE, device))?;
    }
    match rules.restrict_self()?.ruleset {
        RulesetStatus::NotEnforced => Err("the kernel enforces nothing".into()),
        _ => Ok(()),
    }
}

/// Returns the dynamic loaders of the system, which must be executable to start a program.
fn loaders() -> Vec<PathBuf> {
    let entries = ["/lib", "/lib64"]
        .into_iter()
        .flat_map(fs::read_dir)
        .flatten();
    let paths = entries.flatten().map(|entry| entry.path());
    let is_loader = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("ld-") || name.starts_with("ld.so")
    };
    paths.filter(is_loader).collect()
}

/// Returns the filter of system calls. It refuses to open sockets: any without a network, and with
/// one those of local services. Socket pairs within a program lead nowhere. `io_uring` is refused,
/// since its requests would bypass the filter.
fn filter(network: bool) -> io::Result<BpfProgram> {
    let sockets = if network {
        let domains = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
        let others = domains.map(|domain| {
            let domain = u64::from(domain.unsigned_abs());
            SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, domain)
        });
        let others: Result<Vec<_>, _> = others.into_iter().collect();
        vec![SeccompRule::new(others.map_err(io::Error::other)?).map_err(io::Error::other)?]
    } else {
        vec![]
    };
    let refused = [
        (libc::SYS_socket, sockets),
        (libc::SYS_io_uring_setup, vec![]),
        (libc::SYS_io_uring_enter, vec![]),
        (libc::SYS_io_uring_register, vec![]),
    ];
    let mut rules = BTreeMap::new();
    for (call, rule) in refused {
        // The x32 interface of a 64-bit x86 kernel has the same calls under other numbers.
        #[cfg(target_arch = "x86_64")]
        rules.insert(call | 0x4000_0000, rule.clone());
        rules.insert(call, rule);
    }
    let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let target = std::env::consts::ARCH
        .try_into()
        .map_err(io::Error::other)?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, target);
    let filter = filter.map_err(io::Error::other)?;
    filter.try_into().map_err(io::Error::other)
}
