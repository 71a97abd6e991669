// `llm`: questions to the language model of the client that started the run.
(function (native, shared) {
  "use strict";

  const { ArgumentError } = shared.classes;
  const { isInteger } = Number;
  const { isArray } = Array;
  const ROLES = ["user", "assistant", "system"];
  const OPTIONS = ["model", "maxTokens", "systemPrompt", "stream"];

  function fail(message, hint) {
    throw new ArgumentError(message, { hint });
  }

  function checked(messages) {
    if (typeof messages === "string") messages = [{ role: "user", content: messages }];
    if (!isArray(messages) || !messages.length) {
      fail("`messages` is a list with at least one message", "write `[{ role: 'user', content: '...' }]`");
    }
    return messages.map((message) => {
      if (!ROLES.includes(message?.role) || typeof message.content !== "string") {
        fail("a message has a `role` (`user`, `assistant` or `system`) and a `content`, which is a text", "make a text of other values first, for example by `JSON.stringify`");
      }
      return { role: message.role, content: message.content };
    });
  }

  const llm = {
    /** The model's answer to one question, as a text. Options: `systemPrompt`, `maxTokens` (1000), `model`. */
    async ask(prompt, options) {
      return llm.think([{ role: "user", content: prompt }], options);
    },
    /** The model's answer to a conversation: a list of messages and options, or both as one object. */
    async think(conversation, options) {
      if (conversation !== null && typeof conversation === "object" && !isArray(conversation)) {
        const { messages, ...others } = conversation;
        return llm.think(messages, { ...others, ...options });
      }
      options ??= {};
      const unknown = Object.keys(options).find((name) => !OPTIONS.includes(name));
      if (unknown !== undefined) fail(`there is no option \`${unknown.slice(0, 100)}\``, "the options are `systemPrompt`, `maxTokens`, `model`");
      const { model, maxTokens = 1000, systemPrompt, stream } = options;
      if (stream) fail("`stream` is not offered", "the answer comes as one text");
      if (!isInteger(maxTokens) || maxTokens < 1 || maxTokens >= 2 ** 31) fail("`maxTokens` is a whole number from 1");
      const request = { messages: checked(conversation), max_tokens: maxTokens };
      for (const [name, value] of [["model", model], ["system_prompt", systemPrompt]]) {
        if (typeof (value ?? "") !== "string") fail(`\`${name === "model" ? name : "systemPrompt"}\` is a text`);
        if (value) request[name] = value;
      }
      return shared.request(`"op":"ask","arguments":${shared.json(request)}`, "llm");
    },
  };

  shared.moduleExports.llm = llm;
  Object.defineProperty(globalThis, "llm", { value: llm, configurable: true, writable: true, enumerable: false });
});
