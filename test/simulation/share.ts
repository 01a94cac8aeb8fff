/**
 * Owns the sharing of a range of seeds among processes, one seed at a time, so that none is left with the slow ones. A seed
 * that doesn't end at all is a violation too: its process is ended, and another goes on. (Processes, since the simulation's
 * turns of the event loop are those of a main thread; in worker threads they now and then stopped for good.)
 */

import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type SimulationOptions, simulate } from '@tidemark/testkit/simulation';
import { add, type Range, type SeedFailure, type SeedResult, summaryOf, type Totals } from './range.ts';

/** A seed takes some ten milliseconds; one that takes this long, in milliseconds of wall clock, will never end. */
const HANGS_MS = 60_000;
/** Makes this file the program of a process that answers with one seed's result each time that it is asked. */
const SERVE = '--serve-seeds';

const begin = (): ChildProcess => fork(fileURLToPath(import.meta.url), [SERVE]);

export async function runShared(
  { from, count, ...options }: Range,
  processCount: number,
  totals: Totals,
  onFailure: (failure: SeedFailure) => void,
): Promise<void> {
  let next = from;
  const work = async (): Promise<void> => {
    let child = begin();
    try {
      while (next < from + count) {
        const seed = next++;
        const result = await answerOf(child, { seed, ...options });
        add(totals, result ?? hanging(seed), onFailure);
        if (result !== undefined) continue;
        child.kill('SIGKILL');
        child = begin();
      }
    } finally {
      child.kill('SIGKILL');
    }
  };
  await Promise.all(Array.from({ length: Math.min(processCount, count) }, work));
}

/** Undefined: it hangs. */
async function answerOf(child: ChildProcess, options: SimulationOptions): Promise<SeedResult | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<SeedResult | undefined>();
  const timer = setTimeout(() => resolve(undefined), HANGS_MS);
  const answered = (message: unknown): void => resolve(message as SeedResult);
  const ended = (): void => reject(new Error(`the process of seed ${options.seed} ended`));
  child.once('message', answered).once('exit', ended);
  child.send(options);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    child.off('message', answered).off('exit', ended);
  }
}

const hanging = (seed: number): SeedResult => ({
  seed,
  violations: [`progress: the seed did not end within ${HANGS_MS} ms of wall clock`],
  tookMs: HANGS_MS,
  workflowCount: 0,
  parkedCount: 0,
  callCount: 0,
  eventCount: 0,
  virtualMs: 0,
});

if (process.argv[2] === SERVE) {
  Error.stackTraceLimit = 0;
  process.on('message', (options: SimulationOptions) => {
    const beganMs = performance.now();
    void simulate(options).then((result) => process.send!(summaryOf(result, performance.now() - beganMs)));
  });
}
