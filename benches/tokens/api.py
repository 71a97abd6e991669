"""Answers of the APIs in the catalogs, from the documents' own examples and schemas: the same each time, and as large as the real ones."""
import http.server
import json
import re
import threading
import urllib.parse
from pathlib import Path

STAMP = "2026-10-{day:02}T{hour:02}:15:00Z"


def stamp(index):
    return STAMP.format(day=1 + index % 28, hour=index % 24)


class Document:
    """An OpenAPI 3 document that gives a value for what an operation answers with."""

    def __init__(self, file):
        self.root = json.loads(Path(file).read_text())

    def at(self, reference):
        node = self.root
        for part in reference.removeprefix("#/").split("/"):
            node = node[part.replace("~1", "/").replace("~0", "~")]
        return node

    def settled(self, node):
        while "$ref" in node:
            node = self.at(node["$ref"])
        return node

    def answer(self, method, path, status="200"):
        content = self.settled(self.root["paths"][path][method]["responses"][status])["content"]["application/json"]
        for example in content.get("examples", {}).values():
            return self.settled(example)["value"]
        return content.get("example") or self.value(content["schema"], 0)

    def value(self, schema, depth):
        """All properties, as servers send them; one item of a list; nothing below the sixth level."""
        schema = self.settled(schema)
        for key in ("example", "default"):
            if key in schema:
                return schema[key]
        if schema.get("enum"):
            return schema["enum"][0]
        for key in ("anyOf", "oneOf"):
            if schema.get(key):
                return self.value(schema[key][0], depth)
        if schema.get("allOf"):
            parts = [self.value(part, depth) for part in schema["allOf"]]
            return {key: value for part in parts if isinstance(part, dict) for key, value in part.items()}
        kind = schema.get("type", "object")
        if kind == "object":
            if depth > 5:
                return {}
            inner = {name: part for name, part in schema.get("properties", {}).items()}
            return {name: None if self.settled(part).get("nullable") and depth > 1 else self.value(part, depth + 1) for name, part in inner.items()}
        if kind == "array":
            return [] if depth > 3 else [self.value(schema.get("items", {}), depth + 1)]
        return {"string": "text", "integer": 1, "number": 1.5, "boolean": False}.get(kind)


def copies(base, count, change):
    """As many copies of one item, each changed by its number."""
    items = []
    for index in range(count):
        item = json.loads(json.dumps(base))
        item.update(change(index, item))
        items.append(item)
    return items


class Answers:
    """What each path answers with. `sent` is what was written."""

    def __init__(self, specs):
        self.specs, self.sent, self.documents, self.made = Path(specs), [], {}, {}
        self.routes = [(method, re.compile(pattern), answer) for method, pattern, answer in self.all()]

    def document(self, name):
        if name not in self.documents:
            self.documents[name] = Document(self.specs / name)
        return self.documents[name]

    def once(self, key, make):
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]

    def all(self):
        return [
            ("GET", r"/github/repos/[^/]+/[^/]+", lambda found, query, body: self.github("get", "/repos/{owner}/{repo}")),
            ("GET", r"/github/repos/[^/]+/[^/]+/issues", lambda found, query, body: paged(self.issues(), query)),
            ("GET", r"/github/repos/[^/]+/[^/]+/pulls", lambda found, query, body: paged(self.pulls(), query)),
            ("GET", r"/github/repos/[^/]+/[^/]+/pulls/(\d+)", lambda found, query, body: self.pull(int(found[1]))),
            ("GET", r"/stripe/v1/charges", lambda found, query, body: self.charges(int(query.get("limit", 10)))),
            ("GET", r"/k8s/api/v1/namespaces/[^/]+/pods", lambda found, query, body: {"apiVersion": "v1", "kind": "PodList", "metadata": {"resourceVersion": "88123"}, "items": [pod(index) for index in range(60)]}),
            ("POST", r"/do/v2/domains/[^/]+/records", lambda found, query, body: {"domain_record": {"id": 28448433, "priority": None, "port": None, "ttl": 1800, "weight": None, "flags": None, "tag": None, **body}}),
            ("GET", r"/gmail/gmail/v1/users/me/messages", lambda found, query, body: self.messages(query)),
            ("GET", r"/gmail/gmail/v1/users/me/messages/(\w+)", lambda found, query, body: mail(int(found[1], 16) - 0x18F000)),
            ("POST", r"/gmail/gmail/v1/users/me/messages/batchModify", lambda found, query, body: None),
        ]

    def github(self, method, path):
        return self.document("github-api.json").answer(method, path)

    def issues(self):
        base = self.once("issue", lambda: self.github("get", "/repos/{owner}/{repo}/issues")[0])
        labels = ["bug", "docs", "feature", "question", "bug", "performance"]

        def change(index, item):
            return {"number": 1000 - index, "title": f"Something about {labels[index % 6]} number {index}", "created_at": stamp(index),
                    "labels": [{**item["labels"][0], "name": labels[index % 6]}], "user": {**item["user"], "login": f"user-{index * index % 17}"}}

        return self.once("issues", lambda: copies(base, 350, change))

    def pulls(self):
        base = self.once("pull", lambda: self.github("get", "/repos/{owner}/{repo}/pulls")[0])
        return self.once("pulls", lambda: copies(base, 20, lambda index, item: {"number": 500 + index, "title": f"Change number {index}"}))

    def pull(self, number):
        base = self.once("one pull", lambda: self.github("get", "/repos/{owner}/{repo}/pulls/{pull_number}"))
        return {**base, "number": number, "additions": number % 7 * 40, "deletions": number % 5}

    def charges(self, limit):
        base = self.once("charge", lambda: self.document("apisguru-stripe.com.json").answer("get", "/v1/charges")["data"][0])
        currencies = ["usd", "eur", "gbp"]

        def change(index, item):
            return {"id": f"ch_{index:08}", "amount": 1000 + index * 10, "amount_refunded": (index % 4 == 0) * 500, "currency": currencies[index % 3]}

        return {"object": "list", "url": "/v1/charges", "has_more": False, "data": copies(base, 100, change)[:limit]}

    def messages(self, query):
        count = 30 if "newsletter" in query.get("q", "") else 50
        items = [{"id": f"{0x18F000 + index:x}", "threadId": f"{0x18F000 + index:x}"} for index in range(count)]
        return {"messages": items[: int(query.get("maxResults", 100))], "resultSizeEstimate": count}


def paged(items, query):
    size, page = int(query.get("per_page", 30)), int(query.get("page", 1))
    return items[(page - 1) * size : page * size]


def mail(index):
    """A message with `format=metadata`."""
    sender = ["ann@shop.example", "bob@bank.example", "finance@corp.example", "ann@shop.example", "list@news.example"][index % 5]
    headers = {"Delivered-To": "me@example.com", "Received": "by 2002:a05:6402:1e8c with SMTP id f12csp1873321edf; Mon, 5 Oct 2026 03:11:44 -0700 (PDT)", "Return-Path": f"<{sender}>",
               "DKIM-Signature": "v=1; a=rsa-sha256; c=relaxed/relaxed; d=example; s=20230601; t=1759659104; bh=3vQmTz0ClGd1e1kB5mGf0WzZf0Y1q8n3c2Jw9b7k1xE=; b=Qe8mKq0l2rWz",
               "From": sender, "To": "me@example.com", "Subject": f"Message number {index}", "Date": "Mon, 5 Oct 2026 10:11:43 +0000", "Message-ID": f"<{index}.a8f3c@example>", "MIME-Version": "1.0", "Content-Type": "text/html; charset=UTF-8"}
    return {"id": f"{0x18F000 + index:x}", "threadId": f"{0x18F000 + index:x}", "labelIds": ["UNREAD", "INBOX"], "snippet": "Hello, this is what the message says in its first words and a little more &hellip;", "sizeEstimate": 24123, "historyId": "1873321", "internalDate": "1759659103000",
            "payload": {"partId": "", "mimeType": "text/html", "filename": "", "headers": [{"name": name, "value": value} for name, value in headers.items()]}}


def pod(index):
    """As a cluster gives one, without managed fields."""
    name = f"web-7d9c5b6f4-{index:05}"
    restarts = 9 if index % 13 == 0 else index % 3
    probe = {"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "initialDelaySeconds": 5, "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
    mount = {"name": "kube-api-access", "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
    conditions = [{"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": stamp(index)} for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")]
    started = {"running": {"startedAt": stamp(index)}}
    digest = "9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c5b4a39281706f5e4d3c2b1a0"
    return {"metadata": {"name": name, "generateName": "web-7d9c5b6f4-", "namespace": "prod", "uid": f"0b1c2d3e-4f50-6172-8394-{index:012}", "resourceVersion": "88120", "creationTimestamp": stamp(index), "labels": {"app": "web", "pod-template-hash": "7d9c5b6f4"},
                         "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-7d9c5b6f4", "uid": "5a6b7c8d-9e0f-1a2b-3c4d-5e6f7a8b9c0d", "controller": True, "blockOwnerDeletion": True}]},
            "spec": {"volumes": [{"name": "kube-api-access", "projected": {"sources": [{"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}], "defaultMode": 420}}],
                     "containers": [{"name": "web", "image": "registry.example.com/web:1.42.0", "ports": [{"containerPort": 8080, "protocol": "TCP"}], "env": [{"name": "LEVEL", "value": "info"}], "resources": {"limits": {"cpu": "500m", "memory": "512Mi"}, "requests": {"cpu": "100m", "memory": "256Mi"}},
                                     "volumeMounts": [mount], "livenessProbe": probe, "readinessProbe": probe, "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File", "imagePullPolicy": "IfNotPresent"}],
                     "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst", "serviceAccountName": "default", "nodeName": f"node-{index % 6}", "schedulerName": "default-scheduler", "priority": 0, "enableServiceLinks": True},
            "status": {"phase": "Running", "conditions": conditions, "hostIP": "10.0.0.5", "podIP": f"10.1.0.{index}", "startTime": stamp(index), "qosClass": "Burstable",
                       "containerStatuses": [{"name": "web", "state": started, "lastState": {}, "ready": True, "restartCount": restarts, "image": "registry.example.com/web:1.42.0", "imageID": f"registry.example.com/web@sha256:{digest}", "containerID": f"containerd://{digest}", "started": True}]}}


def serve(answers):
    """Starts the API and gives its address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self):
            url = urllib.parse.urlsplit(self.path)
            length = int(self.headers.get("content-length") or 0)
            text = self.rfile.read(length)
            body = json.loads(text) if text and "json" in self.headers.get("content-type", "") else {}
            query = dict(urllib.parse.parse_qsl(url.query))
            status, value = 404, {"message": f"nothing at {url.path}"}
            for method, pattern, make in answers.routes:
                if method == self.command and (found := pattern.fullmatch(url.path)):
                    status, value = 200, make(found, query, body)
                    if method != "GET":
                        answers.sent.append((url.path, body))
            more = isinstance(value, list) and len(value) == int(query.get("per_page", 30))
            data = b"" if value is None else json.dumps(value).encode()
            self.send_response(status if value is not None else 204)
            if data:
                self.send_header("content-type", "application/json")
            if more:
                following = urllib.parse.urlencode({**query, "page": int(query.get("page", 1)) + 1})
                self.send_header("link", f'<http://{self.headers["host"]}{url.path}?{following}>; rel="next"')
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"
