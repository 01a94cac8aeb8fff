/**
 * Owns what a pipeline leaves behind, as data with schemas: a step's checkpoint output, the record under its key, the last success. Readers
 * (the file view) take these from the rows without knowing the definition. Must not run anything.
 */

import { canonicalJson } from '@tidemark/codec';
import { InvalidError, type Json, parseTime } from '@tidemark/core';
import { sha256Digest } from '@tidemark/runtime';
import { z } from 'zod';

/** Characters of the key of a pipeline's step, at most. */
const PIPELINE_KEY_MAX_CHARS = 200;

/** Marks the output of a pipeline's step, so that a reader of any workflow's checkpoints knows it. */
const FORM = 'pipeline-step/1';

/** Hexadecimal digits of the input's digest in a key. */
const INPUT_DIGEST_CHARS = 12;

// These are read-only by their types alone: `readonly()` would be part of the published schema, and of a definition's digest.
const json = z.json() as z.ZodType<Json, Json>;
const texts = z.array(z.string()) as z.ZodType<readonly string[], readonly string[]>;

export const handoffSchema = z.object({
  from: z.string(),
  to: z.string(),
  message: z.string(),
  /** Paths, ids or addresses that go along. */
  artifacts: texts,
  /** When it was written down, in UTC; of one from a file, when that was read. */
  at: z.string().optional(),
  /** Version of the definition whose system context its writer worked under; absent for a writer outside of Tidemark. */
  system_context_version: z.number().optional(),
});
/** A hand-over from one step or agent to another. */
export type NamedHandoff = Readonly<z.infer<typeof handoffSchema>>;

export const stepRecordSchema = z.object({
  form: z.literal(FORM),
  key: z.string(),
  output: json,
  checksum: z.string(),
  /** Digest of the run's input. */
  input: z.string(),
  tokens: z.number(),
  handoffs: z.array(handoffSchema) as z.ZodType<readonly NamedHandoff[]>,
  gate: z.object({ name: z.string(), evidence: json }).nullable(),
  /** The run that did it, where this one found it done and skipped it. */
  skipped: z.object({ workflow: z.string(), atMs: z.number() }).nullable(),
  /** Reason of a permanent failure, set by the failed step where the pipeline ends with its last success instead. */
  failure: z.string().nullable(),
});
/** A step's record: its output under its key, and how it was made. */
export type StepRecord = Readonly<z.infer<typeof stepRecordSchema>>;

/** A record of the dedupe index, under the key of a done step. */
export const doneSchema = z.object({
  step: z.string(),
  workflow: z.string(),
  output: z.json(),
  checksum: z.string(),
  /** The output looks like a secret: only the checkpoint of its run has it, and this is null. */
  isWithheld: z.boolean().optional(),
  /** A default key of a step, or one of others' files, which counts for this input alone; absent for keys of an author's own. */
  key: z.string().optional(),
  /** Digest of the run's input, or its first digits. */
  input: z.string().optional(),
  /** Digest of the step's own input: the previous step's output, or the run's input. */
  given: z.string().optional(),
  /** When another program says that it was done; absent, as where it says no time: when this was recorded. */
  at: z
    .string()
    .refine((text) => !Number.isNaN(parseTime(text)))
    .optional()
    .catch(undefined),
});
export type DoneRecord = z.infer<typeof doneSchema>;

/** What others say they spent on a run before it was imported. */
export const spentSchema = z.object({ tokens: z.number() });

export const lastSuccessSchema = z.object({
  workflow: z.string(),
  totalTokens: z.number(),
  output: json,
  outputs: z.record(z.string(), json),
  /** Steps whose outputs look like secrets, and aren't in `outputs`; `output` is null where the last step is one. */
  withheld: texts.optional(),
});
/** The outputs of the newest run that succeeded. */
export type LastSuccess = Readonly<z.infer<typeof lastSuccessSchema>>;

/** Subject of the records: `pipeline:content`. */
export const pipelineSubject = (pipeline: string): string => `pipeline:${pipeline}`;
/** Keys of the three kinds of records of a pipeline. */
export const doneKey = (key: string): string => `done/${key}`;
/** Default key of a step, as scripts write it: `2_filter_20261122`. */
export const defaultKey = ({ step, date }: { readonly step: string; readonly date: string }): string =>
  `${step}_${/^\d{4}-\d\d-\d\d$/.test(date) ? date.replaceAll('-', '') : date}`;

/** As the run's opening has it. */
export const inputDigestOf = (input: Json): string => sha256Digest.sha256(canonicalJson(input));

/** The record of a default key. Runs with other inputs have the same key, and records of their own; without an input it is the key's own. */
export const inputKey = (key: string, inputDigest: string): string =>
  inputDigest.length < INPUT_DIGEST_CHARS || NO_INPUT.has(inputDigest)
    ? doneKey(key)
    : `${doneKey(key)}/${inputDigest.slice(0, INPUT_DIGEST_CHARS)}`;

const NO_INPUT: ReadonlySet<string> = new Set([null, {}].map(inputDigestOf));

export const handoffKey = (workflow: string, digest: string): string => `handoff/${workflow}/${digest}`;
/** A step of an imported run: done, whatever its key. Of no step: what others say they spent on it before. */
export const importedKey = (workflow: string, step: string): string => `import/${workflow}/${step}`;
export const LAST_SUCCESS_KEY = 'last-success';

/**
 * The steps that a hand-over is meant for: that name or title (`filter` of `2_filter`), or number (`Step 2`), which is that of the name
 * where names have one. Several: it is ambiguous, and reaches none.
 */
export function handoffTargets(to: string, steps: readonly string[]): readonly string[] {
  const wanted = to.trim().toLowerCase();
  const exact = steps.filter((step) => step.toLowerCase() === wanted);
  if (exact.length > 0) return exact;
  const called = (text: string): readonly string[] =>
    steps.filter(
      (step) => lettersOf(text) !== '' && [step, titleOf(step)].some((own) => lettersOf(own) === lettersOf(text)),
    );
  const [, digits, title = ''] = /^(?:step|stage)?[\s_#-]*(\d+)(.*)$/s.exec(wanted) ?? [];
  const named = called(wanted);
  if (named.length > 0 || digits === undefined) return named;
  const number = Number(digits);
  const numbered = steps.filter((step) => /^\d+/.test(step) && Number.parseInt(step, 10) === number);
  const placed = numbered.length > 0 ? numbered : steps.slice(Math.max(0, number - 1), number);
  return [...new Set([...placed, ...called(title)])];
}

const titleOf = (step: string): string => step.replace(/^\d+/, '');
const lettersOf = (text: string): string => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '');

/** SHA-256 of a text's bytes, or of any other output's canonical JSON: the `sha256sum` of the file that holds it. */
export const checksumOf = (output: Json): string =>
  sha256Digest.sha256(typeof output === 'string' ? output : canonicalJson(output));

/** The record of a pipeline's step in a checkpoint's output; undefined for steps of other workflows. */
export function stepRecordIn(output: Json): StepRecord | undefined {
  const parsed = stepRecordSchema.safeParse(output);
  return parsed.success ? parsed.data : undefined;
}

export const stepRecord = (parts: Omit<StepRecord, 'form'>): StepRecord => ({ form: FORM, ...parts });

/** Throws `InvalidError` (`step-key-invalid`). */
export function checkKey(key: unknown, step: string): string {
  if (typeof key === 'string' && key.length > 0 && key.length <= PIPELINE_KEY_MAX_CHARS && !/\p{Cc}/u.test(key)) {
    return key;
  }
  const message = `Key of step ${step}: a key is 1..${PIPELINE_KEY_MAX_CHARS} characters without control characters.`;
  throw new InvalidError('step-key-invalid', message, { step });
}
