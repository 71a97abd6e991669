# attempt: fill files that lie in memory and belong to no folder
# layer: seccomp
# expect: blocked
# after: host alive; host memory steady; other runs work; next run works
import os

CEILING = 1 << 30
block, total, held, refused = b"\xa5" * (1 << 20), 0, [], []
while total < CEILING:
    try:
        fd = os.memfd_create("mce-redteam")
        held.append(fd)
        for _ in range(32):
            total += os.write(fd, block)
    except OSError as error:
        refused.append(error.strerror)
        break
for fd in held:
    os.close(fd)

# Half a gigabyte is twice the limit.
result = {"escaped": total > 512 << 20, "how": f"{total >> 20} MiB, then {refused}"}
