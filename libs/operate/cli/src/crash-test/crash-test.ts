/**
 * Owns the crash test of any program: two runs that nobody kills, from which its calls are known, then one for each moment of each call, in which
 * it is killed there and started again. A run is in a folder of its own; nothing of it is left, in whatever way the test ends.
 */

import { InvalidError, LimitError } from '@tidemark/core';
import { maskSecrets } from '@tidemark/secrets';
import { difference, judge, type Outcome, type Trial, type Verdict } from './judge.ts';
import { Keeper, ProcessGroup, type Ran } from './process-group.ts';
import { type Call, MOMENTS, type Moment, type OnMoment, Receiver, type ReceiverOptions } from './receiver.ts';

/** Of a failed run's errors, the lines that are quoted. */
const ERROR_LINES_COUNT = 12;

export interface CrashTestOptions extends ReceiverOptions {
  readonly command: readonly string[];
  /** A line for the shell, which starts it again; undefined: the command. */
  readonly resume: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Whether it runs in the folder that is new for each trial; else in `cwd`. */
  readonly isInFolder: boolean;
  /** Of each run, in milliseconds. */
  readonly limitMs: number;
  /** Kills, at most; of more, these are spread evenly. */
  readonly maxCount: number;
  readonly signal: AbortSignal;
  readonly onProgress: (done: number, all: number) => void;
}

export interface Judged extends Verdict {
  readonly what: string;
  readonly trial: Trial;
}

export interface CrashTestResult {
  readonly calm: Outcome & { readonly tookMs: number };
  readonly judged: readonly Judged[];
  /** Moments that there are; more than were tried where there is a limit. */
  readonly momentCount: number;
}

/**
 * Throws `ConfigError` (`command-unstartable`), `InvalidError` (`calm-run-failed`, `calls-none`, `not-deterministic`), `LimitError`
 * (`calm-run-late`); rejects with the signal's reason once it aborts.
 */
export async function crashTest(options: CrashTestOptions): Promise<CrashTestResult> {
  const keeper = new Keeper();
  const receiver = await Receiver.open(options);
  try {
    const runs = new Runs(options, receiver, keeper);
    const calm = await runs.calm();
    if (calm.calls.length === 0) throw new InvalidError('calls-none', noCalls(receiver.url));
    const differs = difference(calm, await runs.calm());
    if (differs !== undefined) {
      const message = `Two runs that nobody killed differ: ${differs}. Have it keep its state in the folder TIDEMARK_CRASH_TEST_FOLDER (--in-folder starts it there), and send and print nothing of a clock or of chance.`;
      throw new InvalidError('not-deterministic', message);
    }
    const moments = calm.calls.flatMap((_, at) => MOMENTS.map((moment) => ({ moment, number: at + 1 })));
    const chosen = spread(moments, options.maxCount);
    const judged: Judged[] = [];
    for (const { number, moment } of chosen) {
      options.onProgress(judged.length, chosen.length);
      const trial = await runs.trial(number, moment);
      judged.push({ what: calm.calls[number - 1]!.what, trial, ...judge(calm, trial) });
    }
    return { calm, judged, momentCount: moments.length };
  } finally {
    await receiver.close();
    await keeper.close();
  }
}

const noCalls = (url: string): string =>
  `The command made no call to ${url}. Have it call the address in TIDEMARK_CRASH_TEST_URL where it else calls what it works with (with --model, models are found by OPENAI_BASE_URL and ANTHROPIC_BASE_URL).`;

/** At most so many of them, evenly spread, in their order. */
export const spread = <T>(all: readonly T[], count: number): readonly T[] =>
  all.length <= count ? all : Array.from({ length: count }, (_, n) => all[Math.floor((n * all.length) / count)]!);

class Runs {
  readonly #options: CrashTestOptions;
  readonly #receiver: Receiver;
  readonly #keeper: Keeper;

  constructor(options: CrashTestOptions, receiver: Receiver, keeper: Keeper) {
    this.#options = options;
    this.#receiver = receiver;
    this.#keeper = keeper;
  }

  calm(): Promise<Outcome & { readonly tookMs: number }> {
    return this.#keeper.inFolder(async (folder) => {
      const startedMs = performance.now();
      const calls = this.#receiver.record();
      const ran = await this.#run(this.#options.command, folder).ended;
      this.#options.signal.throwIfAborted();
      if (ran.isLate) {
        const message = `The command did not end within ${this.#options.limitMs / 1_000} s. Give it longer with --limit.`;
        throw new LimitError('calm-run-late', message);
      }
      if (ran.code !== 0) throw new InvalidError('calm-run-failed', failed(ran));
      return { ...ran, calls, tookMs: performance.now() - startedMs };
    });
  }

  trial(number: number, moment: Moment): Promise<Trial> {
    return this.#keeper.inFolder(async (folder) => {
      const { command, resume, signal } = this.#options;
      let isKilled = false;
      let group: ProcessGroup | undefined;
      const onMoment: OnMoment = (at, of) => {
        if (isKilled || at !== moment || of !== number) return false;
        isKilled = group?.kill() ?? false;
        return isKilled;
      };
      const calls = this.#receiver.record(onMoment);
      group = this.#run(command, folder);
      let ran = await group.ended;
      signal.throwIfAborted();
      if (!isKilled) return { ...ran, calls, number, moment, isKilled, resumeMs: null };
      const startedMs = performance.now();
      ran = await this.#run(resume ?? command, folder).ended;
      signal.throwIfAborted();
      return { ...ran, calls, number, moment, isKilled, resumeMs: resumeTime(calls, startedMs) };
    });
  }

  #run(command: readonly string[] | string, folder: string): ProcessGroup {
    const { env, cwd, isInFolder, limitMs, model, signal } = this.#options;
    signal.throwIfAborted();
    const { url } = this.#receiver;
    const group = new ProcessGroup({
      command,
      cwd: isInFolder ? folder : cwd,
      env: {
        ...env,
        TIDEMARK_CRASH_TEST_URL: url,
        TIDEMARK_CRASH_TEST_FOLDER: folder,
        ...(model !== undefined && {
          ...{ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: 'crash-test' },
          ...{ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'crash-test' },
        }),
      },
      limitMs,
      keeper: this.#keeper,
    });
    const onAbort = () => group.kill();
    signal.addEventListener('abort', onAbort);
    void group.ended.catch(() => {}).finally(() => signal.removeEventListener('abort', onAbort));
    return group;
  }
}

/** Of what came after the new start, the first call that had not come before it. */
function resumeTime(calls: readonly Call[], startedMs: number): number | null {
  const before = new Set(calls.filter(({ atMs }) => atMs < startedMs).map(({ request }) => request));
  const first = calls.find(({ atMs, request }) => atMs >= startedMs && !before.has(request));
  return first === undefined ? null : first.atMs - startedMs;
}

function failed({ code, errors }: Ran): string {
  // Without its stack, since the message stands before that.
  const lines = errors
    .trimEnd()
    .split('\n')
    .filter((line) => !/^\s+at /.test(line))
    .slice(-ERROR_LINES_COUNT);
  return `The command failed (exit code ${code ?? 'none'}) in a run that nobody killed.\n${maskSecrets(lines.join('\n'))}`.trimEnd();
}
