/**
 * Owns `npm run chaos -- pipeline [--runs N] [--seed S] [--step-ms MS] [--json]`: a pipeline of five steps, killed with -9 at
 * random points and started again until it has finished; and the same one without state, killed at the same points. Exits
 * with 1 when a run with state didn't finish, repeated a step, or made another output than an uninterrupted run.
 */

import { cp, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { Report } from '../bench/report.ts';
import { LIVES_MAX, PLAIN_RESTARTS, PUBLISHED, STEP_MS, STEPS, TOKENS_PER_STEP } from './pipeline-limits.ts';
import { endsOf, type PipelineRunResult, runPipeline, uninterrupted } from './pipeline-run.ts';
import { Random } from './random.ts';

const USAGE = 'usage: npm run chaos -- pipeline [--runs N] [--seed S] [--step-ms MS] [--json]';
const EXIT_USAGE = 64;
const DOCS = path.resolve(import.meta.dirname, '../../docs');

interface Figures {
  readonly runs: readonly PipelineRunResult[];
  readonly whole: PipelineRunResult;
}

export async function pipelineChaos(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      runs: { type: 'string', default: '20' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
      'step-ms': { type: 'string', default: String(STEP_MS) },
      json: { type: 'boolean', default: false },
    },
  });
  const [runCount, seed, stepMs] = [values.runs, values.seed, values['step-ms']].map(Number) as [
    number,
    number,
    number,
  ];
  if (![runCount, seed, stepMs].every(Number.isSafeInteger) || runCount < 1 || stepMs < 1) {
    process.stderr.write(`${USAGE}\n`);
    return EXIT_USAGE;
  }
  const report = new Report(values.json);
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-pipeline-'));
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort(signal));
  try {
    // What the runs read must not change while they run.
    const docs = path.join(folder, 'docs');
    await cp(DOCS, docs, { recursive: true });
    report.note(`seed ${seed}, ${runCount} runs of ${STEPS.length} steps of ${stepMs} ms`);
    const common = { folder, docs, stepMs, seed, runCount, report, signal: interrupted.signal };
    const kept = await interruptedRuns({ ...common, state: 'tidemark', livesMax: LIVES_MAX });
    const plain = await interruptedRuns({ ...common, state: 'none', livesMax: PLAIN_RESTARTS + 1 });
    return printResult(report, kept, plain) ? 0 : 1;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Series {
  readonly state: 'tidemark' | 'none';
  readonly folder: string;
  readonly docs: string;
  readonly stepMs: number;
  readonly seed: number;
  readonly runCount: number;
  readonly livesMax: number;
  readonly report: Report;
  readonly signal: AbortSignal;
}

async function interruptedRuns({ runCount, livesMax, seed, report, ...rest }: Series): Promise<Figures> {
  const { state } = rest;
  const whole = await uninterrupted({ ...rest, folder: path.join(rest.folder, `${state}-whole`) });
  const runs: PipelineRunResult[] = [];
  for (let run = 0; run < runCount; run++) {
    // The same seed for both, so that the same lives end at the same points.
    const ends = endsOf(new Random(seed + run), livesMax - (state === 'tidemark' ? 1 : 0));
    const folder = path.join(rest.folder, `${state}-${run}`);
    const result = await runPipeline({ ...rest, folder, startMs: whole.startMs, ends, livesMax });
    runs.push(result);
    const { killCount, output, repeatedCount, lostCount } = result;
    const ended = output === undefined ? 'not finished' : 'finished';
    report.note(`${state} ${run + 1}: ${ended}, ${killCount} kills, ${repeatedCount} repeated, ${lostCount} lost`);
    await rm(folder, { recursive: true, force: true });
  }
  return { runs, whole };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const mean = (values: readonly number[]): number => (values.length === 0 ? 0 : sum(values) / values.length);

/** Whether the runs with state kept every promise. */
function printResult(report: Report, kept: Figures, plain: Figures): boolean {
  const isFinished = ({ output }: PipelineRunResult): boolean => output !== undefined;
  for (const [prefix, { runs, whole }] of [
    ['pipeline', kept],
    ['pipeline.plain', plain],
  ] as const) {
    const add = (name: string, value: number, unit: string): void => report.add(`${prefix}.${name}`, value, unit);
    const finished = runs.filter(isFinished);
    add('runs', runs.length, 'runs');
    add('finished', finished.length, 'runs');
    add('repeated_steps', sum(runs.map((run) => run.repeatedCount)), 'steps');
    add('repeated_steps_per_interrupted_run', mean(runs.map((run) => run.repeatedCount)), 'steps');
    if (prefix === 'pipeline') add('lost_steps', sum(runs.map((run) => run.lostCount)), 'steps');
    add('kills', sum(runs.map((run) => run.killCount)), 'kills');
    add('wrong_outputs', finished.filter(({ output }) => output !== kept.whole.output).length, 'runs');
    add('tokens_per_run', mean(runs.map((run) => run.tokens)), 'tokens');
    if (finished.length > 0) {
      add('tokens_per_finished_run', sum(runs.map((run) => run.tokens)) / finished.length, 'tokens');
      add('wall_per_finished_run_ms', sum(runs.map((run) => run.wallMs)) / finished.length, 'ms');
    }
    add('wall_per_run_ms', mean(runs.map((run) => run.wallMs)), 'ms');
    add('uninterrupted_ms', whole.wallMs, 'ms');
  }
  report.add('pipeline.published.runs', PUBLISHED.runs, 'runs');
  report.add('pipeline.published.with_state.finished', PUBLISHED.finishedWith, 'runs');
  report.add('pipeline.published.with_state.repeated_per_failed_run', PUBLISHED.repeatedWith, 'tasks');
  report.add('pipeline.published.without_state.finished', PUBLISHED.finishedWithout, 'runs');
  report.add('pipeline.published.without_state.repeated_per_failed_run', PUBLISHED.repeatedWithout, 'tasks');
  report.note(`tokens: ${TOKENS_PER_STEP} for each step that begins, a fixed number: no model is called`);
  report.note(`without state a supervisor starts the script again ${PLAIN_RESTARTS} times, from its beginning`);
  report.print();
  return kept.runs.every(
    (run) => run.output === kept.whole.output && run.repeatedCount === 0 && run.lostCount <= run.killCount,
  );
}
