/**
 * Owns golden transcripts: a text of events, one a line, and beneath each what the fold says and what the stream is then.
 * Writing one is editing text; its answers are filled in by the fold and reviewed by a person (the style is etcd raft's
 * testdata). Must not judge whether the answers are right.
 *
 * An event line: `Type workflow key=value …`. `by=h1@2:3` is the token (holder h1, epoch 2, ordinal 3); `id`, `tenant`,
 * `generation`, `lamport`, `atMs` are the envelope's (Lamport time: the line's number when it isn't given; `atMs`:
 * thousandfold of it); every other key is the control's, as JSON where it begins with a brace. `tasks=plan,join(after:all),ask(when:signal/go+timer/late)`.
 * `malformed` and `unknown workflow` are entries too. Lines that begin with `#` are comments; those with a space, answers.
 */

import {
  type Blocked,
  blockedOn,
  type EffectState,
  type LogEntry,
  type Question,
  type StreamState,
  type TaskState,
  type Verdict,
} from '@tidemark/core';
import { DEFAULT_CONTROLS, digestOf, entryOf } from './events.ts';

const ENVELOPE_KEYS = new Set(['id', 'tenant', 'generation', 'lamport', 'atMs']);
const TIMER_KEYS = new Set(['retry', 'probe', 'deadline']);
const DIGEST_KEYS = new Set(['inputDigest', 'outputDigest', 'requestDigest', 'responseDigest']);

/** The entry that a line describes; `number` is its place among the events, from 1. */
export function entryOfLine(line: string, number: number): LogEntry {
  const [type = '', workflow = '', ...pairs] = line.split(/\s+/);
  if (type === 'malformed') return { kind: 'malformed', problem: 'no header line' };
  if (type === 'unknown') return { kind: 'unknown', workflow, generation: 1, type: 'Dreamt', v: 2 } as LogEntry;
  if (!(type in DEFAULT_CONTROLS)) throw new Error(`No event type in this line: ${line}`);
  const fields: Record<string, unknown> = {
    v: 1,
    id: `e${number}`,
    tenant: 't',
    workflow,
    generation: 1,
    lamport: number,
    atMs: number * 1_000,
    epoch: 0,
    holder: '',
    ordinal: 0,
    type,
  };
  const control: Record<string, unknown> = { ...DEFAULT_CONTROLS[type as keyof typeof DEFAULT_CONTROLS] };
  for (const pair of pairs) {
    const [key = '', text = ''] = splitOnce(pair, '=');
    if (key === 'by') Object.assign(fields, tokenOf(text));
    else (ENVELOPE_KEYS.has(key) ? fields : control)[key] = valueOfKey(key, text);
  }
  return entryOf({ ...fields, control } as never);
}

function splitOnce(text: string, by: string): [string, string] {
  const at = text.indexOf(by);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

function tokenOf(text: string): object {
  const [, holder, epoch, ordinal] = /^(.*)@(\d+):(\d+)$/.exec(text) ?? [];
  return { holder, epoch: Number(epoch), ordinal: Number(ordinal) };
}

function valueOfKey(key: string, text: string): unknown {
  if (text === '-') return null;
  if (key === 'drops') return text.split('+');
  if (key === 'tasks') return text === '' ? [] : text.split(',').map(declarationOf);
  if (TIMER_KEYS.has(key)) return { timer: text, anchorMs: 0, delayMs: 500 };
  if (DIGEST_KEYS.has(key)) return digestOf(text);
  if (text.startsWith('{')) return JSON.parse(text);
  if (text === 'true' || text === 'false') return text === 'true';
  return /^\d+$/.test(text) ? Number(text) : text;
}

function declarationOf(text: string): object {
  const [step, options = ''] = splitOnce(text.replace(/\)$/, ''), '(');
  const option = (name: string): string[] =>
    options.split(';').flatMap((one) => (one.startsWith(`${name}:`) ? one.slice(name.length + 1).split('+') : []));
  const when = option('when').map((one) => {
    const [kind, name] = splitOnce(one, '/');
    if (kind === 'signal') return { kind, name };
    if (kind === 'approval') return { kind, name, askedAtMs: 0 };
    return kind === 'child' ? { kind, child: name } : { kind, timer: name, anchorMs: 0, delayMs: 500 };
  });
  const after = option('after');
  return { step, after: after[0] === 'all' ? 'all' : after, when };
}

/** The lines beneath an event: the verdict, and the stream when it was accepted. */
export function answerLines(verdict: Verdict, stream: StreamState | undefined): string[] {
  if (verdict.kind === 'unreadable') return ['  unreadable'];
  if (verdict.kind === 'rejected') return [`  rejected: ${verdict.reason}`];
  return [`  accepted at ${verdict.position}`, ...(stream === undefined ? [] : streamLines(stream))];
}

function streamLines(stream: StreamState): string[] {
  const { lease, head } = stream;
  const words = [
    stream.reason === null ? stream.status : `${stream.status} (${stream.reason})`,
    lease === null ? `epoch ${stream.epoch} free` : `epoch ${lease.epoch} held by ${lease.holder} at ${lease.ordinal}`,
    head.checkpoint === null ? 'no checkpoint' : `head ${head.sequence} ${head.checkpoint}`,
    ...(stream.question === null ? [] : [`asks ${questionWords(stream.question)}`]),
    ...(stream.ruling === null ? [] : [`ruled ${stream.ruling}`]),
    ...(stream.undo === null ? [] : [`compensated by ${stream.undo}`]),
    ...(stream.crashCount === 0 ? [] : [`crashed ${stream.crashCount} (at ${stream.crashTimesMs.join(' ')})`]),
    ...(stream.besideMax === undefined ? [] : [`beside ${stream.besideMax ?? 'any'}`]),
    ...(stream.budgetFrom === 0 ? [] : [`budget from ${stream.budgetFrom}`]),
    ...(stream.pinned ? [`pinned to ${stream.version}`] : []),
    ...(stream.signals.length > 0 ? [`signals ${stream.signals.map(({ name }) => name).join(' ')}`] : []),
  ];
  return [`  ${words.join(', ')}`, ...[...stream.frontier.tasks].map(taskLine)];
}

const questionWords = ({ id, task, key }: Question): string =>
  [id, ...(task === null ? [] : [`on ${task}`]), ...(key === null ? [] : [key])].join(' ');

function taskLine(task: TaskState): string {
  const words = [
    ...(blockedOn(task).length === 0 ? ['ready'] : blockedOn(task).map(blockedWords)),
    ...(task.cause === null ? [] : [`by ${task.cause.kind} ${task.cause.name} (${task.cause.event})`]),
    ...(task.reserved === null ? [] : [`reserved ${task.reserved}`]),
    ...(task.failureCode === null ? [] : [`failed ${task.failureCode} ${task.sameFailureCount} in a row`]),
    ...task.effects.map(effectWords),
  ];
  return `    ${task.id} ${task.step}: ${words.join(', ')}`;
}

function effectWords({ kind, operation, status, pending }: EffectState): string {
  const words = `${kind} ${operation} ${status}`;
  if (pending === null) return words;
  const timers = [pending.probe, pending.deadline].map((one) => one?.timer ?? '-');
  return `${words} ${pending.token} (probe ${timers[0]} deadline ${timers[1]}${pending.isDue ? ' due' : ''})`;
}

function blockedWords(blocked: Blocked): string {
  switch (blocked.on) {
    case 'tasks':
      return `after ${blocked.tasks.join(' ')}`;
    case 'all-earlier':
      return `after ${blocked.remainingCount} earlier`;
    case 'signal':
      return `on signal ${blocked.names.join(' or ')}`;
    case 'timer':
      return `on timer ${blocked.timer}`;
    case 'child':
      return `on child ${blocked.child}`;
    case 'approval':
      return `on approval ${blocked.name}${blocked.assignee === null ? '' : ` of ${blocked.assignee}`}`;
    case 'retry':
      return `failed ${blocked.failureCount}, ${blocked.outage === undefined ? 'retries' : `waits for ${blocked.outage.of} (${blocked.outage.why})`}`;
    case 'confirmation':
      return `on confirmation ${blocked.token}`;
  }
}
