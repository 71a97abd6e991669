"""`paginate`: all pages of an answer, one after the other.

How the next page is asked for comes from, in this order: the caller (`how`), a `Link` field of the answer, what the
document tells (`function.pagination`), an address in the answer. The query of an address gives arguments for the same
function. Only where these do not say what comes next the address itself is asked for: the host follows it if an answer of
this function gave it, and to the server only.
"""

import inspect
import re
import urllib.parse

from .failures import ArgumentError, OutputError

PAGES = 100
WAYS = ("links", "cursor", "last_item", "page", "offset")
_KEYS = {"by", "parameter", "next", "items", "first"}
_NEXT_ADDRESSES = ("next", "next_url", "nextUrl", "next_link", "nextLink", "@odata.nextLink", "next_page_uri", "nextPageUri")
_LISTS = ("items", "data", "results", "value", "values", "entries", "records", "objects", "list", "elements", "content", "rows")
_MORE = ("has_more", "hasMore", "has_next_page", "hasNextPage", "has_next", "hasNext", "more")
_LAST = ("is_last", "isLast", "last")
_TOTALS = ("total", "total_count", "totalCount", "total_results", "totalResults", "total_items", "totalItems")
_PAGE_TOTALS = ("total_pages", "totalPages", "page_count", "pageCount", "last_page", "lastPage")
_AROUND = ("meta", "metadata", "paging", "pagination", "page_info", "pageInfo", "response_metadata")
_TELLING = re.compile("page|token|cursor|offset|skip|scroll|marker|after|before|start|continu", re.IGNORECASE)
_LINK = re.compile(r'<([^>]*)>((?:\s*;\s*[\w*-]+\s*=\s*(?:"[^"]*"|[^\s",;]+))*)')


def paginate(function, arguments=None, *, pages=False, max_pages=None, how=None):
    """Yields the items of all pages, or the pages themselves with `pages=True`; each page is asked for when it is needed.

    `for issue in paginate(list_issues, {"owner": "o", "repo": "r"}): ...`. After `max_pages` pages it ends; without
    `max_pages`, more than 100 pages are an error. `how` says what the document does not, for example
    `{"by": "cursor", "parameter": "cursor", "next": "meta.next", "items": "data"}`; the other ways are `links`,
    `last_item`, `page` and `offset`, with `parameter` and `first`.
    """
    walk = _Walk(function, arguments, max_pages, how)
    if inspect.iscoroutinefunction(function):
        raise ArgumentError("`paginate` takes a function of `<server>.functions`", hint="use `apaginate` with those of `<server>.aio`")
    return _sync(walk, pages)


def apaginate(function, arguments=None, *, pages=False, max_pages=None, how=None):
    """The same for functions of `<server>.aio`, with `async for`."""
    walk = _Walk(function, arguments, max_pages, how)
    if not inspect.iscoroutinefunction(function):
        raise ArgumentError("`apaginate` takes a function of `<server>.aio`", hint="use `paginate` with those of `<server>.functions`")
    return _async(walk, pages)


def _sync(walk, pages):
    while walk.arguments is not None:
        page = walk.take(walk.function.page(walk.arguments, walk.address), pages)
        if pages:
            yield page
        else:
            yield from walk.items


async def _async(walk, pages):
    while walk.arguments is not None:
        page = walk.take(await walk.function.page(walk.arguments, walk.address), pages)
        if pages:
            yield page
        else:
            for item in walk.items:
                yield item


class _Walk:
    """Where a walk over pages is: `arguments` of the next call and its `address` if it has one; no arguments at the end."""

    def __init__(self, function, arguments, max_pages, how):
        if not hasattr(function, "page") or not hasattr(function, "parameters"):
            raise ArgumentError("`paginate` takes a function of a server and its arguments", hint="write `paginate(list_items, {...})`")
        if arguments is not None and not isinstance(arguments, dict):
            raise ArgumentError("arguments are given as one dict", hint='write `{"name": value}`')
        if max_pages is not None and (type(max_pages) is not int or max_pages < 1):
            raise ArgumentError("`max_pages` is a whole number from 1")
        self.function = function
        self.arguments, self.address = dict(arguments or {}), None
        self.items = []
        self._how = _checked(how) if how is not None else function.pagination or {}
        self._is_told = how is not None
        self._most, self._is_bound_asked_for = max_pages or PAGES, max_pages is not None
        self._pages, self._seen, self._has_links, self._last = 0, 0, False, None

    def take(self, answer, pages):
        """Notes one answer; gives its value."""
        value = answer.value
        self._pages += 1
        found = self._list(value)
        if found is None and not pages:
            raise ArgumentError(
                f"the list in the answer of `{self.function.__name__}` is not known",
                hint='name it, as in `how={"items": "data.things"}`, or take whole pages with `pages=True`',
            )
        self.items = found or []
        address, self.address = self.address, None
        following = self._next(answer, value, self.items)
        if following is not None:
            repeats = self._pages > 1 and value == self._last and self.items
            if following == self.arguments and self.address == address or repeats:
                raise OutputError(f"`{self.function.__name__}` gave the same page twice", hint="say how its pages are asked for with `how`")
            if self._pages >= self._most:
                following = self._stop()
        self._seen += len(self.items)
        self.arguments, self._last = following, value
        return value

    def _stop(self):
        if self._is_bound_asked_for:
            return None
        raise OutputError(
            f"`{self.function.__name__}` has more than {PAGES} pages", hint="narrow the arguments, or set `max_pages`, where it then ends"
        )

    def _list(self, value):
        path = self._how.get("items")
        if path is not None:
            found = _at(value, path)
            return found if isinstance(found, list) else [] if found is None else None
        if isinstance(value, list):
            return value
        if not isinstance(value, dict):
            return None
        lists = [name for name, inner in value.items() if isinstance(inner, list)]
        name = lists[0] if len(lists) == 1 else next((name for name in _LISTS if name in lists), None)
        return value[name] if name is not None else None

    def _next(self, answer, value, items):
        by = self._how.get("by")
        if not self._is_told or by == "links":
            address = _next_link(getattr(answer, "headers", {}).get("link") or "")
            if address:
                self._has_links = True
                return self._from_address(address)
            if self._has_links or by == "links":
                return None
        if by == "cursor":
            return self._from_cursor(_at(value, self._how.get("next", [])), value)
        if by == "last_item":
            identifier = items[-1].get("id") if items and isinstance(items[-1], dict) else None
            return None if identifier is None or _has_more(value) is not True else self._with(identifier)
        if by in ("page", "offset"):
            return self._from_number(by, value, items)
        return self._unknown(value)

    def _unknown(self, value):
        address = next((value[name] for name in _NEXT_ADDRESSES if _is_address(value.get(name))), None) if isinstance(value, dict) else None
        if address:
            return self._from_address(address)
        if _has_more(value):
            raise ArgumentError(
                f"`{self.function.__name__}` has more pages, but the document does not say how they are asked for",
                hint='say it, as in `how={"by": "cursor", "parameter": "cursor", "next": "meta.next"}`',
            )
        return None

    def _from_cursor(self, cursor, value):
        if cursor is None or cursor == "" or isinstance(cursor, bool) or _has_more(value) is False:
            return None
        if _is_address(cursor):
            return self._from_address(cursor)
        if not isinstance(cursor, (str, int, float)):
            raise OutputError(f"the cursor of `{self.function.__name__}` is no text")
        return self._with(cursor)

    def _from_number(self, by, value, items):
        if not items or _has_more(value) is False:
            return None
        path = self._how["parameter"]
        first = self._how.get("first", 1 if by == "page" else 0)
        current = _at(self.arguments, path)
        current = first if current is None else int(current)
        total = _number(value, _TOTALS)
        if by == "offset":
            following = current + len(items)
            return None if total is not None and following - first >= total else self._with(following)
        last = _number(value, _PAGE_TOTALS)
        is_last = last is not None and current - first + 1 >= last
        is_all = self._pages == 1 + current - first and total is not None and self._seen + len(items) >= total
        return None if is_last or is_all else self._with(current + 1)

    def _with(self, value):
        path = self._how.get("parameter")
        if not path:
            raise ArgumentError(
                f"which argument of `{self.function.__name__}` takes the cursor is not known", hint='name it, as in `how={..., "parameter": "cursor"}`'
            )
        if len(path) == 1:
            return {**self.arguments, path[0]: value}
        inner = self.arguments.get(path[0])
        return {**self.arguments, path[0]: {**(inner if isinstance(inner, dict) else {}), path[1]: value}}

    def _from_address(self, address):
        """The arguments that the query of an address stands for; the address too, where they do not say what comes next."""
        known = {p["query"]: p for p in self.function.parameters if "query" in p}
        following = dict(self.arguments)
        for name, text in urllib.parse.parse_qsl(urllib.parse.urlsplit(address).query, keep_blank_values=True):
            parameter = known.get(name)
            if parameter is None and _TELLING.search(name):
                self.address = address
            if parameter is not None and str(following.get(parameter["name"])) != text:
                is_whole = parameter.get("whole") and re.fullmatch("-?[0-9]{1,18}", text)
                following[parameter["name"]] = int(text) if is_whole else text
        if self.address or following == self.arguments:
            self.address = address
            return self.arguments
        return following


def _checked(how):
    if not isinstance(how, dict) or not how.keys() <= _KEYS:
        raise ArgumentError("`how` is a dict with `by`, `parameter`, `next`, `items` or `first`")
    paths = {key: how[key].split(".") if isinstance(how[key], str) else list(how[key]) for key in how.keys() & {"parameter", "next", "items"}}
    paths = {key: [] if path == [""] else path for key, path in paths.items()}
    by = how.get("by")
    if by is not None and by not in WAYS:
        raise ArgumentError(f"pages are not asked for by {by!r:.40}", hint=f"one of: {', '.join(WAYS)}")
    if by in WAYS[2:] and "parameter" not in paths or by == "cursor" and "next" not in paths:
        raise ArgumentError(f"`how` by `{by}` needs `{'next' if by == 'cursor' else 'parameter'}`")
    if len(paths.get("parameter", [])) > 2:
        raise ArgumentError("the parameter of `how` is an argument, or a property of the body as in `body.cursor`")
    return {**how, **paths}


def _next_link(text):
    """The address of the relation `next` in a `Link` field. (RFC 8288)"""
    for address, parameters in _LINK.findall(text):
        if re.search(r';\s*rel\s*=\s*(?:next\b|"(?:[^"]*\s)?next(?:\s[^"]*)?")', parameters, re.IGNORECASE):
            return address
    return None


def _is_address(value):
    return isinstance(value, str) and (value.startswith(("/", "?")) or "://" in value)


def _at(value, path):
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _places(value):
    if isinstance(value, dict):
        yield value
        yield from (value[name] for name in _AROUND if isinstance(value.get(name), dict))


def _has_more(value):
    """True, False, or None if the answer does not say."""
    for place in _places(value):
        for name in _MORE:
            if isinstance(place.get(name), bool):
                return place[name]
        for name in _LAST:
            if isinstance(place.get(name), bool):
                return not place[name]
    return None


def _number(value, names):
    for place in _places(value):
        for name in names:
            if type(place.get(name)) is int:
                return place[name]
    return None
