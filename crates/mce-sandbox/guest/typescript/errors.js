// The errors that host calls raise, and what the host is told about whatever ended a program.
(function (native, shared) {
  "use strict";

  /** A host call failed. `type` is the kind of the failure, `function` the function that was meant. */
  class CallError extends Error {
    constructor(message, details = {}) {
      super(message);
      this.type = details.type ?? this.constructor.type ?? "internal";
      for (const key of ["function", "status", "body", "hint"]) {
        if (details[key] !== undefined && details[key] !== null) this[key] = details[key];
      }
    }
  }

  const kinds = { __proto__: null };
  function define(name, type) {
    const kind = { [name]: class extends CallError {} }[name];
    kind.type = type;
    kinds[type] = kind;
    return kind;
  }
  const classes = {
    CallError,
    ApiError: define("ApiError", "api"),
    ToolError: define("ToolError", "tool"),
    ArgumentError: define("ArgumentError", "argument"),
    PolicyError: define("PolicyError", "policy"),
    ApprovalError: define("ApprovalError", "approval"),
    CallTimeoutError: define("CallTimeoutError", "timeout"),
    OutputError: define("OutputError", "output"),
  };
  for (const name of Object.keys(classes)) {
    Object.defineProperty(classes[name].prototype, "name", { value: name, configurable: true, writable: true });
  }

  /** The error for a failure that the host reports. `stack` is that of the call. */
  function fromHost(failure, stack) {
    const error = new (kinds[failure.type] ?? CallError)(failure.message, failure);
    if (stack !== undefined) Object.defineProperty(error, "stack", { value: stack, configurable: true, writable: true });
    return error;
  }

  const text = (value) => (typeof value === "string" ? value : value === undefined ? undefined : String(value));
  function read(error, key) {
    try {
      return error[key];
    } catch {
      return undefined;
    }
  }

  /** Plain facts about a thrown value. Nothing that a hostile object does here can replace its own error. */
  function describe(error) {
    const isError = error instanceof Error;
    const facts = { isCall: isError && error instanceof CallError, isError, name: "", message: "", stack: "" };
    try {
      facts.stack = text(read(error, "stack")) ?? "";
      if (isError) {
        facts.name = text(read(error, "name")) || "Error";
        facts.message = text(read(error, "message")) ?? "";
        const cause = read(error, "cause");
        const errors = read(error, "errors");
        if (error instanceof AggregateError && Array.isArray(errors)) {
          const listed = errors.slice(0, 3).map((inner) => (inner instanceof Error ? `${inner.name}: ${inner.message}` : String(inner)));
          facts.message += `${facts.message ? " " : ""}(${errors.length} errors: ${listed.join("; ")}${errors.length > 3 ? "; ..." : ""})`;
        }
        if (cause instanceof Error) facts.message += ` (cause: ${cause.name}: ${cause.message})`;
      } else {
        facts.stack = text(shared.stackOf(error)) ?? facts.stack;
        facts.message = typeof error === "string" ? error : shared.inspect(error);
      }
    } catch {
      facts.message = "(its text cannot be read)";
    }
    const hint = read(error, "hint");
    if (isError && typeof hint === "string") facts.hint = hint;
    if (facts.isCall) {
      for (const key of ["type", "function", "status", "body"]) facts[key] = read(error, key);
    }
    return facts;
  }

  Object.assign(shared, { classes, fromHost, describe });
});
