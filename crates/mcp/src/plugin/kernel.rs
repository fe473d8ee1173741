//! The restrictions that Linux enforces on a process at its own request, without privileges:
//! Landlock for files and scopes, seccomp for system calls, limits for resources.
use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope, make_bitflags,
    path_beneath_rules,
};
use rustix::{
    process::{Resource, Rlimit, getuid, setpriority_process, setrlimit},
    thread::{CapabilitySet, CapabilitySets, set_capabilities},
};
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

/// The number of processes and threads that a plugin may add to those of its user.
const MORE_TASKS: u64 = 256;

/// The niceness of a plugin, so that other processes come first.
const PRIORITY: i32 = 10;

/// Checks that this kernel can enforce a lock.
pub(super) fn possible() -> io::Result<()> {
    ruleset(true).map_err(io::Error::other)?;
    filter(true, true).map(drop)
}

/// Locks this process in, permanently.
pub(super) fn enforce(lock: &Lock) -> io::Result<()> {
    if getuid().is_root() {
        count_tasks();
    }
    let tasks = (Resource::Nproc, tasks() + MORE_TASKS);
    for (resource, most) in LIMITS.into_iter().chain([tasks]) {
        let most = Some(most);
        let (current, maximum) = (most, most);
        // A limit that is lower already stays.
        let _ = setrlimit(resource, Rlimit { current, maximum });
    }
    // Other processes come first.
    let _ = setpriority_process(None, PRIORITY);
    landlock(lock).map_err(io::Error::other)?;
    // What root may do beyond its own files, a plugin of a server of root must not; a program that
    // is executed gains nothing any more, since Landlock has forbidden that.
    let none = CapabilitySet::empty();
    let none = CapabilitySets {
        effective: none,
        permitted: none,
        inheritable: none,
    };
    set_capabilities(None, none)?;
    apply_filter(&unknown()?).map_err(io::Error::other)?;
    apply_filter(&filter(lock.network, lock.commands)?).map_err(io::Error::other)
}

/// The begin of the names of the groups in which the kernel counts the tasks of plugins.
const GROUP: &str = "fugato-plugin-";

/// Puts this process into a group of its own whose tasks the kernel limits, where that is possible:
/// the limit of a user does not hold for root. A group outlives its processes, so those that plugins
/// have left are removed first.
fn count_tasks() {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let parents = own.lines().filter_map(|line| {
        let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
        let root = match controllers {
            "pids" => "/sys/fs/cgroup/pids",
            "" => "/sys/fs/cgroup",
            _ => return None,
        };
        Some(Path::new(root).join(group.trim_start_matches('/')))
    });
    for parent in parents {
        for entry in fs::read_dir(&parent).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(GROUP) {
                // One in which something runs stays.
                let _ = fs::remove_dir(entry.path());
            }
        }
        let group = parent.join(format!("{GROUP}{}", std::process::id()));
        let limited = || -> io::Result<()> {
            fs::create_dir_all(&group)?;
            fs::write(group.join("pids.max"), MORE_TASKS.to_string())?;
            fs::write(group.join("cgroup.procs"), "0")
        };
        // Another plugin that starts may remove the group before anything runs in it.
        if limited().or_else(|_| limited()).is_ok() {
            return;
        }
        let _ = fs::remove_dir(&group);
    }
}

/// Returns the number of processes and threads of this user, as far as they can be seen.
fn tasks() -> u64 {
    let user = getuid().as_raw();
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let own = all.filter(|entry| entry.metadata().is_ok_and(|entry| entry.uid() == user));
    let tasks = own.filter_map(|entry| fs::read_dir(entry.path().join("task")).ok());
    tasks.map(|tasks| tasks.count() as u64).sum()
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

/// The system calls that are refused to every plugin: they change what Landlock does not watch, or
/// leave something behind that outlives the plugin. The numbers are those of calls that are the same
/// on all architectures, and newer than the library that names them.
const REFUSED: [libc::c_long; 56] = [
    // Modes, owners, times and attributes of files, also of others.
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    452, // fchmodat2
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    463, // setxattrat
    466, // removexattrat
    469, // file_setattr
    // Namespaces, and what is mounted in them.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    428, // open_tree
    429, // move_mount
    430, // fsopen
    431, // fsconfig
    432, // fsmount
    433, // fspick
    442, // mount_setattr
    // Memory that could be executed as a program, or outlives its maker.
    libc::SYS_memfd_create,
    447, // memfd_secret
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // The group of processes that ends with the plugin.
    libc::SYS_setsid,
    libc::SYS_setpgid,
    // Names of files of others, and parts of the kernel that no plugin needs.
    libc::SYS_inotify_init1,
    libc::SYS_fanotify_init,
    libc::SYS_userfaultfd,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    // Requests that would go around this filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// The older forms of such calls, which only this architecture has.
#[cfg(target_arch = "x86_64")]
const OLDER: [libc::c_long; 7] = [
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_inotify_init,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: [libc::c_long; 0] = [];

/// The requests to a file that change its attributes.
const ATTRIBUTES: [u64; 3] = [0x4008_6602, 0x4004_6602, 0x401c_5820];

/// The flags by which a process begins in a namespace of its own.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWUTS,
];

/// Returns the filter of system calls. Beside those that are refused to all, it refuses to open
/// sockets: any without a network, and with one those of local services. Socket pairs within a
/// program lead nowhere. Without commands there are threads, and no other processes.
fn filter(network: bool, commands: bool) -> io::Result<BpfProgram> {
    let sockets = if network {
        let domains = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
        let others = domains.map(|domain| {
            let domain = u64::from(domain.unsigned_abs());
            SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, domain)
        });
        vec![rule(others)?]
    } else {
        vec![]
    };
    let flag = |flag: libc::c_int, set: bool| {
        let flag = u64::from(flag.unsigned_abs());
        let wanted = if set { flag } else { 0 };
        let masked = SeccompCmpOp::MaskedEq(flag);
        rule([SeccompCondition::new(
            0,
            SeccompCmpArgLen::Qword,
            masked,
            wanted,
        )])
    };
    let namespaces = NAMESPACES.iter().map(|namespace| flag(*namespace, true));
    let process = (!commands).then(|| flag(libc::CLONE_THREAD, false));
    let clones = namespaces.chain(process).collect::<io::Result<_>>()?;
    let attributes = ATTRIBUTES.map(|request| {
        let same = SeccompCmpOp::Eq;
        rule([SeccompCondition::new(
            1,
            SeccompCmpArgLen::Dword,
            same,
            request,
        )])
    });
    let attributes = attributes.into_iter().collect::<io::Result<_>>()?;
    let mut refused = vec![
        (libc::SYS_socket, sockets),
        (libc::SYS_clone, clones),
        (libc::SYS_ioctl, attributes),
    ];
    let always = REFUSED.iter().chain(&OLDER);
    refused.extend(always.map(|call| (*call, vec![])));
    #[cfg(target_arch = "x86_64")]
    if !commands {
        refused.extend([(libc::SYS_fork, vec![]), (libc::SYS_vfork, vec![])]);
    }
    compiled(refused, libc::EPERM)
}

/// Returns the filter by which a call is unknown whose flags lie in memory, where no filter can see
/// them: libraries use the older form then.
fn unknown() -> io::Result<BpfProgram> {
    compiled(vec![(libc::SYS_clone3, vec![])], libc::ENOSYS)
}

fn rule(
    conditions: impl IntoIterator<Item = Result<SeccompCondition, seccompiler::BackendError>>,
) -> io::Result<SeccompRule> {
    let conditions: Result<Vec<_>, _> = conditions.into_iter().collect();
    SeccompRule::new(conditions.map_err(io::Error::other)?).map_err(io::Error::other)
}

fn compiled(
    refused: Vec<(libc::c_long, Vec<SeccompRule>)>,
    error: libc::c_int,
) -> io::Result<BpfProgram> {
    let mut rules = BTreeMap::new();
    for (call, rule) in refused {
        // The x32 interface of a 64-bit x86 kernel has the same calls under other numbers.
        #[cfg(target_arch = "x86_64")]
        rules.insert(call | 0x4000_0000, rule.clone());
        rules.insert(call, rule);
    }
    let refuse = SeccompAction::Errno(error.unsigned_abs());
    let target = std::env::consts::ARCH
        .try_into()
        .map_err(io::Error::other)?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, target);
    let filter = filter.map_err(io::Error::other)?;
    filter.try_into().map_err(io::Error::other)
}
