/**
 * Owns performing one step of a pipeline: it is skipped where its key is done, else run, gated, and recorded under its key with the same
 * checkpoint that makes it done. Must not decide what follows it: that is pipeline.ts.
 *
 * L1 The record of a key is written with the step's checkpoint or not at all.
 * L2 Nothing of an attempt whose gate didn't pass is recorded.
 * L3 No record holds what looks like a secret. The log and the step's last action say that it is missing.
 */

import { type MemoryWrite, toJson } from '@tidemark/codec';
import { InvalidError, isoTime, type Json, parseTime } from '@tidemark/core';
import { refuseSecrets } from '@tidemark/memory';
import type { AnyContext } from './context.ts';
import { passGate } from './gate.ts';
import { kindOf } from './parse.ts';
import {
  checkKey,
  checksumOf,
  type DoneRecord,
  defaultKey,
  doneKey,
  doneSchema,
  handoffKey,
  handoffSchema,
  handoffTargets,
  importedKey,
  inputDigestOf,
  inputKey,
  LAST_SUCCESS_KEY,
  type LastSuccess,
  lastSuccessSchema,
  type NamedHandoff,
  pipelineSubject,
  type StepRecord,
  spentSchema,
  stepRecord,
  stepRecordIn,
} from './pipeline-record.ts';
import type { KeyParts, PipelineContext, PipelineStepSettings } from './pipeline-types.ts';

/** Hand-overs from outside that a step reads, at most. */
const HANDOFFS_READ_MAX_COUNT = 100;

/** A step in its place. */
export interface PlacedStep extends PipelineStepSettings {
  readonly name: string;
  readonly pipeline: string;
  readonly version: number;
  /** All of the pipeline, in order. */
  readonly steps: readonly string[];
  /** Undefined: the first, the last. */
  readonly before: string | undefined;
  readonly after: string | undefined;
  /** Undefined: the default. */
  readonly keyOf: ((parts: KeyParts) => string) | undefined;
}

/** The outcome of a step. */
export interface Performed {
  readonly record: StepRecord;
  readonly memories: readonly MemoryWrite[];
  readonly costMicros: number;
  /** The output looks like a secret: later runs make it again. */
  readonly isWithheld: boolean;
  /** A note to people about a skip. */
  readonly note: string;
}

export async function performStep(step: PlacedStep, ctx: AnyContext, date: string): Promise<Performed> {
  const { pipeline, name } = step;
  const input = ctx.input as Json;
  const parts = { pipeline, step: name, date, input, workflow: ctx.workflow };
  const key = checkKey((step.keyOf ?? defaultKey)(parts), name);
  const inputDigest = inputDigestOf(input);
  const record = step.keyOf === undefined ? inputKey(key, inputDigest) : doneKey(key);
  const before = step.before === undefined ? undefined : await stepRecordOf(ctx, step.before);
  const [given, givenDigest] = before === undefined ? [input, inputDigest] : [before.output, before.checksum];
  const keys = { key, record, date, given, inputDigest, givenDigest };
  return (await skipped(step, ctx, keys)) ?? ran(step, ctx, keys);
}

interface Keys {
  readonly date: string;
  /** The previous step's output, or the input. */
  readonly given: Json;
  readonly givenDigest: string;
  /** Of the run's input. */
  readonly inputDigest: string;
  readonly key: string;
  /** Key of its record. */
  readonly record: string;
}

/** Records of done steps: of this very run first, then of any run, then from files of others. */
async function doneBefore({ pipeline, name, keyOf }: PlacedStep, ctx: AnyContext, keys: Keys) {
  const { key, inputDigest, givenDigest } = keys;
  for (const named of new Set([importedKey(ctx.workflow, name), inputKey(key, inputDigest), doneKey(key)])) {
    const found = await recordOf(ctx, pipeline, named);
    const done = doneSchema.safeParse(found?.value);
    if (found === undefined || !done.success) continue;
    const { input = inputDigest, given = givenDigest } = done.data;
    const other = !inputDigest.startsWith(input)
      ? ', with another input'
      : given !== givenDigest
        ? ', from something else'
        : '';
    // A definition with a key of its own has decided that neither matters.
    if (other !== '' && keyOf === undefined) {
      ctx.log('repeat', { key, checksum: done.data.checksum, result: `done before by ${done.data.workflow}${other}` });
      continue;
    }
    const { at } = done.data;
    return { ...done.data, atMs: at === undefined ? found.atMs : parseTime(at), note: other };
  }
  return undefined;
}

/** The step as done before, by any run; undefined when its key isn't done. */
async function skipped(step: PlacedStep, ctx: AnyContext, keys: Keys): Promise<Performed | undefined> {
  const { key } = keys;
  const found = await doneBefore(step, ctx, keys);
  if (found === undefined) return undefined;
  const { output, checksum, workflow, isWithheld, note } = found;
  if (isWithheld === true) {
    const result = `done before by ${workflow}, whose output looks like a secret and is kept by that run alone: run again`;
    ctx.log('repeat', { key, checksum, result });
    return undefined;
  }
  ctx.log('skip', { key, checksum, result: `done before by ${workflow}${note}` });
  // Whoever did it has said more than that it is done, and a step hears it; behind the last there is none.
  const isSaid = (await outsideHandoffs(step, ctx)).some(
    ({ from, to }) =>
      targetOf(from, step.steps) === step.name && (step.after === undefined || targetOf(to, step.steps) !== undefined),
  );
  const handoffs = isSaid ? [] : [plainHandoff(step, output, 'was done before')];
  for (const handoff of handoffs) ctx.log('handoff', handoff);
  const record = stepRecord({
    key,
    output,
    checksum,
    input: keys.inputDigest,
    tokens: 0,
    handoffs,
    gate: null,
    skipped: { workflow, atMs: found.atMs },
    failure: null,
  });
  return { record, memories: [], costMicros: 0, isWithheld: false, note };
}

async function ran(step: PlacedStep, ctx: AnyContext, keys: Keys): Promise<Performed> {
  const { key, date, given } = keys;
  const spent = { tokens: 0, costMicros: 0 };
  const handoffs: NamedHandoff[] = [];
  ctx.log('start', { key });
  // A copy, since a plain function may change its input.
  const made = await step.run(structuredClone(given), pipelineContext(step, ctx, { key, date, spent, handoffs }));
  const output = toJson(made ?? null, `output of step ${step.name} of pipeline ${step.pipeline}`);
  const gate = step.gate === undefined ? null : await passGate(ctx, step.gate, output as never);
  if (handoffs.length === 0) handoffs.push(plainHandoff(step, output, 'is done'));
  for (const handoff of handoffs) ctx.log('handoff', handoff);
  const checksum = checksumOf(output);
  const done = doneRecord(step, ctx, { ...keys, output, checksum });
  const { tokens, costMicros } = spent;
  const record = {
    key,
    output,
    checksum,
    input: keys.inputDigest,
    tokens,
    handoffs,
    gate,
    skipped: null,
    failure: null,
  };
  return {
    record: stepRecord(record),
    memories: [recordWrite(step.pipeline, keys.record, done, ctx)],
    costMicros,
    isWithheld: done.isWithheld === true,
    note: '',
  };
}

/** Memory refuses secrets. The record keeps that the key is done, but not the output. */
function doneRecord(
  { name, keyOf }: PlacedStep,
  ctx: AnyContext,
  { key, output, checksum, inputDigest, givenDigest }: Pick<StepRecord, 'output' | 'checksum'> & Keys,
): DoneRecord {
  const done: DoneRecord = {
    ...{ step: name, workflow: ctx.workflow, output: output as DoneRecord['output'], checksum },
    ...(keyOf === undefined && { key }),
    input: inputDigest,
    given: givenDigest,
  };
  const secret = secretIn(`The output of ${name}`, { output });
  if (secret === undefined) return done;
  ctx.log('withheld', {
    key,
    result: `${secret}. This run's checkpoint holds it as it is; a later run with this key runs the step again.`,
  });
  return { ...done, output: null, isWithheld: true };
}

/** The outputs of a successful run, for runs that fail; without what looks like a secret. */
export function lastSuccessWrite(step: PlacedStep, ctx: AnyContext, value: LastSuccess): readonly MemoryWrite[] {
  const named = Object.entries(value.outputs);
  const withheld = named.filter(([name, output]) => secretIn(name, { [name]: output, output }) !== undefined);
  const names = withheld.map(([name]) => name);
  const rest = Object.fromEntries(named.filter(([name]) => !names.includes(name)));
  if (names.length === 0) return [recordWrite(step.pipeline, LAST_SUCCESS_KEY, value, ctx)];
  const result = `Looks like a secret, and is not in the last success: the output of ${names.join(', ')}.`;
  ctx.log('withheld', { key: LAST_SUCCESS_KEY, result });
  const output = names.includes(step.name) ? null : value.output;
  const left: LastSuccess = { ...value, output, outputs: rest, withheld: names };
  return [recordWrite(step.pipeline, LAST_SUCCESS_KEY, left, ctx)];
}

export async function lastSuccessOf(ctx: AnyContext, pipeline: string): Promise<LastSuccess | undefined> {
  const parsed = lastSuccessSchema.safeParse((await recordOf(ctx, pipeline, LAST_SUCCESS_KEY))?.value);
  return parsed.success ? parsed.data : undefined;
}

/** Tokens that others say they spent on an imported run. */
export async function spentBefore(ctx: AnyContext, pipeline: string): Promise<number> {
  const found = await recordOf(ctx, pipeline, importedKey(ctx.workflow, ''));
  return spentSchema.safeParse(found?.value).data?.tokens ?? 0;
}

/** Output of an earlier step of this run. Throws `InvalidError` (`step-not-done`). */
export async function stepRecordOf(ctx: AnyContext, step: string): Promise<StepRecord> {
  const record = stepRecordIn((await ctx.outputs(step)).at(-1) as Json);
  if (record !== undefined) return record;
  throw new InvalidError('step-not-done', `Step ${ctx.step}: step ${step} has no output yet in this run.`, { step });
}

interface Attempt {
  readonly key: string;
  readonly date: string;
  readonly spent: { tokens: number; costMicros: number };
  readonly handoffs: NamedHandoff[];
}

function pipelineContext(step: PlacedStep, ctx: AnyContext, attempt: Attempt): PipelineContext {
  const { key, date, spent, handoffs } = attempt;
  const { pipeline, name } = step;
  return {
    ...ctx,
    pipeline,
    key,
    date,
    input: ctx.input as Json,
    outputs: async <T = Json>(of: string) => structuredClone((await stepRecordOf(ctx, of)).output) as T,
    handoff: (message, artifacts = [], to = step.after ?? 'end') => {
      const handoff = handoffSchema.safeParse({
        ...{ from: name, to, message },
        artifacts: [...artifacts],
        ...written(step),
      });
      if (handoff.success) handoffs.push(handoff.data);
      else throw new InvalidError('handoff-invalid', `Step ${name}: handoff(message, artifacts, to) takes texts.`);
    },
    handoffs: () => handoffsFor(step, ctx),
    tokens: (count, costMicros = 0) => {
      spent.tokens += checkCount(count, name);
      spent.costMicros += checkCount(costMicros, name);
    },
    lastSuccess: () => lastSuccessOf(ctx, pipeline),
  };
}

/** Of earlier steps, and from outside. */
async function handoffsFor(step: PlacedStep, ctx: AnyContext): Promise<readonly NamedHandoff[]> {
  const own: NamedHandoff[] = [];
  for (const name of step.steps.slice(0, step.steps.indexOf(step.name))) {
    own.push(...(await stepRecordOf(ctx, name)).handoffs);
  }
  return [...own, ...(await outsideHandoffs(step, ctx))].filter(({ to }) => targetOf(to, step.steps) === step.name);
}

/** Undefined: none or several. */
function targetOf(to: string, steps: readonly string[]): string | undefined {
  const [target, ...others] = handoffTargets(to, steps);
  return others.length === 0 ? target : undefined;
}

async function outsideHandoffs(step: PlacedStep, ctx: AnyContext): Promise<readonly NamedHandoff[]> {
  const prefix = handoffKey(ctx.workflow, '');
  const query = { subject: pipelineSubject(step.pipeline), kind: 'record', limit: HANDOFFS_READ_MAX_COUNT } as const;
  const outside = await ctx.memories({ ...query, prefix });
  return outside.flatMap(({ value, atMs }): NamedHandoff[] => {
    const handoff = handoffSchema.safeParse(value).data;
    return handoff === undefined ? [] : [{ at: isoTime(atMs), ...handoff }];
  });
}

const written = ({ version }: PlacedStep) => ({ at: isoTime(Date.now()), system_context_version: version });

function checkCount(count: number, step: string): number {
  if (Number.isSafeInteger(count) && count >= 0) return count;
  throw new InvalidError('tokens-invalid', `Step ${step}: tokens(count, costMicros) takes whole numbers from 0.`);
}

async function recordOf(ctx: AnyContext, pipeline: string, key: string) {
  const [found] = await ctx.memories({ subject: pipelineSubject(pipeline), kind: 'record', key, limit: 1 });
  return found;
}

/** Names place and kind; undefined where nothing looks like one. */
function secretIn(what: string, value: object): string | undefined {
  try {
    refuseSecrets(what, value);
    return undefined;
  } catch (error) {
    if (error instanceof InvalidError) return error.message;
    throw error;
  }
}

const recordWrite = (pipeline: string, key: string, value: object, ctx: AnyContext): MemoryWrite => ({
  subject: pipelineSubject(pipeline),
  kind: 'record',
  key,
  value: value as Json,
  source: ctx.workflow,
});

const plainHandoff = (step: PlacedStep, output: Json, what: string): NamedHandoff => ({
  from: step.name,
  to: step.after ?? 'end',
  message: `${step.name} ${what}: ${sizeOf(output)}.`,
  artifacts: [],
  ...written(step),
});

const sizeOf = (output: Json): string => (Array.isArray(output) ? `${output.length} items` : kindOf(output));
