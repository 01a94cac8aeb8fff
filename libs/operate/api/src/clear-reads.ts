/**
 * Owns what is read for callers who may not see content: of each payload the members from which names and numbers of an answer follow, cut
 * out of the text. The rest is never parsed for them. Pure.
 */

import type { ProjectionStore } from '@tidemark/ports';
import { overridden } from '@tidemark/runtime';

/** The names of working memory follow from `scope`, and where a fork begins from `fork`. */
const CLEAR_MEMBERS = ['"scope":', '"fork":'];
/** A forgotten payload is `{}`, and this is none. */
const NOTHING_CLEAR = '{ }';
const FORGOTTEN = '{}';

type Reads = Pick<ProjectionStore, 'checkpoints' | 'effects' | 'effectPage' | 'events'>;

/** The reads without content. */
export const clearReads = (store: ProjectionStore): ProjectionStore =>
  overridden(store, {
    checkpoints: async (workflow, of) => {
      const found = await store.checkpoints(workflow, of);
      // Only the plan of an undo filters by step, and the system itself reads it.
      return of.step === undefined ? found.map(clear) : found;
    },
    effects: async (...of) => (await store.effects(...of)).map(clearEffect),
    effectPage: async (...of) => (await store.effectPage(...of)).map(clearEffect),
    events: async (...of) => (await store.events(...of)).map(clear),
  } satisfies Reads);

const clear = <R extends { readonly payload: string }>(row: R): R => ({ ...row, payload: clearPart(row.payload) });

const clearEffect = <R extends { readonly payload: string; readonly request: string | null }>(row: R): R => ({
  ...clear(row),
  request: row.request === null ? null : clearPart(row.request),
});

/** The clear members of a payload, as JSON. */
export function clearPart(json: string): string {
  if (json === FORGOTTEN) return json;
  const members: string[] = [];
  let depth = 0;
  let from = 1;
  for (let at = 0; at < json.length; at++) {
    const char = json[at]!;
    if (char === '"') at = stringEnd(json, at);
    else if (char === '{' || char === '[') depth++;
    else if (char === '}' || char === ']') depth--;
    if ((char === ',' && depth === 1) || (char === '}' && depth === 0)) {
      if (CLEAR_MEMBERS.some((name) => json.startsWith(name, from))) members.push(json.slice(from, at));
      from = at + 1;
    }
  }
  return members.length === 0 ? NOTHING_CLEAR : `{${members.join(',')}}`;
}

/** The place of the quote that ends the string. */
function stringEnd(json: string, start: number): number {
  for (let at = json.indexOf('"', start + 1); at !== -1; at = json.indexOf('"', at + 1)) {
    let slashes = at;
    while (json[slashes - 1] === '\\') slashes--;
    if ((at - slashes) % 2 === 0) return at;
  }
  return json.length;
}
