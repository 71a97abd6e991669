"""The three catalogs: servers of others and documents of others, and what lies in the files, repositories and databases they work on."""
import json
import os
import shutil
import sqlite3
import subprocess

NAMES = ("10", "165", "3,461")
# For the crossover: all have what the task needs.
GROWING = [("sqlite",), ("sqlite", "time"), ("sqlite", "time", "fetch"), ("sqlite", "memory"), ("sqlite", "thinking", "fetch"), ("sqlite", "git"), ("sqlite", "thinking", "time"), ("sqlite", "git", "fetch"), ("sqlite", "everything"), ("sqlite", "filesystem")]


def configuration(name, folder, servers, specs, api):
    """`servers` of `mce.yaml`."""

    def node(program, *args):
        return {"command": "node", "args": [str(servers / "node_modules" / program), *args]}

    def official(server, *args):
        return node(f"@modelcontextprotocol/server-{server}/dist/index.js", *args)

    def python(server, *args, environment="python"):
        return {"command": str(servers / environment / "bin" / server), "args": list(args)}

    def document(file, path):
        return {"openapi": str(specs / file), "base_url": f"{api}/{path}"}

    few = {
        "time": python("mcp-server-time"),
        "sqlite": python("mcp-server-sqlite", "--db-path", str(folder / "shop.sqlite"), environment="old-python"),
        "fetch": python("mcp-server-fetch"),
        "thinking": official("sequential-thinking"),
    }
    more = {
        "filesystem": official("filesystem", str(folder / "files")),
        "git": python("mcp-server-git", "--repository", str(folder / "repository")),
        "memory": official("memory") | {"env": {"MEMORY_FILE_PATH": str(folder / "memory.jsonl")}},
        "playwright": node("@playwright/mcp/cli.js", "--headless", "--no-sandbox", "--isolated"),
        "everything": official("everything", "stdio"),
    }
    if name == "10":
        return few
    if name == "165":
        return few | more | {"gmail": document("apisguru-googleapis.com__gmail.json", "gmail")}
    if name != "3,461":
        return {server: (few | more)[server] for server in name.split("+")}
    return {
        "github": document("github-api.json", "github"),
        "kubernetes": document("apisguru-kubernetes.io.json", "k8s"),
        "stripe": document("apisguru-stripe.com.json", "stripe"),
        "jira": document("apisguru-atlassian.com__jira.json", "jira"),
        "digitalocean": document("apisguru-digitalocean.com.json", "do"),
        "asana": document("pb33f-asana.yaml", "asana"),
    }


def lay_out(folder):
    """The same files, repository and database each time."""
    for name in ("files", "repository"):
        shutil.rmtree(folder / name, ignore_errors=True)
    for name in ("shop.sqlite", "memory.jsonl"):
        (folder / name).unlink(missing_ok=True)
    files(folder / "files")
    repository(folder / "repository")
    database(folder / "shop.sqlite")


def files(folder):
    (folder / "sales").mkdir(parents=True)
    (folder / "notes.txt").write_text("Release on Friday.\nAsk Ann about the logo.\nPay the hosting bill.\n")
    for month in range(1, 13):
        rows = "".join(f"2026-{month:02}-{day:02},{('north', 'south', 'east')[day % 3]},{month * 10 + day}.50\n" for day in range(1, 29))
        (folder / f"sales/2026-{month:02}.csv").write_text("date,region,amount\n" + rows)
    people = [{"name": f"Person {index}", "role": ("engineer", "designer", "writer")[index % 3], "team": f"team {index % 4}"} for index in range(20)]
    (folder / "people.json").write_text(json.dumps(people, indent=1))


def repository(folder):
    folder.mkdir()

    def git(*args, **variables):
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder), **variables}
        subprocess.run(["git", *args], cwd=folder, check=True, env=environment, stdout=subprocess.DEVNULL)

    git("init", "-q", "-b", "main")
    for index in range(40):
        (folder / "text.txt").write_text(f"line {index}\n")
        who = ("Ann", "Bob", "Cho")[index * index % 3]
        name = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in (("NAME", who), ("EMAIL", f"{who.lower()}@shop.example"), ("DATE", f"2026-10-01T{index % 24:02}:00:00Z"))}
        git("add", "text.txt")
        git("commit", "-q", "-m", f"Change number {index}", **name)


def database(file):
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, email TEXT, city TEXT)")
        connection.execute("CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT, category TEXT, price REAL)")
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER, product_id INTEGER, quantity INTEGER, day TEXT)")
        connection.execute("CREATE TABLE offices (city TEXT, zone TEXT)")
        connection.executemany("INSERT INTO customers VALUES (?,?,?,?)", [(index, f"Customer {index}", f"c{index}@mail.example", ("Oslo", "Rome", "Lima")[index % 3]) for index in range(1, 61)])
        connection.executemany("INSERT INTO products VALUES (?,?,?,?)", [(index, f"Product {index}", ("books", "games", "tools")[index % 3], index * 2.5) for index in range(1, 31)])
        connection.executemany("INSERT INTO orders VALUES (?,?,?,?,?)", [(index, index % 60 + 1, index * 7 % 30 + 1, index % 4 + 1, f"2026-{index % 12 + 1:02}-{index % 28 + 1:02}") for index in range(1, 501)])
        zones = ["Asia/Tokyo", "Asia/Singapore", "Asia/Dubai", "Africa/Nairobi", "Africa/Lagos", "America/Bogota", "Asia/Karachi", "Asia/Dhaka"]
        connection.executemany("INSERT INTO offices VALUES (?,?)", [(zone.split("/")[1], zone) for zone in zones])
