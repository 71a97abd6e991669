// Servers as objects whose functions appear when they are looked up, and the helpers of the module `mce`.
(function (native, shared) {
  "use strict";

  const { ArgumentError } = shared.classes;
  const known = new Map();
  const objects = new Map();
  // What `paginate` needs to know of a function.
  const madeFrom = new WeakMap();

  // Names that languages and consoles look up by themselves.
  const QUIET = new Set(["then", "catch", "finally", "toJSON", "constructor", "prototype", "inspect", "valueOf", "toString", "length", "name", "nodeType"]);

  const listed = (names, most = 20) => names.slice(0, most).map((name) => `\`${name}\``).join(", ") + (names.length > most ? ", ..." : "");

  function stubsOf(server) {
    let stubs = known.get(server);
    if (stubs === undefined) {
      stubs = { functions: new Map(), unknown: new Map(), isComplete: false };
      known.set(server, stubs);
    }
    return stubs;
  }

  /** Keeps what the host described. */
  function addStubs(server, described) {
    const stubs = stubsOf(server);
    for (const stub of described.functions) stubs.functions.set(stub.name, stub);
    for (const [name, hint] of described.unknown) stubs.unknown.set(name, hint);
    return stubs;
  }

  function lookUp(server, name) {
    const stubs = stubsOf(server);
    if (!stubs.functions.has(name) && !stubs.unknown.has(name)) addStubs(server, shared.describeFunctions(server, [name]));
    return stubs.functions.get(name);
  }

  function allNames(server) {
    const stubs = stubsOf(server);
    if (!stubs.isComplete) {
      addStubs(server, shared.describeFunctions(server, []));
      stubs.isComplete = true;
    }
    return [...stubs.functions.keys()].sort();
  }

  /** Asks for functions before the program runs; the description as JSON text, for `check.rs`. */
  function describeAhead(server, names) {
    const described = shared.describeFunctions(server, names);
    addStubs(server, described);
    return JSON.stringify(described);
  }

  /** Refuses arguments that the function does not have, before anything is sent. */
  function checkArguments(stub, given, count) {
    const details = { function: stub.function };
    const fail = (message, hint) => {
      throw new ArgumentError(message, { ...details, hint });
    };
    if (count > 1 || (given !== undefined && (given === null || typeof given !== "object" || Array.isArray(given)))) {
      fail(`\`${stub.function}\` takes its arguments as one object`, stub.signature);
    }
    const names = stub.parameters.map((parameter) => parameter.name);
    const keys = given === undefined ? [] : Object.keys(given);
    for (const key of keys) {
      if (!names.includes(key) && !stub.open) {
        const close = native.similar(key, names);
        fail(`\`${stub.function}\` has no argument \`${key.slice(0, 100)}\``, close ? `did you mean \`${close}\`?` : `its arguments: ${listed(names) || "none"}`);
      }
    }
    const missing = stub.parameters.filter((parameter) => parameter.required && (given === undefined || !(parameter.name in given))).map((parameter) => parameter.name);
    if (missing.length) fail(`\`${stub.function}\` needs ${listed(missing)}`, stub.signature);
  }

  function makeFunction(stub) {
    const make = {
      async [stub.name](...args) {
        checkArguments(stub, args[0], args.length);
        return shared.call(stub.function, "language", args[0]);
      },
    };
    const made = make[stub.name];
    Object.defineProperty(made, "signature", { value: stub.signature });
    madeFrom.set(made, stub);
    /** The same with the answer's `status` and `headers` beside its `value`; of a tool, its `content`. */
    made.withHeaders = made.withContent = async (...args) => {
      checkArguments(stub, args[0], args.length);
      return wholeAnswer(stub, args[0]);
    };
    return made;
  }

  /** A page has an address of its own if its arguments do not say all. */
  async function wholeAnswer(stub, args, address) {
    const { status, headers, content, value, base64 } = await shared.call(stub.function, "language", args, true, address);
    const answer = { value: base64 === undefined ? value : native.base64Decode(base64) };
    return content === undefined ? { ...answer, status, headers: new Headers(headers) } : { ...answer, content };
  }

  shared.page = async (stub, args, address) => {
    checkArguments(stub, args, 1);
    return wholeAnswer(stub, args, address);
  };

  /** The object of a server, or undefined if there is none of that name. */
  function serverObject(server) {
    if (objects.has(server)) return objects.get(server);
    if (!shared.servers().includes(server)) return undefined;
    const object = new Proxy({ __proto__: null }, {
      get(target, key) {
        if (typeof key !== "string" || key in target) return target[key];
        if (QUIET.has(key) && !stubsOf(server).functions.has(key)) return undefined;
        const stub = lookUp(server, key);
        if (stub === undefined) {
          const hint = stubsOf(server).unknown.get(key);
          throw new ArgumentError(`server \`${server}\` has no function \`${key.slice(0, 100)}\``, { function: `${server}.${key}`.slice(0, 200), hint: hint || undefined });
        }
        target[key] = makeFunction(stub);
        return target[key];
      },
      set: () => false,
      defineProperty: () => false,
      deleteProperty: () => false,
      preventExtensions: () => false,
      setPrototypeOf: () => false,
      has: (target, key) => key in target || (typeof key === "string" && lookUp(server, key) !== undefined),
      ownKeys: (target) => [...new Set([...allNames(server), ...Reflect.ownKeys(target)])],
      getOwnPropertyDescriptor(target, key) {
        if (!(key in target) && typeof key === "string" && stubsOf(server).functions.has(key)) target[key] = makeFunction(stubsOf(server).functions.get(key));
        return Reflect.getOwnPropertyDescriptor(target, key);
      },
    });
    objects.set(server, object);
    return object;
  }

  /** Puts a server's object into the program's globals, unless something has that name already. */
  function addGlobal(server) {
    if (server in globalThis) return;
    Object.defineProperty(globalThis, server, { value: serverObject(server), configurable: true, writable: true, enumerable: false });
  }

  /** All servers by name. */
  function allServers() {
    const all = { __proto__: null };
    for (const server of shared.servers()) all[server] = serverObject(server);
    return all;
  }

  const helpers = {
    /** Calls any function by `server.function`, `server:METHOD /path` or `mcp__server__tool`, with original names. */
    callFunction: async (name, args) => shared.call(name, "original", args),
    callMCPTool: async (toolName, params) => shared.call(toolName, "original", params),
    /** Functions that match the words, best first: each with `name`, `description` and `parameters`, a JSON Schema. */
    searchTools: async (query, limit = 10, server = undefined) => shared.search(query, "words", server, limit),
    /** Functions whose name or description holds any of the terms (`{ search: [...] }`, or a list); without terms all. */
    discoverMCPTools: async (options, limit) => {
      const given = options?.search ?? options ?? [];
      const terms = Array.isArray(given) ? given : typeof given === "string" ? [given] : [];
      return shared.search(terms.join("\n"), "terms", undefined, limit);
    },
    /** One function as `searchTools` gives it, or null. */
    getToolSchema: async (toolName) => (await shared.search(toolName, "name"))[0] ?? null,
    /** Keeps a value on the host for a day; gives its id, by which a later run can `load` it. */
    save: async (value) => shared.save(value),
    /** The value that a run has kept under this id. */
    load: async (id) => shared.load(id),
    /** Runs jobs at the same time and gives their values in order. A job is a function without arguments, or a promise. */
    parallel: async (...jobs) => {
      const list = jobs.length === 1 && Array.isArray(jobs[0]) ? jobs[0] : jobs;
      return Promise.all(list.map((job) => (typeof job === "function" ? job() : job)));
    },
  };
  for (const name of ["callFunction", "callMCPTool", "discoverMCPTools", "searchTools", "getToolSchema"]) {
    Object.defineProperty(globalThis, name, { value: helpers[name], configurable: true, writable: true, enumerable: false });
  }
  for (const [name, value] of Object.entries(shared.classes)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true, enumerable: false });
  }

  const stubOf = (made) => (typeof made === "function" ? madeFrom.get(made) : undefined);

  Object.assign(shared, { describeAhead, addGlobal, allServers, stubOf, moduleExports: { ...helpers, ...shared.classes } });
});
