// Owns one command from its words to its end: which tree, where the state is kept, which run, watching it, and what is told.
// The work itself is the workflow's; this process may end at any moment and be started again.

import { EXIT } from '@tidemark/host';
import type { Run } from '@tidemark/runtime';
import type { Command } from './command-line.ts';
import { serveConsole } from './console.ts';
import { Follower, type Seen } from './facts/follow.ts';
import type { Interrupt } from './interrupt.ts';
import { MAX_OTHERS_SHOWN, STALL_NOTICE_MS } from './limits.ts';
import { openPlace, type Place, type PlaceName, placeName } from './place.ts';
import { type Choice, chooseRun } from './runs.ts';
import { number, plural, type Screen } from './screen.ts';
import { prepareOut, readWanted, type Wanted } from './wanted.ts';
import { resultLines, seconds } from './words.ts';
import { type AuditResult, auditResultSchema, codebaseAudit } from './workflow.ts';

export type Dependencies = {
  screen: Screen;
  interrupt: Interrupt;
  env: Readonly<Record<string, string | undefined>>;
};

/** Runs the command; returns its exit code. Throws what is wrong with its input or its dependencies. */
export async function audit(command: Command, dependencies: Dependencies): Promise<number> {
  const { screen, env } = dependencies;
  const name = placeName(command.state, env);
  const wanted = await readWanted(command, name.folder, env);
  if (name.folder !== null) await prepareOut(wanted.input.out, command.out);
  screen.line(
    `Auditing ${wanted.input.label}: ${plural(wanted.files, 'file')}. State: ${name.shown}. Report: ${command.out}`,
  );
  const startedMs = performance.now();
  const reported = new Set<string>();
  const place = await openPlace(name, env, (where, error) => {
    // Each kind once: a server that is away for long must not fill the screen.
    const text = `${where}: ${error instanceof Error ? error.message : String(error)}`;
    if (!reported.has(text)) screen.line(text);
    reported.add(text);
  });
  try {
    screen.line(`State opened in ${seconds(performance.now() - startedMs)}.`);
    return await new Session(command, name, wanted, place, dependencies).run();
  } finally {
    screen.endProgress();
    await place.close();
  }
}

class Session {
  readonly #command: Command;
  readonly #name: PlaceName;
  readonly #wanted: Wanted;
  readonly #place: Place;
  readonly #screen: Screen;
  readonly #interrupt: Interrupt;
  readonly #startedMs = performance.now();

  constructor(command: Command, name: PlaceName, wanted: Wanted, place: Place, dependencies: Dependencies) {
    this.#command = command;
    this.#name = name;
    this.#wanted = wanted;
    this.#place = place;
    this.#screen = dependencies.screen;
    this.#interrupt = dependencies.interrupt;
  }

  async run(): Promise<number> {
    const { host } = this.#place;
    const { signal } = this.#interrupt;
    await this.#place.catchUp(signal);
    if (signal.aborted) {
      this.#screen.line('Stopped before anything was begun.');
      return this.#interrupt.exitCode();
    }
    const choice = await chooseRun(host.client, this.#wanted.input, this.#command.fresh);
    if (choice.what === 'answer') return this.#answer(choice);
    const follower = new Follower(host.client.run(choice.id), host);
    const { checkpoint, files } = await follower.poll();
    this.#reportStart(choice, { checkpoint, files });
    await this.#reportOthers(choice.id);
    await this.#startWork(choice);
    const run = await host.client.start(codebaseAudit, this.#wanted.input, { id: choice.id });
    const served = this.#place.isCluster ? undefined : serveConsole(host, this.#screen);
    try {
      return await this.#watch(run, follower, files);
    } finally {
      await served?.close();
    }
  }

  #answer({ id, result }: Choice & { what: 'answer' }): number {
    this.#screen.line(`Nothing has changed since run ${id} (--fresh audits all the same).`);
    this.#reportResult(result);
    return EXIT.ok;
  }

  #reportStart(
    choice: Choice & { what: 'begin' | 'go-on' },
    { checkpoint, files }: Pick<Seen, 'checkpoint' | 'files'>,
  ): void {
    if (choice.what === 'go-on') {
      const done = `${plural(files, 'file')} done`;
      this.#screen.line(`Resuming from checkpoint ${number(checkpoint)} of run ${choice.id}: ${done}.`);
    } else {
      const why = choice.why === null ? '' : ` (${choice.why})`;
      this.#screen.line(`Run ${choice.id} begins with the first file${why}.`);
    }
  }

  /** A worker takes up whatever is unfinished in its state. */
  async #reportOthers(id: string): Promise<void> {
    if (this.#place.isCluster) return;
    const limit = MAX_OTHERS_SHOWN + 1;
    const open = await this.#place.host.ports.store.workflows({
      definition: codebaseAudit.name,
      status: 'open',
      limit,
    });
    const others = open.filter(({ workflow }) => workflow !== id).slice(0, MAX_OTHERS_SHOWN);
    for (const { workflow, sequence } of others) {
      this.#screen.line(
        `Also unfinished in ${this.#name.shown}: run ${workflow}, checkpoint ${number(sequence)}; it continues meanwhile.`,
      );
    }
  }

  async #startWork(choice: Choice & { what: 'begin' | 'go-on' }): Promise<void> {
    const superseded = choice.what === 'begin' ? choice.superseded : null;
    const ends = superseded === null ? [] : [[superseded, `superseded by run ${choice.id}`] as const];
    await this.#place.startWork(new Map(ends));
  }

  async #watch(run: Run, follower: Follower, resumedFiles: number): Promise<number> {
    const over = new AbortController();
    const signal = AbortSignal.any([over.signal, this.#interrupt.signal]);
    // What ends the watching ends the waiting too.
    const following = follower.follow(this.#onPoll(follower.seen), signal).catch((error) => over.abort(error));
    let output: unknown;
    try {
      output = await run.result({ signal });
    } catch (error) {
      if (!this.#interrupt.signal.aborted) throw error;
      return await this.#handOver(run, follower);
    } finally {
      over.abort();
      await following;
    }
    this.#reportProgress(await follower.poll());
    this.#screen.endProgress();
    return this.#finish(run, auditResultSchema.parse(output), follower.seen, resumedFiles);
  }

  #onPoll(first: Seen): (seen: Seen) => void {
    let last = first;
    let movedMs = performance.now();
    let stalled = false;
    return (seen) => {
      const moved = seen.checkpoint > last.checkpoint;
      if (moved && this.#place.isCluster && last.checkpoint > 0 && seen.epoch !== last.epoch) {
        this.#screen.line(`Another worker has continued from checkpoint ${number(last.checkpoint)} or later.`);
      }
      if (moved) movedMs = performance.now();
      if (!moved && !stalled && performance.now() - movedMs > STALL_NOTICE_MS) this.#reportStall();
      stalled = !moved && (stalled || performance.now() - movedMs > STALL_NOTICE_MS);
      last = seen;
      this.#reportProgress(seen);
    };
  }

  #reportStall(): void {
    if (!this.#place.isCluster) return;
    this.#screen.line(
      'No checkpoint for some seconds. Is a worker running that sees the same files, with TIDEMARK_WORKFLOWS=./examples/codebase-audit/src/workflow.ts?',
    );
  }

  #reportProgress({ files, checkpoint, text }: Seen): void {
    this.#screen.progress({ done: files, total: Math.max(files, this.#wanted.files), checkpoint, text });
  }

  async #handOver(run: Run, follower: Follower): Promise<number> {
    this.#screen.endProgress();
    if (this.#place.isCluster) {
      this.#screen.line(`Run ${run.id} continues in the cluster. The same command watches it again.`);
      return this.#interrupt.exitCode();
    }
    this.#screen.line('Handing over (Ctrl-C again ends at once) ...');
    await this.#place.endWork();
    const { checkpoint, files } = await follower.poll();
    const total = Math.max(files, this.#wanted.files);
    this.#screen.line(
      `Stopped at checkpoint ${number(checkpoint)} of run ${run.id}: ${number(files)} of ${plural(total, 'file')} done. The same command resumes from there.`,
    );
    return this.#interrupt.exitCode();
  }

  #finish(run: Run, result: AuditResult, { checkpoint, files }: Seen, resumedFiles: number): number {
    const parts =
      resumedFiles > 0
        ? `: ${number(files - resumedFiles)} read now, ${number(resumedFiles)} known from checkpoints`
        : '';
    this.#screen.line(`Audited ${plural(files, 'file')} in ${seconds(performance.now() - this.#startedMs)}${parts}.`);
    this.#reportResult(result);
    this.#screen.line(`State: ${this.#name.shown}, run ${run.id}, ${plural(checkpoint, 'checkpoint')}.`);
    if (result.fingerprint !== this.#wanted.input.fingerprint) {
      this.#screen.line(
        'The tree has changed since this run began: run the same command again for the tree as it is now.',
      );
    }
    return EXIT.ok;
  }

  #reportResult(result: AuditResult): void {
    for (const line of resultLines(result, this.#command.out)) this.#screen.line(line);
  }
}
