/**
 * Owns the judgement of functions, from the log and the ledger: which call each outcome belongs to, that none comes twice, what became of
 * dropped tasks and of signals, and what was done on a cancellation. Must not ask the fleet what it believes.
 */

import { decodePayload, type Payloads } from '@tidemark/codec';
import type { Envelope, Json, TaskId } from '@tidemark/core';
import { FUNCTION_NAMES, PAID, TIDIED } from './functions.ts';
import { type DeathsFollowed, followDeaths, unhurt } from './judge-deaths.ts';
import type { LedgerEntry } from './outside.ts';
import type { History } from './witness.ts';

interface CallId {
  readonly name: string;
  readonly place: number;
  readonly member?: string;
  readonly asks: string;
}

/** What a checkpoint of a function keeps in its journal. */
interface Recorded {
  readonly chapter: number;
  readonly call: CallId | null;
  readonly begins: readonly CallId[];
}

interface Followed {
  readonly workflow: string;
  readonly definition: string;
  /** Calls that checkpoints began, by task; tasks that an effect was intended for, that are finished, that were dropped. */
  readonly begun: Map<TaskId, CallId>;
  readonly called: Set<TaskId>;
  readonly finished: Set<TaskId>;
  readonly dropped: Set<TaskId>;
  /** Names of calls that were begun and that were decided, in the present chapter. */
  chapter: number;
  names: Set<string>;
  decided: Set<string>;
  /** Signals in the order in which they came, and in which they were read. */
  readonly sent: number[];
  readonly read: number[];
  /** Names of the requests that a rollback must call. */
  readonly registered: string[];
  isCancelled: boolean;
  /** It was compensated while nobody knew what became of a call, so nobody told the function. */
  wasInDoubt: boolean;
  readonly deaths: DeathsFollowed;
  /** Its holders died too often before it was compensated: nobody runs it, and a cancelled run asks nobody. */
  hasGivenUp: boolean;
  /** A person decided how it ends. */
  isRuled: boolean;
  end: 'completed' | 'compensated' | undefined;
  readonly violations: string[];
}

export function checkFunctions(
  histories: Iterable<Pick<History, 'entries' | 'verdicts'>>,
  ledger: ReadonlyMap<string, LedgerEntry>,
): string[] {
  const functions = new Map<string, Followed>();
  for (const { entries, verdicts } of histories) {
    for (const [at, entry] of entries.entries()) {
      if (entry.kind !== 'event' || verdicts[at]?.kind !== 'accepted') continue;
      const { envelope, payload } = entry;
      if (envelope.type === 'WorkflowOpened' && FUNCTION_NAMES.has(envelope.control.definition)) {
        functions.set(envelope.workflow, opened(envelope));
      }
      const followed = functions.get(envelope.workflow);
      if (followed !== undefined) follow(followed, envelope, payload);
    }
  }
  const done = [...ledger.values()];
  return [...functions.values()].flatMap((each) => [
    ...each.violations.map((what) => `functions: ${each.workflow} (${each.definition}) ${what}`),
    ...checkEnd(each, done).map((what) => `functions: ${each.workflow} (${each.definition}) ${what}`),
  ]);
}

const opened = ({ workflow, control }: Envelope<'WorkflowOpened'>): Followed => ({
  workflow,
  definition: control.definition,
  begun: new Map(),
  called: new Set(),
  finished: new Set(),
  dropped: new Set(),
  chapter: 1,
  names: new Set(),
  decided: new Set(),
  sent: [],
  read: [],
  registered: [],
  isCancelled: false,
  wasInDoubt: false,
  deaths: unhurt(),
  hasGivenUp: false,
  isRuled: false,
  end: undefined,
  violations: [],
});

function follow(of: Followed, envelope: Envelope, payload: Uint8Array): void {
  followDeaths(of.deaths, envelope);
  switch (envelope.type) {
    case 'CheckpointCommitted':
      checkpoint(of, envelope, decodePayload('CheckpointCommitted', payload));
      return;
    case 'EffectIntended':
      of.called.add(envelope.control.task);
      return;
    case 'StepFailed':
      // No function of the simulation throws one of its own.
      if (/^[A-Z]\w*Error$/.test(envelope.control.code)) of.violations.push(`fails with a ${envelope.control.code}`);
      return;
    case 'SignalReceived':
      if (envelope.control.name === PAID) of.sent.push(paidIn(decodePayload('SignalReceived', payload).value)!);
      return;
    case 'CancelRequested':
      of.isCancelled = true;
      return;
    case 'ApprovalDecided':
      of.isRuled ||= envelope.control.resolution === 'fail' || envelope.control.resolution === 'compensate';
      return;
    case 'WorkflowCompleted':
      of.end = 'completed';
      return;
    case 'CompensationStarted':
      of.wasInDoubt = envelope.control.key !== null;
      of.hasGivenUp = of.deaths.isBarred;
      return;
    case 'CompensationFinished':
      if (envelope.control.outcome === 'compensated') of.end = 'compensated';
  }
}

function checkpoint(
  of: Followed,
  { control }: Envelope<'CheckpointCommitted'>,
  { output, journal, tasks }: Payloads['CheckpointCommitted'],
): void {
  const { task, drops = [], sequence } = control;
  finish(of, task);
  for (const id of drops) drop(of, id);
  const recorded = journal as unknown as Recorded | undefined;
  if (recorded !== undefined) decide(of, recorded, output, task);
  for (const [at, { step }] of control.tasks.entries()) {
    const { place, member } = tasks[at] as unknown as Partial<CallId>;
    const call = recorded?.begins.find(
      (begun) => begun.name === step && begun.place === place && begun.member === member,
    );
    if (call !== undefined) begin(of, `${sequence}.${at}` as TaskId, call);
    else if (place !== undefined) of.violations.push(`begins ${step}#${place}, and its journal does not say so`);
  }
}

function finish({ finished, dropped, violations }: Followed, task: TaskId): void {
  if (finished.has(task)) violations.push(`finishes task ${task} twice`);
  if (dropped.has(task)) violations.push(`finishes task ${task}, which was dropped`);
  finished.add(task);
}

function drop({ finished, dropped, called, violations }: Followed, task: TaskId): void {
  if (finished.has(task) || dropped.has(task)) violations.push(`drops task ${task}, which is gone`);
  if (called.has(task)) violations.push(`drops task ${task}, which has called something`);
  dropped.add(task);
}

/** An outcome belongs to the call that its task was begun for, comes once, and in its turn. */
function decide(of: Followed, { chapter, call }: Recorded, output: Json, task: TaskId): void {
  const { violations } = of;
  if (chapter !== of.chapter) Object.assign(of, { chapter, names: new Set(), decided: new Set() });
  if (call === null) return;
  const name = nameOf(call);
  const begun = of.begun.get(task);
  if (begun !== undefined && (nameOf(begun) !== name || begun.asks !== call.asks)) {
    violations.push(`has the outcome of ${nameOf(begun)} (${begun.asks}) as that of ${name} (${call.asks})`);
  }
  if (begun === undefined && of.names.has(name)) violations.push(`decides ${name} outside of its task`);
  if (of.decided.has(name)) violations.push(`decides ${name} twice`);
  of.decided.add(name);
  // The outcome of a race has the value of its winner.
  const paid = paidIn(output) ?? paidIn((output as { readonly value?: Json } | null)?.value);
  if (paid !== undefined) of.read.push(paid);
  const { operation, request } = (output ?? {}) as { operation?: string; request?: { ref: string } };
  if (operation !== undefined && request !== undefined) of.registered.push(request.ref);
}

function begin({ names, decided, begun, violations }: Followed, task: TaskId, call: CallId): void {
  const name = nameOf(call);
  if (decided.has(name)) violations.push(`calls ${name} again after its outcome`);
  else if (names.has(name)) violations.push(`begins ${name} twice`);
  names.add(name);
  begun.set(task, call);
}

function checkEnd(of: Followed, ledger: readonly LedgerEntry[]): string[] {
  const { workflow, called, finished, sent, read, registered, end, isCancelled, isRuled } = of;
  const violations: string[] = [];
  const own = ledger.filter((entry) => entry.workflow === workflow).map(({ ref }) => ref);
  const twice = own.find((ref, at) => ref !== undefined && own.indexOf(ref) < at);
  if (twice !== undefined) violations.push(`did ${twice} again after its outcome`);
  if (read.some((paid, at) => paid !== sent[at])) violations.push(`reads signals ${read}, and got ${sent}`);
  const untold = [...called].find((task) => !finished.has(task));
  if (end === 'completed' && untold !== undefined) violations.push(`ends, and nothing says what task ${untold} did`);
  for (const ref of registered) {
    const count = ledger.filter((entry) => entry.ref === ref && entry.workflow.startsWith(`${workflow}~`)).length;
    if (count !== (end === 'compensated' ? 1 : 0)) violations.push(`is ${end}, and rolled back ${ref} ${count} times`);
  }
  const isExcused = isRuled || of.wasInDoubt || of.hasGivenUp;
  const mustTidy = registered.length > 0 && isCancelled && !isExcused && end === 'compensated';
  if (mustTidy && !own.includes(`${workflow}${TIDIED}`)) violations.push('is cancelled, and did not tidy up');
  return violations;
}

const nameOf = ({ name, place, member }: CallId): string =>
  `${name}#${place}${member === undefined ? '' : ` in ${member}`}`;

const paidIn = (value: Json | undefined): number | undefined =>
  (value as { readonly paid?: number } | null | undefined)?.paid;
