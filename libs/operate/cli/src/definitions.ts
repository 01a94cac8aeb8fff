/** Owns finding workflows for the command line: modules by path or pattern, their warnings, and which definitions are known. */

import { globSync } from 'node:fs';
import { ConfigError, InvalidError } from '@tidemark/core';
import type { Definition } from '@tidemark/runtime';
import type { Workflow } from '@tidemark/sdk';

const isPattern = (name: string): boolean => /[*?[\]{}]/.test(name);

/** Modules as named, with patterns replaced by matching files (a shell does it too, unless they were quoted). */
export function modulePaths(named: readonly string[], cwd: string): readonly string[] {
  const found = named.flatMap((name) => {
    if (!isPattern(name)) return [name];
    const files = globSync(name, { cwd }).sort();
    if (files.length === 0) throw new InvalidError('workflows-missing', `--workflows ${name}: no file fits.`);
    return files.map((file) => (file.startsWith('/') ? file : `./${file}`));
  });
  return [...new Set(found)];
}

/** Imports the modules and checks their workflows, also against each other. */
export async function readDefinitions(named: readonly string[], cwd: string): Promise<readonly Definition[]> {
  if (named.length === 0) {
    throw new ConfigError(
      'workflows-missing',
      'No workflows: name at least one module that exports some (TIDEMARK_WORKFLOWS or --workflows). Where `tidemark dev` is starting in this folder, wait until it says `api`.',
    );
  }
  // A command that uses a server needs none of it.
  const [{ loadDefinitions }, { checkTogether }] = await Promise.all([
    import('@tidemark/host'),
    import('@tidemark/sdk'),
  ]);
  const definitions = await loadDefinitions(modulePaths(named, cwd), cwd);
  checkTogether(definitions.filter(isWorkflow));
  return definitions;
}

export const isWorkflow = (definition: Definition): definition is Workflow =>
  'flow' in definition && 'starts' in definition && 'warnings' in definition && 'effects' in definition;

/** Returns the definition of this name. Throws `InvalidError` (`workflow-unknown`) that lists the existing ones. */
export function pick<T extends { readonly name: string }>(definitions: readonly T[], name: string, where: string): T {
  const found = definitions.find((definition) => definition.name === name);
  if (found !== undefined) return found;
  const known = definitions.map((definition) => definition.name).sort();
  const list = known.length === 0 ? 'none is known' : `known: ${known.join(', ')}`;
  throw new InvalidError('workflow-unknown', `No workflow is named '${name}' ${where}; ${list}.`, { name, known });
}
