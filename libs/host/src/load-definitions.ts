/** Owns finding workflows in modules: every export that is a definition counts, by any name. */

import { existsSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { ConfigError } from '@tidemark/core';
import type { Definition } from '@tidemark/runtime';

/**
 * Imports the modules (paths relative to `cwd`, or package names) and returns their workflows, each name and
 * version once, the newest version of a name first. Throws `ConfigError` (`workflows-missing`, `workflows-unreadable`,
 * `workflow-name-twice`).
 */
export async function loadDefinitions(modules: readonly string[], cwd: string): Promise<readonly Definition[]> {
  if (modules.length === 0) {
    throw new ConfigError(
      'workflows-missing',
      'No workflows: name at least one module that exports some (TIDEMARK_WORKFLOWS or --workflows).',
    );
  }
  const found = new Map<string, { readonly definition: Definition; readonly from: string }>();
  for (const from of modules) {
    const definitions = Object.values(await importModule(from, cwd)).filter(isDefinition);
    for (const definition of definitions) {
      const title = `${definition.name} v${definition.version}`;
      const known = found.get(title);
      if (known !== undefined && known.definition !== definition) {
        throw new ConfigError(
          'workflow-name-twice',
          `${known.from} and ${from} both export a workflow ${title}. Rename one, or raise its version.`,
        );
      }
      found.set(title, { definition, from });
    }
  }
  // A module beside them may well be a helper of theirs.
  if (found.size === 0) throw new ConfigError('workflows-missing', `No workflow is exported by ${modules.join(', ')}.`);
  const byName = Map.groupBy([...found.values()], ({ definition }) => definition.name);
  return [...byName.values()].flatMap((versions) =>
    versions.map((entry) => entry.definition).sort((a, b) => b.version - a.version),
  );
}

async function importModule(from: string, cwd: string): Promise<Record<string, unknown>> {
  const isPath = from.startsWith('.') || path.isAbsolute(from) || /\.[cm]?[jt]s$/.test(from);
  if (isPath && !existsSync(path.resolve(cwd, from)))
    throw new ConfigError('workflows-unreadable', `${from}: there is no such file in ${cwd}.`);
  const specifier = isPath ? pathToFileURL(path.resolve(cwd, from)).href : from;
  try {
    return (await import(specifier)) as Record<string, unknown>;
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new ConfigError('workflows-unreadable', `${from}: ${message}`, { cause });
  }
}

function isDefinition(value: unknown): value is Definition {
  if (typeof value !== 'object' || value === null) return false;
  const candidate = value as Partial<Definition>;
  return typeof candidate.name === 'string' && candidate.steps instanceof Map && typeof candidate.begin === 'function';
}
