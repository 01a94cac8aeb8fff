/** A function by commands: they show what it calls, by name, and what that returned, as they do for any workflow; and nothing of how it is kept. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { callCli, hold } from './called-cli-fixture.ts';

const FUNCTIONS = path.resolve(import.meta.dirname, '../fixtures/functions.ts');

let cwd: string;
let release: () => Promise<void>;
const call = async (...args: string[]): Promise<string> => {
  const { out, err } = await callCli([...args, '--state', 'state'], { cwd });
  return `${out}${err}`;
};
const json = async (...args: string[]) => JSON.parse(await call(...args, '--json'));
const waiting = (id: string, text: string) => expect.poll(() => call('show', id)).toContain(text);

/** Answers the question of a refund, and lets it end. */
async function refunded(id: string, task: string, note: string): Promise<void> {
  await waiting(id, 'waits for the approval approve');
  await call('approve', id, '--task', task, '--value', JSON.stringify({ note }), '--by', 'ana', '--why', 'fine');
  await call('signal', id, 'paid', '--value', '{"by":"ben"}');
  await call('watch', id);
}

beforeAll(async () => {
  cwd = await mkdtemp(path.join(tmpdir(), 'tidemark-functions-'));
  release = await hold({ cwd, state: 'state', modules: [FUNCTIONS] });
  await call('run', 'refund', '--id', 'base', '--input', '{"cents":[5,7]}', '--detach');
});
afterAll(async () => {
  await release();
  await rm(cwd, { recursive: true, force: true });
});

describe('a function by commands', () => {
  it('has its calls as steps, and what they returned as outputs', async () => {
    await waiting('base', 'waits for the approval approve');
    const asks = await call('show', 'base');
    expect(asks).toMatch(/^ +3\.0 +approve +waits for the approval approve/m);
    expect(asks).not.toMatch(/Belief|Flow|seed/);
    await refunded('base', '3.0', 'fine');
    const { checkpoints, output } = await json('show', 'base', '--checkpoints');
    expect(output).toEqual({ sent: 'a parcel with a lamp', first: 'paid' });
    const shown = checkpoints.map((one: Record<string, unknown>) => [
      one.step_definition_ref,
      one.last_action,
      one.output_state,
    ]);
    expect(shown).toEqual([
      ['run', 'order', { line: 'lamp' }],
      ['payments.credit', 'payments.credit', { id: 'c5' }],
      ['payments.credit', 'payments.credit', { id: 'c7' }],
      ['approve', 'approve', { approved: true, value: { note: 'fine' }, by: 'ana', why: 'fine' }],
      ['paid or late', 'paid or late', { index: 0, value: { by: 'ben' } }],
      ['parcel', 'parcel', 'a parcel with a lamp'],
    ]);
    expect(await call('trace', 'show', 'base')).toMatch(/step approve(?:.|\n)*step paid or late/);
    expect((await json('show', 'base', '--at', '2')).frontier).toMatchObject([{ step: 'payments.credit' }]);
  });

  it('is forked, compared by what its calls returned, and reset before a call', async () => {
    await call('fork', 'base', '--at', '3', '--id', 'same');
    await refunded('same', '0.0', 'fine');
    expect(await call('compare', 'base', 'same')).toContain('Every checkpoint has the same step');
    await call('fork', 'base', '--at', '3', '--id', 'other');
    await refunded('other', '0.0', 'gladly');
    const compared = await call('compare', 'base', 'other');
    expect(compared).toContain('They differ from checkpoint #4');
    expect(compared).toContain('base, #4 approve: output');
    expect(compared).toContain('"value": { "note": "gladly" }');
    const plan = await call('reset', 'base', '--before', 'approve', '--effects', 'keep', '--why', 'x', '--dry-run');
    expect(plan).toContain('from checkpoint 3 on');
  });

  it('believes what its chapter began with', async () => {
    await call('run', 'chapters', '--id', 'long');
    expect(await call('show', 'long')).toMatch(/Belief\n +\{\n +"sum": 4\n +\}/);
    expect((await json('show', 'long', '--at', '1')).belief).toEqual({ sum: 2 });
  });

  it('names the call that failed', async () => {
    expect(await call('run', 'failing', '--id', 'failed')).toContain('failed (fatal): parse: row 7 has no customer');
    expect(await call('ls')).toMatch(/failed +failing v1.*fatal/);
    expect(await call('show', 'failed')).toContain('parse failed (call-failed)');
  });

  it('whose code changed shows what was recorded beside what it asks for now', async () => {
    await call('run', 'changing', '--id', 'changed', '--detach');
    await waiting('changed', 'waits for the signal go');
    vi.stubEnv('FUNCTION_CHANGED', '1');
    await call('signal', 'changed', 'go');
    await waiting('changed', 'function-changed: After 1 recorded outcome the function asked for second');
    vi.unstubAllEnvs();
    const shown = await call('show', 'changed');
    expect(shown).toContain('{ "recorded": "first", "asked_now": "first" }');
    expect(shown).toContain('{ "recorded": "second", "asked_now": "check" }');
    expect(shown).toContain('{ "recorded": "go", "asked_now": null }');
    await call('approve', 'changed', '--as', 'retry', '--by', 'ana', '--why', 'it is as it was');
    expect(await call('watch', 'changed')).toContain('completed');
  });
});
