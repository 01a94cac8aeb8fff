/**
 * Owns operations as edges pass them on: the fields of a request, the request that is made of given values, and the words of an answer.
 * Declarations stand beside the routes (`edges.ts` of the API); `api/edges.ts` is made from them, `api/declarations.ts` of their types.
 */

import type { CommandEdge, FormEdge, ToolEdge, Words } from './api/declarations.ts';
import type { Asked } from './wire.ts';

export type { CommandEdge, FormEdge, ToolEdge, Words };

export interface EdgeField {
  readonly name: string;
  readonly part: 'params' | 'query' | 'body';
  readonly about: string;
  /** `switch`: a flag of a query, whose text says yes or no; `subject`: of long-term memory, a user or another. */
  readonly kind: 'subject' | 'name' | 'text' | 'number' | 'flag' | 'switch' | 'choice' | 'texts' | 'json';
  readonly isNeeded: boolean;
  readonly min?: number;
  readonly max?: number;
  readonly choices?: readonly string[];
}

/** An operation that may be repeated: twice is the same as once. */
export interface Edge {
  /** `POST /v1/queues/{queue}/pause`. */
  readonly endpoint: string;
  readonly fields: readonly EdgeField[];
  readonly commands?: readonly CommandEdge[];
  /** `output`: the JSON schema of the answer, which refers to nothing. */
  readonly tools?: readonly (ToolEdge & { readonly output: object })[];
  readonly forms?: readonly FormEdge[];
}

export type Given = Readonly<Record<string, unknown>>;

/** The request with these values, each where the operation takes it; a switch that is not given stays as the server has it. */
export function requestOf({ fields }: Pick<Edge, 'fields'>, given: Given): Asked {
  const part = (name: EdgeField['part']) => {
    const own = fields.filter((field) => field.part === name);
    const values = own
      .filter((field) => given[field.name] !== undefined)
      .map((field) => [field.name, field.kind === 'switch' ? String(given[field.name]) : given[field.name]] as const);
    return own.length === 0 ? undefined : Object.fromEntries(values);
  };
  return { params: part('params'), query: part('query'), body: part('body') };
}

/** How a value is written: told the name of its field and what it is, never null. */
export type Shown = (name: string, value: unknown) => string;

/** The text with its places filled; empty where no condition holds. `of`: the first that has a field counts. */
export function inWords(words: Words, of: readonly Given[], shown: Shown): string {
  const text = typeof words === 'string' ? words : words.find((each) => typeof each === 'string' || holds(each[0], of));
  return (typeof text === 'object' ? text[1] : (text ?? '')).replaceAll(
    /\{([\w.]+)(?:\|([^{}]*))?\}/g,
    (_, path: string, otherwise = '') => {
      const value = valueAt(path, of);
      const name = path.replaceAll(/\.\d+/g, '').split('.').at(-1)!;
      const all = (path.includes('.') ? [value].flat() : [value]).filter((each) => each !== undefined && each !== null);
      return all.length === 0 ? otherwise : all.map((each) => shown(name, each)).join(', ');
    },
  );
}

/** Whether a field is neither null, false nor empty; `!field`: is. */
export function holds(condition: string, of: readonly Given[]): boolean {
  if (condition.startsWith('!')) return !holds(condition.slice(1), of);
  const value = valueAt(condition, of);
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

/** Of a list: that of each of its items. */
function valueAt(path: string, of: readonly Given[]): unknown {
  const [first = '', ...rest] = path.split('.');
  const found = of.find((each) => Object.hasOwn(each, first))?.[first];
  if (rest.length === 0 || found === null || typeof found !== 'object') return rest.length === 0 ? found : undefined;
  const inner = rest.join('.');
  return Array.isArray(found) && !/^\d/.test(inner)
    ? found.map((item: Given) => valueAt(inner, [item]))
    : valueAt(inner, [found as Given]);
}
