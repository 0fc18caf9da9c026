import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Test } from 'tap';

// biome-ignore lint/suspicious/noExplicitAny: a document is read by its paths
type Document = any;

/** Every schema is one of JSON Schema 2020-12, and every reference leads somewhere. */
export function schemasAreValid(t: Test, document: Document): void {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, validateFormats: false });
  // Under names of their own, so that each is compiled once, wherever it is referred to.
  for (const [name, schema] of Object.entries<object>(document.components.schemas))
    ajv.addSchema(withReferences(JSON.stringify(schema)), name, false, false);
  for (const text of new Set(schemasIn(document).map(schema => JSON.stringify(schema)))) {
    t.ok(ajv.validateSchema(JSON.parse(text)), text);
    ajv.compile(withReferences(text));
  }
}

/** The document has the form of OpenAPI 3.1. */
export function hasFormOfOpenApi(t: Test, document: Document): void {
  t.match(document, { openapi: /^3\.1\.\d+$/, info: { title: String, version: String } });
  const operations: string[] = [];
  for (const [path, item] of Object.entries<Document>(document.paths)) {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    for (const [method, operation] of Object.entries<Document>(item)) {
      if (method === 'servers') continue;
      t.ok(['get', 'post', 'put', 'patch', 'delete'].includes(method), `${method} ${path}`);
      operations.push(operation.operationId);
      const parameters: Document[] = operation.parameters ?? [];
      const declared = parameters.filter(parameter => parameter.in === 'path');
      t.same(
        declared.map(({ name }) => name),
        inPath,
        path,
      );
      for (const parameter of declared) t.equal(parameter.required, true);
      const places = parameters.map(parameter => `${parameter.in} ${parameter.name}`);
      t.equal(new Set(places).size, places.length, 'no parameter is declared twice');
      for (const [status, response] of Object.entries<Document>(operation.responses)) {
        t.match(status, /^[1-5]\d\d$/);
        t.type(sharedOr(document, response).description, 'string');
      }
      for (const requirement of operation.security)
        for (const name of Object.keys(requirement)) t.ok(document.components.securitySchemes[name], name);
    }
  }
  t.equal(new Set(operations).size, operations.length, 'operations have names of their own');
}

/** A response, which may refer to one that operations share. */
function sharedOr(document: Document, response: Document): Document {
  const name = response.$ref?.replace('#/components/responses/', '');
  return name === undefined ? response : document.components.responses[name];
}

/** All schemas of bodies, answers and parameters, and those that have a name. */
function schemasIn(node: Document): object[] {
  if (typeof node !== 'object' || node === null) return [];
  const here = node.schema === undefined ? [] : [node.schema];
  const named = node.schemas === undefined ? [] : Object.values<object>(node.schemas);
  const below = Object.entries(node).filter(([name]) => name !== 'schema' && name !== 'schemas');
  return [...here, ...named, ...below.flatMap(([, value]) => schemasIn(value))];
}

/** A schema whose references are the names of schemas. */
function withReferences(text: string): object {
  return JSON.parse(text.replaceAll('"#/components/schemas/', '"'));
}
