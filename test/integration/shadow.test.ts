/**
 * An outside agent of 30 runs against an embedded folder that is closed and opened again in between: half of them are observed,
 * the comparison finds the one whose report was tampered with, and the share goes up only without it (E7).
 */

import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { runCli, Terminal } from '@tidemark/cli';
import { type Host, openEmbedded } from '@tidemark/host';
import { Client, LamportClock, type ShadowRun, type StepReport } from '@tidemark/runtime';
import { afterEach, beforeEach, expect, it } from 'vitest';

const RUNS = 30;
const AGENT = { name: 'outside', version: 1 };
const OBSERVE_MS = 24 * 3_600_000;
const TIMEOUT_MS = 240_000;

let folder: string;
let host: Host | undefined;
beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-shadow-'));
});
afterEach(async () => {
  await host?.close();
  await rm(folder, { recursive: true });
});

/** Opens the folder; the second client's clock is ahead by so much. */
async function open(aheadMs = 0): Promise<Client> {
  host = await openEmbedded({ folder });
  const { clock } = host.ports;
  const ahead = { ...clock, nowMs: () => clock.nowMs() + aheadMs };
  return new Client({ ports: { ...host.ports, clock: ahead }, lamport: new LamportClock() });
}

async function close(client: Client): Promise<void> {
  client.close();
  await host?.close();
  host = undefined;
}

interface Belief {
  readonly found: readonly string[];
  readonly rounds: number;
}

/** The agent itself: it knows nothing of Tidemark but where to report. */
class OutsideAgent {
  readonly #report: (report: StepReport) => void;
  readonly #run: ShadowRun;
  #belief: Belief = { found: [], rounds: 0 };
  #pending: { step: string; input: { query: string } }[] = [{ step: 'search', input: { query: 'start' } }];

  constructor(run: ShadowRun, report: (report: StepReport) => void) {
    this.#run = run;
    this.#report = report;
  }

  /** Works until so many rounds are done. */
  work(rounds: number): void {
    while (this.#belief.rounds < rounds && this.#pending.length > 0) this.#round();
    if (this.#pending.length === 0) this.#run.done({ found: this.#belief.found.length }, this.#belief);
  }

  #round(): void {
    const { step, input } = this.#pending.shift()!;
    const rounds = this.#belief.rounds + 1;
    const change = { found: [...this.#belief.found, `${input.query}!`], rounds };
    this.#belief = { ...this.#belief, ...change };
    const next = rounds < 3 ? [{ step: 'search', input: { query: `${input.query}${rounds}` } }] : [];
    const report = rounds === 3 ? [{ step: 'write', input: { query: 'all' } }] : [];
    this.#pending.push(...next, ...report);
    this.#report({
      key: `round ${rounds}`,
      step,
      input,
      next: [...next, ...report],
      change,
      belief: this.#belief,
      pending: this.#pending.map((task) => task.step),
      output: rounds,
      lastAction: `round ${rounds}`,
    });
  }
}

/** Calls `tidemark shadow …` on the folder, in this process. */
async function call(...args: string[]): Promise<{ readonly code: number; readonly out: string }> {
  const written: string[] = [];
  const stdout = { write: (text: string) => written.push(text) > 0 };
  const json = args.includes('--json');
  const terminal = new Terminal({ stdout, stderr: { write: () => true }, env: {}, json } as never);
  const stdin = (async function* () {})();
  const code = await runCli(['shadow', ...args], { terminal, env: {}, cwd: folder, stdin });
  return { code, out: written.join('') };
}

/** All runs, of which some are tampered with on the way to Tidemark. */
async function work(client: Client, rounds: number, tampered: ReadonlySet<string>): Promise<readonly ShadowRun[]> {
  const runs = Array.from({ length: RUNS }, (_, n) =>
    client.shadow(AGENT, {
      id: `outside-${n}`,
      belief: { found: [], rounds: 0 },
      next: [{ step: 'search', input: { query: 'start' } }],
    }),
  );
  for (const run of runs) {
    const isTampered = tampered.has(run.id);
    new OutsideAgent(run, (report) => {
      const isSecond = report.key === 'round 2';
      run.step(isTampered && isSecond ? { ...report, change: { ...report.change, rounds: 7 } } : report);
    }).work(rounds);
  }
  for (const run of runs) expect(await run.flushed(30_000)).toBe(true);
  return runs;
}

/** The whole story; what the second process sees. */
async function story(tampered: ReadonlySet<string>): Promise<{ readonly client: Client; readonly observed: number }> {
  // Before anything is kept there.
  expect((await call('promote', 'outside', '--to', '50', '--by', 'ops', '--state', '.')).code).toBe(0);
  const first = await open();
  await work(first, 2, tampered);
  await close(first);
  // Another process, another day: the agent tells its whole story again, and what the log has is not written twice.
  const second = await open(OBSERVE_MS);
  const runs = await work(second, 10, tampered);
  const inside = runs.filter((run) => run.observed === true);
  expect(inside.every(({ counts }) => counts.repeated === 2 && counts.written === 3 && counts.lost === 0)).toBe(true);
  expect(runs.every((run) => run.observed === true || run.counts.written === 0)).toBe(true);
  return { client: second, observed: inside.length };
}

it('promotes what agrees, once the period is over', { timeout: TIMEOUT_MS }, async () => {
  const { client, observed } = await story(new Set());
  expect(observed).toBeGreaterThan(8);
  expect(observed).toBeLessThan(22);
  const account = await client.shadows.account('outside');
  expect(account).toMatchObject({ agreedCount: observed, differenceCount: 0, stepCount: observed * 5, openCount: 0 });
  // The control of the moved clock: by the host's own, the period is not over.
  const early = await host!.client.shadows.promote('outside', { to: 100, by: 'ops', workflowsMin: observed });
  expect(early.refusals.map(({ code }) => code)).toEqual(['too-early']);
  const promoted = await client.shadows.promote('outside', { to: 100, by: 'ops', workflowsMin: observed });
  expect(promoted).toMatchObject({ from: 50, to: 100, refusals: [] });
  await close(client);
  const later = await open(OBSERVE_MS);
  expect(await later.shadows.rollout('outside')).toMatchObject({ share: 100, by: 'ops', workflowsMin: observed });
  const all = await work(later, 10, new Set());
  expect(all.every((run) => run.observed === true)).toBe(true);
  client.close();
});

it('finds the run that was tampered with, and stays', { timeout: TIMEOUT_MS }, async () => {
  const probe = await story(new Set(Array.from({ length: RUNS }, (_, n) => `outside-${n}`).slice(3, 12)));
  const account = await probe.client.shadows.account('outside');
  expect(account.differingCount).toBeGreaterThan(0);
  expect(account.agreedCount).toBe(probe.observed - account.differingCount);
  expect(new Set(account.differences.map(({ sequence, path }) => `${sequence} ${path}`))).toEqual(
    new Set(['2 belief.rounds']),
  );
  const refused = await probe.client.shadows.promote('outside', { to: 100, by: 'ops', workflowsMin: 1 });
  expect(refused.refusals.map(({ code }) => code)).toEqual(['differences']);
  await close(probe.client);
  const report = await call('report', 'outside', '--state', '.');
  expect(report.code).toBe(1);
  expect(report.out).toMatch(/outside-\d+ at 2: belief\.rounds is not what the agent had/);
  const promote = await call(
    'promote',
    'outside',
    '--to',
    '100',
    '--by',
    'eve',
    '--observe',
    '0s',
    '--runs',
    '1',
    '--state',
    '.',
  );
  expect([promote.code, promote.out]).toEqual([1, expect.stringContaining('outside stays at 50 %')]);
  const again = await call('promote', 'outside', '--to', '50', '--by', 'eve', '--state', '.', '--json');
  expect(JSON.parse(again.out)).toMatchObject({ promoted: true, from: 50, to: 50, by: 'eve' });
  const active = ['promote', 'outside', '--mode', 'active', '--observe', '0s', '--state', '.'];
  expect((await call(...active, '--to', '10', '--runs', '0')).code).toBe(64);
  expect((await call(...active, '--to', '10', '--runs', '1')).out).toContain('0 runs ended and agree, 1 are needed');
  const third = await open();
  const late = third.shadow(AGENT, { id: 'late-0' });
  late.done(null);
  expect(await late.flushed(30_000)).toBe(true);
  await close(third);
  expect((await call(...active, '--to', '10', '--runs', '1')).out).toContain(
    '10 % of its workflows are run by Tidemark from now on (before: 0 %).',
  );
  expect((await call('route', 'outside', 'new-7', '--state', '.')).out).toBe('tidemark\n');
  expect((await call('promote', 'outside', '--mode', 'observe', '--state', '.')).out).toBe(
    'outside: 50 % of its workflows are observed from now on (before: 50 %). Tidemark begins those that it was told of before, and no others.\n',
  );
  expect((await call('promote', 'outside', '--mode', 'active')).code).toBe(64);
  const status = await call('status', 'outside', '--state', '.', '--json');
  expect([status.code, JSON.parse(status.out)]).toEqual([
    0,
    expect.objectContaining({ share: 50, active: 0, agreed: 0, differing: 0 }),
  ]);
  expect((await call('promote', 'outside', '--to', '20', '--by', 'eve')).code).toBe(64);
  expect((await call('promote', 'outside', '--to', '10', '--by', 'eve', '--observe', 'long')).code).toBe(64);
});
