/** Owns the differences of two JSON values, as a tree for people: members added, removed and changed. Pure. */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

export type Change = 'same' | 'added' | 'gone' | 'changed';

export interface Leaf {
  readonly kind: 'leaf';
  readonly change: Change;
  /** Undefined: there was no value before; there is none after. */
  readonly before: Json | undefined;
  readonly after: Json | undefined;
}

export interface Branch {
  readonly kind: 'branch';
  readonly shape: 'object' | 'array';
  /** `changed`: something inside differs. */
  readonly change: Change;
  readonly changeCount: number;
  readonly members: readonly (readonly [name: string, node: Node])[];
}

export type Node = Leaf | Branch;

type Shape = Branch['shape'];

function shapeOf(value: Json | undefined): Shape | undefined {
  if (Array.isArray(value)) return 'array';
  return typeof value === 'object' && value !== null ? 'object' : undefined;
}

const entriesOf = (value: Json | undefined): ReadonlyMap<string, Json> =>
  new Map(Object.entries((value ?? {}) as Readonly<Record<string, Json>>));

/** Undefined stands for a missing value. */
export function changesBetween(before: Json | undefined, after: Json | undefined): Node {
  const [was, is] = [shapeOf(before), shapeOf(after)];
  const shape = is ?? was;
  const canMerge = shape !== undefined && (was === is || before === undefined || after === undefined);
  if (!canMerge) return { kind: 'leaf', change: leafChange(before, after), before, after };
  const [left, right] = [entriesOf(before), entriesOf(after)];
  const names = [...left.keys(), ...[...right.keys()].filter((name) => !left.has(name))];
  const members = names.map((name) => [name, changesBetween(left.get(name), right.get(name))] as const);
  const changeCount = members.reduce((sum, [, node]) => sum + changeCountOf(node), 0);
  const change = before === undefined ? 'added' : after === undefined ? 'gone' : changeCount > 0 ? 'changed' : 'same';
  return { kind: 'branch', shape, change, changeCount, members };
}

function leafChange(before: Json | undefined, after: Json | undefined): Change {
  if (before === undefined) return 'added';
  if (after === undefined) return 'gone';
  return before === after ? 'same' : 'changed';
}

/** The number of differences; a part that was added or removed counts once. */
export function changeCountOf(node: Node): number {
  if (node.change === 'added' || node.change === 'gone') return 1;
  return node.kind === 'branch' ? node.changeCount : node.change === 'changed' ? 1 : 0;
}
