/** History beyond log and rows, by command: archived, verified, read from every tier, brought back, told in sizes, and forgotten. */

import { cp, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { callCli, hold } from './called-cli-fixture.ts';

const MODULE = path.resolve(import.meta.dirname, '../../../../examples/patterns/src/fan-out.ts');
let cwd: string;
/** A folder with a run `one`, which is copied: making one and running something in it takes longer. */
let model: string;
beforeAll(async () => {
  model = await mkdtemp(path.join(tmpdir(), 'tidemark-archive-'));
  await callCli(runOf('one', model), { cwd: model });
});
afterAll(() => rm(model, { recursive: true, force: true }));
let env: Record<string, string>;
beforeEach(async () => {
  cwd = await mkdtemp(path.join(tmpdir(), 'tidemark-archive-'));
  await writeFile(path.join(cwd, 'a.txt'), 'one\ntwo\n');
  env = {};
});
afterEach(() => rm(cwd, { recursive: true, force: true }));

/** From here on commands go through this process. */
const held = (...modules: string[]) => hold({ cwd, env, state: 'state', modules });
const call = (...args: string[]) => callCli([...args, '--state', 'state'], { cwd, env });
const json = async (...args: string[]) => JSON.parse((await call(...args, '--json')).out) as Record<string, unknown>;
const runOf = (id: string, directory: string): string[] => {
  const input = ['--input', JSON.stringify({ directory })];
  return ['run', 'count-lines', '--workflows', MODULE, '--id', id, ...input, '--state', 'state'];
};
const run = (id: string, ...more: string[]) => callCli([...runOf(id, cwd), ...more], { cwd, env });
const copied = () => cp(path.join(model, 'state'), path.join(cwd, 'state'), { recursive: true });
const archive = () => json('admin', 'compact', '--older-than', '1s');

/** Archives once it is old enough. */
const archived = () => expect.poll(archive).toMatchObject({ segments: 1, failed_partitions: 0 });

describe('history', () => {
  it('is archived, proved, shown, brought back, and outlives its rows', async () => {
    await copied();
    const before = await json('show', 'one', '--checkpoints');
    const nothing = await call('admin', 'verify');
    expect([nothing.code, nothing.out]).toEqual([66, expect.stringContaining('there is nothing to verify')]);
    await archived();
    expect(await json('admin', 'verify')).toMatchObject({ segments: 1, problems: [], unread_segments: 0 });
    expect((await call('du', '--by', 'workflow')).out).toMatch(/one +1 +0 B/);
    const { changed_ago: _, ...rest } = await json('show', 'one', '--checkpoints');
    expect({ ...before, ...rest }).toEqual(before);
    expect((await call('admin', 'restore', 'one')).out).toContain('is available');
    expect(await json('admin', 'restore', 'one')).toEqual({ api_version: 'v1', workflow: 'one', state: 'here' });

    const { checks } = await json('admin', 'doctor', '--rows');
    expect(checks).toContainEqual(expect.objectContaining({ check: 'Fold', level: 'ok' }));
    expect(await json('admin', 'rebuild')).toMatchObject({ log_entries: expect.any(Number) });
    expect({ ...before, ...(await json('show', 'one', '--checkpoints')) }).toEqual(before);
    await rm(path.join(cwd, 'state/rows'), { recursive: true });
    expect({ ...before, ...(await json('show', 'one', '--checkpoints')) }).toEqual(before);
    expect((await call('admin', 'restore', 'nobody')).code).toBe(65);
  });

  it('that was tampered with is told, with exit code 74, and stays as it is', async () => {
    await copied();
    // Never after no time, nor before its own.
    expect(await call('admin', 'compact', '--older-than', '0d')).toMatchObject({ code: 64 });
    expect(await json('admin', 'compact', '--older-than', '7d')).toMatchObject({ segments: 0 });
    await archived();
    const folder = path.join(cwd, 'state/archive/segments');
    const [name] = (await readdir(folder, { recursive: true })).filter((each) => each.endsWith('.parquet'));
    const file = path.join(folder, name!);
    const bytes = await readFile(file);
    bytes[bytes.length >> 1]! ^= 1;
    await writeFile(file, bytes);
    const { code, err } = await call('admin', 'verify');
    expect(code).toBe(74);
    expect(err).toContain('segment-damaged');
    expect((await readFile(file)).equals(bytes)).toBe(true);
  });
});

it('a tenant’s policy and holds are set, shown and taken away, and nothing is kept for no time', async (context) => {
  context.onTestFinished(await held(MODULE));
  await run('one');
  const none = { api_version: 'v1', tenant: 'default', policy: null, holds: [] };
  expect(await json('retention')).toEqual(none);
  expect(await call('retention', 'set', '--warm', '0d', '--keep', 'forever')).toMatchObject({ code: 64 });
  expect(await call('retention', 'set', '--warm', '30d')).toMatchObject({ code: 64 });
  expect(await call('retention', 'set', '--warm', '30d', '--keep', '7d')).toMatchObject({ code: 65 });
  await call('retention', 'set', '--warm', '7d', '--keep', '30d');
  const why = ['--by', 'ana', '--why', 'a dispute'];
  expect(await call('retention', 'hold', 'case', '--workflow', 'nobody', ...why)).toMatchObject({ code: 65 });
  await call('retention', 'hold', 'case', '--workflow', 'one', ...why);
  const hold = { hold: 'case', workflow: 'one', by: 'ana', why: 'a dispute' };
  const days = 86_400_000;
  const policy = { warm_ms: 7 * days, keep_ms: 30 * days };
  expect(await json('retention')).toEqual({ ...none, policy, holds: [hold] });
  expect((await call('retention')).out).toContain('a dispute');
  expect(await call('retention', 'hold', 'case', '--workflow', 'one', ...why)).toMatchObject({ code: 0 });
  const taken = await call('retention', 'hold', 'case', ...why);
  expect([taken.code, taken.err]).toEqual([65, expect.stringContaining('case holds one already, set by ana')]);
  const elsewhere = await call('retention', 'hold', 'other', '--workflow', 'one', '--tenant', 'acme', ...why);
  expect([elsewhere.code, elsewhere.err]).toEqual([65, expect.stringContaining('tenant default')]);
  const acme = await call('retention', 'hold', 'all', '--tenant', 'acme', ...why);
  expect(acme.out).toContain('tidemark retention release all --tenant acme');
  expect((await call('retention', 'set', '--default', '--tenant', '')).err).toContain('--tenant');
  expect((await call('retention', 'set', '--warm', '1d', '--keep', '9999999d')).err).toContain('from 1 to 999999');
  expect(await call('retention', 'release', 'other')).toMatchObject({ code: 65 });
  await call('retention', 'release', 'case');
  await call('retention', 'set', '--default');
  expect(await json('retention')).toEqual(none);
});

it('what a policy deleted is told by compact and verify, and is nothing wrong, and the policy stays', async () => {
  await copied();
  await call('retention', 'set', '--warm', '1s', '--keep', '1s');
  // The policy is told by events, which never end; they lie beside the run's.
  await expect.poll(archive).toMatchObject({ segments: 2, deleted_segments: 0 });
  const compacted = async () => (await call('admin', 'compact', '--older-than', '1s')).out;
  await expect.poll(compacted).toContain('Retention: deleted 1 segment for good.');
  expect(await json('admin', 'verify')).toMatchObject({ deleted_segments: 1, unread_segments: 0, problems: [] });
  await rm(path.join(cwd, 'state/rows'), { recursive: true });
  expect(await json('retention')).toMatchObject({ policy: { warm_ms: 1_000, keep_ms: 1_000 } });
  const { code, out } = await call('admin', 'verify');
  expect([code, out]).toEqual([0, expect.stringContaining('Of 1 segment a policy left the manifest alone.')]);
});

describe('keys', () => {
  beforeEach(async () => {
    env = { TIDEMARK_KEYS_URL: pathToFileURL(path.join(cwd, 'keys.json')).href };
    expect((await call('admin', 'keys', 'begin')).out).toContain('is encrypted from now on');
  });

  it('are told, wrapped anew after a rotation, and needed to read', async () => {
    await run('one');
    const secrets = path.join(cwd, 'secrets.json');
    env = { ...env, TIDEMARK_SECRETS_KEYS_URL: pathToFileURL(secrets).href };
    const { rotated } = await json('admin', 'keys', 'rotate');
    expect(rotated).toMatchObject([{ file: path.join(cwd, 'keys.json') }, { file: secrets }]);
    for (const { file, wrapped_by } of rotated as readonly { readonly file: string; readonly wrapped_by: string }[]) {
      expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ current: wrapped_by, keys: { length: 2 } });
    }
    expect(await json('admin', 'keys')).toMatchObject({
      keys: [{ provider: 'local', is_current: false, data_keys: 1 }],
    });
    expect(await json('admin', 'keys', 'rewrap')).toMatchObject({ rewrapped: 1, wrong: 0 });
    expect(await json('admin', 'keys')).toMatchObject({ keys: [{ is_current: true }] });
    expect((await call('show', 'one')).out).toContain('"lines"');
    env = {};
    const refused = { code: 78, err: expect.stringContaining('TIDEMARK_KEYS_URL is not set') };
    expect(await call('show', 'one')).toMatchObject(refused);
    env = { TIDEMARK_ENCRYPTION: 'off' };
    expect((await call('show', 'one')).err).toMatch(
      /is encrypted, and this process was given no keys: set TIDEMARK_KEYS_URL/,
    );
    env = { TIDEMARK_ENCRYPTION: 'no' };
    expect(await call('show', 'one')).toMatchObject({ code: 78, err: expect.stringContaining('on or off') });
  });

  it('that are lost, with their store or their file, are told by doctor', async () => {
    await run('one');
    expect(await json('admin', 'doctor')).toMatchObject({ exit_code: 0 });
    const [store, file, away] = ['state/log/keys.sqlite', 'keys.json', 'away'].map((name) => path.join(cwd, name));
    await rename(store!, away!);
    await call('show', 'one');
    const { exit_code, checks } = await json('admin', 'doctor');
    expect(exit_code).toBe(74);
    expect(checks).toContainEqual(
      expect.objectContaining({ check: 'History', level: 'fail', message: expect.stringContaining(store!) }),
    );
    await rename(away!, store!);
    expect(await json('admin', 'doctor')).toMatchObject({ exit_code: 0 });
    await rename(file!, away!);
    expect(await call('admin', 'doctor')).toMatchObject({
      code: 78,
      out: expect.stringContaining(`${file} does not exist`),
    });
    expect(await readdir(cwd)).not.toContain('keys.json');
    await rename(away!, file!);
    expect(await json('admin', 'doctor')).toMatchObject({ exit_code: 0 });
  });

  it('of a run or a user are destroyed for good; who, when and how much stays, and so does the proof', async () => {
    const making = await held(MODULE);
    await run('one', '--user', 'ana');
    await run('two', '--user', 'bob');
    await making();
    const why = ['--by', 'carl', '--why', 'they asked'];
    expect(await call('admin', 'forget', ...why)).toMatchObject({ code: 65 });
    expect(await call('admin', 'forget', '--workflow', 'nobody', ...why)).toMatchObject({ code: 65 });
    const nobody = await call('admin', 'forget', '--user', 'anna', ...why);
    expect([nobody.code, nobody.err]).toEqual([65, expect.stringContaining('has no user anna')]);
    expect(await json('admin', 'forget', '--user', 'ana', ...why)).toMatchObject({
      of: 'user:ana',
      keys: [expect.any(String)],
    });
    const release = await held(MODULE);
    const shown = await json('show', 'one');
    expect(shown).toMatchObject({ status: 'completed', forgotten: true, input: null });
    expect(shown).not.toHaveProperty('output');
    const { out } = await call('show', 'one', '--events', '--checkpoints', '--effects');
    expect(out).toContain('was forgotten for good');
    expect(out).not.toMatch(/null|Output|Belief/);
    const gone = { code: 65, out: '', err: expect.stringMatching(/one was forgotten for good/) };
    expect(await call('compare', 'one', 'two')).toMatchObject(gone);
    expect(await call('compare', 'two', 'one')).toMatchObject(gone);
    expect(await call('show', 'one', '--at', '1')).toMatchObject(gone);
    expect(await call('fork', 'one', '--at', '0', '--by', 'carl')).toMatchObject(gone);
    expect(await call('watch', 'one')).toMatchObject({ code: 65, err: gone.err });
    expect(await run('one')).toMatchObject({ code: 65, err: gone.err });
    // The control: nothing of the other is said to be forgotten.
    expect(await json('show', 'two')).toMatchObject({ forgotten: false });
    expect(await call('show', 'two', '--at', '1')).toMatchObject({ code: 0 });
    expect(await json('show', 'two')).toMatchObject({ status: 'completed', output: { lines: expect.any(Number) } });
    await release();
    await archived();
    expect(await json('admin', 'verify')).toMatchObject({ problems: [] });
  });
});
