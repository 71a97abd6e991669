// Prints a document as JSON. Argument: the file.
import { readFileSync } from "node:fs";
import { parse } from "@stoplight/yaml";

console.log(JSON.stringify(parse(readFileSync(process.argv[2], "utf8"))));
