//! Linux namespaces, Landlock, seccomp and limits. The only crate with `unsafe`.
//!
//! ```text
//! host process ──spawn()──▶ launcher (own executable, hidden role) ──fork──▶ program: process 1 of the jail
//!   keeps Jailed: killing it,      builds namespaces and the root               a fork server; trusted, reads
//!   dropping it or dying ends      file system, then waits                      nothing that hostile code wrote
//!   everything inside                                                             │ unshare(PID), fork per run
//!                                                                                 ▼
//!                                                                     worker: carries out a SealPlan, then
//!                                                                     runs hostile code
//! ```
//!
//! The host never changes its own namespaces, limits or filters. What a worker does to lock itself in is data made
//! here ([`SealPlan`]), so that Python and Rust workers do exactly the same.
#![cfg(target_os = "linux")]
#![expect(
    unsafe_code,
    reason = "system calls that no library wraps, and fork; all in `system_call`, but for a few uses of them"
)]

mod allowed_calls;
mod call_tree;
mod command;
mod descriptors;
mod filter;
mod first_process;
mod fork_server;
mod handshake;
mod jail_error;
mod jailed;
mod landlock;
mod launcher;
mod layers;
mod limits;
mod memory_use;
mod root;
mod seal_plan;
mod seal_steps;
mod spec;
mod system_call;

pub use command::{command, outliving_command, with_lasting_parent};
pub use descriptors::{kill_process, recv_with_fds, send_with_fds};
pub use fork_server::{ForkServer, control_socket, wait_for_worker};
pub use jail_error::JailError;
pub use jailed::{Jailed, Launcher, spawn};
pub use launcher::launcher_main;
pub use layers::{LayerStatus, Layers, probe, runs_as_nobody};
pub use limits::WorkerLimits;
pub use memory_use::MemoryUse;
pub use seal_plan::{SEAL_PY, SealPlan};
pub use spec::{Bind, CONTROL_FD, JailSpec, PROC_FD, PlacedFile, ROOT, Symlink};
