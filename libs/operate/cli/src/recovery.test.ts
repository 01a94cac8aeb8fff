/** The commands of recovery, on a folder: plans change nothing, answers count once, leases are taken away. */

import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { hold } from './called-cli-fixture.ts';
import { AGENTS, cliFolder } from './spawned-cli-fixture.ts';

const WHO = ['--by', 'Ada', '--why', 'asked the bank'];

describe('a workflow that waits for a person', () => {
  it('shows its question and how to answer it; a plan changes nothing; the answer counts once', async (context) => {
    const { folder, here } = await cliFolder(context);
    const journal = path.join(folder, 'journal');
    const ran = await here('run', 'trip', '--id', 't1', '--input', JSON.stringify({ journal }), '--workflows', AGENTS);
    expect([ran.code, ran.err]).toEqual([1, expect.stringContaining('tidemark show t1 says why, and how to answer')]);

    let release = await hold({ cwd: folder, modules: [AGENTS], runs: false });
    const shown = (await here('show', 't1')).out;
    expect(shown).toMatch(/^Waits for a person\n {2}effect-unknown: .*t1:1\.0:bank\.wire:0/m);
    expect(shown).toContain('tidemark approve t1 --as done --response JSON --why TEXT');
    expect(shown).toContain('tidemark reject t1 --why TEXT');

    const before = (await here('show', 't1', '--json', '--events')).out;
    const { question, answers } = JSON.parse(before);
    expect({ question, answers }).toMatchObject({
      question: { code: 'effect-unknown', idempotency_key: 't1:1.0:bank.wire:0' },
      answers: ['retry', 'done', 'not-done', 'compensate', 'fail'].map((resolution) => ({ resolution })),
    });

    const plan = await here('recover', 't1', '--dry-run', '--probe');
    expect(plan.code).toBe(0);
    expect(plan.out).toMatch(
      /bank\.wire:0: irreversible, intended, of pending task 1\.0; its probe was called now and returned 'unknown'\n {4}so it cannot tell → it needs a person/,
    );
    expect(plan.out).toMatch(/it waits for a person: [\s\S]*Nothing was changed\.\n$/);
    const json = JSON.parse((await here('recover', 't1', '--dry-run', '--json')).out);
    expect(json).toMatchObject({
      status: 'parked',
      probes_asked: false,
      next: { kind: 'needs-person' },
      question: { code: 'effect-unknown' },
    });
    const stuck = await here('recover', 't1');
    expect([stuck.code, stuck.err]).toEqual([1, expect.stringContaining('t1 waits for a person (effect-unknown)')]);
    expect((await here('show', 't1', '--json', '--events')).out).toBe(before);

    const empty = await here('approve', 't1', '--as', 'done', ...WHO);
    expect([empty.code, empty.err]).toEqual([65, expect.stringContaining("response: 'done' needs what")]);
    const other = await here('approve', 't1', ...WHO, '--question', 'q');
    expect([other.code, other.err]).toEqual([65, expect.stringContaining("question: t1 doesn't ask q")]);

    await release();
    const alone = await here('recover', 't1', '--dry-run', '--probe', '--json', '--workflows', AGENTS);
    expect(JSON.parse(alone.out).effects).toContainEqual(expect.objectContaining({ said: 'unknown' }));
    const wrong = await here('approve', 't1', '--response', '{"receipt":7}', ...WHO, '--workflows', AGENTS);
    expect([wrong.code, wrong.err]).toEqual([65, expect.stringContaining('receipt: expected string')]);

    const undoing = await here('approve', 't1', '--as', 'compensate', ...WHO);
    expect([undoing.code, undoing.out]).toEqual([
      0,
      expect.stringMatching(/^t1: 'compensate' is decided\. It is compensated with the next/),
    ]);
    const again = ['approve', 't1', '--as', 'retry', '--by', 'Bo', '--why', 'x', '--question', question.question_id];
    const late = await here(...again);
    expect([late.code, late.err]).toEqual([65, expect.stringContaining('was already answered by Ada: compensate')]);

    const undone = await here('run', 'trip', '--id', 't1', '--workflows', AGENTS);
    expect([undone.code, undone.err]).toEqual([
      1,
      expect.stringMatching(
        /t1 was compensated \(asked: .*\): 1 compensated, 1 left as it is; tidemark show 't1~undo' says/,
      ),
    ]);
    expect(await readFile(journal, 'utf8')).toBe('booked\ncancelled 7\n');
    release = await hold({ cwd: folder });
    expect((await here('show', 't1')).out).toMatch(
      /^Compensated\n {2}asked: .*\n {2}1 compensated, 1 left as it is; tidemark show 't1~undo' says what was/m,
    );
    const ended = await here('reject', 't1', ...WHO);
    expect([ended.code, ended.err]).toEqual([65, expect.stringContaining('Workflow t1 has ended: it is compensated')]);
    await release();
  });
});

describe('beside a process that holds the folder', () => {
  it('answers, confirmations and revocations go through it', async (context) => {
    const { folder, here, begin } = await cliFolder(context);
    const dev = begin('dev', '--workflows', AGENTS);
    await dev.says(/stop +Ctrl-C/);
    const journal = path.join(folder, 'journal');

    await here('run', 'parcel', '--id', 'p1', '--detach');
    await dev.says(/p1 +started/);
    const listed = async () => JSON.parse((await here('show', 'p1', '--checkpoints', '--json')).out).uncommitted;
    await expect.poll(async () => (await listed())[0]?.effect_log[0]?.status).toBe('pending');
    expect(await listed()).toMatchObject([
      { status: 'reserved', sequence_number: null, step_definition_ref: 'deliver', checkpoint_id: expect.any(String) },
    ]);
    expect((await here('show', 'p1', '--checkpoints')).out).toMatch(
      /reserved: deliver \(task 0\.0\), [0-9a-f-]{36}, shop\.deliver is pending/,
    );
    const early = here('confirm', 'p1', 'shop-1', '--response', '{"parcel":"P7"}', '--json');
    expect(JSON.parse((await early).out)).toEqual({ api_version: 'v1', workflow: 'p1', unchecked: null });
    await dev.says(/p1 +completed/);
    const repeated = await here('confirm', 'p1', 'shop-1', '--response', '{"parcel":"P7"}');
    expect([repeated.code, repeated.err]).toEqual([0, '']);
    const differing = await here('confirm', 'p1', 'shop-1', '--response', '{"parcel":"P8"}');
    expect([differing.code, differing.err]).toEqual([65, expect.stringMatching(/confirmed/)]);
    const otherwise = await here('confirm', 'p1', 'shop-1', '--failed', 'lost');
    expect([otherwise.code, otherwise.err]).toEqual([65, expect.stringContaining('was already confirmed as done')]);
    const both = await here('confirm', 'p1', 'shop-1');
    expect([both.code, both.err]).toEqual([65, expect.stringContaining('Give either --response')]);

    await here('run', 'permit', '--id', 'w1', '--detach');
    await expect.poll(async () => (await here('show', 'w1')).out).toMatch(/waits for the signal approved/);
    const misspelt = await here('signal', 'w1', 'aproved', '--value', '{"by":"Ada"}');
    expect([misspelt.code, misspelt.err]).toEqual([65, expect.stringContaining('it declares approved')]);
    const value = ['--value', '{"by":"Ada"}', '--key', 'once'];
    const signalled = await here('signal', 'w1', 'approved', ...value, '--json');
    expect(JSON.parse(signalled.out)).toEqual({ api_version: 'v1', workflow: 'w1', signal: 'approved', key: 'once' });
    await dev.says(/w1 +completed/);
    expect(JSON.parse((await here('show', 'w1', '--json')).out)).toMatchObject({ output: { by: 'Ada' } });
    const again = await here('signal', 'w1', 'approved', ...value);
    expect([again.code, again.out]).toEqual([0, expect.stringContaining('keeps it until a task waits for it.')]);
    const late = await here('signal', 'w1', 'approved', '--value', '{"by":"Ada"}');
    expect([late.code, late.err]).toEqual([65, expect.stringContaining('w1 has ended')]);

    await here('run', 'trip', '--id', 't1', '--input', JSON.stringify({ journal }), '--detach');
    await dev.says(/t1 +waits for a person/);
    const answered = await here('approve', 't1', '--response', '{"receipt":"R1"}', ...WHO, '--json');
    expect(JSON.parse(answered.out)).toMatchObject({ workflow: 't1', resolution: 'done', unchecked: null });
    await dev.says(/t1 +completed/);

    await here('run', 'trip', '--id', 't2', '--input', JSON.stringify({ journal }), '--detach');
    await dev.says(/t2 +waits for a person/);
    const ended = await here('terminate', 't2', ...WHO);
    expect(ended.err).toContain(
      'bank.wire (t2:1.0:bank.wire:0) may have been called, and Tidemark no longer finds out',
    );
    expect(JSON.parse((await here('terminate', 't2', ...WHO, '--json')).out)).toMatchObject({
      changed: false,
      open_effects: [{ operation: 'bank.wire', idempotency_key: 't2:1.0:bank.wire:0' }],
    });

    const gate = path.join(folder, 'gate');
    const slow = JSON.stringify({ to: 2, journal, gate });
    await here('run', 'count-up', '--id', 'c1', '--input', slow, '--detach');
    await dev.says(/c1 +started/);
    const plan = await here('recover', 'c1', '--dry-run');
    expect(plan.out).toMatch(/continues with task 0\.0 \(tick\)/);
    const revoked = await here('recover', 'c1');
    expect(revoked.err).toMatch(/^c1 is held by worker-\S+ \(epoch 1\); its lease is revoked now\.$/m);
    expect(revoked.out).toMatch(
      /^What that holder still does no longer counts\. It resumes with the next free worker\.$/m,
    );
    await dev.says(/c1 +lease revoked \(asked, epoch \d+\)/);
    await writeFile(gate, '');
    await dev.says(/c1 +completed/);
  });
});
