/** Makes the schemas that kubeconform reads of CustomResourceDefinitions: OUTPUT-FOLDER FILE…. Unknown fields are refused, as by an API server. */

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseAllDocuments } from 'yaml';

type Schema = Record<string, unknown>;

interface Definition {
  readonly kind: string;
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string };
    readonly versions: readonly { readonly name: string; readonly schema: { readonly openAPIV3Schema: Schema } }[];
  };
}

const [folder = '', ...files] = process.argv.slice(2);
await mkdir(folder, { recursive: true });
for (const file of files) {
  for (const document of parseAllDocuments(await readFile(file, 'utf8'))) {
    const definition = document.toJSON() as Definition | null;
    if (definition?.kind !== 'CustomResourceDefinition') continue;
    const { group, names, versions } = definition.spec;
    for (const { name, schema } of versions) {
      const strict = strictly(schema.openAPIV3Schema) as Schema & { properties: Schema };
      strict.properties.metadata = { type: 'object' };
      const to = `${names.kind.toLowerCase()}-${group.split('.')[0]}-${name}.json`;
      await writeFile(path.join(folder, to), JSON.stringify(strict));
    }
  }
}

function strictly(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(strictly);
  if (typeof value !== 'object' || value === null) return value;
  const schema = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, strictly(member)])) as Schema;
  const isObject = typeof schema.properties === 'object' && schema['x-kubernetes-preserve-unknown-fields'] !== true;
  if (isObject && schema.additionalProperties === undefined) schema.additionalProperties = false;
  // Given by its own name instead of by a type.
  if (schema['x-kubernetes-int-or-string'] === true) delete schema.type;
  return schema;
}
