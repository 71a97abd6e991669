// `fetch` through the host, which decides what may be reached.
(function (native, shared) {
  "use strict";

  const { define } = shared;
  const BODY_BYTES = 6 << 20;
  const FIELDS = 200;
  const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

  class Headers {
    #map = new Map();
    constructor(init) {
      if (init === undefined || init === null) return;
      const pairs = typeof init[Symbol.iterator] === "function" ? init : Object.entries(init);
      for (const [name, value] of pairs) this.append(name, value);
    }
    #key(name, value) {
      if (!TOKEN.test(name)) throw new TypeError("a header's name holds a character that is not allowed");
      if (value !== undefined && /[\0\r\n]/.test(value)) throw new TypeError("a header's value holds a line end");
      return String(name).toLowerCase();
    }
    append(name, value) {
      value = String(value).trim();
      const key = this.#key(name, value);
      this.#map.set(key, this.#map.has(key) ? `${this.#map.get(key)}, ${value}` : value);
    }
    set(name, value) {
      value = String(value).trim();
      this.#map.set(this.#key(name, value), value);
    }
    get(name) {
      return this.#map.get(this.#key(name)) ?? null;
    }
    has(name) {
      return this.#map.has(this.#key(name));
    }
    delete(name) {
      this.#map.delete(this.#key(name));
    }
    getSetCookie() {
      return this.has("set-cookie") ? [this.get("set-cookie")] : [];
    }
    forEach(run, self) {
      for (const [name, value] of this) run.call(self, value, name, this);
    }
    *entries() {
      yield* [...this.#map].sort(([a], [b]) => (a < b ? -1 : 1));
    }
    *keys() {
      for (const [name] of this.entries()) yield name;
    }
    *values() {
      for (const [, value] of this.entries()) yield value;
    }
    [Symbol.iterator]() {
      return this.entries();
    }
    toJSON() {
      return Object.fromEntries(this);
    }
  }

  /** Bytes of a body, and the media type that it has by itself. */
  function bodyOf(body) {
    if (body === undefined || body === null) return [null, null];
    if (typeof body === "string") return [new TextEncoder().encode(body), "text/plain;charset=UTF-8"];
    if (body instanceof URLSearchParams) return [new TextEncoder().encode(body.toString()), "application/x-www-form-urlencoded;charset=UTF-8"];
    if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) return [shared.bytesOf(body).slice(), null];
    throw new TypeError("a body is a text, bytes or URLSearchParams; write `JSON.stringify(value)` for JSON");
  }

  class Body {
    #bytes;
    bodyUsed = false;
    constructor(bytes) {
      this.#bytes = bytes ?? new Uint8Array(0);
    }
    get body() {
      return null;
    }
    #use() {
      if (this.bodyUsed) throw new TypeError("the body has been read already; use `clone()` to read it twice");
      this.bodyUsed = true;
      return this.#bytes;
    }
    async arrayBuffer() {
      return this.#use().slice().buffer;
    }
    async bytes() {
      return new Uint8Array(this.#use());
    }
    async text() {
      return new TextDecoder().decode(this.#use());
    }
    async json() {
      return shared.parse(await this.text());
    }
    peek(key) {
      return key === shared.ownKey ? this.#bytes : undefined;
    }
  }

  class Response extends Body {
    constructor(body, options = {}) {
      const [bytes, type] = bodyOf(body);
      super(bytes);
      this.status = options.status ?? 200;
      this.statusText = options.statusText ?? "";
      this.headers = new Headers(options.headers);
      if (type && !this.headers.has("content-type")) this.headers.set("content-type", type);
      this.url = options.url ?? "";
      this.redirected = false;
      this.type = "default";
    }
    get ok() {
      return this.status >= 200 && this.status < 300;
    }
    clone() {
      return new Response(this.peek(shared.ownKey), { status: this.status, statusText: this.statusText, headers: this.headers, url: this.url });
    }
    static json(value, options = {}) {
      return new Response(JSON.stringify(value), { ...options, headers: { "content-type": "application/json", ...options.headers } });
    }
  }

  class Request extends Body {
    constructor(input, options = {}) {
      const from = input instanceof Request ? input : undefined;
      const [bytes, type] = options.body === undefined && from ? [from.peek(shared.ownKey), null] : bodyOf(options.body);
      super(bytes);
      this.url = from ? from.url : new URL(input).href;
      this.method = String(options.method ?? from?.method ?? "GET");
      this.headers = new Headers(options.headers ?? from?.headers);
      if (type && !this.headers.has("content-type")) this.headers.set("content-type", type);
      this.signal = options.signal ?? from?.signal ?? null;
    }
  }

  async function fetch(input, options) {
    const request = new Request(input, options ?? {});
    const method = /^(get|head|post|put|patch|delete|options)$/i.test(request.method) ? request.method.toUpperCase() : request.method;
    if (!TOKEN.test(method)) throw new TypeError("the method holds a character that is not allowed");
    request.signal?.throwIfAborted();
    const bytes = request.peek(shared.ownKey);
    const fields = [...request.headers];
    if (bytes.length > BODY_BYTES) throw new TypeError(`the body is larger than ${BODY_BYTES} bytes`);
    if (fields.length > FIELDS) throw new TypeError(`a request has at most ${FIELDS} header fields`);
    const body = bytes.length ? `,"body":"${shared.base64Encode(bytes)}"` : "";
    const { json } = shared;
    const redirect = options?.redirect ?? "follow";
    const follow = redirect === "follow" ? "" : ',"follow_redirects":false';
    const sent = shared.request(`"op":"fetch","method":${json(method)},"url":${json(request.url)},"headers":${json(fields)}${body}${follow}`, "fetch");
    const aborted = new Promise((_, reject) => request.signal?.addEventListener("abort", () => reject(request.signal.reason)));
    const answer = await (request.signal ? Promise.race([sent, aborted]) : sent);
    const response = new Response(native.base64Decode(answer.body), { status: answer.status, headers: answer.headers, url: answer.url });
    if (redirect === "error" && answer.status >= 300 && answer.status < 400) throw new TypeError("the answer is a redirect");
    response.redirected = answer.url !== request.url;
    return response;
  }

  for (const [name, value] of Object.entries({ Headers, Request, Response, fetch })) define(name, value);
});
