// Requests to the host: frames out, answers in. A call is a promise; a description is waited for at once.
(function (native, shared) {
  "use strict";

  const { parse: parseJson } = JSON;
  const { isFinite, isInteger, isSafeInteger } = Number;
  const { keys: keysOf } = Object;
  const includes = Function.prototype.call.bind(String.prototype.includes);
  const toBigInt = BigInt;
  const ARGUMENT_BYTES = 8 << 20;
  const { ArgumentError } = shared.classes;

  // Integers that a number cannot hold become BigInts, which JSON.stringify writes exactly.
  const exact = (key, value, context) => {
    if (typeof value !== "number" || !isInteger(value) || isSafeInteger(value)) return value;
    const source = context.source;
    return includes(source, ".") || includes(source, "e") || includes(source, "E") ? value : toBigInt(source);
  };
  const parse = (text) => (native.hasLongInteger(text) ? parseJson(text, exact) : parseJson(text));

  const waiting = new Map();
  const get = waiting.get.bind(waiting);
  const set = waiting.set.bind(waiting);
  const remove = waiting.delete.bind(waiting);
  const forEach = waiting.forEach.bind(waiting);
  const sizeOf = Function.prototype.call.bind(Object.getOwnPropertyDescriptor(Map.prototype, "size").get);
  const NativePromise = Promise;
  let lastId = 0;

  function valueOf(message) {
    if (message.bytes !== undefined) return native.base64Decode(message.bytes);
    return message.value;
  }

  /** Hands an answer to whoever waits for it. */
  function deliver(text) {
    const message = parse(text);
    const entry = get(message.id);
    if (entry === undefined) return;
    remove(message.id);
    if (message.failure) entry.reject(shared.fromHost(message.failure, entry.stack));
    else entry.resolve(valueOf(message));
  }

  /** Sends a request; the promise settles with its answer. */
  function request(fields, label) {
    const id = ++lastId;
    const { stack } = new Error();
    return new NativePromise((resolve, reject) => {
      set(id, { resolve, reject, stack, label });
      native.send(`{"id":${id},${fields}}`);
    });
  }

  /** Sends a request and waits for its answer; answers to others that come before are delivered. */
  function ask(fields) {
    const id = ++lastId;
    native.send(`{"id":${id},${fields}}`);
    for (;;) {
      const text = native.receive();
      const message = parse(text);
      if (message.id !== id) {
        deliver(text);
        continue;
      }
      if (message.failure) throw shared.fromHost(message.failure);
      return valueOf(message);
    }
  }

  const json = (value) => native.encode(value, ARGUMENT_BYTES, "argument");

  function call(name, naming, args, withHeaders = false, page = undefined) {
    if (typeof name !== "string") throw new ArgumentError(`the name of a function is a text, not ${typeof name}`);
    const short = name.slice(0, 200);
    if (args === undefined || args === null) args = {};
    if (typeof args !== "object" || Array.isArray(args)) {
      throw new ArgumentError("arguments are given as one object", { function: short, hint: "write `{ name: value }`" });
    }
    for (const key of keysOf(args)) {
      // As null it would not be what was given, but nothing at all.
      if (typeof args[key] === "number" && !isFinite(args[key])) {
        const message = `\`${key.slice(0, 100)}\` is \`${args[key]}\`, a number that JSON does not have`;
        throw new ArgumentError(message, { function: short, hint: "leave it out, or give a finite number" });
      }
    }
    let text;
    try {
      text = native.encode(args, ARGUMENT_BYTES, "arguments");
    } catch (error) {
      if (error instanceof shared.ValueProblem) throw new ArgumentError(error.message, { function: short, hint: error.hint });
      throw error;
    }
    if (text[0] !== "{") throw new ArgumentError("arguments are given as one object", { function: short, hint: "write `{ name: value }`" });
    const asked = `${withHeaders ? ',"with_headers":true' : ""}${page === undefined ? "" : `,"page":${json(page)}`}`;
    return request(`"op":"call","function":${json(name)},"naming":"${naming}","arguments":${text}${asked}`, name);
  }

  let serverNames;
  function servers() {
    if (serverNames === undefined) {
      serverNames = ask('"op":"servers"').map((entry) => (typeof entry === "string" ? entry : entry.name));
    }
    return serverNames;
  }

  const describeFunctions = (server, names) => ask(`"op":"describe","server":${json(server)},"names":${json(names)}`);

  /** What is wrong with arguments that the text writes out; `calls` and the answer are JSON texts, for `check.rs`. */
  const checkAhead = (calls) => JSON.stringify(ask(`"op":"check","calls":${calls}`));

  async function search(query, by, server, limit) {
    if (typeof query !== "string" || !(server === undefined || server === null || typeof server === "string")) {
      throw new ArgumentError("the words of a search and the name of a server are texts");
    }
    if (!(limit === undefined || limit === null || (isInteger(limit) && limit > 0 && limit < 2 ** 31))) {
      throw new ArgumentError("the limit of a search is a whole number from 1");
    }
    return request(`"op":"search","query":${json(query)},"by":${json(by)},"server":${json(server ?? null)},"limit":${json(limit ?? null)}`, "searchTools");
  }

  const SAVE_BYTES = 16 << 20;

  /** Keeps a value; gives its id. */
  function save(value) {
    let text;
    try {
      text = native.encode(value === undefined ? null : value, SAVE_BYTES, "value");
    } catch (error) {
      if (!(error instanceof shared.ValueProblem)) throw error;
      throw new ArgumentError(error.message, { hint: error.hint ?? "save what is needed later only, or save it in parts" });
    }
    return request(`"op":"save","value":${text}`, "save");
  }

  /** The value under an id. */
  function load(id) {
    if (typeof id !== "string") throw new ArgumentError("the id of a value is a text");
    return request(`"op":"load","handle":${json(id)}`, "load");
  }

  /** Takes the names of all servers from the host, if it tells them. */
  function tellServers(names) {
    serverNames = names;
  }

  /** How many calls have no answer yet. */
  const underWay = () => sizeOf(waiting);

  /** Their names. */
  function namesUnderWay() {
    const names = new Set();
    forEach((entry) => names.add(entry.label));
    return [...names];
  }

  Object.assign(shared, { parse, deliver, request, ask, json, call, servers, describeFunctions, checkAhead, search, save, load, tellServers, underWay, namesUnderWay });
});
