"""The programs that are measured: how each is installed and started, and what it made."""
import ast
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
METHODS = "get|put|post|delete|options|head|patch|trace"


@dataclass
class Result:
    operations: int | None  # None: it makes none
    size: int  # bytes of output
    note: str = ""


def make(name, mce, folder):
    """A program by its name, installed into `folder` if it is not there."""
    return Mce(mce) if name == "mce" else PEERS[name](folder)


def venv(folder, name, version):
    python = folder / name / "bin/python"
    mark = folder / name / f"installed-{version}"
    if not mark.is_file():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder / name], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{name}=={version}"], check=True)
        mark.touch()
    return python


def reason(folder):
    """The last line of an error that says something."""
    text = (folder / "stderr").read_text(errors="replace") or (folder / "stdout").read_text(errors="replace")
    lines = [line.strip(" │╭╰─╮╯") for line in re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()]
    lines = [line for line in lines if line and not line.startswith(("at ", "If you believe", "For further information"))]
    named = [line for line in lines if re.match(r"(\w+\.)*\w*(Error|Exception)\b", line)]
    return (named or lines or ["no message"])[-1].replace("|", "\\|")[:160]


def broken(files):
    """How many Python files do not parse, as a note."""
    bad = 0
    for file in files:
        try:
            ast.parse(file.read_text())
        except SyntaxError:
            bad += 1
    return f"{bad} of {len(files)} files do not parse" if bad else ""


class Mce:
    def __init__(self, binary):
        self.binary, self.title = binary, "`mce compile`"

    def command(self, document, folder):
        (folder / "mce.yaml").write_text(json.dumps({"servers": {"peer": {"openapi": str(document), "base_url": "https://api.example"}}}))
        return [self.binary, "compile", "--json"]

    def result(self, folder):
        server = json.loads((folder / "stdout").read_text())["servers"][0]
        return Result(server["compiled"], (folder / "data/state.db").stat().st_size)


class PythonClient:
    def __init__(self, folder):
        self.python, self.title = venv(folder, "openapi-python-client", "0.29.1"), "openapi-python-client 0.29.1"

    def command(self, document, folder):
        # Its hooks only format what it wrote; enums as literals is what it advises where it fails over two equal names.
        (folder / "config.yaml").write_text("post_hooks: []\nliteral_enums: true\n")
        options = ["--path", document, "--config", "config.yaml", "--meta", "none", "--output-path", "out"]
        return [self.python.parent / "openapi-python-client", "generate", *options]

    def result(self, folder):
        files = list((folder / "out").rglob("*.py"))
        operations = [file for file in (folder / "out/api").rglob("*.py") if file.name != "__init__.py"]
        log = (folder / "stdout").read_text(errors="replace") + (folder / "stderr").read_text(errors="replace")
        lost = len(re.findall(rf"^WARNING parsing (?:{METHODS}) ", log, re.MULTILINE | re.IGNORECASE))
        notes = [f"{lost} warnings of parts it leaves out" if lost else "", broken(files)]
        return Result(len(operations), sum(file.stat().st_size for file in files), "; ".join(filter(None, notes)))


class ModelGenerator:
    def __init__(self, folder):
        self.python, self.title = venv(folder, "datamodel-code-generator", "0.89.0"), "datamodel-code-generator 0.89.0"

    def command(self, document, folder):
        options = ["--input-file-type", "openapi", "--openapi-scopes", "schemas", "paths", "--output-model-type", "typing.TypedDict"]
        return [self.python.parent / "datamodel-codegen", "--input", document, *options, "--target-python-version", "3.11", "--output", "models"]

    def result(self, folder):
        files = list((folder / "models").rglob("*.py")) or [folder / "models"]
        return Result(None, sum(file.stat().st_size for file in files), broken(files))


class FastMcp:
    def __init__(self, folder):
        self.python, self.title = venv(folder, "fastmcp", "4.2.3"), "FastMCP 4.2.3 `from_openapi`"

    def command(self, document, folder):
        return [self.python, HERE / "fastmcp_tools.py", document]

    def result(self, folder):
        made = json.loads((folder / "stdout").read_text().splitlines()[-1])
        return Result(made["tools"], made["bytes"], "output: what `tools/list` puts before the model")


class TypeScriptTypes:
    def __init__(self, folder):
        self.folder, self.title = folder / "openapi-typescript", "openapi-typescript 7.13.0"
        if not (self.folder / "node_modules/.bin/openapi-typescript").exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            command = ["npm", "install", "--prefix", self.folder, "--no-audit", "--no-fund", "--silent", "openapi-typescript@7.13.0", "typescript@5.9.3"]
            subprocess.run(command, check=True)

    def command(self, document, folder):
        return [self.folder / "node_modules/.bin/openapi-typescript", document, "--output", "types.d.ts"]

    def result(self, folder):
        text = (folder / "types.d.ts").read_text()
        paths = text.partition("export interface paths {")[2].partition("\n}\n")[0]
        operations = len(re.findall(rf"^        (?:{METHODS}): ", paths, re.MULTILINE))
        return Result(operations, len(text.encode()))


PEERS = {"openapi-python-client": PythonClient, "datamodel-code-generator": ModelGenerator, "fastmcp": FastMcp, "openapi-typescript": TypeScriptTypes}
NAMES = ("mce", *PEERS)
