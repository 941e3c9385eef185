// Writes openapi.d.ts: the types of the server's routes, from its document openapi.json.
//
//   node types.mjs          writes the file
//   node types.mjs --check  ends with 1 if the file is not what would be written
//
// A schema with other keywords than those in type() fails here: add the keyword.
import { readFileSync, writeFileSync } from "node:fs";

const source = new URL("../../server/internal/v1/openapi.json", import.meta.url);
const document = JSON.parse(readFileSync(source, "utf8"));

/** The TypeScript type of a schema. */
function type(schema, indent = "") {
  const { $ref, anyOf, enum: values, type: kind, properties, items, ...rest } = schema;
  for (const key of Object.keys(rest)) {
    if (!["description", "required", "additionalProperties", "minimum", "maximum", "minLength", "default",
      "format"].includes(key)) {
      throw new Error(`openapi.json: a schema has the keyword ${key}, which types.mjs does not know`);
    }
  }
  if ($ref) return $ref.split("/").at(-1);
  if (anyOf) return anyOf.map((one) => type(one, indent)).join(" | ");
  if (values) return values.map((value) => JSON.stringify(value)).join(" | ");
  switch (kind) {
    case "string": case "boolean": return kind;
    case "integer": case "number": return "number";
    case "array": return `Array<${type(items, indent)}>`;
    case "object": return properties ? members(schema, indent) : "Record<string, any>";
    case undefined: return "unknown";
  }
  throw new Error(`openapi.json: a schema has the type ${kind}, which types.mjs does not know`);
}

/** The members of an object. */
function members(schema, indent) {
  const lines = Object.entries(schema.properties).map(([name, one]) =>
    member(name, type(one, indent + "  "), schema.required?.includes(name), one.description, indent + "  "));
  return `{\n${lines.join("")}${indent}}`;
}

function member(name, value, required, description, indent) {
  const key = /^\w+$/.test(name) ? name : JSON.stringify(name);
  return comment(description, indent) + `${indent}${key}${required ? "" : "?"}: ${value};\n`;
}

function comment(text, indent = "") {
  return text ? `${indent}/** ${text.replaceAll("*/", "* /")} */\n` : "";
}

let text = "// Written by types.mjs from the server's openapi.json. Change that, and run: node types.mjs\n\n";
for (const [name, schema] of Object.entries(document.components.schemas)) {
  const value = type(schema);
  text += comment(schema.description) +
    (value.startsWith("{") ? `export interface ${name} ${value}\n\n` : `export type ${name} = ${value};\n\n`);
}

// What each operation takes in its query, and answers, by its operationId.
let queries = "";
let answers = "";
for (const operation of Object.values(document.paths).flatMap((methods) => Object.values(methods))) {
  const query = operation.parameters.filter((one) => one.in === "query");
  if (query.length > 0) {
    const lines = query.map((one) =>
      member(one.name, type(one.schema), one.required, one.description, "    "));
    queries += member(operation.operationId, `{\n${lines.join("")}  }`, true, operation.summary, "  ");
  }
  const json = Object.entries(operation.responses)
    .filter(([status]) => status !== "default")
    .flatMap(([, answer]) => answer.content?.["application/json"]?.schema ?? [])
    .map((schema) => type(schema, "  "));
  if (json.length > 0) {
    answers += member(operation.operationId, json.join(" | "), true, operation.summary, "  ");
  }
}
text += "/** What routes take in a query, by their operationId. */\n";
text += `export interface Queries {\n${queries}}\n\n`;
text += "/** What routes answer as JSON, by their operationId. */\n";
text += `export interface Answers {\n${answers}}\n`;

const file = new URL("openapi.d.ts", import.meta.url);
if (!process.argv.includes("--check")) {
  writeFileSync(file, text);
} else if (readFileSync(file, "utf8") !== text) {
  console.error("openapi.d.ts is not what openapi.json says: run node types.mjs in clients/typescript");
  process.exit(1);
}
