/**
 * Owns withholding from files whatever looks like a secret, by the caller's check. A report names its place, never its value. What Tidemark
 * itself writes (digests, ids, times) isn't searched. Pure.
 */

import type { Json } from '@tidemark/core';
import type { NamedHandoff } from '@tidemark/sdk';
import type { LogEntry } from './actions.ts';
import type { LogLine } from './formats.ts';
import type { DoneStep, RunView } from './run-view.ts';

/** Finds secrets in a value: JSON pointers to them, and their kinds. `findSecrets` of @tidemark/secrets is one. */
export type FindSecrets = (value: unknown) => readonly { readonly place: string; readonly kind: string }[];

export interface Withheld {
  readonly view: RunView;
  /** Names of steps whose output isn't written. */
  readonly outputs: ReadonlySet<string>;
  /** `output of step draft at /0/text (github-token)`. */
  readonly places: readonly string[];
}

const OWN_FIELDS = new Set(['ts', 'step', 'action', 'tokens', 'key', 'checksum', 'sequence', 'task', 'attempt']);

/** Of an action's line, besides. */
const ACTION_FIELDS = new Set(['operation', 'idempotency_key', 'status']);

export function withhold(view: RunView, find: FindSecrets | undefined): Withheld {
  if (find === undefined) return { view, outputs: new Set(), places: [] };
  const places: string[] = [];
  const outputs = new Set<string>();
  for (const { name, output } of view.done) {
    const found = find(output);
    if (found.length > 0) outputs.add(name);
    for (const { place, kind } of found) places.push(`output of step ${name} at ${place || '/'} (${kind})`);
  }
  const log = view.log.map((entry, at) => withoutSecrets(entry, find, `${at + 1}`, places));
  const handoffs = view.handoffs.map((handoff) => cleanHandoff(handoff, find, places));
  const done: readonly DoneStep[] = view.done.map((step) =>
    outputs.has(step.name) ? { ...step, output: null } : step,
  );
  return { view: { ...view, done, log, handoffs }, outputs, places };
}

function withoutSecrets(entry: LogEntry, find: FindSecrets, number: string, places: string[]): LogEntry {
  const { line, isAction } = entry;
  const isOwn = (name: string): boolean => OWN_FIELDS.has(name) || (isAction && ACTION_FIELDS.has(name));
  const fields = Object.entries(line).filter(([name]) => !isOwn(name));
  const bad = fields.flatMap(([name, value]) => find({ [name]: value }).map(({ kind }) => ({ name, kind })));
  if (bad.length === 0) return entry;
  for (const { name, kind } of bad) places.push(`log line ${number} at /${name} (${kind})`);
  const replaced = Object.fromEntries(bad.map(({ name, kind }): [string, Json] => [name, mark(kind)]));
  return { line: { ...line, ...replaced } as LogLine, isAction };
}

function cleanHandoff(handoff: NamedHandoff, find: FindSecrets, places: string[]): NamedHandoff {
  const [first] = find({ message: handoff.message, artifacts: handoff.artifacts });
  if (first === undefined) return handoff;
  places.push(`hand-over from ${handoff.from} to ${handoff.to} at ${first.place} (${first.kind})`);
  return { ...handoff, message: mark(first.kind), artifacts: [] };
}

const mark = (kind: string): string => `[withheld: ${kind}]`;
