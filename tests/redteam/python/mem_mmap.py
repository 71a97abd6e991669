# attempt: take memory by mappings of every kind, which the allocator's limits do not see
# layer: rlimit, seccomp, limit
# expect: limit:memory
# after: host alive; other runs work; no leftover process; next run works
import mmap

CEILING = 2 << 30
BLOCK = 16 << 20
GROWSDOWN = 0x100
held, total, refused = [], 0, []
for name, flags in (
    ("shared", mmap.MAP_SHARED | mmap.MAP_ANONYMOUS),
    ("growing down", mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | GROWSDOWN),
    ("locked", mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x2000),
    ("private", mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS),
):
    while total < CEILING:
        try:
            block = mmap.mmap(-1, BLOCK, flags)
        except OSError as error:
            refused.append(f"{name}: {error.strerror}")
            break
        held.append(block)
        for offset in range(0, BLOCK, mmap.PAGESIZE):
            block[offset] = 1
        total += BLOCK
# Half a gigabyte is twice the limit.
if total <= 512 << 20:
    held.clear()
    raise MemoryError(f"{total >> 20} MiB, then {refused}")

result = {"escaped": True, "how": f"{total >> 20} MiB were held"}
