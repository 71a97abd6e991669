#!/usr/bin/env python3
"""Runs a command as it would run on another machine. Standard library only; Linux on x86_64 or aarch64.

usage: run_on.py [--user] [--no-user-namespaces] [--container] [--no-landlock] [--no-seccomp] -- COMMAND [ARGUMENT ...]

  --user                 as the ordinary user 1000; nothing changes where it is not root that runs this
  --no-user-namespaces   the kernel makes no user namespace (it says ENOSPC); root keeps what it may
  --container            the same, and root has only the capabilities that Docker gives: it cannot make any namespace
  --no-landlock          the kernel does not know the system calls of Landlock (ENOSYS)
  --no-seccomp           the kernel has no filters of system calls (ENOSYS)

It is the kernel that refuses, not the command: for namespaces by the limits of a user namespace that this makes, for the
others by a filter. The process stays the same one, so that signals and the end of its parent reach the command.
"""
import argparse
import ctypes
import os
import platform
import struct
import sys

USER = 1000
NEW_USER = 0x10000000
# chown, dac_override, fowner, fsetid, kill, setgid, setuid, setpcap, net_bind_service, net_raw, sys_chroot, mknod,
# audit_write, setfcap
DOCKER = (0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31)
LAST_CAPABILITY = 63
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 24, 38, 22, 2
LANDLOCK = (444, 445, 446)
SECCOMP = (277,) if platform.machine() in ("aarch64", "arm64") else (317,)
ENOSYS = 38

libc = ctypes.CDLL(None, use_errno=True)


def checked(value):
    if value < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def map_ids(pid):
    """Gives a new user namespace the ids of this one: all of them, or the own ones where only those may be given."""
    if os.geteuid() != 0:
        maps = {"uid_map": f"{os.getuid()} {os.getuid()} 1", "gid_map": f"{os.getgid()} {os.getgid()} 1"}
        with open(f"/proc/{pid}/setgroups", "w") as file:
            file.write("deny")
    else:
        maps = {}
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/self/{name}") as file:
                lines = [line.split() for line in file]
            maps[name] = "".join(f"{first} {first} {count}\n" for first, _, count in lines)
    for name, text in maps.items():
        with open(f"/proc/{pid}/{name}", "w") as file:
            file.write(text)


def enter_user_namespace():
    """The maps are written by a child that has stayed outside."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(write)
        status = 1
        try:
            if os.read(read, 1):
                map_ids(os.getppid())
                status = 0
        finally:
            os._exit(status)
    checked(libc.unshare(NEW_USER))
    os.write(write, b"!")
    os.close(read)
    os.close(write)
    if os.waitpid(child, 0)[1]:
        sys.exit("run_on.py: the ids of a user namespace cannot be mapped here")


def without_user_namespaces():
    enter_user_namespace()
    with open("/proc/sys/user/max_user_namespaces", "w") as file:
        file.write("0")


def keep_capabilities(kept):
    """What is dropped from the bounding set, root does not get when the command is executed."""
    for number in range(LAST_CAPABILITY + 1):
        if number not in kept and libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0) < 0:
            return  # The kernel knows no further one.


def refuse_calls(numbers):
    """A filter by which these system calls are unknown."""
    load, equal, give = 0x20, 0x15, 0x06
    lines = [(load, 0, 0, 0)]
    lines += [(equal, len(numbers) - place, 0, number) for place, number in enumerate(numbers)]
    lines += [(give, 0, 0, 0x7FFF0000), (give, 0, 0, 0x00050000 | ENOSYS)]
    text = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *line) for line in lines))
    program = struct.pack("@HxxxxxxQ", len(lines), ctypes.addressof(text))
    checked(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    checked(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.c_char_p(program), 0, 0))


def become_user():
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(USER, USER, USER)
        os.setresuid(USER, USER, USER)


def main():
    parser = argparse.ArgumentParser(description="Runs a command as it would run on another machine.")
    for name in ("--user", "--no-user-namespaces", "--container", "--no-landlock", "--no-seccomp"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("command", nargs="+")
    args = parser.parse_args()
    if args.no_user_namespaces or args.container:
        without_user_namespaces()
    if args.container:
        keep_capabilities(DOCKER)
    if args.user:
        become_user()
    unknown = LANDLOCK * args.no_landlock + SECCOMP * args.no_seccomp
    if unknown:
        refuse_calls(unknown)
    os.execv(args.command[0], args.command)


if __name__ == "__main__":
    main()
