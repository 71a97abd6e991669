// Numbers and dates as people of the United States write them: there are no data of other languages here.
(function (native, shared) {
  "use strict";

  const CURRENCIES = { USD: "$", EUR: "€", GBP: "£", JPY: "¥", INR: "₹", CNY: "CN¥", KRW: "₩", BRL: "R$", CAD: "CA$", AUD: "A$", MXN: "MX$" };
  const WITHOUT_CENTS = new Set(["JPY", "KRW"]);
  const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
  const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
  const refuse = (what) => {
    throw new RangeError(`Intl: ${what} is not there; write the text yourself`);
  };

  class NumberFormat {
    #options;
    constructor(locales, options = {}) {
      this.#options = options;
      if (options.style === "currency" && typeof options.currency !== "string") throw new TypeError("Intl: a currency is needed for the style `currency`");
      if (options.style === "unit") refuse("the style `unit`");
    }
    format(value) {
      const { style, notation, useGrouping = true } = this.#options;
      if (typeof value === "bigint") return group(String(value), useGrouping);
      let number = Number(value);
      if (Number.isNaN(number)) return "NaN";
      if (style === "percent") number *= 100;
      let suffix = style === "percent" ? "%" : "";
      if (notation === "compact") {
        const step = [[1e12, "T"], [1e9, "B"], [1e6, "M"], [1e3, "K"]].find(([size]) => Math.abs(number) >= size);
        if (step) [number, suffix] = [number / step[0], step[1] + suffix];
      } else if (notation && notation !== "standard") refuse(`the notation \`${notation}\``);
      const sign = number < 0 ? "-" : this.#options.signDisplay === "always" || (this.#options.signDisplay === "exceptZero" && number > 0) ? "+" : "";
      const digits = Number.isFinite(number) ? group(this.#digits(Math.abs(number)), useGrouping) : "∞";
      return `${sign}${this.#prefix()}${digits}${suffix}`;
    }
    #prefix() {
      const { style, currency, currencyDisplay } = this.#options;
      if (style !== "currency") return "";
      const code = currency.toUpperCase();
      return currencyDisplay === "code" ? `${code} ` : (CURRENCIES[code] ?? `${code} `);
    }
    #digits(number) {
      const { style, currency, notation, maximumSignificantDigits } = this.#options;
      if (maximumSignificantDigits) return String(Number(number.toPrecision(maximumSignificantDigits)));
      const cents = style === "currency" ? (WITHOUT_CENTS.has(currency.toUpperCase()) ? 0 : 2) : 0;
      const usual = style === "currency" ? cents : style === "percent" ? 0 : notation === "compact" ? (number < 100 && number % 1 ? 1 : 0) : 3;
      const least = this.#options.minimumFractionDigits ?? Math.min(cents, this.#options.maximumFractionDigits ?? cents);
      const most = Math.max(least, this.#options.maximumFractionDigits ?? usual);
      const text = number.toFixed(most);
      if (!text.includes(".")) return text;
      let end = text.length;
      const stop = text.indexOf(".") + (least ? least + 1 : 0);
      while (end > stop && (text[end - 1] === "0" || text[end - 1] === ".")) end--;
      return text.slice(0, end);
    }
    formatToParts(value) {
      return [{ type: "literal", value: this.format(value) }];
    }
    resolvedOptions() {
      return { locale: "en-US", numberingSystem: "latn", style: "decimal", ...this.#options };
    }
  }

  function group(text, isGrouped) {
    if (!isGrouped) return text;
    const [whole, fraction] = text.split(".");
    const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
    return fraction === undefined ? grouped : `${grouped}.${fraction}`;
  }

  const two = (number) => String(number).padStart(2, "0");
  const STYLES = {
    date: { full: { weekday: "long", year: "numeric", month: "long", day: "numeric" }, long: { year: "numeric", month: "long", day: "numeric" }, medium: { year: "numeric", month: "short", day: "numeric" }, short: { year: "2-digit", month: "numeric", day: "numeric" } },
    time: { short: { hour: "numeric", minute: "2-digit" }, medium: { hour: "numeric", minute: "2-digit", second: "2-digit" }, long: { hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "short" } },
  };

  class DateTimeFormat {
    #options;
    constructor(locales, options = {}, usual = { year: "numeric", month: "numeric", day: "numeric" }) {
      const zone = options.timeZone ?? "UTC";
      if (!/^(UTC|GMT|Etc\/UTC|Etc\/GMT)$/i.test(zone)) refuse(`the time zone \`${zone}\``);
      const styled = { ...STYLES.date[options.dateStyle], ...STYLES.time[options.timeStyle === "full" ? "long" : options.timeStyle] };
      const asked = Object.keys(styled).length ? { ...options, ...styled } : options;
      const hasPart = ["weekday", "year", "month", "day", "hour", "minute", "second"].some((part) => asked[part] !== undefined);
      this.#options = hasPart ? asked : { ...asked, ...usual };
    }
    format(value = Date.now()) {
      const date = new Date(value);
      if (Number.isNaN(date.getTime())) throw new RangeError("Invalid time value");
      return [this.#day(date), this.#time(date)].filter(Boolean).join(", ");
    }
    #day(date) {
      const { weekday, year, month, day } = this.#options;
      const dayName = weekday && (weekday === "long" ? DAYS[date.getUTCDay()] : DAYS[date.getUTCDay()].slice(0, weekday === "narrow" ? 1 : 3));
      const dayText = day && (day === "2-digit" ? two(date.getUTCDate()) : String(date.getUTCDate()));
      const yearText = year && (year === "2-digit" ? two(date.getUTCFullYear() % 100) : String(date.getUTCFullYear()));
      if (month === "numeric" || month === "2-digit") {
        const monthText = month === "2-digit" ? two(date.getUTCMonth() + 1) : String(date.getUTCMonth() + 1);
        return [dayName, [monthText, dayText, yearText].filter(Boolean).join("/")].filter(Boolean).join(", ");
      }
      const name = MONTHS[date.getUTCMonth()];
      const monthName = month && (month === "long" ? name : name.slice(0, month === "narrow" ? 1 : 3));
      const first = [monthName, dayText].filter(Boolean).join(" ");
      const rest = dayText && yearText ? [first, yearText].filter(Boolean).join(", ") : [first, yearText].filter(Boolean).join(" ");
      return [dayName, rest].filter(Boolean).join(", ");
    }
    #time(date) {
      const { hour, minute, second, hour12 = true, hourCycle, timeZoneName } = this.#options;
      const isHalf = hour12 && hourCycle !== "h23" && hourCycle !== "h24";
      const hours = isHalf ? date.getUTCHours() % 12 || 12 : date.getUTCHours();
      const parts = [hour && (hour === "2-digit" || !isHalf ? two(hours) : String(hours)), minute && two(date.getUTCMinutes()), second && two(date.getUTCSeconds())].filter(Boolean);
      if (!parts.length) return "";
      const half = hour && isHalf ? (date.getUTCHours() < 12 ? " AM" : " PM") : "";
      return `${parts.join(":")}${half}${timeZoneName ? " UTC" : ""}`;
    }
    formatToParts(value) {
      return [{ type: "literal", value: this.format(value) }];
    }
    resolvedOptions() {
      return { locale: "en-US", calendar: "gregory", numberingSystem: "latn", timeZone: "UTC" };
    }
  }

  const byCode = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  const decomposed = (text) => (/^[\0-\x7f]*$/.test(text) ? text : text.normalize("NFD")).toLowerCase();
  const bare = (text) => text.replace(/\p{M}/gu, "");

  /** Letters decide first, then their accents, then case, small letters before capitals, as in English dictionaries. */
  function compareTexts(a, b, sensitivity = "variant") {
    const [one, other] = [decomposed(a), decomposed(b)];
    const byLetters = byCode(bare(one), bare(other));
    if (byLetters || sensitivity === "base") return byLetters;
    const byAccents = sensitivity === "case" ? 0 : byCode(one, other);
    if (byAccents || sensitivity === "accent") return byAccents;
    return byCode(b.normalize("NFD"), a.normalize("NFD"));
  }

  class Collator {
    #options;
    constructor(locales, options = {}) {
      this.#options = options;
      this.compare = (a, b) => this.#compare(String(a), String(b));
    }
    #compare(a, b) {
      if (this.#options.numeric) {
        const parts = (text) => text.match(/\d+|\D+/g) ?? [];
        const [one, other] = [parts(a), parts(b)];
        for (let index = 0; index < Math.min(one.length, other.length); index++) {
          const [x, y] = [one[index], other[index]];
          const order = /^\d/.test(x) && /^\d/.test(y) ? Math.sign(Number(x) - Number(y)) : compareTexts(x, y, this.#options.sensitivity);
          if (order) return order;
        }
        return Math.sign(one.length - other.length);
      }
      return compareTexts(a, b, this.#options.sensitivity);
    }
  }

  class PluralRules {
    #options;
    constructor(locales, options = {}) {
      this.#options = options;
    }
    select(number) {
      if (this.#options.type !== "ordinal") return number === 1 ? "one" : "other";
      const last = number % 10;
      const isTeen = Math.floor((number % 100) / 10) === 1;
      return isTeen ? "other" : (["other", "one", "two", "few"][last] ?? "other");
    }
  }

  class ListFormat {
    #options;
    constructor(locales, options = {}) {
      this.#options = options;
    }
    format(list) {
      const items = [...list];
      const word = this.#options.type === "disjunction" ? "or" : "and";
      if (items.length < 3) return items.join(` ${word} `);
      return `${items.slice(0, -1).join(", ")}, ${word} ${items.at(-1)}`;
    }
  }

  // The older kinds may be called without `new`, and their `format` is passed on alone, as to `map`.
  function made(kind, args) {
    const format = new kind(...args);
    if (format.format) Object.defineProperty(format, "format", { value: format.format.bind(format), configurable: true, writable: true });
    return format;
  }
  const usable = (kind) => new Proxy(kind, { apply: (target, self, args) => made(target, args), construct: made });
  const known = { NumberFormat: usable(NumberFormat), DateTimeFormat: usable(DateTimeFormat), Collator: usable(Collator), PluralRules, ListFormat };
  for (const kind of Object.values(known)) kind.supportedLocalesOf = () => ["en-US"];
  const Intl = { ...known, getCanonicalLocales: (locales) => [locales].flat().filter(Boolean) };
  for (const name of ["RelativeTimeFormat", "DisplayNames", "Segmenter", "DurationFormat", "Locale"]) {
    Intl[name] = function () {
      refuse(`\`Intl.${name}\``);
    };
  }
  shared.define("Intl", Intl);

  const replace = (prototype, name, value) => Object.defineProperty(prototype, name, { value, configurable: true, writable: true, enumerable: false });
  replace(String.prototype, "localeCompare", function (other, locales, options) {
    return new Collator(locales, options).compare(this.valueOf(), other);
  });
  replace(Number.prototype, "toLocaleString", function (locales, options) {
    return new NumberFormat(locales, options).format(this.valueOf());
  });
  replace(BigInt.prototype, "toLocaleString", function (locales, options) {
    return new NumberFormat(locales, options).format(this.valueOf());
  });
  const day = { year: "numeric", month: "numeric", day: "numeric" };
  const time = { hour: "numeric", minute: "2-digit", second: "2-digit" };
  replace(Date.prototype, "toLocaleDateString", function (locales, options) {
    return new DateTimeFormat(locales, options, day).format(this);
  });
  replace(Date.prototype, "toLocaleTimeString", function (locales, options) {
    return new DateTimeFormat(locales, options, time).format(this);
  });
  replace(Date.prototype, "toLocaleString", function (locales, options) {
    return new DateTimeFormat(locales, options, { ...day, ...time }).format(this);
  });
});
