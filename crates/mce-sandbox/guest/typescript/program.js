// The program contract at run time: which value a program has, and which rejections nobody handled.
(function (native, shared) {
  "use strict";

  const rejected = new Map();
  let first;

  /** Wraps `main` where the text calls it, so that it is known what it gave. Only its first call counts. */
  function called(main) {
    if (typeof main !== "function" || /^class\b/.test(Function.prototype.toString.call(main))) return main;
    return (...args) => {
      if (first !== undefined) return main(...args);
      const record = { main, value: undefined };
      first = record;
      record.value = main(...args);
      return record.value;
    };
  }

  // Values that are no errors have no stack of their own.
  let thrown;
  function noteThrown(value) {
    if (!(value instanceof Error)) thrown = { value, stack: new Error().stack };
    return value;
  }
  /** Where a value that is no error was thrown. */
  const stackOf = (value) => (thrown !== undefined && Object.is(thrown.value, value) ? thrown.stack : undefined);

  /** What the program's text names decides: `main`, else `result`, else the default export, which is also the last expression. */
  async function valueOf(exports, hasMain, hasResult) {
    const named = () => (hasResult ? exports.__mce_result__ : globalThis.result);
    if (hasMain && typeof exports.__mce_main__ === "function") {
      if (first === undefined || first.main !== exports.__mce_main__) return exports.__mce_main__();
      if (hasResult) return named();
      return shared.isOwnDefault ? exports.default : first.value;
    }
    if (hasResult || "result" in globalThis) return named();
    const value = exports.default;
    if (typeof value === "function" && shared.isOwnDefault && !/^class\b/.test(Function.prototype.toString.call(value))) return value();
    return value;
  }

  function trackRejection(promise, reason, isHandled) {
    if (isHandled) rejected.delete(promise);
    else rejected.set(promise, reason);
  }

  /** The first rejection that nobody handled, in a list; else an empty list. */
  function unhandled() {
    for (const reason of rejected.values()) return [reason];
    return [];
  }

  const hidden = (name, value) => Object.defineProperty(globalThis, name, { value, configurable: true, writable: true, enumerable: false });

  /** Names that the text assigns without a declaration exist from the start, as in a script. */
  function prepare(params, written, isOwnDefault) {
    shared.isOwnDefault = isOwnDefault;
    hidden("__mce_params__", params);
    for (const name of written) if (!(name in globalThis)) hidden(name, undefined);
  }

  /** Says in the log that calls were left alone. */
  function noteLeft() {
    const count = shared.underWay();
    const names = shared.namesUnderWay().slice(0, 5).map((label) => `\`${label.slice(0, 100)}\``).join(", ");
    console.warn(`note: the program ended before ${count === 1 ? "a call" : `${count} calls`} of ${names} had an answer; put \`await\` before calls`);
  }

  // Known from the start, so that a program that uses them is not taken to name servers.
  hidden("__mce_params__", undefined);
  hidden("__mce_called__", called);
  hidden("__mce_here__", (value) => value);
  hidden("__mce_thrown__", noteThrown);

  BigInt.prototype.toJSON = function () {
    return JSON.rawJSON(String(this));
  };
  Object.defineProperty(BigInt.prototype, "toJSON", { enumerable: false });
  Math.random = () => native.random();

  Object.assign(shared, { valueOf, trackRejection, unhandled, stackOf, prepare, noteLeft });
});
