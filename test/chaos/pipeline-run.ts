/**
 * Owns one interrupted run: starts its process, kills it with -9 where the seed says, and starts it again until it has
 * finished or its restarts are used up. With state and without, the same lives end at the same points.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import {
  LIFE_MAX_MS,
  LIFE_SHARE_MAX,
  OUTPUT_FILE,
  START_KILLS_PERCENT,
  STATE_FOLDER,
  STEPS,
} from './pipeline-limits.ts';
import { type Judgement, judgePipeline, readWitness } from './pipeline-witness.ts';
import type { Random } from './random.ts';

/** Where a life ends: while it starts, or so long after its first step has begun; shares of the time that either takes. */
export interface End {
  readonly during: 'start' | 'steps';
  readonly share: number;
}

export interface PipelineRunOptions {
  readonly state: 'tidemark' | 'none';
  /** Its own; made when absent. */
  readonly folder: string;
  readonly docs: string;
  readonly stepMs: number;
  /** How long a process takes from its start to its first step, in milliseconds. */
  readonly startMs: number;
  /** Where each life ends; lives beyond these are not killed. */
  readonly ends: readonly End[];
  readonly livesMax: number;
  /** Loses the state before each life: the control, which must repeat steps. */
  readonly forgets?: boolean;
  readonly signal?: AbortSignal | undefined;
}

export interface PipelineRunResult extends Judgement {
  /** Undefined: it didn't finish. */
  readonly output: string | undefined;
  readonly killCount: number;
  readonly wallMs: number;
}

/** As many ends as lives are allowed, the first within the steps' own time. */
export function endsOf(random: Random, count: number): readonly End[] {
  return Array.from({ length: count }, (_, at) => {
    if (at > 0 && random.between(1, 100) <= START_KILLS_PERCENT) return { during: 'start', share: random.next() };
    return { during: 'steps', share: random.next() * (at === 0 ? 1 : LIFE_SHARE_MAX) };
  });
}

export async function runPipeline(options: PipelineRunOptions): Promise<PipelineRunResult> {
  const { folder, ends, livesMax } = options;
  await mkdir(folder, { recursive: true });
  const beganMs = performance.now();
  let killCount = 0;
  for (let life = 0; life < livesMax; life++) {
    options.signal?.throwIfAborted();
    if (options.forgets === true) await rm(path.join(folder, STATE_FOLDER), { recursive: true, force: true });
    const isFinished = await live(options, ends[life]);
    if (isFinished) break;
    killCount++;
  }
  const wallMs = performance.now() - beganMs;
  const output = await readFile(path.join(folder, OUTPUT_FILE), 'utf8').catch(() => undefined);
  return { output, killCount, wallMs, ...judgePipeline(await readWitness(folder)) };
}

/** One life; true when it came to its own end. Throws when it failed by itself. */
async function live(options: PipelineRunOptions, end: End | undefined): Promise<boolean> {
  const { state, folder, docs, stepMs, startMs } = options;
  const program = path.join(import.meta.dirname, 'pipeline-process.ts');
  const child = spawn(process.execPath, [program, state, folder, docs, String(stepMs)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (chunk) => {
    said += chunk;
  });
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const timers: NodeJS.Timeout[] = [];
  const killAfter = (ms: number): void => void timers.push(setTimeout(() => child.kill('SIGKILL'), ms));
  killAfter(LIFE_MAX_MS);
  const onAbort = (): void => void child.kill('SIGKILL');
  options.signal?.addEventListener('abort', onAbort, { once: true });
  if (end?.during === 'start') killAfter(end.share * startMs);
  child.stdout.once('data', () => {
    if (end?.during === 'steps') killAfter(end.share * stepMs * STEPS.length);
  });
  const [code] = await exited;
  for (const timer of timers) clearTimeout(timer);
  options.signal?.removeEventListener('abort', onAbort);
  if (code !== null && code !== 0) throw new Error(`The pipeline's process ended with ${code} by itself: ${said}`);
  return code === 0;
}

/** How long, in milliseconds, a process takes to its first step, and what an uninterrupted run makes. */
export async function uninterrupted(
  options: Omit<PipelineRunOptions, 'ends' | 'livesMax' | 'startMs'>,
): Promise<PipelineRunResult & { readonly startMs: number }> {
  const ran = await runPipeline({ ...options, startMs: 0, ends: [], livesMax: 1 });
  return { ...ran, startMs: Math.max(0, ran.wallMs - options.stepMs * STEPS.length) };
}
