"""Twenty tasks: what a person asks, what a model would say under each surface, and what must come out.

`steps` are the single calls, all that can be made at once in one turn; what they return is what the model reads out of the
answers by itself, however long these are, without a word of thinking and without a mistake. Real models are worse at that, which
is told in the README. `python` and `typescript` are the programs, one after the other; a mapping runs the last one again with
other values. `searches` are words and the functions that must be found by them; `more_searches` those tried next."""
import ast
import collections
import json
from dataclasses import dataclass, field

FILES, REPOSITORY = "{files}", "{repository}"


@dataclass
class Task:
    name: str
    catalog: str
    kind: str
    ask: str
    expected: object
    searches: list
    steps: object
    python: list
    typescript: list
    more_searches: dict = field(default_factory=dict)
    is_write: bool = False


def one(name, arguments, read=lambda answer: answer):
    """The steps of a task that needs one call."""

    def steps():
        answers = yield [(name, arguments)]
        return read(answers[0])

    return steps


def rows(text):
    # The sqlite server writes what Python prints.
    return ast.literal_eval(text) if isinstance(text, str) else text


# 10 functions: time, sqlite, fetch, sequential thinking.

COUNT = "SELECT COUNT(*) AS n FROM orders"
BEST = "SELECT p.category, SUM(o.quantity * p.price) AS total FROM orders o JOIN products p ON p.id = o.product_id GROUP BY p.category ORDER BY total DESC LIMIT 1"
ADD = "INSERT INTO orders (customer_id, product_id, quantity, day) VALUES (7, 3, 2, '2026-11-30')"
RECENT = "SELECT o.id, c.name, p.name AS product, o.quantity, o.day FROM orders o JOIN customers c ON c.id = o.customer_id JOIN products p ON p.id = o.product_id WHERE o.day >= '2026-10-01' ORDER BY o.id"
OFFICES = "SELECT city, zone FROM offices"


def offices():
    answers = yield [("sqlite.read_query", {"query": OFFICES})]
    zones = rows(answers[0])
    times = yield [("time_.convert_time", {"source_timezone": "Asia/Kolkata", "time": "09:00", "target_timezone": row["zone"]}) for row in zones]
    return {row["city"]: time["target"]["datetime"][11:16] for row, time in zip(zones, times)}


def best_category():
    answers = yield [("sqlite.list_tables", {})]
    yield [("sqlite.describe_table", {"table_name": row["name"]}) for row in rows(answers[0])]
    answers = yield [("sqlite.read_query", {"query": BEST})]
    return rows(answers[0])


def busiest(answer):
    return collections.Counter(row["name"] for row in rows(answer)).most_common(1)[0][0]


SMALL = [
    Task("time in another zone", "10", "one call", "It is 14:00 in Tokyo. What time is it in Kolkata?", "10:30", [("convert time between zones", ["time_.convert_time"])],
         one("time_.convert_time", {"source_timezone": "Asia/Tokyo", "time": "14:00", "target_timezone": "Asia/Kolkata"}, lambda answer: answer["target"]["datetime"][11:16]),
         ['from time_.functions import convert_time\n\nresult = convert_time(source_timezone="Asia/Tokyo", time="14:00", target_timezone="Asia/Kolkata")["target"]["datetime"][11:16]'],
         ['import { time_ } from "mce:servers";\n\nexport default (await time_.convertTime({ sourceTimezone: "Asia/Tokyo", time: "14:00", targetTimezone: "Asia/Kolkata" })).target.datetime.slice(11, 16);']),
    Task("number of orders", "10", "one call", "How many rows does the table orders have?", [{"n": 500}], [("run sql query", ["sqlite.read_query"])],
         one("sqlite.read_query", {"query": COUNT}, rows),
         [f'from sqlite.functions import read_query\n\nresult = read_query(query="{COUNT}")'],
         [f'import {{ sqlite }} from "mce:servers";\n\nexport default await sqlite.readQuery({{ query: "{COUNT}" }});']),
    Task("an order is added", "10", "write", "Add an order of today (2026-11-30): customer 7, product 3, quantity 2. The columns are customer_id, product_id, quantity, day.", [{"affected_rows": 1}], [("insert rows with sql", ["sqlite.write_query"])],
         one("sqlite.write_query", {"query": ADD}, rows),
         [f'from sqlite.functions import write_query\n\nresult = write_query(query="{ADD}")'],
         [f'import {{ sqlite }} from "mce:servers";\n\nexport default await sqlite.writeQuery({{ query: "{ADD}" }});'],
         {"insert rows with sql": ["run sql query"]}, is_write=True),
    Task("best category, schema unknown", "10", "several turns", "Which product category earned most (quantity times price)?", [{"category": "books", "total": 17475.0}],
         [("list tables, describe a table, run sql query", ["sqlite.list_tables", "sqlite.describe_table", "sqlite.read_query"])], best_category,
         ['from sqlite.functions import describe_table, list_tables\nimport ast\n\nresult = {row["name"]: describe_table(table_name=row["name"]) for row in ast.literal_eval(list_tables())}',
          f'from sqlite.functions import read_query\n\nresult = read_query(query="{BEST}")'],
         ['import { sqlite } from "mce:servers";\n\nconst tables = JSON.parse((await sqlite.listTables({})).replaceAll("\'", \'"\'));\nexport default await Promise.all(tables.map(table => sqlite.describeTable({ tableName: table.name })));',
          f'import {{ sqlite }} from "mce:servers";\n\nexport default await sqlite.readQuery({{ query: "{BEST}" }});']),
    Task("time in eight offices", "10", "one call for each", "What is the local time in each city of the table offices (columns city, zone) when it is 09:00 in Kolkata?",
         {"Tokyo": "12:30", "Singapore": "11:30", "Dubai": "07:30", "Nairobi": "06:30", "Lagos": "04:30", "Bogota": "22:30", "Karachi": "08:30", "Dhaka": "09:30"},
         [("run sql query", ["sqlite.read_query"]), ("convert time between zones", ["time_.convert_time"])], offices,
         ['import ast\nfrom sqlite.functions import read_query\nfrom time_.functions import convert_time\n\nrows = ast.literal_eval(read_query(query="' + OFFICES + '"))\nresult = {row["city"]: convert_time(source_timezone="Asia/Kolkata", time="09:00", target_timezone=row["zone"])["target"]["datetime"][11:16] for row in rows}'],
         ['import { sqlite, time_ } from "mce:servers";\n\nconst rows = JSON.parse((await sqlite.readQuery({ query: "' + OFFICES + '" })).replaceAll("\'", \'"\'));\nconst times = {};\nfor (const row of rows) times[row.city] = (await time_.convertTime({ sourceTimezone: "Asia/Kolkata", time: "09:00", targetTimezone: row.zone })).target.datetime.slice(11, 16);\nexport default times;']),
    Task("busiest customer of a report", "10", "large answer", "Run this report and tell which name has most rows: " + RECENT, "Customer 10", [("run sql query", ["sqlite.read_query"])],
         one("sqlite.read_query", {"query": RECENT}, busiest),
         ['import ast\nfrom collections import Counter\nfrom sqlite.functions import read_query\n\nrows = ast.literal_eval(read_query(query="' + RECENT + '"))\nresult = Counter(row["name"] for row in rows).most_common(1)[0][0]'],
         ['import { sqlite } from "mce:servers";\n\nconst rows = JSON.parse((await sqlite.readQuery({ query: "' + RECENT + '" })).replaceAll("\'", \'"\'));\nconst counts = {};\nfor (const row of rows) counts[row.name] = (counts[row.name] ?? 0) + 1;\nexport default Object.entries(counts).sort((a, b) => b[1] - a[1])[0][0];']),
]

# 165 functions: nine MCP servers and Gmail.

PEOPLE = FILES + "/people.json"
MONTHS = [f"{FILES}/sales/2026-{month:02}.csv" for month in range(1, 13)]


def sales():
    answers = yield [("filesystem.search_files", {"path": FILES, "pattern": "**/*.csv"})]
    answers = yield [("filesystem.read_multiple_files", {"paths": str(answers[0]["content"] if isinstance(answers[0], dict) else answers[0]).split("\n")})]
    totals = collections.Counter()
    for line in str(answers[0]["content"] if isinstance(answers[0], dict) else answers[0]).split("\n"):
        parts = line.split(",")
        if len(parts) == 3 and parts[0].startswith("2026"):
            totals[parts[1]] += float(parts[2])
    return dict(totals)


def senders():
    answers = yield [("gmail.gmail_users_messages_list", {"userId": "me", "maxResults": 50, "q": "is:unread"})]
    mails = yield [("gmail.gmail_users_messages_get", {"userId": "me", "id": one["id"], "format": "metadata"}) for one in answers[0]["messages"]]
    return dict(collections.Counter(header["value"] for mail in mails for header in mail["payload"]["headers"] if header["name"] == "From"))


def archive():
    answers = yield [("gmail.gmail_users_messages_list", {"userId": "me", "maxResults": 500, "q": "from:newsletter"})]
    ids = [one["id"] for one in answers[0]["messages"]]
    yield [("gmail.gmail_users_messages_batch_modify", {"userId": "me", "body": {"ids": ids, "removeLabelIds": ["INBOX"]}})]
    return len(ids)


def remember():
    answers = yield [("filesystem.read_text_file", {"path": PEOPLE})]
    text = answers[0]["content"] if isinstance(answers[0], dict) else answers[0]
    people = json.loads(text) if isinstance(text, str) else text
    answers = yield [("memory.create_entities", {"entities": [{"name": one["name"], "entityType": one["role"], "observations": [one["team"]]} for one in people]})]
    return len(people)


def authors(answer):
    return dict(collections.Counter(line.removeprefix("Author: ") for line in answer.split("\n") if line.startswith("Author: ")))


def customers():
    answers = yield [("sqlite.read_query", {"query": "SELECT city, COUNT(*) AS n FROM customers GROUP BY city"}), ("filesystem.read_text_file", {"path": FILES + "/notes.txt"})]
    return rows(answers[0])


MIDDLE = [
    Task("first line of a file", "165", "one call", f"What is the first line of {FILES}/notes.txt?", "Release on Friday.", [("read a text file", ["filesystem.read_text_file"])],
         one("filesystem.read_text_file", {"path": FILES + "/notes.txt", "head": 1}, lambda answer: (answer["content"] if isinstance(answer, dict) else answer).strip()),
         [f'from filesystem.functions import read_text_file\n\nresult = read_text_file(path="{FILES}/notes.txt", head=1)["content"].strip()'],
         [f'import {{ filesystem }} from "mce:servers";\n\nexport default (await filesystem.readTextFile({{ path: "{FILES}/notes.txt", head: 1 }})).content.trim();']),
    Task("who wrote to me", "165", "one call for each", "How many of my last 50 unread mails are from whom?", {"ann@shop.example": 20, "bob@bank.example": 10, "finance@corp.example": 10, "list@news.example": 10},
         [("list gmail messages", ["gmail.gmail_users_messages_list"]), ("get gmail message", ["gmail.gmail_users_messages_get"])], senders,
         ['from collections import Counter\nfrom gmail.functions import gmail_users_messages_get, gmail_users_messages_list\n\nids = [one["id"] for one in gmail_users_messages_list(user_id="me", max_results=50, q="is:unread")["messages"]]\nsenders = Counter()\nfor id in ids:\n    mail = gmail_users_messages_get(user_id="me", id=id, format="metadata")\n    senders[next(header["value"] for header in mail["payload"]["headers"] if header["name"] == "From")] += 1\nresult = senders'],
         ['import { gmail } from "mce:servers";\n\nconst { messages } = await gmail.gmailUsersMessagesList({ userId: "me", maxResults: 50, q: "is:unread" });\nconst senders = {};\nfor (const { id } of messages) {\n  const mail = await gmail.gmailUsersMessagesGet({ userId: "me", id, format: "metadata" });\n  const from = mail.payload.headers.find(header => header.name === "From").value;\n  senders[from] = (senders[from] ?? 0) + 1;\n}\nexport default senders;']),
    Task("sales of a year by region", "165", "several turns", f"Sum up the amounts by region over all CSV files below {FILES} (columns date, region, amount).", {"north": 8694.0, "south": 9600.0, "east": 8586.0},
         [("search files", ["filesystem.search_files"]), ("read multiple files", ["filesystem.read_multiple_files"])], sales,
         [f'from filesystem.functions import read_text_file, search_files\n\ntotals = {{}}\nfor path in search_files(path="{FILES}", pattern="**/*.csv")["content"].splitlines():\n    for line in read_text_file(path=path)["content"].splitlines()[1:]:\n        date, region, amount = line.split(",")\n        totals[region] = totals.get(region, 0) + float(amount)\nresult = totals'],
         [f'import {{ filesystem }} from "mce:servers";\n\nconst totals = {{}};\nfor (const path of (await filesystem.searchFiles({{ path: "{FILES}", pattern: "**/*.csv" }})).content.split("\\n")) {{\n  for (const line of (await filesystem.readTextFile({{ path }})).content.trim().split("\\n").slice(1)) {{\n    const [, region, amount] = line.split(",");\n    totals[region] = (totals[region] ?? 0) + Number(amount);\n  }}\n}}\nexport default totals;']),
    Task("commits by author", "165", "large answer", f"How many of the last 40 commits in {REPOSITORY} are by whom?", {"Ann": 14, "Bob": 26}, [("commit history", ["git.git_log"])],
         one("git.git_log", {"repo_path": REPOSITORY, "max_count": 40}, authors),
         [f'import re\nfrom collections import Counter\nfrom git.functions import git_log\n\nresult = Counter(re.findall(r"^Author: (.*)$", git_log(repo_path="{REPOSITORY}", max_count=40), re.M))'],
         [f'import {{ git }} from "mce:servers";\n\nconst authors = {{}};\nfor (const [, name] of (await git.gitLog({{ repoPath: "{REPOSITORY}", maxCount: 40 }})).matchAll(/^Author: (.*)$/gm)) authors[name] = (authors[name] ?? 0) + 1;\nexport default authors;']),
    Task("people are remembered", "165", "write", f"Keep everybody in {PEOPLE} as an entity: name, role as its type, team as an observation.", 20,
         [("read a text file", ["filesystem.read_text_file"]), ("create entities", ["memory.create_entities"])], remember,
         [f'from filesystem.functions import read_text_file\nfrom memory.functions import create_entities\nimport json\n\npeople = json.loads(read_text_file(path="{PEOPLE}")["content"])\nresult = len(create_entities(entities=[{{"name": one["name"], "entityType": one["role"], "observations": [one["team"]]}} for one in people])["entities"])'],
         [f'import {{ filesystem, memory }} from "mce:servers";\n\nconst people = JSON.parse((await filesystem.readTextFile({{ path: "{PEOPLE}" }})).content);\nexport default (await memory.createEntities({{ entities: people.map(one => ({{ name: one.name, entityType: one.role, observations: [one.team] }})) }})).entities.length;'], is_write=True),
    Task("newsletters are archived", "165", "write", "Archive all mails from newsletter and tell how many there were.", 30,
         [("list gmail messages", ["gmail.gmail_users_messages_list"]), ("modify labels of messages", ["gmail.gmail_users_messages_batch_modify"])], archive,
         ['from gmail.functions import gmail_users_messages_batch_modify, gmail_users_messages_list\n\nids = [one["id"] for one in gmail_users_messages_list(user_id="me", max_results=500, q="from:newsletter")["messages"]]\ngmail_users_messages_batch_modify(user_id="me", body={"ids": ids, "removeLabelIds": ["INBOX"]})\nresult = len(ids)'],
         ['import { gmail } from "mce:servers";\n\nconst { messages } = await gmail.gmailUsersMessagesList({ userId: "me", maxResults: 500, q: "from:newsletter" });\nawait gmail.gmailUsersMessagesBatchModify({ userId: "me", body: { ids: messages.map(one => one.id), removeLabelIds: ["INBOX"] } });\nexport default messages.length;'], is_write=True),
    Task("two small things at once", "165", "two calls", f"How many customers are there in each city (table customers)? And read me {FILES}/notes.txt.", [{"city": "Lima", "n": 20}, {"city": "Oslo", "n": 20}, {"city": "Rome", "n": 20}],
         [("run sql query", ["sqlite.read_query"]), ("read a text file", ["filesystem.read_text_file"])], customers,
         [f'from filesystem.functions import read_text_file\nfrom sqlite.functions import read_query\n\nnotes = read_text_file(path="{FILES}/notes.txt")["content"]\nprint(notes)\nresult = read_query(query="SELECT city, COUNT(*) AS n FROM customers GROUP BY city")'],
         [f'import {{ filesystem, sqlite }} from "mce:servers";\n\nconst notes = (await filesystem.readTextFile({{ path: "{FILES}/notes.txt" }})).content;\nif (notes.length > 5000) console.log("long");\nexport default await sqlite.readQuery({{ query: "SELECT city, COUNT(*) AS n FROM customers GROUP BY city" }});']),
]

# 3,461 functions: GitHub, Kubernetes, Stripe, Jira, DigitalOcean, Asana.

HELLO = {"owner": "octocat", "repo": "Hello-World"}


def labels(issues):
    return dict(collections.Counter(label["name"] for issue in issues for label in issue["labels"]))


def openers():
    logins = collections.Counter()
    for page in range(1, 5):
        answers = yield [("github.issues_list_for_repo", {**HELLO, "state": "open", "per_page": 100, "page": page})]
        logins.update(issue["user"]["login"] for issue in answers[0])
    return logins.most_common(1)[0][0]


def additions():
    answers = yield [("github.pulls_list", {**HELLO, "per_page": 100})]
    pulls = yield [("github.pulls_get", {**HELLO, "pull_number": pull["number"]}) for pull in answers[0]]
    return sum(pull["additions"] for pull in pulls)


def refunded(answer):
    totals = collections.Counter()
    for charge in answer["data"]:
        totals[charge["currency"]] += charge["amount_refunded"]
    return dict(totals)


def restarts(answer):
    return [pod["metadata"]["name"] for pod in answer["items"] if pod["status"]["containerStatuses"][0]["restartCount"] > 5]




ISSUES = [("list repository issues", ["github.issues_list_for_repo"])]
RECORD = {"type": "A", "name": "www", "data": "203.0.113.7"}
IMPORT = 'import { github } from "mce:servers";\n\n'

LARGE = [
    Task("stars of a repository", "3,461", "one call", "How many stars has octocat/Hello-World on GitHub?", 80, [("get a repository", ["github.repos_get"])],
         one("github.repos_get", HELLO, lambda answer: answer["stargazers_count"]),
         ['from github.functions import repos_get\n\nresult = repos_get(owner="octocat", repo="Hello-World")["stargazers_count"]'],
         [IMPORT + 'export default (await github.reposGet({ owner: "octocat", repo: "Hello-World" })).stargazersCount;'.replace("stargazersCount", "stargazers_count")]),
    Task("labels of a hundred issues", "3,461", "large answer", "Count the labels of the newest 100 open issues of octocat/Hello-World.", {"bug": 33, "docs": 17, "feature": 17, "question": 17, "performance": 16}, ISSUES,
         one("github.issues_list_for_repo", {**HELLO, "per_page": 100}, labels),
         ['from collections import Counter\nfrom github.functions import issues_list_for_repo\n\nissues = issues_list_for_repo(owner="octocat", repo="Hello-World", per_page=100)\nresult = Counter(label["name"] for issue in issues for label in issue["labels"])'],
         [IMPORT + 'const counts = {};\nfor (const issue of await github.issuesListForRepo({ owner: "octocat", repo: "Hello-World", perPage: 100 })) for (const { name } of issue.labels) counts[name] = (counts[name] ?? 0) + 1;\nexport default counts;']),
    Task("who opened most issues", "3,461", "several pages", "Who opened most of the open issues of octocat/Hello-World?", "user-13", ISSUES, openers,
         ['from collections import Counter\nfrom github.functions import issues_list_for_repo\nfrom mce import paginate\n\nissues = paginate(issues_list_for_repo, {"owner": "octocat", "repo": "Hello-World", "state": "open", "per_page": 100})\nresult = Counter(issue["user"]["login"] for issue in issues).most_common(1)[0][0]'],
         [IMPORT + 'const counts = {};\nfor (let page = 1; ; page++) {\n  const issues = await github.issuesListForRepo({ owner: "octocat", repo: "Hello-World", state: "open", perPage: 100, page });\n  for (const { user } of issues) counts[user.login] = (counts[user.login] ?? 0) + 1;\n  if (issues.length < 100) break;\n}\nexport default Object.entries(counts).sort((a, b) => b[1] - a[1])[0][0];']),
    Task("lines added by pull requests", "3,461", "one call for each", "How many lines do the open pull requests of octocat/Hello-World add together?", 2440,
         [("list pull requests of a repository", ["github.pulls_list"]), ("get a pull request", ["github.pulls_get"])], additions,
         ['from github.functions import pulls_get, pulls_list\n\npulls = pulls_list(owner="octocat", repo="Hello-World", per_page=100)\nresult = sum(pulls_get(owner="octocat", repo="Hello-World", pull_number=pull["number"])["additions"] for pull in pulls)'],
         [IMPORT + 'const repo = { owner: "octocat", repo: "Hello-World" };\nlet added = 0;\nfor (const { number } of await github.pullsList({ ...repo, perPage: 100 })) added += (await github.pullsGet({ ...repo, pullNumber: number })).additions;\nexport default added;']),
    Task("refunds by currency", "3,461", "large answer", "How much of the last 100 Stripe charges was refunded, by currency?", {"usd": 4500, "gbp": 4000, "eur": 4000}, [("list charges", ["stripe.get_charges"])],
         one("stripe.get_charges", {"limit": 100}, refunded),
         ['from stripe.functions import get_charges\n\ntotals = {}\nfor charge in get_charges(limit=100)["data"]:\n    totals[charge["currency"]] = totals.get(charge["currency"], 0) + charge["amount_refunded"]\nresult = totals'],
         ['import { stripe } from "mce:servers";\n\nconst totals = {};\nfor (const charge of (await stripe.getCharges({ limit: 100 })).data) totals[charge.currency] = (totals[charge.currency] ?? 0) + charge.amount_refunded;\nexport default totals;']),
    Task("pods that restart", "3,461", "large answer", "Which pods in the namespace prod have restarted more than 5 times?", [f"web-7d9c5b6f4-{index:05}" for index in range(0, 60, 13)], [("list pods in a namespace", ["kubernetes.list_core_v1_namespaced_pod"])],
         one("kubernetes.list_core_v1_namespaced_pod", {"namespace": "prod"}, restarts),
         ['from kubernetes.functions import list_core_v1_namespaced_pod\n\npods = list_core_v1_namespaced_pod(namespace="prod")["items"]\nresult = [pod["metadata"]["name"] for pod in pods if any(one["restartCount"] > 5 for one in pod["status"]["containerStatuses"])]'],
         ['import { kubernetes } from "mce:servers";\n\nconst { items } = await kubernetes.listCoreV1NamespacedPod({ namespace: "prod" });\nexport default items.filter(pod => pod.status.containerStatuses.some(one => one.restartCount > 5)).map(pod => pod.metadata.name);']),
    Task("a record in the DNS", "3,461", "write", "Add an A record www for example.com at DigitalOcean: 203.0.113.7", 28448433, [("create domain record", ["digitalocean.domains_create_record"])],
         one("digitalocean.domains_create_record", {"domain_name": "example.com", "body": RECORD}, lambda answer: answer["domain_record"]["id"]),
         ['from digitalocean.functions import domains_create_record\n\nresult = domains_create_record(domain_name="example.com", body={"type": "A", "name": "www", "data": "203.0.113.7"})["domain_record"]["id"]'],
         ['import { digitalocean } from "mce:servers";\n\nexport default (await digitalocean.domainsCreateRecord({ domainName: "example.com", body: { type: "A", name: "www", data: "203.0.113.7" } })).domain_record.id;'], is_write=True),
]
TASKS = SMALL + MIDDLE + LARGE
