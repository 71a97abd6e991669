// `console`: every level becomes lines of the run's log, which leave the worker at once.
(function (native, shared) {
  "use strict";

  const counts = new Map();
  const clocks = new Map();
  let indent = "";

  function line(values) {
    let text = shared.formatLine(values);
    if (indent) text = indent + text.replaceAll("\n", `\n${indent}`);
    native.log(`${text}\n`.toWellFormed());
  }

  const elapsed = (label) => `${label}: ${(native.now() - clocks.get(label)).toFixed(3)}ms`;

  function table(rows, columns) {
    if (rows === null || typeof rows !== "object") return line([rows]);
    const entries = rows instanceof Map ? [...rows] : Object.entries(rows);
    const isRow = (value) => value !== null && typeof value === "object";
    const names = columns ?? [...new Set(entries.flatMap(([, row]) => (isRow(row) ? Object.keys(row) : [])))];
    const hasValues = entries.some(([, row]) => !isRow(row));
    const cell = (value) => (value === undefined ? "" : typeof value === "string" ? value : shared.inspect(value));
    const body = entries.map(([key, row]) => [String(key), ...names.map((name) => cell(isRow(row) ? row[name] : undefined)), ...(hasValues ? [isRow(row) ? "" : cell(row)] : [])]);
    const all = [["(index)", ...names.map(String), ...(hasValues ? ["Values"] : [])], ...body];
    const widths = all[0].map((_, column) => Math.max(...all.map((row) => row[column].length)));
    const texts = all.map((row) => `| ${row.map((text, column) => text.padEnd(widths[column])).join(" | ")} |`);
    texts.splice(1, 0, `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`);
    line([texts.join("\n")]);
  }

  const console = {
    log: (...values) => line(values),
    info: (...values) => line(values),
    debug: (...values) => line(values),
    warn: (...values) => line(values),
    error: (...values) => line(values),
    trace: (...values) => line(["Trace:", ...values]),
    dir: (value) => line([shared.inspect(value)]),
    dirxml: (...values) => line(values),
    table,
    assert: (condition, ...values) => {
      if (!condition) line(["Assertion failed", ...(values.length ? [":"] : []), ...values]);
    },
    count: (label = "default") => {
      counts.set(label, (counts.get(label) ?? 0) + 1);
      line([`${label}: ${counts.get(label)}`]);
    },
    countReset: (label = "default") => counts.delete(label),
    time: (label = "default") => clocks.set(label, native.now()),
    timeLog: (label = "default", ...values) => clocks.has(label) && line([elapsed(label), ...values]),
    timeEnd: (label = "default") => {
      if (clocks.has(label)) line([elapsed(label)]);
      clocks.delete(label);
    },
    group: (...values) => {
      if (values.length) line(values);
      indent += "  ";
    },
    groupEnd: () => {
      indent = indent.slice(2);
    },
    clear: () => undefined,
  };
  console.groupCollapsed = console.group;
  Object.defineProperty(globalThis, "console", { value: console, configurable: true, writable: true, enumerable: false });
});
