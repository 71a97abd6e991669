"""What stands between a client and a server, for tests: TLS, proxies, and a server that asks for a digest.

    server.py '{"kind": "tls", "to": PORT, "certificate": FILE, "key": FILE, "clients": FILE?}'
    server.py '{"kind": "proxy" | "socks", "log": FILE, "user": "name:password"?}'
    server.py '{"kind": "digest", "algorithm": "MD5" | "SHA-256", "user": "name", "password": "…", "log": FILE, "moved": URL?}'

With `moved`, what ends with `/moved` is there.

Prints the port that it listens on. A log has a line for each connection that was passed on, or each request.
"""

import asyncio
import base64
import hashlib
import json
import os
import re
import ssl
import sys
from urllib.parse import urlsplit

SPEC = json.loads(sys.argv[1])


def log(line):
    with open(SPEC["log"], "a") as file:
        file.write(line + "\n")


async def pump(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def join(reader, writer, host, port, first=b""):
    there_reader, there_writer = await asyncio.open_connection(host, port)
    there_writer.write(first)
    await asyncio.gather(pump(reader, there_writer), pump(there_reader, writer))


async def head(reader):
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    fields = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)
    return lines[0].split(" "), {name.lower(): value for name, value in fields.items()}, lines


async def tls(reader, writer):
    await join(reader, writer, "127.0.0.1", SPEC["to"])


async def proxy(reader, writer):
    (method, target, _), fields, lines = await head(reader)
    wanted = "Basic " + base64.b64encode(SPEC.get("user", "").encode()).decode()
    if SPEC.get("user") and fields.get("proxy-authorization") != wanted:
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        return writer.close()
    log(f"{method} {target}")
    if method == "CONNECT":
        host, port = target.rsplit(":", 1)
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        return await join(reader, writer, host, int(port))
    url = urlsplit(target)
    path = url.path + ("?" + url.query if url.query else "")
    kept = [line for line in lines[1:] if not line.lower().startswith("proxy-")]
    first = "\r\n".join([f"{method} {path} HTTP/1.1"] + kept).encode("latin-1")
    await join(reader, writer, url.hostname, url.port or 80, first)


async def socks(reader, writer):
    _, count = await reader.readexactly(2)
    await reader.readexactly(count)
    writer.write(b"\x05\x00")
    _, _, _, kind = await reader.readexactly(4)
    if kind == 3:
        host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
    else:
        host = ".".join(str(part) for part in await reader.readexactly(4))
    port = int.from_bytes(await reader.readexactly(2), "big")
    log(f"SOCKS {host}:{port}")
    writer.write(b"\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00")
    await join(reader, writer, host, port)


NONCES = {}


async def digest(reader, writer):
    """RFC 7616, section 3.4. A nonce is good for two requests."""
    plain = hashlib.md5 if SPEC["algorithm"] == "MD5" else hashlib.sha256
    h = lambda text: plain(text.encode()).hexdigest()
    try:
        while True:
            (method, target, _), fields, _ = await head(reader)
            body = await reader.readexactly(int(fields.get("content-length", "0")))
            given = dict(re.findall(r'(\w+)="?([^",]+)"?', fields.get("authorization", "").removeprefix("Digest ")))
            nonce = given.get("nonce", "")
            ha1 = h(f"{SPEC['user']}:a realm:{SPEC['password']}")
            wanted = h(f"{ha1}:{nonce}:{given.get('nc')}:{given.get('cnonce')}:auth:{h(method + ':' + target)}")
            is_right = given.get("response") == wanted and given.get("uri") == target and int(given.get("nc", "0"), 16) == NONCES.get(nonce, 0) + 1
            is_good = is_right and NONCES[nonce] < 2
            log(f"{method} {target} {200 if is_good else 401} {body.decode()}")
            if is_good:
                NONCES[nonce] += 1
                is_moved = target.endswith("/moved")
                answer = json.dumps({"name": SPEC["password"]}).encode()
                status, more = ("302 Found", f"Location: {SPEC['moved']}\r\n") if is_moved else ("200 OK", "")
            else:
                new = os.urandom(8).hex()
                NONCES[new] = 0
                answer, status = b"{}", "401 Unauthorized"
                stale = ", stale=true" if is_right else ""
                more = f'WWW-Authenticate: Digest realm="a realm", qop="auth", algorithm={SPEC["algorithm"]}, nonce="{new}"{stale}\r\n'
                more += 'WWW-Authenticate: Basic realm="a realm"\r\n'
            writer.write(f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{more}Content-Length: {len(answer)}\r\n\r\n".encode() + answer)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main():
    context = None
    if SPEC["kind"] == "tls":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(SPEC["certificate"], SPEC["key"])
        if SPEC.get("clients"):
            context.load_verify_locations(SPEC["clients"])
            context.verify_mode = ssl.CERT_REQUIRED
    server = await asyncio.start_server(globals()[SPEC["kind"]], "127.0.0.1", 0, ssl=context)
    # A client that goes away says enough by that.
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
