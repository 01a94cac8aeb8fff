/**
 * Owns which package may import which: the layers of docs/architecture, as data. A package imports only packages of
 * lower layers; within a layer nobody imports a neighbour, so adapters know neither each other nor the runtime, and
 * no service knows another. Must read no files.
 */

interface Layer {
  readonly name: string;
  readonly members: RegExp;
}

/** Lowest first. A member is a package's folder from the project's root. */
const layers: readonly Layer[] = [
  { name: 'core', members: /^libs\/model\/core$/ },
  { name: 'ports', members: /^libs\/model\/ports$/ },
  { name: 'codec, secrets, tokenizer', members: /^libs\/model\/(codec|secrets|tokenizer)$/ },
  { name: 'memory, segments', members: /^libs\/engine\/(memory|segments)$/ },
  { name: 'adapters and runtime', members: /^libs\/(adapters\/[a-z0-9-]+|engine\/runtime)$/ },
  { name: 'cluster', members: /^libs\/operate\/cluster$/ },
  { name: 'access, traces', members: /^libs\/operate\/(access|traces)$/ },
  {
    name: 'sdk, api, client, host, repo-state',
    members: /^libs\/(author\/(sdk|repo-state)|operate\/(api|client|host))$/,
  },
  { name: 'files, mcp', members: /^libs\/(author\/files|operate\/mcp)$/ },
  {
    name: 'integrations, doors',
    members: /^libs\/(author\/(ai|effects|langgraph|openai-agents|claude-sessions)|operate\/(console|cli))$/,
  },
  { name: 'services, examples', members: /^(services|examples)\/[a-z0-9-]+$/ },
];

/** Sees everything; only tests see it. */
export const testkitFolder = 'libs/testkit';
/** Imports nothing, not even Node, and only computes. */
export const pureFolder = 'libs/model/core';
/**
 * The built files contain what it imports, so that an installation needs none of that. It has no entry point to import, so a package that
 * serves its files may depend on it, though it is made from higher layers.
 */
export const bundledFolder = 'libs/operate/console';
/** Interfaces alone: they import core and nothing else. */
export const interfacesFolder = 'libs/model/ports';

export function layerOf(folder: string): number | undefined {
  const index = layers.findIndex(({ members }) => members.test(folder));
  return index === -1 ? undefined : index;
}

/** Why a package in folder `from` may not import one in folder `to`, or undefined when it may. */
export function forbidden(from: string, to: string): string | undefined {
  if (from === to || from === testkitFolder || to === bundledFolder) return undefined;
  const own = layerOf(from);
  const other = layerOf(to);
  if (own === undefined || other === undefined || other < own) return undefined;
  const names = `${from} (${layers[own]?.name}) may not import ${to} (${layers[other]?.name})`;
  return own === other ? `${names}: they are in the same layer` : `${names}: dependencies point the other way`;
}
