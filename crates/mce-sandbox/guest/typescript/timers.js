// Timers and tasks. The worker's loop asks when the next one is due.
(function (native, shared) {
  "use strict";

  const timers = new Map();
  const MOST_MS = 2 ** 31 - 1;
  let lastId = 0;

  class Timeout {
    constructor(id) {
      this.id = id;
    }
    ref() {
      return this;
    }
    unref() {
      return this;
    }
    hasRef() {
      return true;
    }
    refresh() {
      const timer = timers.get(this.id);
      if (timer) timer.due = native.now() + timer.delay;
      return this;
    }
    [Symbol.toPrimitive]() {
      return this.id;
    }
  }

  function add(run, delay, args, isRepeated) {
    if (typeof run !== "function") throw new TypeError("a timer needs a function");
    delay = Number(delay);
    if (!(delay >= 1 && delay <= MOST_MS)) delay = isRepeated ? 1 : 0;
    const id = ++lastId;
    timers.set(id, { run, args, delay, due: native.now() + delay, isRepeated });
    return new Timeout(id);
  }

  function clear(timer) {
    if (timer !== undefined && timer !== null) timers.delete(typeof timer === "object" ? timer.id : Number(timer));
  }

  const define = (name, value) => Object.defineProperty(globalThis, name, { value, configurable: true, writable: true, enumerable: false });
  define("setTimeout", (run, delay, ...args) => add(run, delay, args, false));
  define("setInterval", (run, delay, ...args) => add(run, delay, args, true));
  define("setImmediate", (run, ...args) => add(run, 0, args, false));
  define("clearTimeout", clear);
  define("clearInterval", clear);
  define("clearImmediate", clear);
  // By a promise, so that what it throws is an unhandled rejection and not lost.
  const done = Promise.resolve();
  define("queueMicrotask", (run) => {
    if (typeof run !== "function") throw new TypeError("queueMicrotask needs a function");
    done.then(() => void run());
  });

  /** Milliseconds until the next timer is due; -1 without any. */
  function nextTimer() {
    let first = Infinity;
    for (const timer of timers.values()) if (timer.due < first) first = timer.due;
    return first === Infinity ? -1 : Math.max(0, first - native.now());
  }

  /** Runs the first timer that is due; false if none is. */
  function runTimer() {
    const now = native.now();
    let found;
    for (const [id, timer] of timers) if (timer.due <= now && (found === undefined || timer.due < found[1].due)) found = [id, timer];
    if (found === undefined) return false;
    const [id, timer] = found;
    if (timer.isRepeated) timer.due = now + timer.delay;
    else timers.delete(id);
    Reflect.apply(timer.run, undefined, timer.args);
    return true;
  }

  define("performance", {
    now: () => native.now(),
    get timeOrigin() {
      return Date.now() - native.now();
    },
    mark: () => undefined,
    measure: () => undefined,
  });

  Object.assign(shared, { nextTimer, runTimer });
});
