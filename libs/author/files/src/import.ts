/**
 * Owns the import: a folder of files, written by a mirror or by a shell script, becomes a run of a pipeline in which the steps that the
 * files call completed are done. The run passes through every step, and skips those, each with its output and a checkpoint of its own, so
 * the history says where it came from. Changes nothing in the folder.
 */

import { ConfigError, CorruptError, InvalidError, type Json, parseTime } from '@tidemark/core';
import {
  checksumOf,
  handoffKey,
  importedKey,
  inputDigestOf,
  LAST_SUCCESS_KEY,
  type LastSuccess,
  pipelineSubject,
} from '@tidemark/sdk';
import type { z } from 'zod';
import { readIn } from './folder.ts';
import {
  DEDUPE_INDEX,
  type DedupeEntry,
  type DedupeIndex,
  dedupeIndexSchema,
  HANDOFF,
  LAST_SUCCESS,
  type LastSuccessFile,
  lastSuccessFileSchema,
  RUN_STATE,
  type RunState,
  readJson,
  runStateSchema,
  saidAt,
} from './formats.ts';
import { handoffDigests, readHandoffs } from './handoff-text.ts';
import { type Made, type ReadOutput, readWithin, resolveFile, resolveOutput } from './outputs.ts';
import { type OnReport, Reports } from './reports.ts';
import { doneRecords, type RecordWrite, stepOf, type WayBack, warnOfTarget } from './way-back.ts';
import type { FindSecrets } from './withhold.ts';

/** Longest name of a record's source, in characters. */
const SOURCE_MAX_CHARS = 200;

export interface ImportOptions {
  readonly folder: string;
  /** The pipeline of the run: its name, and its steps in order. */
  readonly pipeline: { readonly name: string; readonly stepNames: readonly string[] };
  /** Id of the new run; default: the folder's `pipeline_id`. */
  readonly id?: string | undefined;
  /** Input of the run, for which the keys count; default: `{}`. */
  readonly input?: Json | undefined;
  /** Further folders in which outputs may lie: paths lead nowhere else. */
  readonly outside?: readonly string[] | undefined;
  readonly back: Pick<WayBack, 'remember'>;
  /** Starts the run once its records exist; the same id returns the same run. */
  readonly start: (id: string) => Promise<void>;
  readonly find?: FindSecrets | undefined;
  readonly onReport?: OnReport | undefined;
}

export interface Imported {
  readonly id: string;
  /** Steps that the run will skip, in order. */
  readonly done: readonly string[];
  /** Keys of the dedupe index, and hand-overs, that became records. */
  readonly keyCount: number;
  readonly handoffCount: number;
}

/**
 * Throws `InvalidError` (`files-missing`, `files-unfit`, `files-secret`), `ConfigError` (`files-outside`), `CorruptError`
 * (`files-corrupt`), before anything was started. A repeated import writes the same records under the same keys.
 */
export async function importFiles(options: ImportOptions): Promise<Imported> {
  const { folder, pipeline, back, find, start } = options;
  const reports = new Reports(options.onReport);
  const overlook = (file: string, slips: readonly string[]): void =>
    reports.report('overlooked', `${file}: ${slips.join(', ')}; it was read all the same.`);
  const found = await readFiles(folder, pipeline, overlook);
  const { state, index, last } = found;
  const id = options.id ?? state.pipeline_id;
  const read = readWithin({ path: folder, read: (name) => readIn(folder, name) }, options.outside);
  const subject = pipelineSubject(pipeline.name);
  const record = (key: string, value: object): RecordWrite => {
    refuseSecrets(key, value, find);
    return { key, value: value as Json, source: `files ${folder}`.slice(0, SOURCE_MAX_CHARS) };
  };
  const steps = await doneSteps(found, pipeline.stepNames, read, reports);
  warnOfNumber(state, steps.length, pipeline.stepNames.length, reports);
  const keys = await doneKeys(index, read, reports);
  const handoffs = readHandoffs((await readIn(folder, HANDOFF)) ?? '');
  const digests = handoffDigests(handoffs);
  for (const handoff of handoffs) warnOfTarget(handoff, pipeline.stepNames, reports);
  const { total_tokens_used: tokens } = state;
  const input = inputDigestOf(options.input ?? {});
  const success = await lastSuccess(last, pipeline.stepNames, read);
  const writes = [
    ...(tokens > 0 ? [record(importedKey(id, ''), { tokens })] : []),
    ...steps.map(({ step, ...made }) => record(importedKey(id, step), { step, workflow: state.pipeline_id, ...made })),
    ...keys.flatMap(({ key, input: own, ...made }) => {
      const step = stepOf(key, pipeline.stepNames);
      const counts = own ?? (pipeline.stepNames.includes(step) ? input : undefined);
      const written = doneRecords(key, counts, { step, workflow: state.pipeline_id, ...made }, reports);
      return written.map((each) => record(each.key, each.value as object));
    }),
    ...handoffs.map((handoff, at) => record(handoffKey(id, digests[at] as string), handoff)),
    ...(success === undefined ? [] : [record(LAST_SUCCESS_KEY, success)]),
  ];
  if (writes.length > 0) await back.remember(subject, writes);
  await start(id);
  return { id, done: steps.map(({ step }) => step), keyCount: keys.length, handoffCount: handoffs.length };
}

interface Found {
  readonly state: RunState;
  readonly index: DedupeIndex;
  readonly last: LastSuccessFile | undefined;
}

/** Throws for all that doesn't fit at once, so that nobody mends one thing after the other. */
async function readFiles(folder: string, pipeline: ImportOptions['pipeline'], overlook: Overlook): Promise<Found> {
  const faults: Fault[] = [];
  const state = await optional(folder, RUN_STATE, runStateSchema, overlook, faults);
  const unknown = Object.keys(state?.steps ?? {}).filter((step) => !pipeline.stepNames.includes(step));
  if (unknown.length > 0) {
    const own = pipeline.stepNames.join(', ');
    const problem = `names ${unknown.join(', ')}, which pipeline ${pipeline.name} doesn't have (its steps: ${own})`;
    faults.push({ text: `${RUN_STATE} ${problem}`, isDamage: false });
  }
  const index = await optional<DedupeIndex>(folder, DEDUPE_INDEX, dedupeIndexSchema as never, overlook, faults);
  const last = await optional(folder, LAST_SUCCESS, lastSuccessFileSchema, overlook, faults);
  if (state !== undefined && faults.length === 0) return { state, index: index ?? {}, last };
  if (faults.length === 0) {
    throw new InvalidError(
      'files-missing',
      `There is no ${RUN_STATE} in ${folder}, which names the run and its steps.`,
    );
  }
  const message = `The files in ${folder} don't fit. ${faults.map(({ text }) => text).join('. ')}. Nothing was imported.`;
  const isDamage = faults.some((fault) => fault.isDamage);
  throw isDamage ? new CorruptError('files-corrupt', message) : new InvalidError('files-unfit', message, { unknown });
}

interface Fault {
  readonly text: string;
  /** It is no JSON; else it is of another form, perhaps another program's. */
  readonly isDamage: boolean;
}

/** Completed steps whose output exists, up to the first without one: later steps can't build on it. */
async function doneSteps({ state, index }: Found, stepNames: readonly string[], read: ReadOutput, reports: Reports) {
  const done: (Made & { readonly step: string; readonly at?: string })[] = [];
  for (const step of stepNames) {
    const entry = state.steps[step];
    if (entry?.status !== 'completed') break;
    const { output_file: file, finished_at: finished } = entry;
    const keyed = Object.entries(index).filter(([key]) => stepOf(key, stepNames) === step);
    const named = newestOf(keyed.flatMap(([, { output, ...more }]) => (output == null ? [] : [{ output, ...more }])));
    if (typeof file !== 'string' && named === undefined) {
      reports.report('unnamed', `step ${step}: it is done and names no output, so the next step receives null.`);
      done.push({ step, output: null, checksum: checksumOf(null), ...saidAt(finished) });
      continue;
    }
    const key = keyed.find(([, { output }]) => output === file)?.[1];
    const from = refusingOutside(step, read);
    const made = await (typeof file === 'string'
      ? resolveFile(file, key?.checksum, from)
      : resolveOutput(named!, from));
    if (typeof made === 'string') {
      reports.report('refused', `step ${step}: ${made} It runs again.`);
      break;
    }
    done.push({ step, ...made, ...saidAt(finished ?? (key ?? named)?.executed_at) });
  }
  return done;
}

/** Of the keys of several days. */
const newestOf = (entries: readonly DedupeEntry[]): DedupeEntry | undefined =>
  entries.toSorted((a, b) => timeOf(a) - timeOf(b)).at(-1);
const timeOf = ({ executed_at: at }: DedupeEntry): number => (typeof at === 'string' ? parseTime(at) : 0);

/** The step number claims more than the list of steps: steps that aren't called completed run again. */
function warnOfNumber(
  { current_step: number }: RunState,
  doneCount: number,
  stepCount: number,
  reports: Reports,
): void {
  if (typeof number !== 'number' || number - 1 <= doneCount) return;
  const claim = `current_step is ${number}`;
  const beyond = number - 1 > stepCount ? `, beyond the ${stepCount} steps of the pipeline` : '';
  const rest = doneCount === stepCount ? '' : ': the others run again';
  reports.report('refused', `${claim}${beyond}; ${doneCount} of the steps are known to be done${rest}.`);
}

/** A completed step must not run again only because the caller didn't say where its output may be read. */
const refusingOutside =
  (step: string, read: ReadOutput): ReadOutput =>
  (file) =>
    read(file).catch((error: unknown) => {
      if (!(error instanceof InvalidError) || error.code !== 'path-outside') throw error;
      throw new ConfigError(
        'files-outside',
        `step ${step}: its output ${error.message} Name the folder that it lies in (--outputs DIR). Nothing was imported.`,
        { step },
      );
    });

async function doneKeys(index: DedupeIndex, read: ReadOutput, reports: Reports) {
  const keys: (Made & { readonly key: string; readonly input?: string; readonly at?: string })[] = [];
  for (const [key, entry] of Object.entries(index)) {
    const made = await resolveOutput(entry, read);
    if (typeof made === 'string') reports.report('refused', `key ${JSON.stringify(key)}: ${made}`);
    else keys.push({ key, ...made, ...saidAt(entry.executed_at), ...(entry.input != null && { input: entry.input }) });
  }
  return keys;
}

async function lastSuccess(
  last: LastSuccessFile | undefined,
  stepNames: readonly string[],
  read: ReadOutput,
): Promise<LastSuccess | undefined> {
  if (last === undefined) return undefined;
  const outputs: Record<string, Json> = {};
  for (const [step, file] of Object.entries(last.outputs)) {
    const made = await resolveFile(file, undefined, read);
    if (typeof made !== 'string') outputs[step] = made.output;
  }
  const output = outputs[stepNames.at(-1) ?? ''];
  if (output === undefined) return undefined;
  return { workflow: last.pipeline_id, totalTokens: last.total_tokens, output, outputs };
}

function refuseSecrets(key: string, value: object, find: FindSecrets | undefined): void {
  const hidden = new Set(['checksum']);
  const searched = Object.fromEntries(Object.entries(value).filter(([name]) => !hidden.has(name)));
  const [first] = find?.(searched) ?? [];
  if (first === undefined) return;
  const message = `${key}: holds what looks like a secret at ${first.place} (${first.kind}); nothing was imported.`;
  throw new InvalidError('files-secret', message, { key, place: first.place });
}

type Overlook = (file: string, slips: readonly string[]) => void;

async function optional<T>(
  folder: string,
  file: string,
  schema: z.ZodType<T>,
  overlook: Overlook,
  faults: Fault[],
): Promise<T | undefined> {
  const text = await readIn(folder, file);
  if (text === undefined) return undefined;
  const read = readJson(text, schema);
  if (!read.ok) {
    faults.push({ text: `${file}: ${read.problem}`, isDamage: read.found === undefined });
    return undefined;
  }
  if (read.overlooked.length > 0) overlook(file, read.overlooked);
  return read.value;
}
