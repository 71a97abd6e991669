"""`llm`: questions to the language model of the client that started the run."""

from .failures import ArgumentError

_ROLES = ("user", "assistant", "system")


class LanguageModel:
    """Asks the client's language model, as far as the client has one and the host allows it."""

    def __init__(self, host):
        """`host` gives the host of the run."""
        self._host = host

    def __repr__(self):
        return "<llm: ask(prompt), think(messages)>"

    async def ask(self, prompt, system_prompt="", max_tokens=1000, stream=False):
        """The model's answer to one question, as a text."""
        return await self.think([{"role": "user", "content": prompt}], "", max_tokens, system_prompt, stream)

    async def think(self, messages, model="", max_tokens=1000, system_prompt="", stream=False):
        """The model's answer to a conversation: a list of `{"role": "user" | "assistant" | "system", "content": text}`."""
        if stream:
            raise ArgumentError("`stream` is not offered", hint="the answer comes as one text")
        if type(max_tokens) is not int or not 0 < max_tokens < 1 << 31:
            raise ArgumentError("`max_tokens` is a whole number from 1")
        request = {"messages": _checked(messages), "max_tokens": max_tokens}
        for name, value in (("model", model), ("system_prompt", system_prompt)):
            if not isinstance(value or "", str):
                raise ArgumentError(f"`{name}` is a text")
            if value:
                request[name] = value
        return await self._host().ask_async(request)


def _checked(messages):
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    if not isinstance(messages, (list, tuple)) or not messages:
        raise ArgumentError("`messages` is a list with at least one message", hint='write `[{"role": "user", "content": "..."}]`')
    for message in messages:
        role, content = (message.get("role"), message.get("content")) if isinstance(message, dict) else (None, None)
        if role not in _ROLES or not isinstance(content, str):
            raise ArgumentError(
                "a message has a `role` (`user`, `assistant` or `system`) and a `content`, which is a text",
                hint="make a text of other values first, for example by `json.dumps`",
            )
    return [{"role": message["role"], "content": message["content"]} for message in messages]
