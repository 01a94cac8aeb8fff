/** The commands around a workflow that is undone: who waits for whom, what was undone, and which answers are offered. */

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { hold } from './called-cli-fixture.ts';
import { AGENTS, cliFolder } from './spawned-cli-fixture.ts';

const WHO = ['--by', 'Ada', '--why', 'rang the office'];
const STATE = 'my state';
const AT = ['--state', STATE];

describe('a workflow whose undo waits for a person', () => {
  it('ends run and watch with 1, the undo and its answers; goes on once one is given', async (context) => {
    const { folder, here, begin } = await cliFolder(context);
    const journal = path.join(folder, 'journal');
    const cruise = ['run', 'cruise', '--id', 'c1', '--workflows', AGENTS, ...AT];
    const stuck = expect.stringMatching(
      /^Answer c1~undo with one of these:\n {2}tidemark approve 'c1~undo' --state 'my state' --as retry [\s\S]*error: c1 is being compensated, and its undo c1~undo waits for a person \(compensation-stuck: .*the ferry office is shut.*\); tidemark show 'c1~undo' --state 'my state' shows more\.$/m,
    );

    const ran = await here(...cruise, '--input', JSON.stringify({ journal }));
    expect([ran.code, ran.err]).toEqual([1, stuck]);
    expect(ran.err).not.toContain('--as compensate');
    expect(ran.err).not.toMatch(/^warning: .*waits for a person/m);
    const again = await here(...cruise);
    expect([again.code, again.err]).toEqual([1, stuck]);
    const release = await hold({ cwd: folder, state: STATE });
    const watched = await here('watch', 'c1', ...AT);
    expect([watched.code, watched.err]).toEqual([1, stuck]);

    const shown = (await here('show', 'c1', ...AT)).out;
    expect(shown).toMatch(/^Is being compensated\n {2}\S+: .*the gangway is gone/m);
    expect(shown).toMatch(/^Its undo c1~undo waits for a person\n {2}compensation-stuck: .*the ferry office is shut/m);
    expect(shown).toContain("tidemark approve 'c1~undo' --state 'my state' --as done --response JSON");
    expect(shown).toMatch(/board +stopped/);
    const json = JSON.parse((await here('show', 'c1', '--json', ...AT)).out);
    expect(json.undo).toMatchObject({ workflow: 'c1~undo', waiting_workflow: 'c1~undo', undone_count: null });
    expect(json.answers.map(({ resolution }: { resolution: string }) => resolution)).toEqual([
      'retry',
      'done',
      'not-done',
      'fail',
    ]);

    const unfit = await here('approve', 'c1~undo', '--as', 'compensate', ...WHO, ...AT);
    expect([unfit.code, unfit.err]).toEqual([65, expect.stringContaining('is itself an undo')]);
    await release();
    const dev = begin('dev', '--workflows', AGENTS, ...AT);
    await dev.says(
      /waits +c1~undo for a person \(compensation-stuck\): tidemark show 'c1~undo' --state 'my state' says how/,
    );
    const done = await here('approve', 'c1~undo', '--as', 'done', '--response', 'null', ...WHO, ...AT);
    expect([done.code, done.err]).toEqual([0, '']);
    await dev.says(/c1 +was compensated in .*: 2 compensated, 0 left as they are/);
    expect(await readFile(journal, 'utf8')).toBe('booked\nferry booked\ncancelled 7\n');
  });

  it('run that sees it happen ends as well, beside the process that runs it', async (context) => {
    const { folder, here, begin } = await cliFolder(context);
    const dev = begin('dev', '--workflows', AGENTS);
    await dev.says(/stop +Ctrl-C/);
    const input = JSON.stringify({ journal: path.join(folder, 'journal') });
    const ran = await here('run', 'cruise', '--id', 'c2', '--input', input, '--json');
    expect([ran.code, JSON.parse(ran.err).error]).toEqual([
      1,
      expect.objectContaining({
        code: 'workflow-parked',
        message: expect.stringContaining('its undo c2~undo waits for a person'),
      }),
    ]);
  });
});

describe('a workflow of which nothing can be compensated', () => {
  it('is not said to be compensated; its error carries the folder; a response that nobody can check is told', async (context) => {
    const { folder, here } = await cliFolder(context);
    const transfer = (id: string) => ['run', 'transfer', '--id', id, '--workflows', AGENTS, ...AT];
    const parked = await here(...transfer('f1'));
    expect([parked.code, parked.err]).toEqual([
      1,
      expect.stringContaining("f1 waits for a person (effect-unknown); tidemark show f1 --state 'my state' says why"),
    ]);
    expect(parked.err.match(/waits for a person/g)).toHaveLength(1);
    expect(parked.err).not.toContain('warning');

    let release = await hold({ cwd: folder, state: STATE, modules: [AGENTS] });
    await here('approve', 'f1', '--as', 'compensate', ...WHO, ...AT);
    const ended = await here(...transfer('f1'));
    expect([ended.code, ended.err]).toEqual([
      1,
      expect.stringMatching(
        /f1 ended with nothing compensated \(asked: .*\): 0 compensated, 1 left as it is; tidemark show 'f1~undo' --state 'my state' says what was\.$/m,
      ),
    ]);
    expect((await here('show', 'f1', ...AT)).out).toMatch(/^Ended, nothing compensated$/m);

    await here(...transfer('f2'));
    await release();
    const bad = ['approve', 'f2', '--response', '{"receipt":7}', ...WHO, ...AT];
    const refused = await here(...bad, '--workflows', AGENTS);
    expect([refused.code, refused.err]).toEqual([65, expect.stringContaining('receipt: expected string')]);
    // Its holder now knows no effects, and has no use for what is given here.
    release = await hold({ cwd: folder, state: STATE });
    const taken = await here(...bad, '--workflows', AGENTS);
    expect([taken.code, taken.err]).toEqual([
      0,
      expect.stringMatching(/^warning: The response of bank\.wire was taken as given.*--workflows/),
    ]);
    await release();
  });
});

describe('names of those who decide', () => {
  it('can be seen', async (context) => {
    const { folder, here } = await cliFolder(context);
    const release = await hold({ cwd: folder, modules: [AGENTS] });
    await here('run', 'transfer', '--id', 'n1');
    for (const args of [
      ['approve', 'n1', '--by', ' ', '--why', 'x'],
      ['reject', 'n1', '--by', 'Ada', '--why', '\u200b'],
      ['pin', 'n1', '--by', '\u3164', '--why', 'x'],
    ]) {
      const said = await here(...args);
      expect([said.code, said.err]).toEqual([65, expect.stringMatching(/^error: --(by|why): .*visible/)]);
    }
    await release();
  });
});
