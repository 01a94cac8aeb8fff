/** `tidemark session`, `memory`, `user` and `budget` as people and scripts call them. */

import { describe, expect, it } from 'vitest';
import { callCli } from '../called-cli.ts';
import { AGENTS, cliFolder, type TestEnd } from '../spawned-cli.ts';
import { microsOf } from './memory-place.ts';

const TIMEOUT_MS = 300_000;

async function folder(context: TestEnd) {
  const { folder: cwd, start } = await cliFolder(context);
  const call = (...args: string[]) => callCli(args, { cwd, stdin: '{"from":"stdin"}' });
  return {
    call,
    json: async (...args: string[]) => JSON.parse((await call(...args, '--json')).out),
    /** From here on another process has the folder, through which commands are quick. */
    hold: () => start('dev', '--workflows', AGENTS, '--json').says(/"type":"ready"/),
  };
}

it(
  'keeps facts and preferences of a user',
  async (context) => {
    const { call, json, hold } = await folder(context);
    const nothing = await call('memory', 'list', '--user', 'ana');
    expect([nothing.code, nothing.err]).toEqual([78, expect.stringContaining('No state is kept in .tidemark yet')]);
    const { key } = await json('memory', 'remember', 'Ana works from Lisbon', '--user', 'ana', '--source', 'mail');
    await hold();
    expect((await call('memory', 'list', '--user', 'ana')).out).toMatch(
      /^FACT +SOURCE +SINCE +KEY\nAna works from Lisbon +mail +(now|\d+ s ago) +[0-9a-f]{32}\n$/,
    );
    expect(await json('memory', 'recall', 'where does she work', '--user', 'ana')).toMatchObject({
      by: 'words',
      entries: [{ kind: 'fact', key, value: { text: 'Ana works from Lisbon' } }],
    });
    expect((await call('memory', 'recall', 'work', '--user', 'eve')).err).toContain('Nothing fits (by words alone).');
    expect((await json('memory', 'list', '--user', 'ana', '--tenant', 'other')).facts).toEqual([]);

    expect((await call('user', 'set', 'tone', 'brief', '--user', 'ana')).out).toBe('tone of ana is "brief" now.\n');
    await call('user', 'set', 'limits', '{"a":[1,2]}', '--user', 'ana');
    await call('user', 'set', 'given', '-', '--user', 'ana');
    expect((await call('user', 'get', 'limits', '--user', 'ana')).out).toBe('{\n  "a": [\n    1,\n    2\n  ]\n}\n');
    const { entries } = await json('user', 'list', '--user', 'ana');
    expect(entries.map((entry: { key: string; value: unknown }) => [entry.key, entry.value])).toEqual([
      ['given', { from: 'stdin' }],
      ['limits', { a: [1, 2] }],
      ['tone', 'brief'],
    ]);
    await call('user', 'forget', 'tone', '--user', 'ana');
    expect((await call('user', 'get', 'tone', '--user', 'ana')).code).toBe(65);
    const secret = `ghp_${'a1B2c3D4e5F6g7H8i9J0'.repeat(2).slice(0, 36)}`;
    const refused = await call('user', 'set', 'login', secret, '--user', 'ana');
    expect([refused.code, refused.err.includes(secret)]).toEqual([65, false]);
  },
  TIMEOUT_MS,
);

it(
  'keeps budgets apart from preferences, exactly in cents',
  async (context) => {
    const { call, json, hold } = await folder(context);
    expect((await call('budget', 'set', '--usd', '12.34', '--period', 'month')).out).toBe(
      'tenant default may spend $12.34 within the last 30 days.\n',
    );
    await hold();
    await call('budget', 'set', '--user', 'ana', '--tokens', '5000', '--usd', '0.07', '--period', 'day');
    expect((await json('budget', 'show', '--user', 'ana')).budgets).toEqual([
      expect.objectContaining({ of: 'tenant default', period: 'month', tokens: null, cost_micros: 12_340_000 }),
      expect.objectContaining({ of: 'user ana', period: 'day', tokens: 5_000, cost_micros: 70_000 }),
    ]);
    // Whoever may set preferences may not raise a budget.
    expect((await json('user', 'list', '--user', 'ana')).entries).toEqual([]);
    await call('user', 'set', 'budget', '{"tokens":9000000}', '--user', 'ana');
    expect((await json('budget', 'show', '--user', 'ana')).budgets[1]).toMatchObject({ tokens: 5_000 });
    expect((await call('user', 'forget', 'budget', '--user', 'ana')).code).toBe(0);
    expect((await json('budget', 'show', '--user', 'ana')).budgets[1]).toMatchObject({ tokens: 5_000 });
    expect((await call('budget', 'set', '--usd', '1e9', '--period', 'day')).err).toContain('--usd: give US dollars');
    expect((await call('budget', 'set', '--usd', '1')).err).toContain('--period');
    expect((await call('budget', 'raise', 'none', '--usd', '1', '--by', 'ann', '--why', 'x')).code).toBe(65);
  },
  TIMEOUT_MS,
);

describe('money', () => {
  it('is read without a binary fraction', () => {
    expect(microsOf('0.29')).toBe(290_000);
    expect(microsOf('1.000001')).toBe(1_000_001);
    expect(() => microsOf('1.0000001')).toThrow(/at most 6 decimals/);
    expect(() => microsOf('-1')).toThrow();
  });
});

it(
  'shows a session with its question, and hands it over',
  async (context) => {
    const { call, here } = await cliFolder(context);
    const ran = await here('run', 'transfer', '--id', 't1', '--session', 's1', '--user', 'ana', '--workflows', AGENTS);
    expect(ran.code).toBe(1);
    const handed = await here(
      ...['session', 'handover', 's1', '--from', 'ann', '--to', 'bob', '--message', 'Ask the bank.'],
      ...['--artifact', 'a.pdf', '--artifact', 'b.pdf'],
    );
    expect([handed.out, handed.err]).toEqual(['Session s1 is handed over from ann to bob.\n', '']);
    const shown = await here('session', 'show', 's1');
    expect(shown.out).toMatch(/^Session s1 of ana goes on in workflow t1 \(transfer v1, parked: .*\)\.\n/);
    expect(shown.out).toMatch(/\nHanded over from ann to bob, \S+: Ask the bank\. With: a\.pdf, b\.pdf\.\n/);
    expect(shown.out).toMatch(/\nIt waits for a person \(\S+\): .* They may decide: .*fail\.\n/);
    const unknown = await here('session', 'show', 's9', '--json');
    expect([unknown.code, JSON.parse(unknown.err).error.code]).toEqual([65, 'session-unknown']);
    const another = ['run', 'greet', '--session', 's1', '--input', '{"name":"Di"}', '--workflows', AGENTS];
    expect((await here(...another)).err).toContain("session: s1 is another user's");
    const busy = await here(...another, '--user', 'ana');
    expect(busy.err).toContain('Session s1 goes on in workflow t1');
    // Each command is a process of its own, with a Lamport clock of its own.
    const greet = ['run', 'greet', '--session', 's2', '--input', '{"name":"Di"}', '--workflows', AGENTS];
    for (const id of ['a', 'b', 'c']) expect((await call(...greet, '--id', id)).code).toBe(0);
    expect((await here('session', 'show', 's2')).out).toMatch(
      /newest was c .*\n(?:.*\n)*.*Earlier workflows: b .*, a /,
    );
  },
  TIMEOUT_MS,
);
