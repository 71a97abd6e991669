//! The kernel's wider interface: refused by the filter, and harmless without it because no capability is left.

use serde_json::json;

use crate::harness::{ALL, ALONE_NAMESPACES, Jail, WITHOUT_NAMESPACES, WITHOUT_SECCOMP, Who, launcher, limits, shared, spec};

/// Number on `x86_64`, number on `aarch64`, name.
const REFUSED: &[(u32, u32, &str)] = &[
    (101, 117, "ptrace"),
    (310, 270, "process_vm_readv"),
    (311, 271, "process_vm_writev"),
    (312, 272, "kcmp"),
    (434, 434, "pidfd_open"),
    (438, 438, "pidfd_getfd"),
    (165, 40, "mount"),
    (166, 39, "umount2"),
    (155, 41, "pivot_root"),
    (161, 51, "chroot"),
    (428, 428, "open_tree"),
    (429, 429, "move_mount"),
    (430, 430, "fsopen"),
    (433, 433, "fspick"),
    (442, 442, "mount_setattr"),
    (272, 97, "unshare"),
    (308, 268, "setns"),
    (248, 217, "add_key"),
    (249, 218, "request_key"),
    (250, 219, "keyctl"),
    (321, 280, "bpf"),
    (425, 425, "io_uring_setup"),
    (323, 282, "userfaultfd"),
    (298, 241, "perf_event_open"),
    (300, 262, "fanotify_init"),
    (303, 264, "name_to_handle_at"),
    (304, 265, "open_by_handle_at"),
    (170, 161, "sethostname"),
    (164, 170, "settimeofday"),
    (227, 112, "clock_settime"),
    (163, 89, "acct"),
    (103, 116, "syslog"),
    (246, 104, "kexec_load"),
    (175, 105, "init_module"),
    (313, 273, "finit_module"),
    (176, 106, "delete_module"),
    (179, 60, "quotactl"),
    (167, 224, "swapon"),
    (168, 225, "swapoff"),
    (169, 142, "reboot"),
    (135, 92, "personality"),
    (319, 279, "memfd_create"),
    (317, 277, "seccomp"),
    (105, 146, "setuid"),
    (126, 91, "capset"),
    (92, 55, "chown of nobody's choice"),
    (424, 424, "pidfd_send_signal"),
    (129, 138, "rt_sigqueueinfo"),
    (203, 122, "sched_setaffinity"),
    (141, 140, "setpriority"),
    (444, 444, "landlock_create_ruleset"),
];

#[test]
fn the_kernels_wider_interface_is_refused() {
    for layers in [ALL, WITHOUT_NAMESPACES] {
        for (x86, arm, name) in REFUSED {
            let value = shared(layers, Who::Tester).value(&format!("result = call({x86}, {arm}, 0, 0, 0, 0, 0)"));
            assert_eq!(value, "EPERM", "{name} {layers:?}");
        }
    }
}

#[test]
fn no_namespace_is_made_through_clone() {
    let program = "
import struct
flags = [0x10000000, 0x00020000, 0x20000000, 0x40000000, 0x08000000, 0x04000000, 0x02000000]
result = sorted({call(56, 220, flag | 17, 0, 0, 0, 0) for flag in flags} | {call(56, 220, flag | 0x10000, 0, 0, 0, 0) for flag in flags})
result.append(call(435, 435, struct.pack('<8Q', 0x10000000, 0, 0, 0, 17, 0, 0, 0), 64))
";
    for layers in [ALL, WITHOUT_NAMESPACES] {
        assert_eq!(shared(layers, Who::Tester).value(program), json!(["EPERM", "ENOSYS"]));
    }
}

#[test]
fn calls_of_the_x32_interface_are_refused() {
    assert_eq!(
        shared(ALL, Who::Tester).value("result = call(39 | 0x40000000, 172 | 0x40000000)"),
        "EPERM"
    );
}

#[test]
fn without_the_filter_nothing_of_the_system_can_be_changed() {
    let program = "
import os
result = [call(170, 161, b'x', 1), call(165, 40, b'none', b'/tmp', b'tmpfs', 0, 0), call(161, 51, b'/tmp'), call(166, 39, b'/tmp', 2),
    call(169, 142, 0xFEE1DEAD, 672274793, 0x12345678, 0), call(164, 170, 0, 0), call(308, 268, 3, 0), call(321, 280, 0, bytes(128), 128)]
";
    for layers in [WITHOUT_SECCOMP, ALONE_NAMESPACES] {
        for who in [Who::Tester, Who::User] {
            let value = shared(layers, who).value(program);
            for outcome in value.as_array().unwrap() {
                // `settimeofday` with nothing to set does nothing.
                assert!(
                    ["EPERM", "EINVAL", "EACCES"].contains(&outcome.as_str().unwrap_or("done")) || outcome == 0,
                    "{value}"
                );
            }
            assert_eq!(value[1], "EPERM");
        }
    }
}

#[test]
fn without_the_filter_no_namespace_is_made_either() {
    let flags = "[0x10000000, 0x00020000, 0x20000000, 0x40000000, 0x08000000, 0x04000000, 0x02000000, 0x80]";
    let program = format!("result = sorted({{call(272, 97, flag) for flag in {flags}}})");
    for who in [Who::Tester, Who::User] {
        let value = shared(ALONE_NAMESPACES, who).value(&program);
        assert_eq!(value, json!(["ENOSPC", "EPERM"]), "{who:?}");
    }
}

#[test]
fn no_capability_is_left() {
    let program = "
import ctypes, struct
data = ctypes.create_string_buffer(24)
call(125, 90, struct.pack('<Ii', 0x20080522, 0), data)
bounding = sum(call(157, 167, 23, number, 0, 0, 0) == 1 for number in range(64))
result = [data.raw.hex(), bounding, call(157, 167, 39, 0, 0, 0, 0), call(157, 167, 3, 0, 0, 0, 0)]
";
    for layers in [WITHOUT_SECCOMP, ALONE_NAMESPACES] {
        for who in [Who::Tester, Who::User] {
            // No capability in any set, no new privileges, not traceable.
            assert_eq!(
                shared(layers, who).value(program),
                json!(["0".repeat(48), 0, 1, 0]),
                "{layers:?} {who:?}"
            );
        }
    }
}

#[test]
fn the_fork_server_keeps_one_capability() {
    let program = "@
import ctypes, struct
data = ctypes.create_string_buffer(24)
call(125, 90, struct.pack('<Ii', 0x20080522, 0), data)
bounding = sum(call(157, 167, 23, number, 0, 0, 0) == 1 for number in range(64))
result = [*struct.unpack('<6I', data.raw), call(157, 167, 39, 0, 0, 0, 0), bounding]
";
    let admin = 1 << 21;
    for who in [Who::Tester, Who::User] {
        assert_eq!(shared(ALL, who).value(program), json!([admin, admin, admin, 0, 0, 0, 1, 0]));
        let value = shared(WITHOUT_NAMESPACES, who).value(program);
        assert_eq!(
            value.as_array().unwrap().get(..7),
            json!([0, 0, 0, 0, 0, 0, 1]).as_array().map(Vec::as_slice)
        );
    }
}

#[test]
fn control_of_devices_and_processes_is_limited() {
    let program = "
import fcntl, termios
result = [attempt(fcntl.ioctl, 0, termios.TIOCSTI, b'x'), attempt(fcntl.fcntl, 3, 8, 1), attempt(fcntl.fcntl, 3, 1),
    call(157, 167, 4, 1, 0, 0, 0), call(157, 167, 0x59616d61, -1, 0, 0, 0)]
";
    assert_eq!(
        shared(ALL, Who::Tester).value(program),
        json!(["EPERM", "EPERM", 1, "EPERM", "EPERM"])
    );
}

#[test]
fn memory_is_never_writable_and_executable() {
    let program = "
import mmap
result = [attempt(mmap.mmap, -1, 4096, mmap.MAP_PRIVATE | 0x20, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC),
    call(10, 226, 0, 4096, 7)]
";
    assert_eq!(shared(ALL, Who::Tester).value(program), json!(["EPERM", "EPERM"]));
}

#[test]
fn without_the_filter_no_key_of_the_host_is_found() {
    // A host whose session holds a key; the jail is started from within it.
    let add = "
import ctypes, os, sys
libc = ctypes.CDLL(None)
arm = os.uname().machine == 'aarch64'
libc.syscall(219 if arm else 250, 1, None)
assert libc.syscall(217 if arm else 248, b'user', b'mce-jail-key', b'secret', 6, -3) > 0, 'the kernel has no key rings'
os.execv(sys.argv[1], sys.argv[1:])
";
    let program = "
result = [call(249, 218, b'user', b'mce-jail-key', 0, 0), call(250, 219, 11, -3, 0, 0), call(248, 217, b'user', b'x', b'y', 1, -3)]
";
    for who in [Who::Tester, Who::User] {
        let inner = launcher(who);
        let arguments = ["-c".into(), add.into(), inner.program.into_os_string()];
        let outer = mce_jail::Launcher {
            program: "/usr/bin/python3".into(),
            arguments: arguments.into_iter().chain(inner.arguments).collect(),
        };
        let jail = Jail::launched(&spec(WITHOUT_SECCOMP), &outer, &limits()).unwrap();
        // The session's key ring is empty, and nothing can be put into it.
        assert_eq!(jail.value(program), json!(["EACCES", 0, "EACCES"]), "{who:?}");
    }
}

#[test]
fn without_the_filter_no_files_are_watched() {
    let program = "result = [call(300, 262, 0, 0), call(300, 262, 0x200, 0)]";
    for who in [Who::Tester, Who::User] {
        let value = shared(WITHOUT_SECCOMP, who).value(program);
        for outcome in value.as_array().unwrap() {
            assert!(["EPERM", "EMFILE"].contains(&outcome.as_str().unwrap_or("made")), "{value}");
        }
    }
}
