/** Jobs, queues and lists from the command line, through the process that holds the folder; the fleet live on a terminal, which gets back what it was. */

import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { defineWorkflow, signal, task } from '@tidemark/sdk';
import { eventually } from '@tidemark/testkit/eventually';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { callCli } from './called-cli-fixture.ts';
import { type HeldFolder, holdFolder } from './place/held-folder.ts';
import { runCli } from './program/program.ts';
import { Terminal } from './terminal.ts';

const patient = defineWorkflow({
  name: 'patient',
  version: 1,
  input: z.object({}),
  belief: z.object({}),
  output: z.object({}),
  signals: { go: z.json() },
  tasks: { listen: z.object({}) },
  flow: { listen: [] },
  begin: () => ({ belief: {}, next: [task('listen', {}, { when: signal('go') })] }),
  steps: { listen: () => ({ done: {} }) },
});
const quick = defineWorkflow({
  name: 'quick',
  version: 1,
  input: z.object({}),
  belief: z.object({}),
  output: z.object({}),
  tasks: { end: z.object({}) },
  flow: { end: [] },
  begin: () => ({ belief: {}, next: [task('end', {})] }),
  steps: { end: () => ({ done: {} }) },
});

let cwd: string;
let held: HeldFolder;
beforeAll(async () => {
  cwd = await mkdtemp(path.join(os.tmpdir(), 'tidemark-control-'));
  const folder = path.join(cwd, '.tidemark');
  held = await holdFolder({ kind: 'embedded', folder, shown: '.tidemark', env: {} }, { definitions: [patient, quick] });
  await held.startWorker({ onError: () => {} });
  await held.serve('dev');
  for (const [id, tags] of [
    ['p1', ['gold', 'eu']],
    ['p2', ['gold']],
    ['p3', []],
  ] as const) {
    await held.host.client.start(patient, {}, { id, tags, user: id === 'p3' ? 'ben' : 'ana' });
  }
  await eventually(async () => (await held.host.ports.store.workflows({ limit: 9 })).length === 3);
});
afterAll(async () => {
  await held.close();
  await rm(cwd, { recursive: true });
});

const call = (...args: string[]) => callCli(args, { cwd });
const json = async (...args: string[]) => {
  const { code, out, err } = await call(...args, '--json');
  expect([code, err]).toEqual([0, '']);
  return JSON.parse(out);
};
const idsOf = async (...filters: string[]): Promise<readonly string[]> =>
  (await json('list', ...filters)).workflows.map((row: { workflow: string }) => row.workflow).sort();

it('finds workflows by all that the API finds them by', async () => {
  expect(await idsOf('--tag', 'gold')).toEqual(['p1', 'p2']);
  expect(await idsOf('--tag', 'gold', '--tag', 'eu')).toEqual(['p1']);
  expect(await idsOf('--user', 'ben', '--status', 'open', '--definition', 'patient')).toEqual(['p3']);
  expect(await idsOf('--text', 'gold p2')).toEqual(['p2']);
  expect(await idsOf('--opened-to', '2020-01-01')).toEqual([]);
  expect(await idsOf('--opened-from', '2020-01-01T00:00:00Z', '--session', 'none')).toEqual([]);
});

it('starts a run with tags, and a time after which it is cancelled', async () => {
  const ran = await call('run', 'patient', '--id', 'brief', '--tag', 'short', '--tag', 'lived', '--timeout', '100');
  expect([ran.code, ran.err]).toEqual([65, expect.stringMatching(/^error: --timeout: give a whole number and a unit/)]);
  const brief = await call('run', 'patient', '--id', 'brief', '--tag', 'short', '--tag', 'lived', '--timeout', '1s');
  expect(brief.err).toContain('timed-out');
  expect(await idsOf('--tag', 'lived')).toEqual(['brief']);
});

it('counts what a job would find, does it once, tells how far it is, and cancels it', async () => {
  const start = ['jobs', 'start', 'pause', '--tag', 'gold'];
  expect(await json(...start, '--dry-run')).toMatchObject({ count: 2, has_more: false, statuses: { open: 2 } });
  expect((await call(...start, '--dry-run')).out).toMatch(/^2 workflows would be asked to pause \(2 open\)/);
  expect(await idsOf('--reason', 'paused')).toEqual([]);
  const say = ['--by', 'ana', '--why', 'an audit', '--id', 'freeze'];
  const watched = await call(...start, ...say, '--watch');
  expect([watched.code, watched.out]).toEqual([0, expect.stringMatching(/completed {2}2 done, 0 refused\n$/)]);
  expect((await call(...start, ...say)).out).toMatch(/It was begun before/);
  expect(await idsOf('--reason', 'paused')).toEqual(['p1', 'p2']);
  expect(await json('jobs', 'show', 'freeze')).toMatchObject({ job: 'freeze', act: 'pause', by: 'ana', done_count: 2 });
  expect((await call('jobs')).out).toMatch(/JOB +ACT +STATUS[\s\S]*freeze +pause +completed/);
  const late = await call('jobs', 'cancel', 'freeze', '--by', 'ana', '--why', 'late');
  expect(late.err).toMatch(/has ended/);
  await json('jobs', 'start', 'resume', '--everything', '--by', 'ana', '--why', 'it is over', '--id', 'thaw');
  await expect.poll(() => idsOf('--reason', 'paused')).toEqual([]);
});

it('holds a queue and lets it go', async () => {
  expect(await json('queues', 'pause', 'quick', '--by', 'ana', '--why', 'the provider is down')).toMatchObject({
    changed: true,
    held: true,
  });
  await held.host.client.start(quick, {}, { id: 'q1' });
  await expect
    .poll(async () => (await call('queues')).out)
    .toMatch(/quick +default +1 +0 +.*ana for all: the provider/);
  expect((await json('fleet')).queues).toMatchObject([{ queue: 'quick', ready_count: 1, held: [{ tenant: null }] }]);
  expect((await call('fleet')).out).toMatch(/live[\s\S]*PAUSED by ana/);
  expect((await call('queues', 'resume', 'quick', '--by', 'ana', '--why', 'it is back')).out).toBe(
    'quick of all tenants is resumed.\n',
  );
  await expect.poll(() => idsOf('--status', 'completed', '--definition', 'quick')).toEqual(['q1']);
  const misspelt = ['queues', 'pause', 'qiuck', '--by', 'ana', '--why', 'x'];
  expect(await call(...misspelt)).toMatchObject({
    code: 65,
    err: expect.stringContaining('Known here: patient, quick'),
  });
  expect((await json(...misspelt, '--future')).changed).toBe(true);
  expect((await json('queues', 'resume', 'qiuck', '--by', 'ana', '--why', 'x')).held).toBe(false);
  const ended = ['jobs', 'start', 'cancel', '--definition', 'quick', '--dry-run'];
  expect(await json(...ended)).toMatchObject({ count: 1, acted_count: 0, statuses: { completed: 1 } });
  expect((await call(...ended)).out).toMatch(/^0 open of 1 found would be asked to cancel/);
});

it('lists the signals that no step has read, also after the end', async () => {
  const say = ['--by', 'ana', '--why', 'a test'];
  await held.host.client.start(patient, {}, { id: 'deaf' });
  await json('pause', 'deaf', ...say);
  expect((await call('signals', 'deaf')).out).toBe(
    'Every signal that deaf accepted was read by a step, or none came.\n',
  );
  await json('signal', 'deaf', 'go', '--key', 'k1');
  await json('signal', 'deaf', 'go', '--key', 'k2');
  await expect.poll(() => json('signals', 'deaf')).toMatchObject({ signals: [{ name: 'go' }, { name: 'go' }] });
  await json('signal', 'deaf', 'go', '--key', 'k3');
  const amended = await json('signals', 'amend', 'deaf', 'signal:k2', '--value', '{"a":1}', ...say);
  expect(amended).toMatchObject({ signal: 'signal:k2', changed: true });
  expect((await call('signals', 'discard', 'deaf', 'signal:k1', ...say)).out).toBe('signal:k1 of deaf is discarded.\n');
  expect((await call('signals', 'discard', 'deaf', 'signal:k9', ...say)).err).toContain(
    'has no unread signal signal:k9',
  );
  await expect.poll(() => json('signals', 'deaf')).toMatchObject({ signals: [{}, { event: 'signal:k3' }] });
  // Its task is gone with what was for it; what no task awaited stays.
  await json('terminate', 'deaf', ...say);
  await expect.poll(async () => (await json('show', 'deaf')).status).toBe('failed');
  expect((await call('signals', 'deaf')).out).toMatch(/^SIGNAL +EVENT\ngo +\S+\n$/);
});

it('lists children, questions, rejected events and definitions', async () => {
  expect(await json('children', 'p1')).toMatchObject({ children: [], next_cursor: null });
  expect((await call('children', 'nobody')).code).toBe(65);
  expect(await json('errors')).toMatchObject({ errors: [] });
  expect(await json('questions')).toMatchObject({ questions: [] });
  expect(await json('rejected')).toHaveProperty('rejected');
  expect((await call('leases', '--worker', 'w-0')).out).toBe('Nothing of any tenant is held by w-0.\n');
  expect((await json('definitions')).definitions).toMatchObject([
    { name: 'patient', signals: { go: {} } },
    { name: 'quick', signals: {} },
  ]);
  for (const name of ['children p1', 'leases', 'errors', 'questions', 'rejected', 'definitions']) {
    expect((await call(...name.split(' '))).code).toBe(0);
  }
});

const LONG = 'x'.repeat(100_000);
it.each([
  [['list', '--text', LONG], 64, '--text'],
  [['list', '--tag', 'a\u0007'], 64, '--tag'],
  [['list', '--definition', ' '], 64, '--definition'],
  [['list', '--opened-from', 'yesterday'], 64, '--opened-from'],
  [['list', '--status', '<b>'], 64, '--status'],
  [['jobs', 'start', 'explode', '--everything'], 64, "<act> can't be 'explode'. Allowed choices are"],
  [['jobs', 'start', 'pause', '--tenant', 'acme', '--dry-run'], 65, 'or give --everything.'],
  [['jobs', 'start', 'pause', '--text', '*', '--dry-run'], 65, '--everything'],
  [['jobs', 'start', 'pause', '--tag', 'x', '--by', 'ana'], 65, '--why'],
  [['jobs', 'start', 'pause', '--tag', 'x', '--by', 'ana', '--why', LONG], 65, 'why'],
  [['jobs', 'start', 'signal', '--tag', 'x', '--by', 'ana', '--why', 'y'], 65, '--signal'],
  [
    ['jobs', 'start', 'signal', '--tag', 'x', '--by', 'a', '--why', 'y', '--signal', 's', '--value', '{'],
    65,
    '--value',
  ],
  [['jobs', 'start', 'pause', '--definition', 'tidemark.audit', '--by', 'a', '--why', 'y'], 65, 'definition'],
  [['jobs', 'start', 'pause', '--tag', 'x', '--by', 'a', '--why', 'y', '--id', '\u0000'], 64, '--id'],
  [['jobs', 'show', '__proto__'], 65, '__proto__'],
  [['jobs', 'show', '../../etc/passwd'], 65, 'etc/passwd'],
  [['queues', 'pause', LONG, '--by', 'ana', '--why', 'y'], 64, '<workflow>'],
  [['queues', 'pause', 'tidemark.bulk', '--by', 'ana', '--why', 'y'], 65, '<workflow>'],
  [['queues', 'pause', 'quick', '--by', '\u001b[2J', '--why', 'y'], 65, 'by'],
  [['queues', 'pause', 'quick', '--by', 'ana', '--why', ' '], 65, 'why'],
  [['queues', 'pause', 'quick', '--by', 'ana', '--why', 'y', '--tenant', '\u0007'], 64, '--tenant'],
  [['children', 'p1', '--limit', '1e9'], 64, '--limit'],
])('refuses %#, names the field, and prints nothing that steers a terminal', async (args, code, field) => {
  const ended = await call(...args);
  expect([ended.code, ended.out]).toEqual([code, '']);
  expect(ended.err).toContain(field);
  expect(ended.err.length).toBeLessThan(11_000);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what must not be there.
  expect(ended.err).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
});

/** A terminal that keeps what is written to it, with a keyboard. */
function fakeTerminal(columns: number, rows: number) {
  const pressed: ((data: string) => void)[] = [];
  const raw: boolean[] = [];
  let written = '';
  const stdout = {
    ...{ isTTY: true, columns, rows },
    write(text: string) {
      written += text;
      return true;
    },
    on: () => stdout,
    off: () => stdout,
  };
  const stdin = Object.assign((async function* () {})(), {
    isTTY: true,
    setRawMode: (mode: boolean) => raw.push(mode),
    on: (_: string, listener: (data: string) => void) => pressed.push(listener),
    off: () => {},
    resume: () => {},
    pause: () => {},
  });
  const env = { NO_COLOR: '1' };
  const terminal = new Terminal({ stdout: stdout as never, stderr: stdout as never, env, json: false });
  const session = { terminal, env, cwd, stdin: stdin as never };
  const press = (key: string): void => {
    for (const listener of pressed) listener(key);
  };
  return { session, raw, press, written: () => written };
}

it.each([
  ['q', 0, 100, 30],
  ['\u0003', 130, 20, 6],
])('shows the fleet live until %j, and gives the terminal back', async (key, code, columns, rows) => {
  const hostile = 'ev\u001b[31mil';
  await held.host.client.queues.pause({ definition: '<b>hostile</b>', tenant: null }, { by: 'ana', why: hostile });
  const { session, raw, press, written } = fakeTerminal(columns, rows);
  const watching = runCli(['watch'], session);
  await expect.poll(written).toMatch(/\d+ live/);
  press(key);
  expect(await watching).toBe(code);
  expect(raw).toEqual([true, false]);
  const all = written();
  expect(all.startsWith('\u001b[?1049h\u001b[?25l')).toBe(true);
  expect(all.endsWith('\u001b[?25h\u001b[?1049l')).toBe(true);
  expect(all).not.toContain('\u001b[31m');
  for (const drawn of all.split('\u001b[H').slice(1)) {
    const lines = drawn.split('\u001b[J')[0]!.split('\r\n');
    expect(lines.length).toBeLessThanOrEqual(rows);
    for (const line of lines) expect(line.replaceAll('\u001b[K', '').length).toBeLessThanOrEqual(columns);
  }
  await held.host.client.queues.resume({ definition: '<b>hostile</b>', tenant: null }, { by: 'ana', why: 'done' });
});

it('resets one run, or many', async () => {
  const say = ['--by', 'ana', '--why', 'a test'];
  await (await held.host.client.start(quick, {}, { id: 'again' })).result();
  const to = ['--at', '0', '--effects', 'keep'];
  const planned = await json('reset', 'again', ...to, '--dry-run', ...say);
  expect(planned).toMatchObject({ workflow: 'again', run: 'again~2', created: false, call_count: 0 });
  expect((await call('reset', 'again', ...to, '--dry-run', ...say)).out).toContain(
    'again would be superseded by again~2',
  );
  expect((await call('reset', 'again', ...to, ...say)).out).toContain('again is superseded by again~2');
  expect(await json('show', 'again')).toMatchObject({ status: 'completed', continued_as: 'again~2' });
  expect((await call('show', 'again')).out).toContain('It was reset: again~2 supersedes it');
  expect(await json('show', 'again~2')).toMatchObject({
    continues: 'again',
    fork: { workflow: 'again', effects: 'keep' },
  });
  const many = ['jobs', 'start', 'reset', '--definition', 'quick', '--text', 'again', ...to];
  await expect.poll(async () => (await json('show', 'again~2')).status).toBe('completed');
  const { resets } = await json(...many, '--dry-run');
  expect(resets).toMatchObject([
    { workflow: 'again~2', run: 'again~3' },
    { workflow: 'again', code: 'workflow-reset' },
  ]);
  expect((await call(...many, '--dry-run')).out).toContain('from #0 on as again~3; calls: none');
  expect((await call('jobs', 'start', 'reset', '--definition', 'quick', '--dry-run')).err).toContain('Give --effects');
  const job = await json('approve', '--definition', 'quick', '--approvals', '--name', 'none', ...say);
  expect(await json('jobs', 'show', job.job)).toMatchObject({ act: 'answer', by: 'ana' });
});
