/** Owns finding where workflow modules define a workflow, an operation or a step. */

import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { loadDefinitions } from '@tidemark/host';
import { modulePaths } from '../definitions.ts';

/** `FILE:LINE` of the subject, else of the definition; the module where its source doesn't show it; undefined: no module has it. */
export type Locate = (definition: string, subject?: string) => string | undefined;

/** `named`: modules that can be loaded; none: no places are known. */
export async function definitionPlaces(named: readonly string[], cwd: string): Promise<Locate> {
  const modules = new Map<string, { readonly module: string; readonly source: string }>();
  for (const module of modulePaths(named, cwd)) {
    const file = path.resolve(cwd, module);
    const source = existsSync(file) ? readFileSync(file, 'utf8') : '';
    for (const { name } of await loadDefinitions([module], cwd)) modules.set(name, { module, source });
  }
  return (definition, subject = definition) => {
    const found = modules.get(definition);
    if (found === undefined) return undefined;
    const line = lineOf(found.source, subject) ?? lineOf(found.source, definition);
    return line === undefined ? found.module : `${found.module}:${line}`;
  };
}

/** The line, from 1, that most likely defines this name: where it is a `name`, a method, a key, or any string. */
function lineOf(source: string, name: string): number | undefined {
  const text = name.replaceAll(/\W/g, '\\$&');
  const quoted = `['"\`]${text}['"\`]`;
  const forms = [`\\b(?:name|operation):\\s*${quoted}`, `^\\s*(?:async\\s+)?${text}\\s*\\(`, `^\\s*${text}:`, quoted];
  const lines = source.split('\n');
  for (const form of forms) {
    const at = lines.findIndex((line) => new RegExp(form).test(line));
    if (at !== -1) return at + 1;
  }
  return undefined;
}
