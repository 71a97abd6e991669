// Events and abort signals.
(function (native, shared) {
  "use strict";

  const { define } = shared;

  class Event {
    constructor(type, options = {}) {
      this.type = String(type);
      this.cancelable = Boolean(options.cancelable);
      this.defaultPrevented = false;
      this.target = null;
      this.timeStamp = native.now();
    }
    preventDefault() {
      if (this.cancelable) this.defaultPrevented = true;
    }
    stopPropagation() {}
    stopImmediatePropagation() {
      this.isStopped = true;
    }
  }

  class EventTarget {
    #listeners = new Map();
    addEventListener(type, listener, options = {}) {
      if (!listener) return;
      const list = this.#listeners.get(type) ?? [];
      if (!list.some((entry) => entry.listener === listener)) list.push({ listener, isOnce: Boolean(options?.once) });
      this.#listeners.set(type, list);
    }
    removeEventListener(type, listener) {
      const list = this.#listeners.get(type) ?? [];
      this.#listeners.set(type, list.filter((entry) => entry.listener !== listener));
    }
    dispatchEvent(event) {
      event.target = this;
      const own = this[`on${event.type}`];
      if (typeof own === "function") own.call(this, event);
      for (const { listener, isOnce } of [...(this.#listeners.get(event.type) ?? [])]) {
        if (event.isStopped) break;
        if (isOnce) this.removeEventListener(event.type, listener);
        if (typeof listener === "function") listener.call(this, event);
        else listener.handleEvent(event);
      }
      return !event.defaultPrevented;
    }
  }

  const abort = Symbol("abort");
  class AbortSignal extends EventTarget {
    aborted = false;
    reason = undefined;
    onabort = null;
    [abort](reason = new DOMException("the operation was aborted", "AbortError")) {
      if (this.aborted) return;
      this.aborted = true;
      this.reason = reason;
      this.dispatchEvent(new Event("abort"));
    }
    throwIfAborted() {
      if (this.aborted) throw this.reason;
    }
    static abort(reason) {
      const signal = new AbortSignal();
      signal[abort](reason);
      return signal;
    }
    static timeout(ms) {
      const signal = new AbortSignal();
      setTimeout(() => signal[abort](new DOMException("the operation took too long", "TimeoutError")), ms);
      return signal;
    }
    static any(signals) {
      const joined = new AbortSignal();
      for (const signal of signals) {
        if (signal.aborted) joined[abort](signal.reason);
        else signal.addEventListener("abort", () => joined[abort](signal.reason));
      }
      return joined;
    }
  }

  class AbortController {
    signal = new AbortSignal();
    abort(reason) {
      this.signal[abort](reason);
    }
  }

  for (const [name, value] of Object.entries({ Event, EventTarget, AbortSignal, AbortController })) define(name, value);
});
