// `paginate`: all pages of an answer, one after the other. The rules are those of `mce_guest/paging.py`.
//
// How the next page is asked for comes from, in this order: the caller (`how`), a `Link` field of the answer, what the
// document tells (`pagination` of the function), an address in the answer. The query of an address gives arguments for the
// same function. Only where these do not say what comes next the address itself is asked for: the host follows it if an
// answer of this function gave it, and to the server only.
(function (native, shared) {
  "use strict";

  const { ArgumentError, OutputError } = shared.classes;
  const PAGES = 100;
  const WAYS = ["links", "cursor", "last_item", "page", "offset"];
  const KEYS = ["by", "parameter", "next", "items", "first"];
  const OPTIONS = ["pages", "maxPages", "how"];
  const NEXT_ADDRESSES = ["next", "next_url", "nextUrl", "next_link", "nextLink", "@odata.nextLink", "next_page_uri", "nextPageUri"];
  const LISTS = ["items", "data", "results", "value", "values", "entries", "records", "objects", "list", "elements", "content", "rows"];
  const MORE = ["has_more", "hasMore", "has_next_page", "hasNextPage", "has_next", "hasNext", "more"];
  const LAST = ["is_last", "isLast", "last"];
  const TOTALS = ["total", "total_count", "totalCount", "total_results", "totalResults", "total_items", "totalItems"];
  const PAGE_TOTALS = ["total_pages", "totalPages", "page_count", "pageCount", "last_page", "lastPage"];
  const AROUND = ["meta", "metadata", "paging", "pagination", "page_info", "pageInfo", "response_metadata"];
  const TELLING = /page|token|cursor|offset|skip|scroll|marker|after|before|start|continu/i;
  const LINK = /<([^>]*)>((?:\s*;\s*[\w*-]+\s*=\s*(?:"[^"]*"|[^\s",;]+))*)/g;
  const IS_NEXT = /;\s*rel\s*=\s*(?:next\b|"(?:[^"]*\s)?next(?:\s[^"]*)?")/i;

  const ARGUMENT_BYTES = 8 << 20;
  const same = (left, right) => native.encode(left, ARGUMENT_BYTES, "arguments") === native.encode(right, ARGUMENT_BYTES, "arguments");
  const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  const isMissing = (value) => value === undefined || value === null;
  const isAddress = (value) => typeof value === "string" && (/^[/?]/.test(value) || value.includes("://"));
  const isWhole = (value) => Number.isInteger(value) || typeof value === "bigint";
  const at = (value, path) => path.reduce((inner, name) => (isObject(inner) && Object.hasOwn(inner, name) ? inner[name] : undefined), value);

  /** The address of the relation `next` in a `Link` field. (RFC 8288) */
  function nextLink(text) {
    for (const [, address, parameters] of text.matchAll(LINK)) if (IS_NEXT.test(parameters)) return address;
    return undefined;
  }

  function* places(value) {
    if (!isObject(value)) return;
    yield value;
    for (const name of AROUND) if (isObject(value[name])) yield value[name];
  }

  /** True, false, or undefined if the answer does not say. */
  function hasMore(value) {
    for (const place of places(value)) {
      for (const name of MORE) if (typeof place[name] === "boolean") return place[name];
      for (const name of LAST) if (typeof place[name] === "boolean") return !place[name];
    }
    return undefined;
  }

  function numberIn(value, names) {
    for (const place of places(value)) for (const name of names) if (isWhole(place[name])) return Number(place[name]);
    return undefined;
  }

  /** What a caller says about pages, with its paths as lists. */
  function checkedHow(how) {
    if (!isObject(how) || !Object.keys(how).every((key) => KEYS.includes(key))) {
      throw new ArgumentError("`how` is an object with `by`, `parameter`, `next`, `items` or `first`");
    }
    const checked = { ...how };
    for (const key of ["parameter", "next", "items"]) {
      if (how[key] !== undefined) checked[key] = typeof how[key] === "string" ? how[key].split(".").filter((name) => name !== "") : [...how[key]];
    }
    const { by } = how;
    if (by !== undefined && !WAYS.includes(by)) throw new ArgumentError(`pages are not asked for by ${shared.inspect(by).slice(0, 40)}`, { hint: `one of: ${WAYS.join(", ")}` });
    const needed = by === "cursor" ? "next" : WAYS.indexOf(by) >= 2 ? "parameter" : undefined;
    if (needed !== undefined && checked[needed] === undefined) throw new ArgumentError(`\`how\` by \`${by}\` needs \`${needed}\``);
    if ((checked.parameter ?? []).length > 2) throw new ArgumentError("the parameter of `how` is an argument, or a property of the body as in `body.cursor`");
    return checked;
  }

  /** Where a walk over pages is: `arguments` of the next call and its `address` if it has one; no arguments at the end. */
  class Walk {
    constructor(target, given, options) {
      const stub = shared.stubOf(target);
      if (stub === undefined) {
        throw new ArgumentError("`paginate` takes a function of a server and its arguments", { hint: "write `paginate(server.listItems, { ... })`" });
      }
      if (!isMissing(given) && !isObject(given)) throw new ArgumentError("arguments are given as one object", { hint: "write `{ name: value }`" });
      if (!isObject(options) || !Object.keys(options).every((key) => OPTIONS.includes(key))) {
        throw new ArgumentError("the options of `paginate` are an object with `pages`, `maxPages` or `how`");
      }
      const { maxPages, how } = options;
      if (!isMissing(maxPages) && !(Number.isInteger(maxPages) && maxPages >= 1)) throw new ArgumentError("`maxPages` is a whole number from 1");
      this.target = target;
      this.stub = stub;
      this.takesPages = Boolean(options.pages);
      this.arguments = { ...given };
      this.address = undefined;
      this.items = [];
      this.isTold = !isMissing(how);
      this.how = this.isTold ? checkedHow(how) : (stub.pagination ?? {});
      this.isBoundAskedFor = !isMissing(maxPages);
      this.most = maxPages ?? PAGES;
      this.pages = 0;
      this.seen = 0;
      this.hasLinks = false;
      this.last = undefined;
    }

    /** Notes one answer; gives its value. */
    take({ value, headers }) {
      this.pages += 1;
      const found = this.list(value);
      if (found === undefined && !this.takesPages) {
        throw new ArgumentError(`the list in the answer of \`${this.stub.name}\` is not known`, {
          hint: 'name it, as in `{ how: { items: "data.things" } }`, or take whole pages with `{ pages: true }`',
        });
      }
      this.items = found ?? [];
      const { address } = this;
      this.address = undefined;
      let following = this.next(value, headers);
      const text = JSON.stringify(value);
      if (following !== undefined) {
        const repeats = this.pages > 1 && text === this.last && this.items.length > 0;
        if (repeats || (this.address === address && same(following, this.arguments))) {
          throw new OutputError(`\`${this.stub.name}\` gave the same page twice`, { hint: "say how its pages are asked for with `how`" });
        }
        if (this.pages >= this.most) following = this.stop();
      }
      this.seen += this.items.length;
      this.arguments = following;
      this.last = text;
      return value;
    }

    stop() {
      if (this.isBoundAskedFor) return undefined;
      throw new OutputError(`\`${this.stub.name}\` has more than ${PAGES} pages`, { hint: "narrow the arguments, or set `maxPages`, where it then ends" });
    }

    list(value) {
      if (this.how.items !== undefined) {
        const found = at(value, this.how.items);
        return Array.isArray(found) ? found : isMissing(found) ? [] : undefined;
      }
      if (Array.isArray(value)) return value;
      if (!isObject(value)) return undefined;
      const lists = Object.keys(value).filter((name) => Array.isArray(value[name]));
      const name = lists.length === 1 ? lists[0] : LISTS.find((known) => lists.includes(known));
      return name === undefined ? undefined : value[name];
    }

    next(value, headers) {
      const { by } = this.how;
      if (!this.isTold || by === "links") {
        const address = nextLink(headers?.get("link") ?? "");
        if (address) {
          this.hasLinks = true;
          return this.fromAddress(address);
        }
        if (this.hasLinks || by === "links") return undefined;
      }
      if (by === "cursor") return this.fromCursor(at(value, this.how.next ?? []), value);
      if (by === "last_item") {
        const id = this.items.at(-1)?.id;
        return isMissing(id) || hasMore(value) !== true ? undefined : this.with(id);
      }
      if (by === "page" || by === "offset") return this.fromNumber(by, value);
      return this.unknown(value);
    }

    unknown(value) {
      const name = isObject(value) ? NEXT_ADDRESSES.find((known) => isAddress(value[known])) : undefined;
      if (name !== undefined) return this.fromAddress(value[name]);
      if (hasMore(value)) {
        throw new ArgumentError(`\`${this.stub.name}\` has more pages, but the document does not say how they are asked for`, {
          hint: 'say it, as in `{ how: { by: "cursor", parameter: "cursor", next: "meta.next" } }`',
        });
      }
      return undefined;
    }

    fromCursor(cursor, value) {
      if (isMissing(cursor) || cursor === "" || typeof cursor === "boolean" || hasMore(value) === false) return undefined;
      if (isAddress(cursor)) return this.fromAddress(cursor);
      if (typeof cursor === "object") throw new OutputError(`the cursor of \`${this.stub.name}\` is no text`);
      return this.with(cursor);
    }

    fromNumber(by, value) {
      if (this.items.length === 0 || hasMore(value) === false) return undefined;
      const first = this.how.first ?? (by === "page" ? 1 : 0);
      const given = at(this.arguments, this.how.parameter);
      const current = isMissing(given) ? first : Number(given);
      const total = numberIn(value, TOTALS);
      if (by === "offset") {
        const following = current + this.items.length;
        return total !== undefined && following - first >= total ? undefined : this.with(following);
      }
      const last = numberIn(value, PAGE_TOTALS);
      const isLast = last !== undefined && current - first + 1 >= last;
      const isAll = this.pages === 1 + current - first && total !== undefined && this.seen + this.items.length >= total;
      return isLast || isAll ? undefined : this.with(current + 1);
    }

    with(value) {
      const path = this.how.parameter ?? [];
      if (path.length === 0) {
        throw new ArgumentError(`which argument of \`${this.stub.name}\` takes the cursor is not known`, { hint: 'name it, as in `{ how: { ..., parameter: "cursor" } }`' });
      }
      if (path.length === 1) return { ...this.arguments, [path[0]]: value };
      const inner = this.arguments[path[0]];
      return { ...this.arguments, [path[0]]: { ...(isObject(inner) ? inner : {}), [path[1]]: value } };
    }

    /** The arguments that the query of an address stands for; the address too, where they do not say what comes next. */
    fromAddress(address) {
      const query = /\?([^#]*)/.exec(address)?.[1] ?? "";
      const following = { ...this.arguments };
      for (const [name, text] of new URLSearchParams(query)) {
        const parameter = this.stub.parameters.find((known) => known.query === name);
        if (parameter === undefined && TELLING.test(name)) this.address = address;
        if (parameter !== undefined && String(following[parameter.name]) !== text) {
          const isNumber = parameter.whole && /^-?[0-9]{1,18}$/.test(text);
          following[parameter.name] = !isNumber ? text : Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text);
        }
      }
      if (this.address === undefined && !same(following, this.arguments)) return following;
      this.address = address;
      return this.arguments;
    }
  }

  async function* walked(walk) {
    while (walk.arguments !== undefined) {
      const page = walk.take(await shared.page(walk.stub, walk.arguments, walk.address));
      if (walk.takesPages) yield page;
      else yield* walk.items;
    }
  }

  /**
   * Yields the items of all pages, or the pages themselves with `{ pages: true }`; each page is asked for when it is needed.
   *
   * `for await (const issue of paginate(github.issuesList, { owner })) ...`. After `maxPages` pages it ends; without it, more
   * than 100 pages are an error. `how` says what the document does not.
   */
  function paginate(target, args, options = {}) {
    return walked(new Walk(target, args, options));
  }

  shared.moduleExports.paginate = paginate;
});
