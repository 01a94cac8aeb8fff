/**
 * Owns taking over changes from a folder: a hand-over that somebody wrote to `handoff.md` becomes a signal and a record of the run, a key
 * that somebody marked done a record of its pipeline. Each has a key that derives from its text, so that repeating it, after any crash,
 * changes nothing.
 */

import type { Json } from '@tidemark/core';
import { doneKey, handoffKey, handoffTargets, inputKey, type NamedHandoff, pipelineSubject } from '@tidemark/sdk';
import { digestOf, type FilesFolder } from './folder.ts';
import type { FolderState } from './folder-state.ts';
import { type DedupeEntry, type DedupeIndex, saidAt } from './formats.ts';
import { handoffDigests } from './handoff-text.ts';
import { readWithin, resolveOutput } from './outputs.ts';
import type { Reports } from './reports.ts';
import { HANDOFF_SIGNAL, type RunView } from './run-view.ts';
import type { FindSecrets } from './withhold.ts';

/** The target; a client is one. */
export interface WayBack {
  /** Counts once for its key. Throws errors with the codes `workflow-closed` and `signal-unknown`. */
  signal(workflow: string, name: string, value: unknown, options: { readonly key: string }): Promise<unknown>;
  /** Writes records of a subject. */
  remember(subject: string, records: readonly RecordWrite[]): Promise<unknown>;
}

export interface RecordWrite {
  readonly key: string;
  readonly value: Json;
  readonly source?: string;
}

export interface Outside {
  readonly folder: FilesFolder;
  readonly state: FolderState;
  readonly back: WayBack | undefined;
  readonly find: FindSecrets | undefined;
  readonly reports: Reports;
  /** See `ExportOptions`. */
  readonly outside?: readonly string[] | undefined;
}

/** The run; of one that is gone from view only the name is known. */
export type Run = Pick<RunView, 'workflow' | 'definition'> & Partial<Pick<RunView, 'stepNames'>>;

/** The step of a key: the one that it begins with, or the text before its first `_`. */
export function stepOf(key: string, stepNames: readonly string[]): string {
  const named = stepNames.filter((name) => key === name || key.startsWith(`${name}_`));
  return named.sort((a, b) => b.length - a.length)[0] ?? key.split('_')[0] ?? key;
}

/** A key with a dashed date, and with the first digits of the input's digest: the form before `{step}_{yyyymmdd}`. */
const OLD_KEY = /^(.+)_(\d{4})-(\d\d)-(\d\d)(?:_([0-9a-f]{12}))?$/s;

/** The records of a file's key: its own and, reported, that of the default key whose old form it has. With an input, they are of that one. */
export function doneRecords(
  key: string,
  input: string | null | undefined,
  made: object,
  reports: Reports,
): readonly RecordWrite[] {
  const of = (each: string, digest = input): RecordWrite => ({
    key: digest == null ? doneKey(each) : inputKey(each, digest),
    value: { ...made, ...(digest != null && { key: each, input: digest }) } as unknown as Json,
  });
  const [, step, year, month, day, digest] = OLD_KEY.exec(key) ?? [];
  if (step === undefined) return [of(key)];
  const now = `${step}_${year}${month}${day}`;
  reports.report(
    'overlooked',
    `key ${JSON.stringify(key)} has the old form of ${JSON.stringify(now)}: it counts as both.`,
  );
  return [of(key), of(now, digest)];
}

/** Reports a hand-over that several steps may be meant by. */
export function warnOfTarget({ from, to }: NamedHandoff, stepNames: readonly string[], reports: Reports): void {
  const targets = handoffTargets(to, stepNames);
  if (targets.length < 2) return;
  reports.report(
    'refused',
    `hand-over from ${from} to ${to}: it may be meant for ${targets.join(' or ')}, so no step receives it; name one in its heading.`,
  );
}

/** Takes over hand-overs of the file that are not in the log and were not taken over before. */
export async function takeHandoffs(
  { state, back, find, reports }: Outside,
  run: Run,
  written: readonly NamedHandoff[],
  known: readonly NamedHandoff[],
): Promise<void> {
  const knownDigests = new Set(handoffDigests(known));
  const digests = handoffDigests(written);
  for (const [at, handoff] of written.entries()) {
    const digest = digests[at] as string;
    const mark = `handoff/${run.workflow}/${digest}`;
    if (knownDigests.has(digest) || state.has(mark)) continue;
    const what = `hand-over from ${handoff.from} to ${handoff.to}`;
    const [secret] = find?.({ message: handoff.message, artifacts: handoff.artifacts }) ?? [];
    if (secret !== undefined) {
      reports.report('refused', `${what}: holds what looks like a secret at ${secret.place} (${secret.kind}).`);
      continue;
    }
    if (back === undefined) {
      reports.report('refused', `${what}: nothing reads what is written here; it stays in the file.`);
      continue;
    }
    warnOfTarget(handoff, run.stepNames ?? [], reports);
    const why = await send(back, run, handoff, digest);
    await state.take(mark);
    reports.report('taken', `${what}${why === undefined ? '' : `: ${why}, so it is kept as a record of it`}`);
  }
}

/** Why there is only a record of it; undefined: the run has it as a signal as well. */
async function send(back: WayBack, { workflow, definition }: Run, handoff: NamedHandoff, digest: string) {
  const record = { key: handoffKey(workflow, digest), value: handoff as unknown as Json };
  await back.remember(pipelineSubject(definition), [record]);
  try {
    await back.signal(workflow, HANDOFF_SIGNAL, handoff, { key: `files/${digest}` });
    return undefined;
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    if (code === 'workflow-closed') return 'the run has ended';
    if (code === 'signal-unknown') return `${definition} declares no signal '${HANDOFF_SIGNAL}'`;
    throw error;
  }
}

/** Takes over keys of the file that are not known to be done. */
export async function takeKeys(
  { folder, state, back, find, reports, outside }: Outside,
  run: Run & Pick<RunView, 'stepNames'>,
  written: DedupeIndex,
  known: ReadonlySet<string>,
): Promise<void> {
  for (const [key, entry] of Object.entries(written)) {
    const mark = theirMark(run, key, entry);
    if (known.has(key) || state.has(mark) || state.has(keyMark(run, key, entry))) continue;
    const refuse = (why: string): void => reports.report('refused', `key ${JSON.stringify(key)}: ${why}`);
    const resolved = await resolveOutput(entry, readWithin(folder, outside));
    if (typeof resolved === 'string') refuse(resolved);
    else if ((find?.(resolved.output) ?? []).length > 0) refuse('its output holds what looks like a secret.');
    else if (back === undefined) refuse('nothing reads what is marked here; it stays in the file.');
    else {
      const of = { step: stepOf(key, run.stepNames), workflow: `files ${folder.path}` };
      const made = { ...of, ...resolved, ...saidAt(entry.executed_at) };
      await back.remember(pipelineSubject(run.definition), doneRecords(key, entry.input, made, reports));
      await state.take(mark);
      reports.report('taken', `key ${JSON.stringify(key)} is done`);
    }
  }
}

/** Of a key that was taken over. */
export const theirMark = (run: Run, key: string, entry: DedupeEntry): string => `theirs/${keyMark(run, key, entry)}`;

/** Known from then on, so that a key that the file has from the log counts as nobody's wish. */
export const keyMark = ({ definition }: Run, key: string, { checksum }: DedupeEntry): string =>
  `key/${definition}/${digestOf(JSON.stringify([key, checksum ?? '']))}`;
