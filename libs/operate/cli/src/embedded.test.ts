/** The real command on a folder, spawned where it is killed or interrupted: what it prints, what it exits with, and what survives whom. */

import { once } from 'node:events';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { openEmbedded } from '@tidemark/host';
import { describe, expect, it, vi } from 'vitest';
import type { Ended } from './called-cli-fixture.ts';
import { AGENTS, cliFolder } from './spawned-cli-fixture.ts';

const PAYMENTS = path.resolve(import.meta.dirname, '../fixtures/payments.ts');

const lines = (text: string): Record<string, unknown>[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

type Here = (...args: string[]) => Promise<Ended>;

async function startsThroughIt(here: Here): Promise<void> {
  const begun = await here('run', 'stubborn', '--id', 's1', '--detach', '--json');
  expect(JSON.parse(begun.out)).toEqual({ api_version: 'v1', workflow: 's1', definition: 'stubborn', created: true });
  const failed = await here('run', 'broken', '--id', 'b1', '--json');
  expect([failed.code, failed.out]).toEqual([1, '']);
  expect(JSON.parse(failed.err)).toMatchObject({ error: { code: 'workflow-failed' } });
  const ordered = await here('run', 'order', '--id', 'o1', '--input', '{"cents":5}', '--json');
  expect(JSON.parse(ordered.out)).toMatchObject({ workflow: 'o1', created: true, output: { receipt: 'receipt-5' } });
  // The same id is the same run, also when its input isn't given again.
  const again = await here('run', 'order', '--id', 'o1', '--json');
  expect(JSON.parse(again.out)).toMatchObject({ workflow: 'o1', created: false, output: { receipt: 'receipt-5' } });

  const wrong = await here('run', 'greet', '--input', '{"name":1}', '--json');
  expect([wrong.code, JSON.parse(wrong.err).error.message]).toEqual([65, expect.stringContaining('name: expected')]);
  const unknown = await here('run', 'nothing');
  expect([unknown.code, unknown.err]).toEqual([65, expect.stringContaining('known: broken, count-up')]);
  const taken = await here('run', 'greet', '--id', 'o1', '--input', '{"name":"x"}');
  expect([taken.code, taken.err]).toEqual([65, expect.stringContaining("o1 is a run of 'order', not of 'greet'")]);
}

async function looksThroughIt(here: Here): Promise<void> {
  const { workflows: rows } = JSON.parse((await here('ls', '--json')).out) as { workflows: Record<string, unknown>[] };
  expect(rows.map(({ workflow, activity }) => [workflow, activity])).toEqual([
    ['o1', 'completed'],
    ['b1', 'failed'],
    ['s1', 'waiting'],
    ['g1', 'completed'],
  ]);
  expect((await here('ls', '--definition', 'order')).out).toMatch(/^ID .*\no1 +order v3 +completed +4 +0 /);
  expect((await here('ls', '--status', 'parked')).out).toMatch(
    /^No workflow matches that was started by itself; --children /,
  );
  expect((await here('ls', '--limit', '1')).err).toContain('--limit shows more');

  // The flow is known without a module: the process that holds the folder knows it.
  const order = await here('show', 'o1', '--effects');
  expect(order.out).toMatch(/^Flow\n {2}check\n {2}├─ pack\n {2}├─ pay\n {2}└─ ship/m);
  expect(order.out).toMatch(/payments\.charge +idempotent +done .* o1:1\.1:payments\.charge:0/);
  const stubborn = await here('show', 's1');
  expect(stubborn.out).toMatch(/^s1 {2}stubborn v1 {2}waiting$/m);
  expect(stubborn.out).toMatch(
    /0\.0 +knock +failed 1 time \(\S+\), is tried again at \S+ \(in 59 min .*: nobody opens/,
  );
  expect(JSON.parse((await here('show', 's1', '--json')).out)).toMatchObject({
    frontier: [{ task: '0.0', state: 'blocked', blocked_on: [{ on: 'retry', failure_count: 1 }] }],
    flow: { starts: ['knock'], steps: { knock: ['knock'] } },
  });
  expect(JSON.parse((await here('show', 'b1', '--json')).out)).toMatchObject({ error: { code: 'out-of-reach' } });
  const nobody = await here('show', 'nobody');
  expect([nobody.code, nobody.err]).toEqual([65, expect.stringContaining("No workflow has the id 'nobody'")]);

  expect((await here('watch', 'b1')).code).toBe(1);
  const watched = await here('watch', 'g1', '--json');
  expect([watched.code, lines(watched.out)]).toMatchObject([0, [{ type: 'now', workflow: 'g1' }]]);
}

/** Begins a payment by each workflow that never hears of its end; returns who has paid so far, sorted. */
async function paysThroughIt(here: Here, journal: string) {
  const paid = async (): Promise<readonly string[]> =>
    (await readFile(journal, 'utf8').catch(() => '')).trim().split('\n').sort();
  for (const name of ['plain', 'fenced']) {
    await here('run', name, '--id', name, '--input', JSON.stringify({ journal }), '--detach');
  }
  await expect.poll(paid, { timeout: 60_000 }).toEqual(['fenced', 'plain']);
  return paid;
}

describe('a run in a process of its own', () => {
  it('prints its output, and is the same run when it is asked for again', async (context) => {
    const { folder, call, here } = await cliFolder(context);
    const ran = await call('run', 'greet', '--id', 'g1', '--input', '{"name":"Ada"}', '--workflows', AGENTS);
    expect([ran.code, JSON.parse(ran.out)]).toEqual([0, { text: 'Hello, Ada!' }]);
    expect(ran.err).toMatch(/#1 compose: composed a greeting for Ada/);
    expect(ran.err).not.toContain('\u001b[');

    const other = await here('run', 'greet', '--id', 'g1', '--input', '{"name":"Bo"}', '--workflows', AGENTS);
    expect([other.code, JSON.parse(other.out)]).toEqual([0, { text: 'Hello, Ada!' }]);
    expect(other.err).toContain('was started with another input');

    const { out } = await here('show', 'g1', '--json', '--checkpoints', '--events');
    const shown = JSON.parse(out);
    expect(shown).toMatchObject({
      input: { name: 'Ada' },
      belief: { greeting: 'Hello, Ada!' },
      output: { text: 'Hello, Ada!' },
      frontier: [],
      checkpoints: [
        { sequence_number: 1, step_definition_ref: 'compose', parent_checkpoint_id: null, status: 'committed' },
        { sequence_number: 2, step_definition_ref: 'say' },
      ],
      events: [{ type: 'WorkflowCompleted' }],
    });
    expect(shown.checkpoints[1].parent_checkpoint_id).toBe(shown.checkpoints[0].checkpoint_id);
    // Nothing but the log and the rows stays behind.
    await expect(stat(path.join(folder, '.tidemark', 'api.sock'))).rejects.toThrow(/ENOENT/);
  });

  it('fails with 1 and one line when the workflow fails', async (context) => {
    const { here } = await cliFolder(context);
    const ran = await here('run', 'broken', '--id', 'b1', '--workflows', AGENTS);
    expect([ran.code, ran.out]).toEqual([1, '']);
    expect(ran.err).toMatch(/^error: b1 failed \(out-of-reach\): the thing is out of reach$/m);
    expect(ran.err).not.toContain('    at ');
  });
});

describe('whoever is killed', () => {
  it('leaves a run that goes on from its last checkpoint and repeats no step that was done', async (context) => {
    const { folder, start, here } = await cliFolder(context);
    const journal = path.join(folder, 'journal');
    // The eighth step ends after the kill.
    const gate = path.join(folder, 'gate');
    const input = JSON.stringify({ to: 30, journal, gate, gateAt: 8 });
    const first = start('run', 'count-up', '--id', 'c1', '--input', input, '--workflows', AGENTS);
    await first.says(/#7 tick/);
    await first.kill();
    await writeFile(gate, '');

    const shown = JSON.parse((await here('show', 'c1', '--json')).out);
    expect(shown).toMatchObject({ status: 'open', activity: 'ready' });
    expect(shown.sequence_number).toBeGreaterThanOrEqual(7);

    const second = await here('run', 'count-up', '--id', 'c1', '--workflows', AGENTS);
    expect([second.code, JSON.parse(second.out)]).toEqual([0, { reached: 30 }]);
    expect(second.err).toMatch(/resumes from checkpoint #\d+/);
    const attempts = (await readFile(journal, 'utf8')).trim().split('\n').map(Number);
    expect(new Set(attempts).size).toBe(30);
    // The step that was under way is the only one that may have run twice.
    expect(attempts.length).toBeLessThanOrEqual(31);
  });
});

describe('dev', () => {
  it('holds the folder and answers for it: run, ls, show, watch and doctor go through it', async (context) => {
    const { folder, start, begin, here } = await cliFolder(context);
    const dev = start('dev', '--workflows', AGENTS, '--json');
    await dev.says(/"type":"ready"/);
    const { mode } = await stat(path.join(folder, '.tidemark', 'api.sock'));
    expect(mode & 0o777).toBe(0o600);
    const watching = begin('watch', '--json');
    const ran = await here('run', 'greet', '--id', 'g1', '--input', '{"name":"Cy"}');
    expect([ran.code, JSON.parse(ran.out)]).toEqual([0, { text: 'Hello, Cy!' }]);
    expect(ran.err).toContain(`run by process ${dev.process.pid} (tidemark dev)`);

    await startsThroughIt(here);
    await looksThroughIt(here);
    expect((await here('admin', 'doctor')).out).toContain(
      `by process ${dev.process.pid} (tidemark dev), which answers`,
    );
    const second = await here('dev', '--workflows', AGENTS);
    expect([second.code, second.err]).toEqual([78, expect.stringContaining(`in use by process ${dev.process.pid}`)]);

    dev.process.kill('SIGINT');
    const ended = await dev.ended();
    expect(ended.code).toBe(0);
    const reported = lines(ended.out);
    expect(reported[0]).toMatchObject({ type: 'ready', open_count: 0 });
    expect(reported.at(-1)).toEqual({ api_version: 'v1', type: 'stopped' });
    expect(reported.filter(({ workflow }) => workflow === 'g1').map(({ type }) => type)).toEqual([
      'started',
      'checkpoint',
      'checkpoint',
      'completed',
    ]);
    const watched = await watching.interrupt();
    expect(watched.code).toBe(130);
    expect(lines(watched.out).map(({ type }) => type)).toContain('completed');
  });

  it('waits for a command that has the folder, and says for which; Ctrl-C ends the wait', async (context) => {
    const { folder, start, begin } = await cliFolder(context);
    const gate = path.join(folder, 'gate');
    const input = JSON.stringify({ to: 3, journal: path.join(folder, 'journal'), gate, gateAt: 2 });
    const run = start('run', 'count-up', '--id', 'c1', '--input', input, '--workflows', AGENTS);
    await run.says(/#1 tick/);
    const waiting = new RegExp(`process ${run.process.pid} \\(tidemark run\\) has this folder`);
    const given = begin('dev', '--workflows', AGENTS);
    await given.says(waiting);
    expect((await given.interrupt()).code).toBe(130);
    const dev = begin('dev', '--workflows', AGENTS);
    await dev.says(waiting);
    expect(dev.reported).not.toContain('stop    Ctrl-C');
    await writeFile(gate, '');
    expect((await run.ended()).code).toBe(0);
    await dev.says(/stop +Ctrl-C/);
    expect((await dev.interrupt()).code).toBe(0);
  });

  it('waits for a program that has the folder and answers nobody, where another command gives up', async (context) => {
    const { folder, begin } = await cliFolder(context);
    const host = await openEmbedded({ folder: path.join(folder, '.tidemark') });
    const listing = begin('ls');
    const state = path.join(folder, '.tidemark');
    await expect.poll(async () => (await readdir(state)).some((name) => name.startsWith('.turn-'))).toBe(true);
    const dev = begin('dev', '--workflows', AGENTS, '--json');
    expect((await listing.ended()).code).toBe(78);
    await dev.says(new RegExp(`process ${process.pid} has this folder`));
    expect(dev.reported).not.toContain('"ready"');
    await host.close();
    await dev.says(/"type":"ready"/);
    expect((await dev.interrupt()).code).toBe(0);
  });

  it('says what it resumes, and for which call it waits; a second Ctrl-C leaves at once; a run that it ran goes on elsewhere', async (context) => {
    const { folder, start, begin, here } = await cliFolder(context);
    const input = JSON.stringify({ to: 400, journal: path.join(folder, 'journal'), pauseMs: 100 });
    const other = createServer();
    context.onTestFinished(() => void other.close());
    // Another run of these tests may have the usual port for a while.
    await vi.waitFor(async () => once(other.listen(7_070, '127.0.0.1'), 'listening'), {
      timeout: 60_000,
      interval: 100,
    });
    const first = start('dev', '--workflows', AGENTS, PAYMENTS);
    await first.says(/another process has the usual port: the API is at http:\S+ instead/);
    await first.says(/stop +Ctrl-C/);
    const run = begin('run', 'count-up', '--id', 'c1', '--input', input, '--workflows', AGENTS);
    const paid = await paysThroughIt(here, path.join(folder, 'paid'));
    await first.says(/#3 tick/);
    await first.kill();
    // The run's own process takes it over, and lets it go at Ctrl-C.
    await run.says(/resumes here[\s\S]*#\d+ tick/);
    const interrupted = await run.interrupt();
    expect(interrupted.code).toBe(130);
    expect(interrupted.err).toMatch(/tidemark run count-up --id c1 --workflows \S+agents\.ts/);

    const second = start('dev', '--workflows', AGENTS, PAYMENTS);
    await second.says(/3 workflows unfinished/);
    await second.says(/c1 +resumes from checkpoint #\d+/);
    // What the killed process had sent may still arrive, unless the receiver refuses it from now on.
    await second.says(/warning: plain: waits 65 s: until then the call plain:0\.0:plain\.pay:0, .* may still arrive/);
    await expect.poll(paid, { timeout: 60_000 }).toEqual(['fenced', 'fenced', 'plain']);
    // Ten minutes a step: without a second Ctrl-C it would be given its time to finish.
    const slow = JSON.stringify({ to: 2, journal: path.join(folder, 'other'), pauseMs: 600_000 });
    await here('run', 'count-up', '--id', 'c2', '--input', slow, '--detach');
    await second.says(/c2 +started/);
    second.process.kill('SIGINT');
    await second.says(/Handing over/);
    second.process.kill('SIGINT');
    const ended = await second.ended();
    expect([ended.code, ended.err]).toEqual([130, expect.not.stringContaining('fenced: waits')]);
  });
});
