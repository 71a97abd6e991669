// Prints the scenarios of @typespec/http-specs as JSON: what each mock expects and answers. Argument: the base URL.
import { readdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { expandDyns } from "@typespec/spec-api";

const config = { baseUrl: process.argv[2] };
const root = resolve("node_modules/@typespec/http-specs/dist/specs");

function content(body) {
  if (body === undefined) return null;
  if (body.kind === "multipart") {
    const files = (body.files ?? []).map((f) => ({ name: f.fieldname, filename: f.originalname, type: f.mimetype, base64: f.buffer.toString("base64") }));
    return { contentType: body.contentType, parts: body.parts ?? {}, files };
  }
  const raw = body.rawContent?.serialize ? body.rawContent.serialize(config) : body.rawContent;
  return Buffer.isBuffer(raw) ? { contentType: body.contentType, base64: raw.toString("base64") } : { contentType: body.contentType, text: raw };
}

const scenarios = [];
for (const entry of readdirSync(root, { recursive: true })) {
  if (!entry.endsWith("mockapi.js")) continue;
  const { Scenarios } = await import(pathToFileURL(join(root, entry)).href);
  for (const [name, scenario] of Object.entries(Scenarios)) {
    const apis = scenario.apis.map(({ uri, method, request = {}, response }) => ({
      uri, method,
      query: request.query ?? {}, headers: expandDyns(request.headers ?? {}, config), pathParams: request.pathParams ?? {}, body: content(request.body),
      answer: { status: response.status, headers: expandDyns(response.headers ?? {}, config), body: content(response.body) },
    }));
    scenarios.push({ name, folder: dirname(entry).replaceAll("/", "-"), condition: scenario.passCondition, code: scenario.code, apis });
  }
}
console.log(JSON.stringify(scenarios));
