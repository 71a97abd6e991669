// Text of any value for a reader of logs, in the manner of Node's `util.inspect`. Bounded in depth and length.
(function (native, shared) {
  "use strict";

  const DEPTH = 5;
  const ITEMS = 100;
  const WIDTH = 76;
  const CHARS = 1 << 20;
  const NAME = /^[A-Za-z_$][\w$]*$/;

  const quote = (text) => {
    const mark = !text.includes("'") ? "'" : !text.includes('"') ? '"' : !text.includes("`") ? "`" : "'";
    const inner = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"');
    return mark + (mark === "'" ? inner.replaceAll("'", "\\'") : inner) + mark;
  };
  const keyText = (key) => (typeof key === "symbol" ? `[${String(key)}]` : NAME.test(key) ? key : quote(key));

  function primitive(value) {
    switch (typeof value) {
      case "string":
        return quote(value);
      case "bigint":
        return `${value}n`;
      case "number":
        return Object.is(value, -0) ? "-0" : String(value);
      default:
        return String(value);
    }
  }

  function constructorName(value) {
    for (let object = value; object !== null; object = Object.getPrototypeOf(object)) {
      const descriptor = Object.getOwnPropertyDescriptor(object, "constructor");
      if (descriptor && typeof descriptor.value === "function" && descriptor.value.name) return descriptor.value.name;
    }
    return null;
  }

  class Inspector {
    constructor() {
      this.path = [];
      this.left = CHARS;
    }

    format(value, depth) {
      if (value === null || (typeof value !== "object" && typeof value !== "function")) return primitive(value);
      if (this.path.includes(value)) return "[Circular]";
      if (this.left <= 0) return "...";
      this.path.push(value);
      try {
        const text = this.object(value, depth);
        this.left -= text.length;
        return text;
      } catch (error) {
        return `[${typeof value}]`;
      } finally {
        this.path.pop();
      }
    }

    object(value, depth) {
      const name = constructorName(value);
      if (value instanceof Error) return this.error(value, depth);
      if (typeof value === "function") return this.withProperties(functionText(value), value, depth, false);
      if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
      if (value instanceof RegExp) return String(value);
      if (value instanceof Promise) return "Promise { ... }";
      if (value instanceof String || value instanceof Number || value instanceof Boolean) return `[${name}: ${primitive(value.valueOf())}]`;
      if (depth > DEPTH) return Array.isArray(value) ? "[Array]" : `[${name ?? "Object"}]`;
      if (Array.isArray(value)) return this.list(name === "Array" ? "" : `${name}(${value.length}) `, value, depth);
      if (value instanceof Map) {
        const items = [...value].slice(0, ITEMS).map(([key, item]) => `${this.format(key, depth + 1)} => ${this.format(item, depth + 1)}`);
        return wrap(`Map(${value.size}) {`, items, "}", value.size - items.length, depth);
      }
      if (value instanceof Set) {
        const items = [...value].slice(0, ITEMS).map((item) => this.format(item, depth + 1));
        return wrap(`Set(${value.size}) {`, items, "}", value.size - items.length, depth);
      }
      if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return this.list(`${name}(${value.length}) `, Array.from(value.subarray(0, ITEMS + 1)), depth, value.length);
      if (value instanceof ArrayBuffer) return `ArrayBuffer { byteLength: ${value.byteLength} }`;
      if (typeof value.href === "string" && (name === "URL" || name === "Request")) return `${name} { ${value.href} }`;
      const tag = value[Symbol.toStringTag];
      const prefix = name === null ? "[Object: null prototype] " : name === "Object" ? "" : `${name} `;
      return this.withProperties(typeof tag === "string" && tag && tag !== name ? `${prefix}[${tag}] ` : prefix, value, depth, true);
    }

    list(prefix, value, depth, length = value.length) {
      const items = [];
      for (let index = 0; index < value.length && index < ITEMS; index++) items.push(index in value ? this.format(value[index], depth + 1) : "<empty>");
      return wrap(`${prefix}[`, items, "]", length - items.length, depth);
    }

    withProperties(prefix, value, depth, isObject) {
      const keys = Reflect.ownKeys(value).filter((key) => Object.getOwnPropertyDescriptor(value, key)?.enumerable);
      if (!isObject && keys.length === 0) return prefix;
      const items = keys.slice(0, ITEMS).map((key) => {
        const descriptor = Object.getOwnPropertyDescriptor(value, key);
        const shown = "value" in descriptor ? this.format(descriptor.value, depth + 1) : descriptor.get ? (descriptor.set ? "[Getter/Setter]" : "[Getter]") : "[Setter]";
        return `${keyText(key)}: ${shown}`;
      });
      return wrap(`${prefix}${isObject ? "" : " "}{`, items, "}", keys.length - items.length, depth);
    }

    error(value, depth) {
      const head = `${value.name}: ${value.message}`;
      const stack = typeof value.stack === "string" ? native.mapStack(value.stack).trimEnd() : "";
      let text = stack ? `${head}\n${stack}` : head;
      if (depth > 0) text = `[${head}]`;
      if (Array.isArray(value.errors)) text += ` { errors: ${this.format(value.errors, depth + 1)} }`;
      if (value.cause !== undefined) text += ` { cause: ${this.format(value.cause, depth + 1)} }`;
      return text;
    }
  }

  function functionText(value) {
    const isClass = /^class\b/.test(Function.prototype.toString.call(value));
    return isClass ? `[class ${value.name || "(anonymous)"}]` : `[Function${value.name ? `: ${value.name}` : " (anonymous)"}]`;
  }

  function wrap(open, items, close, more, depth) {
    if (more > 0) items.push(`... ${more} more item${more === 1 ? "" : "s"}`);
    if (items.length === 0) return open + close;
    const line = `${open} ${items.join(", ")} ${close}`;
    if (line.length + depth * 2 <= WIDTH && !line.includes("\n")) return line;
    const inner = "  ".repeat(depth + 1);
    return `${open}\n${items.map((item) => inner + item).join(",\n")}\n${"  ".repeat(depth)}${close}`;
  }

  function inspect(value) {
    try {
      return new Inspector().format(value, 0);
    } catch {
      return "(its text cannot be made)";
    }
  }

  const shown = (value) => (typeof value === "string" ? value : inspect(value));

  /** The text of a line of the console, with the format codes of the first text. */
  function formatLine(values) {
    let index = 0;
    const parts = [];
    if (typeof values[0] === "string" && values.length > 1 && values[0].includes("%")) {
      index = 1;
      parts.push(
        values[0].replace(/%[sdifjoOc%]/g, (code) => {
          if (code === "%%") return "%";
          if (index >= values.length) return code;
          const value = values[index++];
          switch (code) {
            case "%s":
              return typeof value === "object" ? inspect(value) : String(value);
            case "%d":
              return typeof value === "bigint" ? `${value}n` : String(Number(value));
            case "%i":
              return String(Math.trunc(Number(value)));
            case "%f":
              return String(Number(value));
            case "%j":
              return String(JSON.stringify(value));
            case "%c":
              return "";
            default:
              return inspect(value);
          }
        }),
      );
    }
    for (; index < values.length; index++) parts.push(shown(values[index]));
    return parts.join(" ");
  }

  Object.assign(shared, { inspect, formatLine });
});
