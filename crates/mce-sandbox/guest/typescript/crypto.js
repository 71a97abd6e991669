// `crypto`: random values and digests.
(function (native, shared) {
  "use strict";

  const NAMES = { "SHA-1": "sha1", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512" };
  const RANDOM_BYTES = 65_536;

  const crypto = {
    randomUUID() {
      const bytes = native.randomBytes(16);
      bytes[6] = (bytes[6] & 0x0f) | 0x40;
      bytes[8] = (bytes[8] & 0x3f) | 0x80;
      const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
      return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
    },
    getRandomValues(target) {
      const bytes = shared.bytesOf(target);
      if (bytes.length > RANDOM_BYTES) throw new DOMException(`more than ${RANDOM_BYTES} random bytes are asked for at once`, "QuotaExceededError");
      bytes.set(native.randomBytes(bytes.length));
      return target;
    },
    subtle: {
      async digest(algorithm, data) {
        const name = String(typeof algorithm === "object" ? algorithm?.name : algorithm).toUpperCase();
        if (!NAMES[name]) throw new DOMException(`there is no digest \`${name}\`: use ${Object.keys(NAMES).join(", ")}`, "NotSupportedError");
        return native.digest(NAMES[name], shared.latin1(shared.bytesOf(data))).buffer;
      },
    },
  };
  shared.define("crypto", crypto);
});
