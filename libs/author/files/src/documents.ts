/**
 * Owns which files show a run, and their content. An output has a file of its own, below its run's name, whose `sha256sum` is the recorded
 * checksum. Pure.
 */

import { createHash } from 'node:crypto';
import { isNameWithin } from '@tidemark/blob-fs/folder-root';
import { canonicalJson } from '@tidemark/codec';
import { isoTime, type Json } from '@tidemark/core';
import { writtenLine } from './actions.ts';
import type { DedupeIndex, LastSuccessFile, LogLine, RunState, StepState } from './formats.ts';
import type { DoneStep, RunView } from './run-view.ts';
import type { Withheld } from './withhold.ts';

/** Characters of a run's name in a path; longer ones are cut and distinguished by a digest. */
const NAME_MAX_CHARS = 120;

export interface RunDocuments {
  readonly runState: RunState;
  readonly dedupe: DedupeIndex;
  /** Of this run, if it succeeded. */
  readonly lastSuccess: LastSuccessFile | undefined;
  readonly log: readonly LogLine[];
  /** Outputs by path. */
  readonly texts: ReadonlyMap<string, string>;
}

export function runDocuments({ view, outputs: withheld }: Withheld): RunDocuments {
  const pathOf = (step: DoneStep): string | null => (withheld.has(step.name) ? null : outputPath(view.workflow, step));
  const texts = new Map<string, string>();
  for (const step of view.done) {
    const path = pathOf(step);
    if (path !== null && step.failure === null) texts.set(path, outputText(step.output));
  }
  return {
    ...{ runState: runState(view, pathOf), dedupe: dedupe(view, pathOf), lastSuccess: success(view, pathOf) },
    ...{ log: view.log.map(writtenLine), texts },
  };
}

type PathOf = (step: DoneStep) => string | null;

function runState(view: RunView, pathOf: PathOf): RunState {
  const steps = view.stepNames.map((step): [string, StepState] => [step, stepState(view, step, pathOf)]);
  return {
    pipeline_id: view.workflow,
    status: view.status,
    current_step: stepNumber(view),
    steps: Object.fromEntries(steps),
    total_tokens_used: view.tokens + view.importedTokens,
    tidemark_tokens_used: view.tokens,
  };
}

/** Number of the next step, from 1; 0 before the first, one more than there are when none is left. */
function stepNumber({ status, stepNames, currentStep }: RunView): number {
  if (status === 'new') return 0;
  return currentStep === null ? stepNames.length + 1 : stepNames.indexOf(currentStep) + 1;
}

/** Times of all that a step did in the run: its first start, its last end. */
function stepState(view: RunView, step: string, pathOf: PathOf): StepState {
  const done = view.done.filter((one) => one.step === step);
  const pending = view.pending.filter((one) => one.step === step);
  const [first, last] = [done[0], done.at(-1)];
  const isBegun = first === undefined && pending.some(({ isReady }) => isReady);
  const beganMs = isBegun ? lastMs(view) : first?.startedAtMs;
  return {
    status: stepStatus(view, step, done.length > 0, pending),
    output_file: last === undefined || last.failure !== null ? null : pathOf(last),
    started_at: beganMs === undefined ? null : isoTime(beganMs),
    finished_at: last === undefined || pending.length > 0 ? null : isoTime(last.finishedAtMs),
  };
}

const lastMs = (view: RunView): number => view.done.at(-1)?.committedAtMs || view.updatedAtMs;

function stepStatus(view: RunView, step: string, isDone: boolean, pending: RunView['pending']): StepState['status'] {
  if (step === view.failedStep) return 'failed';
  if (pending.length === 0) return isDone ? 'completed' : 'pending';
  return view.status === 'running' && pending.some(({ isReady }) => isReady) ? 'running' : 'pending';
}

const dedupe = (view: RunView, pathOf: PathOf): DedupeIndex =>
  Object.fromEntries(
    view.done.flatMap((step) => {
      if (step.failure !== null || step.key === null) return [];
      const entry = { executed_at: isoTime(step.finishedAtMs), output: pathOf(step), checksum: step.checksum };
      return [[step.key, { ...entry, ...(step.input !== undefined && { input: step.input }) }]];
    }),
  );

function success(view: RunView, pathOf: PathOf): LastSuccessFile | undefined {
  if (view.status !== 'completed') return undefined;
  const outputs = view.done.flatMap((step) => {
    const path = pathOf(step);
    return path === null ? [] : [[step.name, path] as const];
  });
  return {
    pipeline_id: view.workflow,
    completed_at: isoTime(view.updatedAtMs),
    total_tokens: view.tokens + view.importedTokens,
    outputs: Object.fromEntries(outputs),
  };
}

/** Of a key that another run or program has done. No run's folder has this name. */
export const keyOutputPath = (key: string, output: Json): string =>
  `outputs/keys~/${pathName(key)}.${typeof output === 'string' ? 'txt' : 'json'}`;

/** Texts as they are, all else as canonical JSON: the bytes of the checksum. */
export const outputText = (output: Json): string => (typeof output === 'string' ? output : canonicalJson(output));

const outputPath = (workflow: string, { name, output }: Pick<DoneStep, 'name' | 'output'>): string =>
  `outputs/${pathName(workflow)}/${pathName(name)}.${typeof output === 'string' ? 'txt' : 'json'}`;

/**
 * A name that is one part of a path on every system (Windows drops dots at its end, and has devices), and distinct from other names. Many
 * disks don't distinguish capital letters, so names with such get a digest as well.
 */
export function pathName(name: string): string {
  const plain = name.replace(/[^a-z0-9._-]/gi, '_').replace(/^\.+|\.+$/g, '_');
  if (plain === name && !/[A-Z]/.test(plain) && plain.length <= NAME_MAX_CHARS && isNameWithin(plain)) return plain;
  return `${isNameWithin(plain) ? '' : '_'}${plain.slice(0, NAME_MAX_CHARS)}~${createHash('sha256').update(name).digest('hex').slice(0, 8)}`;
}
