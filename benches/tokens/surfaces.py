"""How a task is done under each surface. What the model says is written down in `tasks.py`; all it calls is called."""
import math
import re

from conversation import Conversation, shown, value_of
from count import compact

# Of the predecessor's own frames: its four tools and its instructions (o200k).
PREDECESSOR_TOKENS = 912 + 415
TOOL_SEARCH = [{"name": "tool_search", "description": "Search the tools that can be used and load the best five by their names, descriptions and arguments. Use it before calling a tool that is not loaded.",
                "inputSchema": {"type": "object", "properties": {"query": {"type": "string", "description": "words of what the tool does"}}, "required": ["query"]}}]


class Names:
    """Of the functions of a catalog, as each surface has them."""

    def __init__(self, functions, direct_tools):
        self.functions = {f"{one['server']}.{one['function']}": one for one in functions}
        # Both are listed in the order of servers and of what each has.
        self.direct = dict(zip(self.functions, (tool["name"] for tool in direct_tools), strict=True))
        self.typescript = {f"{one['server'].rstrip('_')}.{one['typescript']}": name for name, one in self.functions.items()} | {f"{one['server']}.{one['typescript']}": name for name, one in self.functions.items()}


class Ranking:
    """BM25 over names, descriptions and arguments of tools, as clients search them."""

    def __init__(self, tools):
        self.tools = tools
        self.texts = [words(f"{tool['name']} {tool.get('description', '')} {' '.join(tool['inputSchema'].get('properties', {}))}") for tool in tools]
        self.length = sum(map(len, self.texts)) / len(self.texts)
        self.having = {}
        for text in self.texts:
            for word in set(text):
                self.having[word] = self.having.get(word, 0) + 1

    def best(self, query, limit=5):
        def score(text):
            total = 0
            for word in set(words(query)):
                if count := text.count(word):
                    rarity = math.log(1 + (len(self.texts) - self.having[word] + 0.5) / (self.having[word] + 0.5))
                    total += rarity * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * len(text) / self.length))
            return total

        order = sorted(range(len(self.tools)), key=lambda index: -score(self.texts[index]))
        return [self.tools[index] for index in order[:limit]]


def words(text):
    return re.findall(r"[a-z]+|[0-9]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower())


def steps(task, call):
    """Plays the single calls of a task; `call` makes those of one turn."""
    walk = task.steps()
    answers = None
    while True:
        try:
            answers = [value_of(text) for text in call(walk.send(answers))]
        except StopIteration as end:
            return end.value


def start(catalog, surface, task, fixed=None):
    conversation = Conversation(catalog.count, catalog.fixed(surface) if fixed is None else fixed)
    conversation.hear(task.ask)
    return conversation


def direct(catalog, task):
    conversation = start(catalog, "direct", task)
    value = steps(task, lambda calls: conversation.call(catalog.server("direct"), [(catalog.names.direct[name], arguments) for name, arguments in calls]))
    return conversation, value


def client_search(catalog, task):
    """The client has all tools and shows the model those that it searches for."""
    conversation = start(catalog, "client-search", task, catalog.count(shown(TOOL_SEARCH)))
    for query, wanted in task.searches:
        wanted = {catalog.names.direct[name] for name in wanted}
        for words_of_it in (query, *task.more_searches.get(query, [])):
            found = catalog.ranking.best(words_of_it)
            conversation.speak(compact({"name": "tool_search", "arguments": {"query": words_of_it}}))
            conversation.hear(shown(found))
            wanted -= {tool["name"] for tool in found}
            if not wanted:
                break
        for name in sorted(wanted):
            # The model gives up on words of its own and takes the tool's exact name.
            found = catalog.ranking.best(name)
            conversation.speak(compact({"name": "tool_search", "arguments": {"query": name}}))
            conversation.hear(shown(found))
            catalog.misses.append((task.name, query, name))
    value = steps(task, lambda calls: conversation.call(catalog.server("direct"), [(catalog.names.direct[name], arguments) for name, arguments in calls]))
    return conversation, value


def search(conversation, catalog, surface, task, language=None):
    """All searches of a task in one turn; further words where one did not find what is needed."""
    open_searches = [(query, wanted) for query, wanted in task.searches]
    further = {query: list(task.more_searches.get(query, [])) for query, _ in open_searches}
    while open_searches:
        calls = [("search_functions", {"query": query, **({"language": language} if language else {})}) for query, _ in open_searches]
        missed = []
        for (query, wanted), text in zip(open_searches, conversation.call(catalog.server(surface), calls)):
            missing = [name for name in wanted if not finds(text, catalog.names.functions[name])]
            if missing:
                catalog.misses.append((task.name, query, surface))
                if not further.get(query):
                    raise SystemExit(f"{task.name}: no search finds {missing}: {text[:3000]}")
                next_words = further[query].pop(0)
                further[next_words] = further[query]
                missed.append((next_words, wanted))
        open_searches = missed


def finds(text, function):
    return any(f"{name}(" in text for name in (function["python"], function["typescript"]))


def call_search(catalog, task):
    conversation = start(catalog, "search", task)
    search(conversation, catalog, "search", task)
    value = steps(task, lambda calls: conversation.call(catalog.server("search"), [("call_function", {"function": name, "arguments": arguments}) for name, arguments in calls]))
    return conversation, value


def run_programs(conversation, catalog, programs, language):
    value = None
    cache_id = None
    for program in programs:
        if isinstance(program, dict):
            call = ("run_cached_code", {"cache_id": cache_id, "params": program})
        else:
            call = ("execute_code", {"code": program, "description": "what the task says", **({"language": language} if language else {})})
        answer = value_of(conversation.call(catalog.server("code"), [call])[0])
        value, cache_id = answer.get("data"), answer.get("cache_id")
    return value


def python(catalog, task):
    conversation = start(catalog, "code", task)
    search(conversation, catalog, "code", task)
    return conversation, run_programs(conversation, catalog, task.python, None)


def typescript(catalog, task):
    conversation = start(catalog, "code", task)
    search(conversation, catalog, "code", task, "typescript")
    return conversation, run_programs(conversation, catalog, task.typescript, "typescript")


def predecessor(catalog, task):
    """MCE before: a list of all functions, then some of them in full, then the program. Its list is made as it made it; the rest
    is answered by ours, which is shorter than its own answers were."""
    conversation = start(catalog, "predecessor", task, PREDECESSOR_TOKENS)
    conversation.speak(compact({"name": "list_servers", "arguments": {}}))
    conversation.hear(catalog.listing())
    functions = list(dict.fromkeys(name for _, wanted in task.searches for name in wanted))
    items = [dict(zip(("server_name", "function_name"), name.split(".", 1))) for name in functions]
    conversation.call(catalog.server("code"), [("get_functions", {"functions": items})])
    return conversation, run_programs(conversation, catalog, task.python, None)


def code_executor(catalog, task):
    """Code Executor MCP: one program searches tools and prints their names, one prints schemas, further ones call them."""
    conversation = start(catalog, "code-executor", task)

    def run(program):
        text = conversation.call(catalog.server("code-executor"), [("run-typescript-code", {"code": program})])[0]
        answer = value_of(text)
        if not answer["success"]:
            raise SystemExit(f"{task.name}: {text[:2000]}")
        return value_of(answer["output"].strip())

    queries = [words_of_it for query, _ in task.searches for words_of_it in (query, *task.more_searches.get(query, []))]
    run(f"const found = await Promise.all({compact(queries)}.map(query => searchTools(query, 8)));\nconsole.log(found.flat().map(tool => `${{tool.name}}: ${{tool.description.slice(0, 100)}}`).join(\"\\n\"));")
    needed = [f"mcp__{name.replace('.', '__', 1)}" for name in dict.fromkeys(name for _, wanted in task.searches for name in wanted)]
    run(f"const schemas = await Promise.all({compact(needed)}.map(name => getToolSchema(name)));\nconsole.log(JSON.stringify(schemas.map(schema => schema.parameters)));")
    value = None
    source = None
    for program in task.typescript:
        if isinstance(program, dict):
            # There is nothing kept: the program is written again.
            for name, given in program.items():
                source = re.sub(rf"(let|const) {name} = .*", lambda found: f"{found[1]} {name} = {compact(given)};", source)
            program = source
        source = program
        value = run(rewritten(catalog, program))
    return conversation, value


def rewritten(catalog, program):
    """The same program with that product's one way to call tools."""

    def call(found):
        name = catalog.names.typescript.get(f"{found[1]}.{found[2]}")
        return found[0] if name is None else f'callMCPTool("mcp__{name.replace(".", "__", 1)}", '

    lines = [line for line in program.splitlines() if not line.startswith("import ")]
    body = re.sub(r"\b(\w+)\.(\w+)\(", call, "\n".join(lines))
    return re.sub(r"export default (.*?);?$", r"console.log(JSON.stringify(\1));", body, flags=re.DOTALL)


SURFACES = {"direct": direct, "tool search of the client": client_search, "search": call_search, "Code Executor MCP": code_executor, "MCE before": predecessor, "code, Python": python, "code, TypeScript": typescript}
