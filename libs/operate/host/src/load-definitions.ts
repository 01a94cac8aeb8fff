/** Owns finding workflows in modules: every export that is a definition counts, by any name. */

import { existsSync, statSync } from 'node:fs';
import { setSourceMapsSupport } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ConfigError, messageOf } from '@tidemark/core';
import { type Definition, type Pool, unlistedWarnings } from '@tidemark/runtime';
import type { PoolConfig } from './config.ts';
import { warningLine } from './log.ts';

const modulesOf = new WeakMap<Definition, string>();

/** The file of the module that the definition was loaded from here; undefined: from none. */
export const moduleOf = (definition: Definition): string | undefined => modulesOf.get(definition);

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
    const { file, exported } = await importModule(from, cwd);
    for (const definition of Object.values(exported).filter(isDefinition)) {
      modulesOf.set(definition, file);
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

/** Logs which effects nobody can ask about, of those that loaded modules define. */
export function warnOfUnprobed(): void {
  for (const message of unlistedWarnings([])) warningLine('effect-without-probe', message);
}

const MODULE = /\.[cm]?[jt]s$/;

interface Imported {
  readonly file: string;
  readonly exported: Readonly<Record<string, unknown>>;
}

async function importModule(from: string, cwd: string): Promise<Imported> {
  const file = path.resolve(cwd, from);
  const isFile = isFileAt(file);
  const isPath = isFile || from.startsWith('.') || path.isAbsolute(from) || MODULE.test(from);
  if (isFile && !MODULE.test(file)) {
    throw new ConfigError(
      'workflows-unreadable',
      `${from} is no module: name a file that ends in .ts, .js, .mjs or alike.`,
    );
  }
  if (isPath && !existsSync(file))
    throw new ConfigError('workflows-unreadable', `${from}: there is no such file in ${cwd}.`);
  // So that the stack of a failure names the lines that the user wrote, where a compiler has left a map.
  setSourceMapsSupport(true, { nodeModules: false });
  try {
    if (isPath) return { file, exported: (await import(pathToFileURL(file).href)) as Imported['exported'] };
    return { file: fileURLToPath(import.meta.resolve(from)), exported: (await import(from)) as Imported['exported'] };
  } catch (cause) {
    if (!isPath && isMissing(cause, from)) {
      const message = `${from}: there is no such file in ${cwd}, and no package of this name is installed.`;
      throw new ConfigError('workflows-unreadable', message, { cause });
    }
    const place = placeOf(cause, file, cwd);
    const where = place === undefined ? '' : ` (${place})`;
    throw new ConfigError('workflows-unreadable', `${from}: ${messageOf(cause)}${where}`, { cause });
  }
}

function isFileAt(file: string): boolean {
  try {
    return statSync(file).isFile();
  } catch {
    return false; // there is none, or no path is that long
  }
}

/** Not a package that it imports itself. */
const isMissing = (cause: unknown, name: string): boolean =>
  (cause as { readonly code?: unknown } | null)?.code === 'ERR_MODULE_NOT_FOUND' &&
  messageOf(cause).includes(`package '${name}'`);

/** The place of a stack's frame, or the beginning of the stack of a file that Node can't parse. */
const PLACE = /^(?: +at .{0,300}?)?\(?((?:file:\/\/)?\/[^():]{1,1000}):(\d+)(?::\d+\)?)?$/;

/** The line of the module that an error is about, else the first outside of packages, as `file:line` from the folder; undefined when Node gives none. */
function placeOf(cause: unknown, file: string, cwd: string): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  const places = (cause.stack ?? '').split('\n').flatMap((line) => {
    const [, where, number] = PLACE.exec(line) ?? [];
    if (where === undefined) return [];
    return [{ at: where.startsWith('file:') ? decodeURI(where.slice('file://'.length)) : where, number }];
  });
  const place = places.find(({ at }) => at === file) ?? places.find(({ at }) => !at.includes('/node_modules/'));
  return place && `${path.relative(cwd, place.at)}:${place.number}`;
}

function isDefinition(value: unknown): value is Definition {
  if (typeof value !== 'object' || value === null) return false;
  const candidate = value as Partial<Definition>;
  return typeof candidate.name === 'string' && candidate.steps instanceof Map && typeof candidate.begin === 'function';
}

/** Which work each pool of workers takes: that of the definitions which its modules export. Undefined: no pools are named. Throws `ConfigError` (`pool-twice`, and as `loadDefinitions` does). */
export async function loadPools(configs: readonly PoolConfig[], cwd: string): Promise<readonly Pool[] | undefined> {
  if (configs.length === 0) return undefined;
  const pools: Pool[] = [];
  for (const { name, modules } of configs) {
    if (pools.some((pool) => pool.name === name)) {
      throw new ConfigError(
        'pool-twice',
        `TIDEMARK_POOLS: the pool '${name}' is named twice; name its modules together.`,
      );
    }
    const definitions = await loadDefinitions(modules, cwd);
    pools.push({ name, definitions: new Set(definitions.map((definition) => definition.name)) });
  }
  return pools;
}
