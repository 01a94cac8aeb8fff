/**
 * Owns the import: a folder of files, made by a mirror or by a shell script, becomes a run of a pipeline in which what the
 * files call completed is done. The run goes through every step: those are skipped, each with its output and as a checkpoint
 * of its own, so the history says where it came from. Nothing in the folder is changed.
 */

import { CorruptError, InvalidError, type Json } from '@tidemark/core';
import { doneKey, handoffKey, importedKey, LAST_SUCCESS_KEY, type LastSuccess, pipelineSubject } from '@tidemark/sdk';
import { readIn } from './folder.ts';
import {
  DEDUPE_INDEX,
  type DedupeIndex,
  dedupeIndexSchema,
  HANDOFF,
  LAST_SUCCESS,
  lastSuccessFileSchema,
  type Read,
  RUN_STATE,
  type RunState,
  readJson,
  runStateSchema,
} from './formats.ts';
import { handoffDigests, readHandoffs } from './handoff-text.ts';
import { SOURCE_MAX_CHARS } from './limits.ts';
import { type OnReport, Reports } from './reports.ts';
import { type RecordWrite, resolveOutput, type WayBack } from './way-back.ts';
import type { FindSecrets } from './withhold.ts';

export interface ImportOptions {
  readonly folder: string;
  /** The pipeline that the run is of: its name, and its steps in order. */
  readonly pipeline: { readonly name: string; readonly stepNames: readonly string[] };
  /** Of the new run; default: the folder's `pipeline_id`. */
  readonly id?: string | undefined;
  readonly back: Pick<WayBack, 'remember'>;
  /** Starts the run once its records are there; the same id answers the same run. */
  readonly start: (id: string) => Promise<void>;
  readonly find?: FindSecrets | undefined;
  readonly onReport?: OnReport | undefined;
}

export interface Imported {
  readonly id: string;
  /** Steps that the run will skip, in order. */
  readonly done: readonly string[];
  /** Keys of the dedupe index that are records now, and hand-overs that are. */
  readonly keyCount: number;
  readonly handoffCount: number;
}

/**
 * Throws `InvalidError` (`files-missing`, `files-unfit`, `files-secret`), `CorruptError` (`files-corrupt`): nothing was started
 * then. Records that were made before are made again under the same keys.
 */
export async function importFiles(options: ImportOptions): Promise<Imported> {
  const { folder, pipeline, back, find, start } = options;
  const reports = new Reports(options.onReport);
  const state = await required(folder, RUN_STATE, (text) => readJson(text, runStateSchema));
  checkSteps(state, pipeline);
  const id = options.id ?? state.pipeline_id;
  const index =
    (await optional<DedupeIndex>(folder, DEDUPE_INDEX, (text) => readJson(text, dedupeIndexSchema as never))) ?? {};
  const subject = pipelineSubject(pipeline.name);
  const record = (key: string, value: object): RecordWrite => {
    refuseSecrets(key, value, find);
    return { key, value: value as Json, source: `files ${folder}`.slice(0, SOURCE_MAX_CHARS) };
  };
  const steps = await doneSteps(folder, state, pipeline.stepNames, reports);
  const keys = await doneKeys(folder, index, reports);
  const handoffs = readHandoffs((await readIn(folder, HANDOFF)) ?? '');
  const digests = handoffDigests(handoffs);
  const last = await lastSuccess(folder, pipeline.stepNames);
  const writes = [
    ...steps.map(({ step, ...made }) => record(importedKey(id, step), { step, workflow: state.pipeline_id, ...made })),
    ...keys.map(({ key, ...made }) =>
      record(doneKey(key), { step: stepOf(key), workflow: state.pipeline_id, ...made }),
    ),
    ...handoffs.map((handoff, at) => record(handoffKey(id, digests[at] as string), handoff)),
    ...(last === undefined ? [] : [record(LAST_SUCCESS_KEY, last)]),
  ];
  if (writes.length > 0) await back.remember(subject, writes);
  await start(id);
  return { id, done: steps.map(({ step }) => step), keyCount: keys.length, handoffCount: handoffs.length };
}

interface Made {
  readonly output: Json;
  readonly checksum: string;
}

/** Completed steps whose output is there, up to the first that isn't: what comes after it can't be built upon. */
async function doneSteps(folder: string, state: RunState, stepNames: readonly string[], reports: Reports) {
  const done: (Made & { readonly step: string })[] = [];
  for (const step of stepNames) {
    const entry = state.steps[step];
    if (entry?.status !== 'completed') break;
    const made = await outputIn(folder, entry.output_file);
    if (typeof made === 'string') {
      reports.tell('refused', `step ${step}: ${made} It runs again.`);
      break;
    }
    done.push({ step, ...made });
  }
  return done;
}

async function doneKeys(folder: string, index: DedupeIndex, reports: Reports) {
  const keys: (Made & { readonly key: string })[] = [];
  for (const [key, entry] of Object.entries(index)) {
    const made = await resolveOutput({ read: (name) => readIn(folder, name) }, entry);
    if (typeof made === 'string') reports.tell('refused', `key ${JSON.stringify(key)}: ${made}`);
    else keys.push({ key, ...made });
  }
  return keys;
}

async function outputIn(folder: string, file: string | null): Promise<Made | string> {
  if (file === null) return 'it has no output_file.';
  const entry = { executed_at: '', output: file, checksum: '' };
  const made = await resolveOutput({ read: (name) => readIn(folder, name) }, entry);
  // A path that names no file stands for itself there, which an output_file can't.
  return typeof made !== 'string' && made.output === file ? `its output_file ${file} isn't there.` : made;
}

async function lastSuccess(folder: string, stepNames: readonly string[]): Promise<LastSuccess | undefined> {
  const read = await optional(folder, LAST_SUCCESS, (text) => readJson(text, lastSuccessFileSchema));
  if (read === undefined) return undefined;
  const outputs: Record<string, Json> = {};
  for (const [step, file] of Object.entries(read.outputs)) {
    const made = await outputIn(folder, file);
    if (typeof made !== 'string') outputs[step] = made.output;
  }
  const output = outputs[stepNames.at(-1) ?? ''];
  if (output === undefined) return undefined;
  return { workflow: read.pipeline_id, totalTokens: read.total_tokens, output, outputs };
}

function checkSteps(state: RunState, { name, stepNames }: ImportOptions['pipeline']): void {
  const strange = Object.keys(state.steps).filter((step) => !stepNames.includes(step));
  if (strange.length === 0) return;
  const message = `${RUN_STATE} tells of ${strange.join(', ')}, which pipeline ${name} doesn't have. Its steps: ${stepNames.join(', ')}.`;
  throw new InvalidError('files-unfit', message, { strange });
}

function refuseSecrets(key: string, value: object, find: FindSecrets | undefined): void {
  const hidden = new Set(['checksum']);
  const searched = Object.fromEntries(Object.entries(value).filter(([name]) => !hidden.has(name)));
  const [first] = find?.(searched) ?? [];
  if (first === undefined) return;
  const message = `${key}: holds what looks like a secret at ${first.place} (${first.kind}); nothing was imported.`;
  throw new InvalidError('files-secret', message, { key, place: first.place });
}

async function required<T>(folder: string, file: string, read: (text: string) => Read<T>): Promise<T> {
  const found = await optional(folder, file, read);
  if (found !== undefined) return found;
  throw new InvalidError('files-missing', `There is no ${file} in ${folder}, which names the run and its steps.`);
}

async function optional<T>(folder: string, file: string, read: (text: string) => Read<T>): Promise<T | undefined> {
  const text = await readIn(folder, file);
  if (text === undefined) return undefined;
  const found = read(text);
  if (found.ok) return found.value;
  throw new CorruptError('files-corrupt', `${file} in ${folder}: ${found.problem}. Nothing was imported.`, { file });
}

const stepOf = (key: string): string => key.split('_')[0] ?? key;
