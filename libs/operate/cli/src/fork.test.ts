/**
 * Time travel and forks by command, on a folder that is encrypted and that `dev` holds: the same from log, rows and archive; what was
 * recorded answers and nothing is bought again; with another belief it stops, and with live effects it buys.
 */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CalledCli, callCli } from './called-cli-fixture.ts';
import { AGENTS } from './spawned-cli-fixture.ts';

let cwd: string;
let env: Record<string, string>;
let dev: CalledCli;
let base: Record<string, unknown>;
const journal = () => path.join(cwd, 'journal');
const bought = async () => (await readFile(journal(), 'utf8')).trim().split('\n');

const call = (...args: string[]) => callCli([...args, '--state', 'state'], { cwd, env });
const json = async (...args: string[]): Promise<Record<string, unknown>> => {
  const { code, out, err } = await call(...args, '--json');
  expect([code, err]).toEqual([0, '']);
  return JSON.parse(out);
};
const run = (id: string, ...more: string[]) => call('run', 'errand', '--id', id, ...more);
const forked = async (id: string, ...more: string[]) => {
  const made = await json('fork', 'base', '--id', id, ...more);
  expect(made).toMatchObject({ workflow: id, created: true, definition: 'errand' });
  const { code, out, err } = await run(id, '--json');
  return { code, err, ...(code === 0 && (JSON.parse(out) as Record<string, unknown>)) };
};

const begin = async (): Promise<void> => {
  dev = new CalledCli(['dev', '--workflows', AGENTS, '--state', 'state'], { cwd, env });
  await dev.says(/stop +Ctrl-C/);
};

beforeAll(async () => {
  cwd = await mkdtemp(path.join(tmpdir(), 'tidemark-fork-'));
  env = { TIDEMARK_KEYS_URL: pathToFileURL(path.join(cwd, 'keys.json')).href };
  await call('admin', 'keys', 'begin');
  await begin();
  const input = { journal: journal(), things: ['bread', 'salt', 'tea'] };
  const { code, out } = await run('base', '--input', JSON.stringify(input), '--json');
  expect(code).toBe(0);
  base = JSON.parse(out);
  expect(await bought()).toEqual(['bread', 'salt']);
});
afterAll(async () => {
  await dev.interrupt();
  await rm(cwd, { recursive: true, force: true });
});

describe('time travel', () => {
  it('shows belief, frontier, totals and the checkpoint as they were', async () => {
    expect(await json('show', 'base', '--at', '1')).toMatchObject({
      sequence_number: 1,
      newest_sequence_number: 3,
      tokens: 10,
      belief: { carries: 2, receipts: ['bread for base:0.0:shop.buy:0'] },
      frontier: [{ task: '1.0', step: 'fetch', state: 'ready' }],
      last_checkpoint: { sequence_number: 1, last_action: 'bought bread', effect_log: [{ operation: 'shop.buy' }] },
    });
    const opened = await json('show', 'base', '--at', '0');
    expect(opened).toMatchObject({ belief: { carries: 2, receipts: [] }, last_checkpoint: null, tokens: 0 });
    const { out } = await call('show', 'base', '--at', '2');
    expect(out).toMatch(/^base {2}errand v1 {2}as it was after checkpoint #2 of 3$/m);
    expect(out).toMatch(/^ {2}2\.0 +home +can run$/m);
  });

  it('says which sequences there are, and goes with no list of what came later', async () => {
    const { code, err } = await call('show', 'base', '--at', '4');
    expect([code, err]).toEqual([65, expect.stringContaining('has checkpoints 1 to 3 (0 is its opening), and none')]);
    expect((await call('show', 'base', '--at', '1', '--events')).code).toBe(64);
    expect((await call('show', 'base', '--at', 'x')).code).toBe(64);
    expect((await call('show', 'nobody', '--at', '1')).code).toBe(65);
  });
});

describe('a fork', () => {
  it('that replays comes to the same output, and buys nothing; the run is told as one', async () => {
    expect(await forked('again', '--at', '1')).toMatchObject({
      output: base.output,
      fork: { workflow: 'base', sequence_number: 1, effects: 'replay' },
    });
    expect(await bought()).toHaveLength(2);
    expect((await call('show', 'again')).out).toContain('fork of base at #1, effects replay');
    const compared = await json('compare', 'base', 'again');
    expect(compared).toMatchObject({
      same_outcome: true,
      first_difference: null,
      workflows: [
        { workflow: 'base', checkpoints: 3, tokens: 20, called_effects: 2, replayed_effects: 0 },
        {
          workflow: 'again',
          checkpoints: 3,
          tokens: 20,
          own: { checkpoints: 2, tokens: 10 },
          shared: { checkpoints: 1, tokens: 10 },
          called_effects: 0,
          replayed_effects: 1,
        },
      ],
    });
  });

  it('says who follows it, and refuses what can’t be', async () => {
    const { out, err } = await call('fork', 'base', '--at', '0');
    expect(out).toMatch(/^base~fork-[0-9a-f]{10}\n$/);
    expect(err).toMatch(
      /^Started: fork of base at #0, effects replay\. tidemark watch .* --state state follows it\.$/m,
    );
    const refused = async (...args: string[]) => (await call('fork', ...args)).err;
    expect(await refused('base', '--at', '3')).toContain('no task was pending at checkpoint 3. Choose an earlier one.');
    expect(await refused('base', '--at', '1', '--version', '7')).toContain('v7 must be known here');
    expect(await refused('base', '--at', '1', '--with', 'nowhere.json')).toContain('there is no such file');
    const wrong = await call('fork', 'base', '--at', '1', '--with', '{"carries":"many"}');
    expect([wrong.code, wrong.err]).toEqual([65, expect.stringContaining('carries')]);
    expect((await call('fork', 'base')).code).toBe(64);
  });

  it('with another belief stops where nothing was recorded; with live effects it buys', async () => {
    const belief = path.join(cwd, 'belief.json');
    await writeFile(belief, JSON.stringify({ carries: 3, receipts: [] }));
    const given = ['--at', '1', '--with', belief] as const;
    const stopped = await forked('stopped', ...given);
    expect(stopped.code).toBe(1);
    expect(JSON.parse(stopped.err)).toMatchObject({ error: { code: 'workflow-parked' } });
    expect(await bought()).toHaveLength(2);
    const { out } = await call('show', 'stopped');
    expect(out).toContain('effect-not-recorded: base recorded no such call of shop.buy after checkpoint 1');
    expect(out).toContain('tidemark approve stopped --state state --as done --response JSON --why TEXT');
    expect(out).not.toContain('--as not-done');

    const live = await forked('live', ...given, '--effects', 'live');
    expect(live).toMatchObject({
      code: 0,
      output: { receipts: [expect.stringContaining('for live:'), expect.stringContaining('for live:')] },
    });
    expect(await bought()).toEqual(['bread', 'salt', 'salt', 'tea']);
    const { out: reported } = await call('compare', 'base', 'live');
    expect(reported).toContain('The outcomes differ.');
    expect(reported).toContain('They differ from checkpoint #1 of the whole history on.');
    expect(reported).toMatch(/^checkpoints +3 +4 \(1 shared\)$/m);
    const narrow = await callCli(['compare', 'base', 'live', '--state', 'state'], {
      cwd,
      env: { ...env, COLUMNS: '36' },
    });
    expect(narrow.out).toMatch(/^ +base +live\n[\s\S]*^checkpoints +3 +4 \(1 shared\)$/m);
  });

  it('goes on from an archived run as from any other, and keeps it from being forgotten', async () => {
    const before = await json('show', 'base', '--at', '2');
    await dev.interrupt();
    const archived = async () => {
      await json('admin', 'compact', '--older-than', '1s');
      return (await json('du', '--by', 'workflow')).storage;
    };
    await expect
      .poll(archived)
      .toEqual(
        expect.arrayContaining([
          expect.objectContaining({ name: 'base', hot_bytes: 0 }),
          expect.objectContaining({ name: 'again', hot_bytes: 0, fork_of: 'base' }),
        ]),
      );
    await begin();
    expect(await json('show', 'base', '--at', '2')).toEqual(before);
    for (const at of ['0', '2']) {
      const id = `archived-${at}`;
      expect(await forked(id, '--at', at)).toMatchObject({ output: base.output });
    }
    expect(await bought()).toHaveLength(4);
    await dev.interrupt();
    const why = ['--by', 'carl', '--why', 'they asked'];
    const { code, err } = await call('admin', 'forget', '--workflow', 'base', ...why);
    expect([code, err]).toEqual([65, expect.stringContaining('has forks that share its history: again, archived-0')]);
    await json('admin', 'forget', '--workflow', 'again', ...why);
    expect((await call('admin', 'forget', '--workflow', 'base', ...why)).err).not.toContain('again');
  });

  it('says how it goes on where nobody runs workflows', async () => {
    const { out, err } = await call('fork', 'base', '--at', '0', '--id', 'later');
    expect(out).toBe('later\n');
    expect(err).toContain('effects replay. It runs with the next tidemark dev or run on state:');
    expect(err).toContain('tidemark run errand --id later --state state --workflows MODULES');
    expect(JSON.parse((await run('later', '--workflows', AGENTS, '--json')).out)).toMatchObject({
      output: base.output,
    });
  });
});
