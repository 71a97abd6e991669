"""Errors: those that host calls raise in a program, and the description of whatever ended a program."""

import builtins
import difflib
import errno
import json
import sys
import traceback

from .values import ValueProblem

FILE = "<program>"
MESSAGE_CHARS = 2000
BODY_CHARS = 500
# Faults of a text that are told beside the first.
_ALSO = 20
FETCH_HINT = (
    "programs have no network of their own: `from mce import fetch` reaches the hosts of `MCE_ALLOWED_DOMAINS`, "
    "and functions of servers all else"
)
# What programs import to send requests.
_HTTP_LIBRARIES = ("aiohttp", "httpcore", "httplib2", "httpx", "pycurl", "requests", "urllib3", "websockets")

# Set by the worker: gives the names of all servers, and the names of `mce` that are not there without an import, for hints.
server_names = list
helper_names = ()


class CallError(Exception):
    """A host call failed. `type` is the kind of the failure, `function` the function that was meant."""

    type = "internal"

    def __init__(self, message="", *, function=None, status=None, body=None, hint=None, type=None):
        super().__init__(message)
        self.message = message
        self.function = function
        self.status = status
        self.body = body
        self.hint = hint
        if type is not None:
            self.type = type

    def __str__(self):
        """The message and the start of the API's body."""
        if self.body is None:
            return self.message
        try:
            text = self.body if isinstance(self.body, str) else json.dumps(self.body, ensure_ascii=False)
        except (TypeError, ValueError, RecursionError):
            return self.message
        return f"{self.message}: {_text(text.strip(), BODY_CHARS)}"

    def __reduce__(self):
        return _restore, (self.__class__, self.message, dict(vars(self)))


def _restore(kind, message, state):
    error = kind(message)
    vars(error).update(state)
    return error


class ArgumentError(CallError, TypeError):
    """A function, argument or value that does not exist or is not allowed."""

    type = "argument"


class ApiError(CallError):
    """The API answered with an error: `status`, `body`."""

    type = "api"


class ToolError(CallError):
    """A tool of an MCP server answered with an error."""

    type = "tool"


class PolicyError(CallError, PermissionError):
    """Not allowed by the configuration."""

    type = "policy"


class ApprovalError(CallError, PermissionError):
    """Not approved."""

    type = "approval"


class CallTimeoutError(CallError, TimeoutError):
    """The function took too long."""

    type = "timeout"


class OutputError(CallError):
    """The answer is too large."""

    type = "output"


CLASSES = {c.type: c for c in (ArgumentError, ApiError, ToolError, PolicyError, ApprovalError, CallTimeoutError, OutputError, CallError)}


def from_host(failure):
    """The exception for a failure that the host reports."""
    kind = CLASSES.get(failure["type"], CallError)
    return kind(
        failure["message"],
        function=failure.get("function"),
        status=failure.get("status"),
        body=failure.get("body"),
        hint=failure.get("hint"),
        type=failure["type"],
    )


def similar(name, names):
    """The name most like `name`, or None."""
    found = difflib.get_close_matches(name[:100], [n for n in names if isinstance(n, str)][:5000], 1, 0.6)
    return found[0] if found else None


def did_you_mean(name, names):
    """A hint, or None."""
    found = similar(name, names)
    return f"did you mean `{found}`?" if found and found != name else None


def refuse(found):
    """Raises the first of these faults by line, with the others beside it. Does nothing if there are none."""
    if found:
        first, *others = sorted(found, key=lambda fault: fault.line or 0)
        first.also = others
        raise first


class Refused(Exception):
    """The program is refused before it starts."""

    def __init__(self, message, line=None, hint=None, function=None, type="argument"):
        super().__init__(message)
        self.line = line
        self.hint = hint
        self.function = function
        self.type = type
        # What else is wrong with the text.
        self.also = []


def describe(error, lines, has_traceback):
    """The error object of a run for whatever a program raised. `lines` is the program's text."""
    if isinstance(error, Refused):
        described = _object(error.type, str(error), error.line, lines, error.hint, function=error.function)
        told = error.line
        for other in error.also[:_ALSO]:
            finding = _object(None, str(other), other.line, lines, other.hint)
            if other.line == told:
                finding.pop("source", None)
            described.setdefault("also", []).append(finding)
            told = other.line
        return described
    if isinstance(error, SyntaxError) and error.filename == FILE and _line_of(error) is None:
        return _object("syntax", f"{type(error).__name__}: {_text(error.msg)}", error.lineno, lines, _syntax_hint(error))
    if isinstance(error, ValueProblem):
        return _object("exception", str(error), None, lines, error.hint)
    group, error = error, _alone(error)
    line = _line_of(error) or _line_of(group)
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        error = MemoryError()
    if isinstance(error, CallError):
        described = _object(error.type, error.message, line, lines, error.hint, function=error.function)
        for key in ("status", "body"):
            if getattr(error, key, None) is not None:
                described[key] = getattr(error, key)
    elif isinstance(error, MemoryError):
        _forget(error)
        hint = "work on smaller pieces, or keep less at once"
        described = _object("memory", "MemoryError: the program needs more memory than its limit allows", line, lines, hint)
    else:
        name, text = _text(type(error).__name__, 100), _limit_text(error) or _text(_str(error))
        described = _object("exception", f"{name}: {text}" if text else name, line, lines, _hint(error))
    if has_traceback:
        described["traceback"] = _traceback(error)
    return described


def _object(kind, message, line, lines, hint, **more):
    described = {"type": kind, "message": _text(message)} if kind else {"message": _text(message, 500)}
    if isinstance(line, int) and 0 < line <= max(len(lines), 1):
        described["line"] = line
        source = lines[line - 1].strip() if line <= len(lines) else ""
        if source:
            described["source"] = source[:300]
    described.update({key: value for key, value in more.items() if value is not None})
    if hint:
        described["hint"] = _text(hint, 500)
    return described


def _line_of(error):
    """The innermost line of the program's own text."""
    line, step = None, error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == FILE:
            line = step.tb_lineno
        step = step.tb_next
    return line


def _text(value, limit=MESSAGE_CHARS):
    text = value if type(value) is str else str(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _str(error):
    try:
        if isinstance(error, KeyError) and type(error) is KeyError and len(error.args) == 1:
            return repr(error.args[0])[:MESSAGE_CHARS]
        if isinstance(error, SystemExit):
            return "the program ended itself" + (f" with {error.code}" if type(error.code) in (int, str) else "")
        if _is_group(error):
            listed = "; ".join(f"{type(inner).__name__}: {_str(inner)}"[:300] for inner in error.exceptions[:3])
            return f"{error}: {listed}"
        return str(error)
    except BaseException:
        return "(its text cannot be read)"


def _alone(error):
    """The only error of a group, as of a task group; else the error itself."""
    while _is_group(error) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _is_group(error):
    return sys.version_info >= (3, 11) and type(error) in (BaseExceptionGroup, ExceptionGroup)


def _limit_text(error):
    """The limit that a system error means, beside the system's own words."""
    number = getattr(error, "errno", None) if isinstance(error, OSError) else None
    if number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"{_str(error)}: the limit on bytes and files in /tmp is reached"
    if number in (errno.EMFILE, errno.ENFILE):
        return f"{_str(error)}: the limit on open files is reached"
    if number == errno.EAGAIN and "fork" in _str(error) or type(error) is RuntimeError and "start new thread" in _str(error):
        return f"{_str(error)}: the limit on threads and processes is reached"
    return None


def _hint(error):
    try:
        return _hint_of(error)
    except BaseException:
        # A hostile object must not replace its own error by another one.
        return None


def _hint_of(error):
    own = getattr(error, "hint", None)
    if isinstance(own, str):
        return own
    if isinstance(error, OSError) and _is_of(error, ("/multiprocessing/",)):
        return "programs are one process: use `concurrent.futures.ThreadPoolExecutor`, or `from mce import parallel`"
    if _is_of(error, ("/socket.py", "/http/client.py")):
        return FETCH_HINT
    frame = _last_frame(error)
    if isinstance(error, NameError) and isinstance(error.name, str) and frame is not None:
        if error.name in helper_names:
            return f"write `from mce import {error.name}`"
        if error.name == "mce":
            return "write `import mce`"
        return did_you_mean(error.name, [*frame.f_locals, *frame.f_globals, *vars(builtins), *helper_names])
    if isinstance(error, AttributeError) and isinstance(error.name, str):
        if type(error.obj) is dict and error.name in error.obj:
            return f"answers are plain data: write `[{error.name!r}]`"
        return did_you_mean(error.name, dir(error.obj)) or _await_hint(error)
    if isinstance(error, TypeError):
        return _await_hint(error)
    if isinstance(error, RecursionError):
        return "use a loop, or check the case that ends the recursion"
    if isinstance(error, ModuleNotFoundError):
        return _import_hint(error)
    if isinstance(error, FileNotFoundError):
        return "programs see no files but their own in `/tmp`: a function of a server may read what is meant"
    if isinstance(error, PermissionError):
        return "programs run without network, processes and host files; write to `/tmp` only"
    return None


def _is_of(error, files):
    """Whether the error, or one behind it, went through one of these files."""
    for _ in range(10):
        if not isinstance(error, BaseException):
            return False
        step = error.__traceback__
        while step is not None:
            if any(file in step.tb_frame.f_code.co_filename for file in files):
                return True
            step = step.tb_next
        error = error.__cause__ or error.__context__
    return False


def _import_hint(error):
    if str(error.name).partition(".")[0] in _HTTP_LIBRARIES:
        return f"`{error.name}` is not installed, and {FETCH_HINT}"
    servers = server_names()
    close = did_you_mean(str(error.name).partition(".")[0], servers)
    listed = ", ".join(f"`{name}`" for name in servers[:20]) + (", ..." if len(servers) > 20 else "")
    return close or f"import from the standard library, installed libraries, or `<server>.functions` of: {listed or 'no server'}"


def _await_hint(error):
    text = _str(error)
    if "'coroutine' object" in text:
        return "put `await` before the call that makes it"
    if "can't be used in 'await' expression" in text or "an awaitable is required" in text or _is_of_gather(error):
        return "functions of `<server>.functions` give their values at once; awaitable ones are in `<server>.aio`"
    return None


def _is_of_gather(error):
    frame = _last_frame(error)
    return frame is not None and frame.f_code.co_name == "gather" and frame.f_code.co_filename.endswith("/asyncio/tasks.py")


def _last_frame(error):
    frame, step = None, error.__traceback__
    while step is not None:
        frame, step = step.tb_frame, step.tb_next
    return frame


def _syntax_hint(error):
    text = str(error.msg)
    if "await" in text and "outside" in text:
        return "`await` works at the top level and inside `async def`"
    if "'return' outside function" in text:
        return "assign to `result`, or put the code into `def main():`"
    return None


def _traceback(error):
    try:
        lines = traceback.format_exception(type(error), error, error.__traceback__, limit=50)
        kept = "".join(line for line in lines if "/mce_guest/" not in line)
        return kept[-8000:]
    except BaseException:
        return None


def _forget(error):
    """Lets go of what the program held, so that there is memory for its error."""
    try:
        traceback.clear_frames(error.__traceback__)
    except RuntimeError:
        pass
    error.__traceback__ = None
    vars(sys.modules["__main__"]).clear()
