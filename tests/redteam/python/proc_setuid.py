# attempt: become root by calls, by programs that change the user, and by a file of its own that does
# layer: namespace, landlock, seccomp
# expect: blocked
# after: no leftover process; no leftover file; next run works
import os
import stat

became, refused = [], []
for name, change in (
    ("setuid", lambda: os.setuid(0)),
    ("setgid", lambda: os.setgid(0)),
    ("setresuid", lambda: os.setresuid(0, 0, 0)),
    ("setgroups", lambda: os.setgroups([0])),
):
    try:
        change()
        became.append(name)
    except OSError as error:
        refused.append(f"{name}: {error.strerror}")

marked = []
for folder in ("/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/lib/dbus-1.0", "/usr/lib/openssh"):
    try:
        for entry in os.scandir(folder):
            if entry.is_file() and entry.stat().st_mode & (stat.S_ISUID | stat.S_ISGID):
                marked.append(entry.path)
    except OSError:
        pass
try:
    with open("/tmp/redteam-setuid", "wb") as file:
        file.write(b"#!/bin/echo ESCAPED: a file of the program ran\n")
    os.chmod("/tmp/redteam-setuid", 0o4755)
    marked.append("/tmp/redteam-setuid")
except OSError as error:
    refused.append(f"a file of its own: {error.strerror}")
for path in marked:
    try:
        # If it works, the process is replaced, and the run ends without a verdict.
        os.execve(path, [path, "--version"], {})
    except OSError as error:
        refused.append(f"{path}: {error.strerror}")

result = {"escaped": bool(became), "how": f"became {became}; refused {refused[:8]}"}
