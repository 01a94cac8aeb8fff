/** `tidemark bundle`: what past model calls saw, through the command as people type it. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { callCli, hold } from './called-cli-fixture.ts';

const THINKERS = path.resolve(import.meta.dirname, '../fixtures/thinkers.ts');
const PATIENCE = { timeout: 60_000, interval: 50 };
let cwd: string;
beforeAll(async () => {
  cwd = await mkdtemp(path.join(tmpdir(), 'tidemark-bundle-'));
});
afterAll(() => rm(cwd, { recursive: true, force: true }));
const here = (...args: string[]) => callCli(args, { cwd });

describe('run', () => {
  it('tells what a model says line by line, and prints the recorded output alone', async () => {
    // What a model streams is shown to those who listen by then: one that answers at once may be done before.
    await vi.waitFor(async () => {
      const ran = await here('run', 'story', '--workflows', THINKERS, '--input', '{}');
      expect(JSON.parse(ran.out)).toEqual({ text: 'Once there was a tide.\nIt left a mark.\nThe end' });
      for (const line of ['… Once there was a tide.', '… It left a mark.', '… The end'])
        expect(ran.err).toContain(line);
    }, PATIENCE);
  });
});

describe('bundle', () => {
  let release: () => Promise<void>;
  beforeAll(async () => {
    release = await hold({ cwd, modules: [THINKERS] });
  });
  afterAll(() => release());

  it('lists model calls, rebuilds each byte for byte, says what was trimmed, and compares two', async () => {
    const ran = await here('run', 'talk', '--id', 't1', '--input', '{"turns":9}');
    expect([ran.code, JSON.parse(ran.out)]).toEqual([0, { answers: 9 }]);

    const listed = await here('bundle', 't1');
    expect(listed.out).toMatch(/AT +CALL +TASK +STATUS +MADE/);
    expect(listed.out.match(/^ *\d+ +1 +\S+ +done +/gm)).toHaveLength(9);

    const early = await here('bundle', 't1', '--at', '2', '--messages');
    expect([early.code, early.err]).toEqual([0, '']);
    expect(early.out).toMatch(/bytes +sha256 [0-9a-f]{64} \(identical to what was sent\)/);
    expect(early.out).toContain('You count questions.');
    expect(early.out).toContain('Question 1: how many');
    const second = await here('bundle', 't1', '--at', '4', '--messages');
    expect(second.out).toContain('[reasoning, 86 bytes, for the provider alone]\nThat was question 1.');

    const late = JSON.parse((await here('bundle', 't1', '--at', '18', '--json')).out);
    expect(late).toMatchObject({
      identical: true,
      sequence: 18,
      model: 'test-model',
      bundle: { bundle_type: 'reply' },
    });
    expect(late.manifest.lanes.messages.trimmed).toBeGreaterThan(0);
    // What the provider signed is shown by its size alone.
    expect(late.answer.parts).toEqual({ provider: 'test', bytes: expect.any(Number) });
    expect(JSON.stringify(late)).not.toContain('c2lnbmVk');
    expect((await here('bundle', 't1', '--at', '18', '--items')).out).toMatch(/agent_message +over-budget/);

    const diff = await here('bundle', 'diff', 't1', '--at', '2', '--to', '4');
    expect(diff.out).toMatch(/^\+ 3\.0 user_message/m);
    const same = await here('bundle', 'diff', 't1', '--at', '4', '--to', '4');
    expect(same.out).toBe('The two bundles are identical.\n');

    // From the archive it is the same.
    await release();
    const archive = async () => JSON.parse((await here('admin', 'compact', '--older-than', '1s', '--json')).out);
    await expect.poll(archive).toMatchObject({ segments: 1, failed_partitions: 0 });
    release = await hold({ cwd, modules: [THINKERS] });
    expect((await here('bundle', 't1', '--at', '2', '--messages')).out).toBe(early.out);
  });

  it('says what is wrong with what was asked for', async () => {
    await here('run', 'talk', '--id', 't2', '--input', '{"turns":1}');
    const asked = async (...args: string[]) => {
      const { code, err } = await here('bundle', 't2', ...args);
      return [code, err];
    };
    expect(await asked('--at', '1')).toEqual([
      65,
      expect.stringMatching(/The step of checkpoint 1 in t2 hasn't called a model/),
    ]);
    expect(await asked('--at', '9')).toEqual([
      65,
      expect.stringMatching(/has checkpoints 1 to 2; 3 means its steps under way/),
    ]);
    expect(await asked('--at', '2', '--call', '2')).toEqual([65, expect.stringContaining('made fewer model calls')]);
    expect(await asked('--at', '0')).toEqual([64, expect.stringContaining('Give a whole number of at least 1')]);
  });
});
