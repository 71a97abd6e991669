"""Run once by the configured interpreter, outside any jail: says what a jail must contain for it to start. One JSON value."""

import ctypes
import importlib.util
import json
import os
import sys
import sysconfig

# Names of modules; programs that import one of them get the fork server with data libraries.
DATA_LIBRARIES = """
pandas numpy openpyxl httpx pydantic orjson matplotlib PIL polars pyarrow scipy sklearn seaborn
""".split()
# Where the package has another name than its module.
PACKAGES = {"PIL": "pillow", "sklearn": "scikit-learn"}


def main():
    """Prints the facts. The arguments are further folders with packages."""
    sys.path.extend(sys.argv[1:])
    ctypes.CDLL(None)
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        mapped = {line.split(None, 5)[5].strip() for line in maps if line.count("/")}
    paths = sysconfig.get_paths()
    facts = {
        "version": list(sys.version_info[:3]),
        "executable": os.path.realpath(sys.executable),
        "standard": _real([paths["stdlib"], paths["platstdlib"], sysconfig.get_config_var("DESTSHARED")]),
        "site": _real([paths["purelib"], paths["platlib"], *(p for p in sys.path if p.endswith(("site-packages", "dist-packages")))]),
        "shared": sorted(path for path in mapped if ".so" in os.path.basename(path)),
        "multiarch": sysconfig.get_config_var("MULTIARCH") or "",
        "libraries": [[name, _version(name)] for name in DATA_LIBRARIES if importlib.util.find_spec(name)],
    }
    print(json.dumps(facts))


def _real(paths):
    """Existing folders without links: inside the jail all paths begin at the real executable."""
    return list(dict.fromkeys(os.path.realpath(path) for path in paths if path and os.path.isdir(path)))


def _version(name):
    from importlib import metadata

    try:
        return metadata.version(PACKAGES.get(name, name))
    except metadata.PackageNotFoundError:
        return ""


main()
