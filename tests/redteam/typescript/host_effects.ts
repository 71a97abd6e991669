// attempt: connect, listen, write files, start processes and threads, and signal others by the objects of other runtimes
// layer: namespace, landlock, seccomp
// expect: blocked
// after: listener silent; no leftover file; no leftover process; host alive; next run works
const g = globalThis as any;
const node = (name: string) => (g.require ?? g.process?.getBuiltinModule ?? g.process?.binding)(name);
const done: string[] = [];
const refused: string[] = [];
const EFFECTS: Record<string, () => any> = {
  "connect (Deno)": () => g.Deno.connect({ hostname: "127.0.0.1", port: 18777 }),
  "connect (Node)": () => node("net").connect(18777, "127.0.0.1"),
  "connect (Bun)": () => g.Bun.connect({ hostname: "127.0.0.1", port: 18777, socket: {} }),
  "connect (Unix)": () => g.Deno.connect({ transport: "unix", path: "\0mce-canary" }),
  "web socket": () => new g.WebSocket("ws://127.0.0.1:18777/"),
  "event source": () => new g.EventSource("http://127.0.0.1:18777/"),
  "a name": () => g.Deno.resolveDns("example.com", "A"),
  "listen (Deno)": () => g.Deno.listen({ port: 18778 }),
  "listen (Node)": () => node("net").createServer().listen(18778),
  "write (Deno)": () => g.Deno.writeTextFileSync("/tmp/redteam-effects", "x"),
  "write (Node)": () => node("fs").writeFileSync("/var/tmp/redteam-effects", "x"),
  "write (std)": () => g.std.open("/tmp/redteam-effects", "w").puts("x"),
  "link (Node)": () => node("fs").symlinkSync("/tmp/mce-canary/host.txt", "/tmp/redteam-effects"),
  "process (Deno)": () => new g.Deno.Command("/usr/bin/env").outputSync(),
  "process (Node)": () => node("child_process").execSync("env"),
  "process (os)": () => (g.os.exec(["/usr/bin/env"]) === 0 ? true : Promise.reject(new Error("refused"))),
  "signal (Node)": () => g.process.kill(g.process.ppid, 0),
  "signal (Deno)": () => g.Deno.kill(1, "SIGCONT"),
  "thread (web)": () => new g.Worker("data:text/javascript,for(;;){}", { type: "module" }),
  "thread (os)": () => new g.os.Worker("/dev/null"),
  "native code": () => g.Deno.dlopen("libc.so.6", { getpid: { parameters: [], result: "i32" } }),
  "native module": () => g.process.dlopen({ exports: {} }, "/lib/x86_64-linux-gnu/libc.so.6"),
  "a descriptor": () => node("fs").readSync(3, new Uint8Array(8)),
};
for (const [name, effect] of Object.entries(EFFECTS)) {
  try {
    await effect();
    done.push(name);
  } catch {
    refused.push(name);
  }
}
const result = { escaped: done.length > 0, how: done.length ? `done: ${done}` : `${refused.length} effects, none was had` };
