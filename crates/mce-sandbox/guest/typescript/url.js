// URL and URLSearchParams. Addresses are read and changed by the host's own library; see `web.rs`.
(function (native, shared) {
  "use strict";

  const { define } = shared;

  const decode = (text) => {
    text = text.replaceAll("+", " ");
    try {
      return decodeURIComponent(text);
    } catch {
      return native.percentDecode(text.toWellFormed());
    }
  };
  const encode = (text) => encodeURIComponent(text.toWellFormed()).replace(/%20/g, "+").replace(/[!'()~]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

  class URLSearchParams {
    #pairs = [];
    #changed = () => undefined;
    constructor(init = "", changed) {
      if (shared.ownKey === changed?.key) this.#changed = changed.run;
      if (init === null || typeof init !== "object") {
        this.#read(String(init));
      } else if (typeof init[Symbol.iterator] === "function") {
        for (const [name, value] of init) this.#pairs.push([String(name), String(value)]);
      } else {
        for (const name of Object.keys(init)) this.#pairs.push([name, String(init[name])]);
      }
    }
    #read(text) {
      this.#pairs = text
        .replace(/^\?/, "")
        .split("&")
        .filter((part) => part !== "")
        .map((part) => {
          const at = part.indexOf("=");
          return at < 0 ? [decode(part), ""] : [decode(part.slice(0, at)), decode(part.slice(at + 1))];
        });
    }
    get size() {
      return this.#pairs.length;
    }
    append(name, value) {
      this.#pairs.push([String(name), String(value)]);
      this.#changed(this);
    }
    delete(name, value) {
      this.#pairs = this.#pairs.filter(([key, item]) => key !== String(name) || (value !== undefined && item !== String(value)));
      this.#changed(this);
    }
    get(name) {
      return this.#pairs.find(([key]) => key === String(name))?.[1] ?? null;
    }
    getAll(name) {
      return this.#pairs.filter(([key]) => key === String(name)).map(([, value]) => value);
    }
    has(name, value) {
      return this.#pairs.some(([key, item]) => key === String(name) && (value === undefined || item === String(value)));
    }
    set(name, value) {
      const index = this.#pairs.findIndex(([key]) => key === String(name));
      if (index < 0) return this.append(name, value);
      const before = this.#pairs.slice(0, index);
      const after = this.#pairs.slice(index + 1).filter(([key]) => key !== String(name));
      this.#pairs = [...before, [String(name), String(value)], ...after];
      this.#changed(this);
    }
    sort() {
      this.#pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
      this.#changed(this);
    }
    forEach(run, self) {
      for (const [name, value] of this.#pairs) run.call(self, value, name, this);
    }
    *entries() {
      yield* this.#pairs.map(([name, value]) => [name, value]);
    }
    *keys() {
      for (const [name] of this.#pairs) yield name;
    }
    *values() {
      for (const [, value] of this.#pairs) yield value;
    }
    [Symbol.iterator]() {
      return this.entries();
    }
    toString() {
      return this.#pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`).join("&");
    }
    toJSON() {
      return this.toString();
    }
  }
  shared.ownKey = Symbol("own");

  const PARTS = ["href", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash", "origin"];

  class URL {
    #parts;
    #params;
    constructor(address, base) {
      const found = native.readUrl(String(address).toWellFormed(), base === undefined ? null : String(base).toWellFormed());
      if (found === undefined) throw new TypeError(`Invalid URL: ${String(address).slice(0, 200)}`);
      this.#parts = found;
    }
    static canParse(address, base) {
      return URL.parse(address, base) !== null;
    }
    static parse(address, base) {
      try {
        return new URL(address, base);
      } catch {
        return null;
      }
    }
    get searchParams() {
      this.#params ??= new URLSearchParams(this.search, { key: shared.ownKey, run: (params) => this.#change("search", params.toString()) });
      return this.#params;
    }
    #change(part, value) {
      this.#parts = native.changeUrl(this.#parts[0], part, String(value).toWellFormed()) ?? this.#parts;
    }
    toString() {
      return this.href;
    }
    toJSON() {
      return this.href;
    }
    static {
      PARTS.forEach((part, index) => {
        Object.defineProperty(URL.prototype, part, {
          configurable: true,
          enumerable: true,
          get() {
            return this.#parts[index];
          },
          set: part === "origin" ? undefined : function (value) {
            this.#change(part, value);
            if (part === "search" || part === "href") this.#params = undefined;
          },
        });
      });
    }
  }

  define("URLSearchParams", URLSearchParams);
  define("URL", URL);
});
