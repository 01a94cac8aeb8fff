/**
 * Owns the shapes of the naive fold's state, and what both kinds of its events do to tasks: adding them, and giving them waiting signals.
 * Mutable on purpose: core's immutable state is compared with this.
 */

import type { Condition, Continues, Outage, RejectReason, Retry, TaskDeclaration } from '@tidemark/core';

export interface NaiveEffect {
  key: string;
  operation: string;
  kind: string;
  status: 'intended' | 'pending' | 'done' | 'failed';
  requestDigest: string;
  responseDigest: string | null;
  timeoutMs: number;
  isUntold: boolean;
  isSuspect: boolean;
  pending: { id: string; token: string; probe: Retry | null; deadline: Retry | null; isDue: boolean } | null;
  spend?: NaiveSpend | undefined;
  wasted?: NaiveSpend | undefined;
  silentHolders?: string[] | undefined;
  hasMoreSilent?: true | undefined;
}

export interface NaiveTask {
  id: string;
  step: string;
  /** Declared after `all`. */
  all: boolean;
  /** Tasks that were pending when this one was declared and must be done before it. */
  blockers: string[];
  when: Condition[];
  awaited?: Condition[] | undefined;
  cause: { kind: 'signal' | 'timer' | 'approval' | 'child'; name: string; event: string } | null;
  failureCount: number;
  failureCode: string | null;
  sameFailureCount: number;
  passingCount: number | undefined;
  outage: Outage | undefined;
  retry: Retry | null;
  reserved: string | null;
  effects: NaiveEffect[];
}

export interface NaiveStream extends NaiveSpend {
  tenant: string;
  workflow: string;
  generation: number;
  definition: string;
  version: number;
  rules: number;
  status: 'open' | 'parked' | 'compensating' | 'compensated' | 'completed' | 'failed';
  reason: string | null;
  question: { id: string; code: string; task: string | null; key: string | null } | null;
  failedOn?: { task: string; builds: string[]; next?: string } | undefined;
  failure?: { fingerprint: string; code: string; step: string; task: string | null } | undefined;
  ruling: 'compensate' | 'fail' | 'cancel' | null;
  cancel?: { code: string; by: string; event: string } | undefined;
  paused?: { by: string; event: string; atMs: number } | undefined;
  deadline?: Retry | undefined;
  parent?: { workflow: string; task: string; onClose: string } | undefined;
  hasChildren?: true | undefined;
  continues?: string | undefined;
  spentBefore?: NaiveSpend | undefined;
  continued?: { as: string; spent: NaiveSpend } | undefined;
  pinned: boolean;
  shadow: boolean;
  compensates: { workflow: string; depth: number } | null;
  session?: string | undefined;
  user?: string | undefined;
  fork?: { workflow: string; sequence: number; effects: string } | undefined;
  raised?: NaiveSpend | undefined;
  repeats?: { question: string; count: number }[] | undefined;
  undo: string | null;
  position: number;
  lamport: number;
  openedAtMs: number;
  updatedAtMs: number;
  head: { sequence: number; checkpoint: string | null; atMs: number };
  beliefSequence: number;
  epoch: number;
  lease: { epoch: number; holder: string; ordinal: number; lamport: number } | null;
  isUnsettled: boolean;
  resumed?: true | undefined;
  crashCount: number;
  crashTimesMs: number[];
  besideMax?: number | null | undefined;
  budgetFrom: number;
  /** Pending tasks, in order of creation. */
  tasks: NaiveTask[];
  signals: { name: string; event: string; sizeBytes?: number | undefined }[];
  inbox: string[];
  lastAction: string;
  unreadable: { offset: number; type: string; v: number } | null;
  closedInGeneration: number | null;
}

/** A reason, or null when the event was accepted and the stream has changed. */
export type Outcome = RejectReason | null;

export const closed = (stream: NaiveStream): boolean => ['completed', 'failed', 'compensated'].includes(stream.status);

const SPEND_NAMES = [
  'tokens',
  'costMicros',
  'estimatedTokens',
  'unpricedTokens',
  'unknownCalls',
  'unknownTokens',
  'unknownCostMicros',
] as const;

/** Absent is 0, and 0 is absent, but for the first two. */
export type NaiveSpend = { tokens: number; costMicros: number } & {
  [name in (typeof SPEND_NAMES)[number]]?: number | undefined;
};

export function added(before: NaiveSpend, more: NaiveSpend | undefined): NaiveSpend {
  const sum: NaiveSpend = { tokens: 0, costMicros: 0 };
  for (const name of SPEND_NAMES) {
    const amount = (before[name] ?? 0) + (more?.[name] ?? 0);
    if (amount > 0) sum[name] = amount;
  }
  return sum;
}

/** Nobody knows whether it was paid. */
export function perhaps(reserved: NaiveSpend | undefined): NaiveSpend | undefined {
  if (reserved === undefined) return undefined;
  const { tokens, costMicros } = reserved;
  if (tokens + costMicros === 0) return { tokens, costMicros };
  return { tokens: 0, costMicros: 0, unknownCalls: 1, unknownTokens: tokens, unknownCostMicros: costMicros };
}

/** Called, with an unknown outcome. */
export const outcomeIsOpen = (effect: NaiveEffect): boolean => ['intended', 'pending'].includes(effect.status);

/** Each stored signal, oldest first, goes to the first task that waits for its name. */
export function handOutSignals(stream: NaiveStream): void {
  for (const signal of [...stream.signals]) {
    const waits = (task: NaiveTask): boolean =>
      task.when.some((condition) => condition.kind === 'signal' && condition.name === signal.name);
    const task = stream.tasks.find(waits);
    if (task === undefined) continue;
    task.awaited = task.when;
    task.when = [];
    task.cause = { kind: 'signal', name: signal.name, event: signal.event };
    stream.signals.splice(stream.signals.indexOf(signal), 1);
  }
}

/** `w`, `w~2`, `w~3`. */
function nextId(id: string): string {
  const at = id.lastIndexOf('~');
  const n = Number(id.slice(at + 1));
  return at > 0 && Number.isInteger(n) && n >= 2 ? `${id.slice(0, at)}~${n + 1}` : `${id}~2`;
}

/** It continues as the workflow of that id, which inherits unconsumed signals and what was spent. */
export function goOn(stream: NaiveStream, as: string): boolean {
  if (stream.ruling === 'cancel' || as !== nextId(stream.workflow)) return false;
  const given = stream.tasks.flatMap(({ cause }) =>
    cause?.kind === 'signal' ? [{ name: cause.name, event: cause.event }] : [],
  );
  const spends = stream.tasks.flatMap(({ effects }) =>
    effects.flatMap(({ spend, wasted, status }) => [
      status === 'intended' || status === 'pending' ? perhaps(spend) : spend,
      wasted,
    ]),
  );
  const spent = [stream.spentBefore, ...spends].reduce(added, stream as NaiveSpend);
  stream.signals = [...given, ...stream.signals];
  stream.reason = 'continued';
  stream.continued = { as, spent };
  return true;
}

/** From the previous run: its unconsumed signals go to the first tasks, and the ids that it took are known. */
export function goOnFrom(
  stream: NaiveStream,
  { workflow, signals = [], taken = [], paused, spent, raised }: Continues,
  opening: string,
): void {
  stream.continues = workflow;
  stream.spentBefore = { ...spent };
  stream.raised = raised === undefined ? undefined : { ...raised };
  stream.paused = paused === undefined ? undefined : { ...paused, event: opening };
  stream.signals = signals.map((signal) => ({ ...signal }));
  stream.inbox = [...stream.inbox, ...taken];
  handOutSignals(stream);
}

/** Adds tasks one by one. Of the tasks that one names, those no longer pending are done; a later sibling never counts. */
export function declare(stream: NaiveStream, sequence: number, declarations: readonly TaskDeclaration[]): void {
  if (declarations.some(({ when }) => when.some(({ kind }) => kind === 'child'))) stream.hasChildren = true;
  declarations.forEach((declaration, index) => {
    const pending: string[] = stream.tasks.map((task) => task.id);
    const { after } = declaration;
    stream.tasks.push({
      id: `${sequence}.${index}`,
      step: declaration.step,
      all: after === 'all',
      blockers: after === 'all' ? pending : [...new Set<string>(after)].filter((id) => pending.includes(id)),
      when: [...declaration.when],
      cause: null,
      failureCount: 0,
      failureCode: null,
      sameFailureCount: 0,
      passingCount: undefined,
      outage: undefined,
      retry: null,
      reserved: null,
      effects: [],
    });
  });
}
