/** `tidemark session`, `memory`, `user` and `budget` as people and scripts call them. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callCli, hold } from '../called-cli-fixture.ts';
import { AGENTS } from '../spawned-cli-fixture.ts';
import { microsOf } from './budget.ts';

let cwd: string;
/** The first fact, by a command that makes the folder; it is held then, until opening it is the point. */
let fact: { readonly key: string };
let release: () => Promise<void>;
beforeAll(async () => {
  cwd = await mkdtemp(path.join(tmpdir(), 'tidemark-memory-'));
  const nothing = await call('memory', 'list', '--user', 'ana');
  expect([nothing.code, nothing.err]).toEqual([78, expect.stringContaining('No state is kept in .tidemark yet')]);
  fact = await json('memory', 'remember', 'Ana works from Lisbon', '--user', 'ana', '--source', 'mail');
  release = await hold({ cwd, modules: [AGENTS] });
});
afterAll(async () => {
  await release();
  await rm(cwd, { recursive: true, force: true });
});

const call = (...args: string[]) => callCli(args, { cwd, stdin: '{"from":"stdin"}' });
const json = async (...args: string[]) => JSON.parse((await call(...args, '--json')).out);

it('keeps facts and preferences of a user', async () => {
  const { key } = fact;
  expect((await call('memory', 'list', '--user', 'ana')).out).toMatch(
    /^FACT +SOURCE +SINCE +KEY\nAna works from Lisbon +mail +(now|\d+ s ago) +[0-9a-f]{32}\n$/,
  );
  expect(await json('memory', 'recall', 'where does she work', '--user', 'ana')).toMatchObject({
    by: 'words',
    entries: [{ kind: 'fact', key, value: { text: 'Ana works from Lisbon' } }],
  });
  expect((await call('memory', 'recall', 'work', '--user', 'eve')).err).toContain('Nothing matches (by words alone).');
  expect((await json('memory', 'list', '--user', 'ana', '--tenant', 'other')).facts).toEqual([]);

  const oven = await json('memory', 'remember', 'The oven burns', '--about', 'domain:kitchen');
  expect(oven.about).toBe('domain:kitchen');
  await call('memory', 'remember', 'We close at noon', '--about', 'tenant');
  expect((await json('memory', 'list', '--about', 'tenant')).facts).toMatchObject([{ text: 'We close at noon' }]);
  expect((await call('memory', 'recall', 'oven', '--about', 'domain:kitchen')).out).toContain('- The oven burns');
  expect((await call('memory', 'recall', 'oven', '--about', 'domain:kitchen')).err).toContain('install-embedder');
  expect((await call('memory', 'forget', oven.key, '--about', 'domain:kitchen')).code).toBe(0);
  expect((await call('memory', 'list')).err).toContain('--about');
  expect((await call('memory', 'list', '--about', 'kitchen')).code).toBe(65);

  expect((await call('user', 'set', 'tone', 'brief', '--user', 'ana')).out).toBe('tone of ana is "brief" now.\n');
  await call('user', 'set', 'limits', '{"a":[1,2]}', '--user', 'ana');
  await call('user', 'set', 'given', '-', '--user', 'ana');
  expect((await call('user', 'get', 'limits', '--user', 'ana')).out).toBe('{\n  "a": [1, 2]\n}\n');
  const { preferences } = await json('user', 'list', '--user', 'ana');
  expect(preferences.map((entry: { key: string; value: unknown }) => [entry.key, entry.value])).toEqual([
    ['given', { from: 'stdin' }],
    ['limits', { a: [1, 2] }],
    ['tone', 'brief'],
  ]);
  await call('user', 'forget', 'tone', '--user', 'ana');
  expect((await call('user', 'get', 'tone', '--user', 'ana')).code).toBe(65);
  const secret = `ghp_${'a1B2c3D4e5F6g7H8i9J0'.repeat(2).slice(0, 36)}`;
  const refused = await call('user', 'set', 'login', secret, '--user', 'ana');
  expect([refused.code, refused.err.includes(secret)]).toEqual([65, false]);
});

it('keeps budgets apart from preferences, exactly in cents', async () => {
  expect((await call('budget', 'set', '--usd', '12.34', '--period', 'month')).out).toBe(
    'tenant default may spend $12.34 within the last 30 days.\n',
  );
  await call('budget', 'set', '--user', 'eva', '--tokens', '5000', '--usd', '0.07', '--period', 'day');
  expect((await json('budget', 'show', '--user', 'eva')).budgets).toEqual([
    expect.objectContaining({ of: 'tenant default', period: 'month', tokens: null, cost_micros: 12_340_000 }),
    expect.objectContaining({ of: 'user eva', period: 'day', tokens: 5_000, cost_micros: 70_000 }),
  ]);
  // A caller who may set preferences may not raise a budget.
  expect((await json('user', 'list', '--user', 'eva')).preferences).toEqual([]);
  expect((await call('user', 'list', 'x', '--user', 'ana')).out).toBe("ana has no preferences that begin with 'x'.\n");
  await call('user', 'set', 'budget', '{"tokens":9000000}', '--user', 'eva');
  expect((await json('budget', 'show', '--user', 'eva')).budgets[1]).toMatchObject({ tokens: 5_000 });
  expect((await call('user', 'forget', 'budget', '--user', 'eva')).code).toBe(0);
  expect((await json('budget', 'show', '--user', 'eva')).budgets[1]).toMatchObject({ tokens: 5_000 });
  expect((await call('budget', 'set', '--usd', '1e9', '--period', 'day')).err).toContain('--usd: give US dollars');
  expect((await call('budget', 'set', '--usd', '1')).err).toContain('--period');
  expect((await call('budget', 'raise', 'none', '--usd', '1', '--by', 'ann', '--why', 'x')).code).toBe(65);
});

describe('money', () => {
  it('is read without a binary fraction', () => {
    expect(microsOf('0.29')).toBe(290_000);
    expect(microsOf('1.000001')).toBe(1_000_001);
    expect(() => microsOf('1.0000001')).toThrow(/at most 6 decimals/);
    expect(() => microsOf('-1')).toThrow();
  });
});

it('shows a session with its question, and hands it over', async () => {
  const ran = await call('run', 'transfer', '--id', 't1', '--session', 's1', '--user', 'ana');
  expect(ran.code).toBe(1);
  const handed = await call(
    ...['session', 'handover', 's1', '--from', 'ann', '--to', 'bob', '--message', 'Ask the bank.'],
    ...['--artifact', 'a.pdf', '--artifact', 'b.pdf'],
  );
  expect([handed.out, handed.err]).toEqual(['Session s1 is handed over from ann to bob.\n', '']);
  const shown = await call('session', 'show', 's1');
  expect(shown.out).toMatch(/^Session s1 of ana continues in workflow t1 \(transfer v1, parked: .*\)\.\n/);
  expect(shown.out).toMatch(/\nHanded over from ann to bob, \S+: Ask the bank\. With: a\.pdf, b\.pdf\.\n/);
  expect(shown.out).toMatch(/\nIt waits for a person \(\S+\): .* They may decide: .*fail\.\n/);
  const unknown = await call('session', 'show', 's9', '--json');
  expect([unknown.code, JSON.parse(unknown.err).error.code]).toEqual([65, 'session-unknown']);
  const another = ['run', 'greet', '--session', 's1', '--input', '{"name":"Di"}', '--workflows', AGENTS];
  expect((await call(...another)).err).toContain("session: s1 is another user's");
  const busy = await call(...another, '--user', 'ana');
  expect(busy.err).toContain('Session s1 is open in workflow t1');
  // Each command opens the folder, with a Lamport clock of its own.
  await release();
  const greet = ['run', 'greet', '--session', 's2', '--input', '{"name":"Di"}', '--workflows', AGENTS];
  for (const id of ['a', 'b', 'c']) expect((await call(...greet, '--id', id)).code).toBe(0);
  expect((await call('session', 'show', 's2')).out).toMatch(/newest was c .*\n(?:.*\n)*.*Earlier workflows: b .*, a /);
});

it('resumes a session by its id: the live workflow, or the next one where all have ended', async () => {
  release = await hold({ cwd, modules: [AGENTS] });
  const live = await json('session', 'resume', 's1', '--definition', 'greet');
  expect(live).toMatchObject({ workflow: 't1', created: false, session: { is_live: true } });
  const shown = await call('session', 'resume', 's1', '--definition', 'greet');
  expect(shown.out).toMatch(/^t1\nSession s1 of ana continues in workflow t1 \(transfer v1, parked: .*\)\.\n/);
  expect(shown.out).toMatch(/\nIt waits for a person \(\S+\): /);
  expect(shown.err).toContain('t1 was started before; --definition and --input are not used');

  const next = await json('session', 'resume', 's2');
  expect(next).toMatchObject({ created: true, session: { workflow: { input: { name: 'Di' } } } });
  expect((await call('watch', next.workflow)).code).toBe(0);
  const another = await json('session', 'resume', 's2', '--input', '{"name":"Eve"}');
  expect(another).toMatchObject({ created: true, session: { workflow: { input: { name: 'Eve' } } } });
  expect((await call('watch', another.workflow)).code).toBe(0);
  const unknown = await call('session', 'resume', 's9', '--json');
  expect([unknown.code, JSON.parse(unknown.err).error.code]).toEqual([65, 'session-unknown']);

  // Where nobody holds the folder, the command opens it, and the next one that runs workflows there does the rest.
  await release();
  const alone = await call('session', 'resume', 's2', '--workflows', AGENTS);
  expect([alone.code, alone.err]).toEqual([
    0,
    expect.stringContaining('it advances with the next tidemark dev or run'),
  ]);
  const id = alone.out.split('\n')[0]!;
  // The id is the session's own: nobody starts a run under it.
  const taken = await call('run', 'greet', '--id', id, '--workflows', AGENTS);
  expect([taken.code, taken.err]).toEqual([65, expect.stringContaining(id)]);
  release = await hold({ cwd, modules: [AGENTS] });
  expect((await call('watch', id)).code).toBe(0);
});
