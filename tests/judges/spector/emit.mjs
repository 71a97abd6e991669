// Writes the specs of @typespec/http-specs as OpenAPI documents. Arguments: the folder to write into, the version of OpenAPI.
// Prints JSON: for each folder of specs why it has no document, or null.
import { existsSync, readdirSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { compile, NodeHost } from "@typespec/compiler";

const [out, version] = process.argv.slice(2);
const specs = resolve("node_modules/@typespec/http-specs/specs");

function* folders(folder) {
  if (existsSync(join(folder, "main.tsp"))) yield folder;
  for (const entry of readdirSync(folder, { withFileTypes: true })) if (entry.isDirectory()) yield* folders(join(folder, entry.name));
}

const emitted = {};
for (const folder of folders(specs)) {
  const name = relative(specs, folder).replaceAll("/", "-");
  const target = join(resolve(out), name);
  try {
    const options = { "emitter-output-dir": target, "openapi-versions": [version], "file-type": "json" };
    const program = await compile(NodeHost, join(folder, "main.tsp"), { emit: ["@typespec/openapi3"], outputDir: out, options: { "@typespec/openapi3": options } });
    const errors = program.diagnostics.filter((d) => d.severity === "error").map((d) => d.message);
    emitted[name] = existsSync(target) ? null : [...new Set(errors)].join("; ");
  } catch (error) {
    emitted[name] = String(error.message).split("\n").find((line) => line.includes("TypeError")) ?? String(error);
  }
}
console.log(JSON.stringify(emitted));
