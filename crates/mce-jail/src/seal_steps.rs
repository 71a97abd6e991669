//! The steps of a seal plan: what is locked, and in which order.

use crate::filter::compile_filter;
use crate::handshake::Standing;
use crate::jail_error::JailError;
use crate::landlock::{Readable, add_landlock};
use crate::limits::WorkerLimits;
use crate::memory_use::MemoryUse;
use crate::seal_plan::{Argument, Buffer, Patch, SealPlan, Step, Value};
use crate::spec::PROC_FD;
use crate::system_call::landlock_version;

const MIB: u64 = 1 << 20;

/// How much more address space than memory a worker may have. Reserved space costs nothing, and allocators reserve a lot:
/// the C library 64 MiB for each thread. What is written to counts as data and has its own limit.
const RESERVED_MIB: u64 = 2048;

/// The same where a worker has one thread, because no filter refuses processes, nor mappings that do not count as data.
const RESERVED_MIB_ALONE: u64 = 192;

/// A limit for core files that also a handler (`core_pattern` with a pipe) obeys, which ignores 0; see core(5). No core
/// file is that small.
pub(crate) const NO_CORE: u64 = 1;

/// What a plan is made from.
pub(crate) struct Worker<'a> {
    pub(crate) standing: &'a Standing,
    pub(crate) limits: &'a WorkerLimits,
    /// What the fork server has.
    pub(crate) base: MemoryUse,
    pub(crate) readable: &'a [Readable],
    /// Tasks that count against the worker's limit but are not its own.
    pub(crate) other_tasks: u64,
}

/// Steps in the making.
#[derive(Default)]
pub(crate) struct Steps(Vec<Step>);

impl Steps {
    /// Adds a step that must succeed, and returns its index.
    pub(crate) fn must(&mut self, name: &str, number: i64, arguments: Vec<Argument>) -> usize {
        self.add(name, number, arguments, true)
    }

    /// Adds a step that may fail on some machines without a hole in the jail.
    fn may(&mut self, name: &str, number: i64, arguments: Vec<Argument>) -> usize {
        self.add(name, number, arguments, false)
    }

    /// Adds a step that must succeed if `is_fatal`, and returns its index.
    pub(crate) fn add(&mut self, name: &str, number: i64, arguments: Vec<Argument>, is_fatal: bool) -> usize {
        self.0.push(Step {
            name: name.to_owned(),
            number,
            arguments,
            is_fatal,
        });
        self.0.len() - 1
    }
}

/// A number as an argument.
pub(crate) const fn number(value: i64) -> Argument {
    Argument::Number(value)
}

/// A text as an argument, ended by a zero byte.
pub(crate) fn text(text: &str) -> Argument {
    Argument::Buffer(Buffer {
        bytes: [text.as_bytes(), &[0]].concat(),
        patches: Vec::new(),
    })
}

/// Makes the plan of a worker.
///
/// The order: namespaces and mounts need capabilities, and Landlock forbids mounts; Landlock opens descriptors, which are
/// then all closed; capabilities go when nothing needs them any more; the filter is last because it refuses all of this.
pub(crate) fn make_plan(worker: &Worker<'_>) -> Result<SealPlan, JailError> {
    let layers = worker.standing.layers;
    let mut steps = Steps::default();
    // The fork server is not traceable, which its children inherit; id maps can be written only by those who are.
    steps.must("reach `/proc`", libc::SYS_prctl, prctl(libc::PR_SET_DUMPABLE, 1));
    steps.must("give up new privileges", libc::SYS_prctl, prctl(libc::PR_SET_NO_NEW_PRIVS, 1));
    // A session, and so a process group, of its own: a signal to the group reaches nobody else.
    steps.must("start a session", libc::SYS_setsid, Vec::new());
    if layers.namespaces {
        add_namespaces(&mut steps, worker);
    }
    if layers.landlock {
        let version = landlock_version().map_err(|error| JailError::Plan { detail: error.to_string() })?;
        add_landlock(&mut steps, version, worker.readable, layers.namespaces);
    }
    add_descriptors(&mut steps);
    if layers.rlimits {
        add_limits(&mut steps, worker);
    }
    add_capabilities(&mut steps);
    // A change of capabilities clears this, so that it comes after them.
    steps.must(
        "die with the fork server",
        libc::SYS_prctl,
        prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL),
    );
    steps.must("refuse to be traced", libc::SYS_prctl, prctl(libc::PR_SET_DUMPABLE, 0));
    if layers.seccomp {
        add_filter(&mut steps)?;
    }
    Ok(SealPlan {
        isolates_pids: layers.namespaces,
        steps: steps.0,
    })
}

/// A user namespace of the worker's own makes its threads count by themselves, and a mount namespace its `/tmp` private.
fn add_namespaces(steps: &mut Steps, worker: &Worker<'_>) {
    let user = if worker.standing.has_user_namespace {
        libc::CLONE_NEWUSER
    } else {
        0
    };
    let kinds = user | libc::CLONE_NEWNS | libc::CLONE_NEWIPC;
    steps.must("unshare namespaces", libc::SYS_unshare, vec![number(kinds.into())]);
    // When memory runs out, the worker is ended before its fork server.
    write_proc(steps, "self/oom_score_adj", "900", false);
    if worker.standing.has_user_namespace {
        // The worker keeps the user and group that it has.
        write_proc(steps, "self/uid_map", "1000 1000 1", true);
        write_proc(steps, "self/gid_map", "1000 1000 1", true);
        // Not even without the filter can it make a namespace below its own, in which it would have all capabilities. The
        // file may be read-only in a container.
        write_proc(steps, "sys/user/max_user_namespaces", "0", false);
        if !worker.standing.layers.seccomp {
            // Nor watch files, which kernels from 5.13 on let every process do, nor share memory that no process owns.
            write_proc(steps, "sys/user/max_fanotify_groups", "0", false);
            write_proc(steps, "sys/kernel/shmmni", "0", false);
        }
    }
    steps.must("close `/proc`", libc::SYS_close, vec![number(PROC_FD.into())]);
    let private = libc::MS_REC | libc::MS_PRIVATE;
    let mount = |source: &str, target: &str, kind: Argument, flags: u64, data: Argument| {
        vec![text(source), text(target), kind, number(flags.cast_signed()), data]
    };
    steps.must(
        "make all mounts private",
        libc::SYS_mount,
        mount("none", "/", number(0), private, number(0)),
    );
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    let WorkerLimits { tmp_mib, tmp_files, .. } = worker.limits;
    // One more for the directory itself.
    let data = text(&format!("mode=0700,size={tmp_mib}m,nr_inodes={}", tmp_files.saturating_add(1)));
    steps.must("mount `/tmp`", libc::SYS_mount, mount("tmpfs", "/tmp", text("tmpfs"), flags, data));
    steps.must("enter `/tmp`", libc::SYS_chdir, vec![text("/tmp")]);
}

/// Writes a file below the host's `/proc`.
fn write_proc(steps: &mut Steps, path: &str, content: &str, is_fatal: bool) {
    let name = format!("write `{path}`");
    let flags = i64::from(libc::O_WRONLY | libc::O_CLOEXEC);
    let length = i64::try_from(content.len()).unwrap_or_default();
    let open = vec![number(PROC_FD.into()), text(path), number(flags), number(0)];
    let file = steps.add(&name, libc::SYS_openat, open, is_fatal);
    let write = vec![Argument::Result(file), text(content), number(length)];
    steps.add(&name, libc::SYS_write, write, is_fatal);
    steps.add(&name, libc::SYS_close, vec![Argument::Result(file)], is_fatal);
}

/// Leaves 0, which is `/dev/null`, also as 1 and 2, and 3, the frame socket.
fn add_descriptors(steps: &mut Steps) {
    for target in [1, 2] {
        steps.must("close the output", libc::SYS_dup3, vec![number(0), number(target), number(0)]);
    }
    let all = i64::from(libc::c_uint::MAX);
    steps.must(
        "close all descriptors",
        libc::SYS_close_range,
        vec![number(4), number(all), number(0)],
    );
}

fn add_limits(steps: &mut Steps, worker: &Worker<'_>) {
    let Worker { limits, base, .. } = worker;
    let memory = u64::from(limits.memory_mib) * MIB;
    let cpu = u64::from(limits.cpu_seconds);
    let (tasks, reserved) = if worker.standing.layers.seccomp {
        (u64::from(limits.threads) + worker.other_tasks, RESERVED_MIB)
    } else {
        (1, RESERVED_MIB_ALONE)
    };
    let stack = u64::from(limits.stack_mib) * MIB;
    let tmp = u64::from(limits.tmp_mib) * MIB;
    let files = u64::from(limits.open_files);
    let space = base.address_space_bytes + memory + reserved * MIB;
    let mut set = |name: &str, resource: u32, soft: u64, hard: u64| {
        let bytes = [soft.to_ne_bytes(), hard.to_ne_bytes()].concat();
        let limit = Argument::Buffer(Buffer {
            bytes,
            patches: Vec::new(),
        });
        let arguments = vec![number(0), number(resource.into()), limit, number(0)];
        steps.must(&format!("limit {name}"), libc::SYS_prlimit64, arguments);
    };
    set("memory", libc::RLIMIT_DATA, base.data_bytes + memory, base.data_bytes + memory);
    set("address space", libc::RLIMIT_AS, space, space);
    set("the stack", libc::RLIMIT_STACK, stack, stack);
    // The first process of a namespace, and any that wants to, ignores the signal of a soft limit. The hard one kills.
    set("processor time", libc::RLIMIT_CPU, cpu, cpu);
    set("open files", libc::RLIMIT_NOFILE, files, files);
    set("the size of files", libc::RLIMIT_FSIZE, tmp, tmp);
    set("threads", libc::RLIMIT_NPROC, tasks, tasks);
    set("core files", libc::RLIMIT_CORE, NO_CORE, NO_CORE);
    for (name, resource) in [
        ("locked memory", libc::RLIMIT_MEMLOCK),
        ("message queues", libc::RLIMIT_MSGQUEUE),
        ("priority", libc::RLIMIT_NICE),
        ("real-time priority", libc::RLIMIT_RTPRIO),
    ] {
        set(name, resource, 0, 0);
    }
}

/// Drops all capabilities, from every set, for good.
fn add_capabilities(steps: &mut Steps) {
    /// The highest number that a kernel can have; those it does not know it refuses.
    const LAST_POSSIBLE: i32 = 40;
    /// No user is root, none gets capabilities by a change of user, none may raise ambient ones; all of it locked.
    const SECURE_BITS: i32 = 0b1110_1111;
    for capability in 0..=LAST_POSSIBLE {
        steps.may("drop a capability", libc::SYS_prctl, prctl(libc::PR_CAPBSET_DROP, capability));
    }
    steps.may("lock the secure bits", libc::SYS_prctl, prctl(libc::PR_SET_SECUREBITS, SECURE_BITS));
    steps.may(
        "drop ambient capabilities",
        libc::SYS_prctl,
        prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL),
    );
    // `struct __user_cap_header_struct` of version 3 and two empty `struct __user_cap_data_struct`.
    let header = [0x2008_0522_u32.to_ne_bytes(), 0_u32.to_ne_bytes()].concat();
    let buffer = |bytes| {
        Argument::Buffer(Buffer {
            bytes,
            patches: Vec::new(),
        })
    };
    steps.must("drop capabilities", libc::SYS_capset, vec![buffer(header), buffer(vec![0; 24])]);
}

fn add_filter(steps: &mut Steps) -> Result<(), JailError> {
    let filter = compile_filter().map_err(|error| JailError::Plan { detail: error.to_string() })?;
    let length = u16::try_from(filter.length).map_err(|_| JailError::Plan {
        detail: "the filter is too long".to_owned(),
    })?;
    let patches = filter
        .own_pid_at
        .into_iter()
        .map(|offset| Patch {
            offset,
            size: 4,
            value: Value::OwnPid,
        })
        .collect();
    // `struct sock_fprog`: the number of instructions, then, aligned, their address.
    let mut bytes = length.to_ne_bytes().to_vec();
    bytes.resize(16, 0);
    let program = Value::Pointer(Buffer {
        bytes: filter.bytes,
        patches,
    });
    let program = Argument::Buffer(Buffer {
        bytes,
        patches: vec![Patch {
            offset: 8,
            size: 8,
            value: program,
        }],
    });
    let set = number(libc::SECCOMP_SET_MODE_FILTER.into());
    steps.must("filter system calls", libc::SYS_seccomp, vec![set, number(0), program]);
    Ok(())
}

fn prctl(option: i32, value: i32) -> Vec<Argument> {
    vec![number(option.into()), number(value.into()), number(0), number(0), number(0)]
}
