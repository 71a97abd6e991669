// Which plain value an object stands for when it becomes JSON. The walk itself, and all bounds, are in `values.rs`.
(function (native, shared) {
  "use strict";

  // Kept from here, so that a program that replaces them harms only itself.
  const bound = (method) => Function.prototype.call.bind(method);
  const getTime = bound(Date.prototype.getTime);
  const toIsoString = bound(Date.prototype.toISOString);
  const mapEntries = bound(Map.prototype.entries);
  const setValues = bound(Set.prototype.values);
  const mapNext = bound(Object.getPrototypeOf(new Map().entries()).next);
  const setNext = bound(Object.getPrototypeOf(new Set().values()).next);
  const regexText = bound(RegExp.prototype.toString);
  const toWellFormed = bound(String.prototype.toWellFormed);
  const textOf = String;
  const { isView } = ArrayBuffer;
  const { getPrototypeOf } = Object;

  class ValueProblem extends Error {
    constructor(message, hint) {
      super(message);
      this.hint = hint;
    }
  }

  /** Whether `read` works on the value, which only an object of its own kind lets it. */
  function fits(read, value) {
    try {
      read(value);
      return true;
    } catch {
      return false;
    }
  }

  function pairsOf(map) {
    const keys = [];
    const values = [];
    const entries = mapEntries(map);
    for (let step = mapNext(entries); !step.done; step = mapNext(entries)) {
      keys.push(step.value[0]);
      values.push(step.value[1]);
    }
    return ["pairs", keys, values];
  }

  function itemsOf(set) {
    const items = [];
    const values = setValues(set);
    for (let step = setNext(values); !step.done; step = setNext(values)) items.push(step.value);
    return ["value", items];
  }

  /** What an object that is neither a plain object nor a list stands for: a kind and what belongs to it. */
  function stand(value) {
    if (typeof value === "function") return ["refused", value.name ? `function ${value.name}` : "function"];
    if (typeof value.toJSON === "function" && !isBytes(value)) return ["value", value.toJSON("")];
    if (value instanceof Date && fits(getTime, value)) return ["value", Number.isNaN(getTime(value)) ? null : toIsoString(value)];
    if (value instanceof Map && fits(mapEntries, value)) return pairsOf(value);
    if (value instanceof Set && fits(setValues, value)) return itemsOf(value);
    if (isBytes(value)) return ["value", { base64: shared.base64Encode(shared.bytesOf(value)) }];
    if (isView(value)) return ["value", Array.from(value)];
    if (value instanceof Error) return ["value", { error: `${value.name}: ${value.message}`.slice(0, 2000) }];
    if (value instanceof RegExp) return ["value", regexText(value)];
    if (value instanceof String || value instanceof Number || value instanceof Boolean || value instanceof BigInt) return ["value", value.valueOf()];
    if (value instanceof Promise) return ["promise"];
    if (value instanceof Symbol || value instanceof WeakMap || value instanceof WeakSet || value instanceof WeakRef) return ["refused", value.constructor.name];
    if (typeof value.next === "function" && typeof value[Symbol.iterator] === "function") return ["iterator", () => value.next()];
    if (typeof value.next === "function" && typeof value[Symbol.asyncIterator] === "function") return ["refused", "async generator"];
    return ["object"];
  }

  const isBytes = (value) => value instanceof Uint8Array || value instanceof Uint8ClampedArray || value instanceof ArrayBuffer || value instanceof DataView;

  Object.assign(shared, {
    ValueProblem,
    stand,
    textOf: (value) => toWellFormed(textOf(value)),
    isPlain: (value) => {
      const prototype = getPrototypeOf(value);
      return prototype === null || prototype === Object.prototype;
    },
  });
});
