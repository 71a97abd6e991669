// Texts and bytes: TextEncoder, TextDecoder, atob, btoa, structuredClone, Buffer.
(function (native, shared) {
  "use strict";

  const define = (name, value) => Object.defineProperty(globalThis, name, { value, configurable: true, writable: true, enumerable: false });
  shared.define = define;

  /** The bytes of a buffer or of a view of one. */
  function bytesOf(value) {
    if (value instanceof Uint8Array) return value;
    if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
    if (value instanceof ArrayBuffer || value instanceof SharedArrayBuffer) return new Uint8Array(value);
    throw new TypeError("bytes are needed: a Uint8Array, another view, or an ArrayBuffer");
  }
  shared.bytesOf = bytesOf;

  // Bytes go to the native side as texts of characters up to U+00FF.
  const { apply } = Reflect;
  const { fromCharCode } = String;
  function pieces(bytes, step, make) {
    let text = "";
    for (let start = 0; start < bytes.length; start += step) text += make(bytes.subarray(start, start + step));
    return text;
  }
  const latin1 = (bytes) => pieces(bytes, 4096, (part) => apply(fromCharCode, undefined, part));
  const base64Encode = (bytes) => native.base64Encode(latin1(bytes));
  const utf8Decode = (bytes, isFatal) => native.utf8Decode(latin1(bytes), isFatal);
  Object.assign(shared, { latin1, base64Encode });

  class DOMException extends Error {
    #name;
    constructor(message = "", name = "Error") {
      super(message);
      this.#name = name;
    }
    get name() {
      return this.#name;
    }
    get code() {
      return { AbortError: 20, TimeoutError: 23, DataCloneError: 25, InvalidCharacterError: 5 }[this.#name] ?? 0;
    }
  }
  define("DOMException", DOMException);

  const encode = (text) => native.utf8Encode(String(text).toWellFormed());
  define(
    "TextEncoder",
    class TextEncoder {
      get encoding() {
        return "utf-8";
      }
      encode(text = "") {
        return encode(text);
      }
      encodeInto(text, target) {
        let read = 0;
        let written = 0;
        for (const character of String(text).toWellFormed()) {
          const bytes = encode(character);
          if (written + bytes.length > target.length) break;
          target.set(bytes, written);
          written += bytes.length;
          read += character.length;
        }
        return { read, written };
      }
    },
  );

  const LATIN = new Set(["latin1", "iso-8859-1", "ascii", "us-ascii", "windows-1252", "binary"]);
  define(
    "TextDecoder",
    class TextDecoder {
      #rest = new Uint8Array(0);
      constructor(label = "utf-8", options = {}) {
        const name = String(label).trim().toLowerCase();
        this.encoding = name === "utf8" || name === "unicode-1-1-utf-8" ? "utf-8" : name;
        if (!["utf-8", "utf-16le", "utf-16"].includes(this.encoding) && !LATIN.has(name)) throw new RangeError(`there is no decoder for \`${label}\`: use utf-8, utf-16le or latin1`);
        this.fatal = Boolean(options.fatal);
        this.ignoreBOM = Boolean(options.ignoreBOM);
      }
      decode(input = new Uint8Array(0), options = {}) {
        let bytes = bytesOf(input);
        if (this.#rest.length) {
          const joined = new Uint8Array(this.#rest.length + bytes.length);
          joined.set(this.#rest);
          joined.set(bytes, this.#rest.length);
          bytes = joined;
          this.#rest = new Uint8Array(0);
        }
        if (LATIN.has(this.encoding)) return latin1(bytes);
        if (this.encoding.startsWith("utf-16")) return utf16(bytes).replace(this.ignoreBOM ? "" : /^\ufeff/, "");
        if (options.stream) {
          const whole = native.utf8Complete(latin1(bytes));
          this.#rest = bytes.slice(whole);
          bytes = bytes.subarray(0, whole);
        }
        const text = utf8Decode(bytes, this.fatal);
        if (text === undefined) throw new TypeError("the bytes are no UTF-8");
        return !this.ignoreBOM && text.startsWith("\ufeff") ? text.slice(1) : text;
      }
    },
  );

  const utf16 = (bytes) =>
    pieces(bytes, 4096, (part) => {
      const codes = [];
      for (let index = 0; index + 1 < part.length; index += 2) codes.push(part[index] | (part[index + 1] << 8));
      return String.fromCharCode(...codes);
    });

  function latin1Bytes(text) {
    const bytes = new Uint8Array(text.length);
    for (let index = 0; index < text.length; index++) bytes[index] = text.charCodeAt(index);
    return bytes;
  }
  define("btoa", (text) => {
    text = String(text);
    for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 255) throw new DOMException("btoa takes characters up to U+00FF only; use `Buffer.from(text).toString('base64')`", "InvalidCharacterError");
    return base64Encode(latin1Bytes(text));
  });
  define("atob", (text) => {
    const bytes = native.base64Decode(String(text).replace(/[\t\n\f\r ]/g, ""));
    if (bytes === undefined) throw new DOMException("the text is no base64", "InvalidCharacterError");
    return latin1(bytes);
  });

  function hexBytes(text) {
    const bytes = [];
    for (let index = 0; index + 1 < text.length; index += 2) {
      const byte = Number.parseInt(text.slice(index, index + 2), 16);
      if (Number.isNaN(byte)) break;
      bytes.push(byte);
    }
    return bytes;
  }

  function textBytes(text, encoding = "utf8") {
    switch (String(encoding).toLowerCase()) {
      case "utf8":
      case "utf-8":
        return encode(text);
      case "base64":
      case "base64url":
        return native.base64Decode(text.replace(/[\s=]/g, "")) ?? new Uint8Array(0);
      case "hex":
        return hexBytes(text);
      case "latin1":
      case "binary":
      case "ascii":
        return latin1Bytes(text);
      case "utf16le":
      case "ucs2":
      case "utf-16le":
        return new Uint8Array(Uint16Array.from({ length: text.length }, (_, index) => text.charCodeAt(index)).buffer);
      default:
        throw new TypeError(`there is no encoding \`${encoding}\``);
    }
  }

  class Buffer extends Uint8Array {
    static from(value, encodingOrStart, length) {
      if (typeof value === "string") return wrapBytes(textBytes(value, encodingOrStart));
      if (value instanceof ArrayBuffer || value instanceof SharedArrayBuffer) return new Buffer(value, encodingOrStart, length);
      if (value && value.type === "Buffer" && Array.isArray(value.data)) return wrapBytes(value.data);
      return wrapBytes(ArrayBuffer.isView(value) ? value : Array.from(value));
    }
    static alloc(size, fill, encoding) {
      const buffer = new Buffer(size);
      return fill === undefined ? buffer : buffer.fill(typeof fill === "string" ? textBytes(fill, encoding)[0] : fill);
    }
    static allocUnsafe(size) {
      return new Buffer(size);
    }
    static isBuffer(value) {
      return value instanceof Buffer;
    }
    static isEncoding(name) {
      return /^(utf-?8|base64(url)?|hex|latin1|binary|ascii|utf-?16le|ucs2)$/i.test(name);
    }
    static byteLength(value, encoding) {
      return typeof value === "string" ? textBytes(value, encoding).length : value.byteLength;
    }
    static concat(list, length = list.reduce((sum, part) => sum + part.length, 0)) {
      const joined = new Buffer(length);
      let at = 0;
      for (const part of list) {
        joined.set(part.subarray(0, Math.max(0, length - at)), at);
        at += part.length;
        if (at >= length) break;
      }
      return joined;
    }
    static compare(a, b) {
      for (let index = 0; index < Math.min(a.length, b.length); index++) if (a[index] !== b[index]) return a[index] < b[index] ? -1 : 1;
      return Math.sign(a.length - b.length);
    }
    toString(encoding = "utf8", start = 0, end = this.length) {
      const part = this.subarray(start, end);
      switch (String(encoding).toLowerCase()) {
        case "utf8":
        case "utf-8":
          return utf8Decode(part, false);
        case "base64":
          return base64Encode(part);
        case "base64url":
          return base64Encode(part).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
        case "hex":
          return Array.from(part, (byte) => byte.toString(16).padStart(2, "0")).join("");
        case "latin1":
        case "binary":
        case "ascii":
          return latin1(part);
        case "utf16le":
        case "ucs2":
        case "utf-16le":
          return utf16(part);
        default:
          throw new TypeError(`there is no encoding \`${encoding}\``);
      }
    }
    toJSON() {
      return { type: "Buffer", data: Array.from(this) };
    }
    equals(other) {
      return Buffer.compare(this, other) === 0;
    }
    compare(other) {
      return Buffer.compare(this, other);
    }
    write(text, offset = 0) {
      const bytes = textBytes(text).subarray(0, this.length - offset);
      this.set(bytes, offset);
      return bytes.length;
    }
    copy(target, targetStart = 0, start = 0, end = this.length) {
      const part = this.subarray(start, Math.min(end, start + target.length - targetStart));
      target.set(part, targetStart);
      return part.length;
    }
    slice(start, end) {
      return this.subarray(start, end);
    }
    #view() {
      return new DataView(this.buffer, this.byteOffset, this.byteLength);
    }
    readUInt8(offset = 0) {
      return this.#view().getUint8(offset);
    }
    readUInt16BE(offset = 0) {
      return this.#view().getUint16(offset);
    }
    readUInt16LE(offset = 0) {
      return this.#view().getUint16(offset, true);
    }
    readUInt32BE(offset = 0) {
      return this.#view().getUint32(offset);
    }
    readUInt32LE(offset = 0) {
      return this.#view().getUint32(offset, true);
    }
    readInt32BE(offset = 0) {
      return this.#view().getInt32(offset);
    }
    readInt32LE(offset = 0) {
      return this.#view().getInt32(offset, true);
    }
  }
  function wrapBytes(bytes) {
    const buffer = new Buffer(bytes.length);
    buffer.set(bytes);
    return buffer;
  }
  define("Buffer", Buffer);

  function clone(value, seen) {
    if (typeof value === "function" || typeof value === "symbol") throw new DOMException(`a ${typeof value} cannot be cloned`, "DataCloneError");
    if (value === null || typeof value !== "object") return value;
    if (seen.has(value)) return seen.get(value);
    const keep = (copy) => {
      seen.set(value, copy);
      return copy;
    };
    if (value instanceof Date) return keep(new Date(value.getTime()));
    if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
    if (value instanceof ArrayBuffer) return keep(value.slice(0));
    if (value instanceof DataView) return keep(new DataView(value.buffer.slice(0), value.byteOffset, value.byteLength));
    if (ArrayBuffer.isView(value)) return keep(new (value instanceof Buffer ? Uint8Array : value.constructor)(value));
    if (value instanceof String || value instanceof Number || value instanceof Boolean) return keep(Object(value.valueOf()));
    if (value instanceof Map) {
      const copy = keep(new Map());
      for (const [key, item] of value) copy.set(clone(key, seen), clone(item, seen));
      return copy;
    }
    if (value instanceof Set) {
      const copy = keep(new Set());
      for (const item of value) copy.add(clone(item, seen));
      return copy;
    }
    if (value instanceof Error) {
      const copy = keep(new (globalThis[value.name] ?? Error)(value.message));
      copy.stack = value.stack;
      return copy;
    }
    if (value instanceof Promise || value instanceof WeakMap || value instanceof WeakSet) throw new DOMException("the value cannot be cloned", "DataCloneError");
    const copy = keep(Array.isArray(value) ? new Array(value.length) : {});
    for (const key of Object.keys(value)) copy[key] = clone(value[key], seen);
    return copy;
  }
  define("structuredClone", (value) => clone(value, new Map()));
});
