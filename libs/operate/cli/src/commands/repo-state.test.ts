/** `tidemark state …` as people and scripts call it. */

import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { callCli } from '../called-cli-fixture.ts';
import { runCli } from '../program/program.ts';
import { SpawnedCli } from '../spawned-cli-fixture.ts';
import { Terminal } from '../terminal.ts';

async function repository() {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-cli-state-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  execFileSync('git', ['init', '--quiet'], { cwd: folder });
  const deep = path.join(folder, 'src', 'deep');
  await mkdir(deep, { recursive: true });
  const file = path.join(folder, '.workflow-state', 'audit-state.json');
  const call = (...args: string[]) => callCli(['state', ...args], { cwd: deep });
  return {
    folder,
    deep,
    file,
    call,
    json: async (...args: string[]) => JSON.parse((await call(...args, '--json')).out),
  };
}

it('leads through a workflow, from anywhere in the repository', async () => {
  const { call, file } = await repository();
  const said = async (...args: string[]): Promise<string> => {
    const { code, out, err } = await call(...args);
    // A check is shown before it runs.
    expect([code, err.replace(/^check of test: exit 0\n$/, '')]).toEqual([0, '']);
    return out;
  };
  expect(await said('resume', 'audit')).toBe(
    'audit: No earlier state was found: work begins at stage 1.\nBegin with: tidemark state init audit --stages …\n',
  );
  expect(await said('init', 'audit', '--stages', 'scan,fix', 'test', '--check', 'test=exit 0')).toBe(
    `audit begins with 3 stages, in ${path.join('.workflow-state', 'audit-state.json')} (git ignores it).\n`,
  );
  expect(await said('checkpoint', 'audit', 'scan', '--start', '--agent', 'ann')).toBe('audit: scan is in progress.\n');
  expect(
    await said('checkpoint', 'audit', 'scan', '--done', '--evidence', '12 files', '--artifact', 'report=out=1.json'),
  ).toBe('audit: scan is done; next is fix.\n');
  expect(await said('checkpoint', 'audit', '--note', 'two findings', '--agent', 'ann')).toBe('audit: noted.\n');
  expect(await said('resume', 'audit')).toBe(
    'audit: Resuming from stage 2: fix. Stage 1 already done.\nlast note of ann: two findings\n',
  );
  const shown = await said('show', 'audit');
  expect(shown).toMatch(/^audit v1, 1 of 3 stages done, changed (now|\d+ s ago)\n/);
  expect(shown).toMatch(/1 {2}scan +done +ann/);
  expect(shown).toMatch(/3 {2}test +pending +exit 0/);
  expect(shown).toMatch(/report +out=1\.json/);
  expect(await said('show')).toBe('audit\n');
  expect(JSON.parse(await readFile(file, 'utf8')).stages[0].evidence).toBe('12 files');
  expect(await said('checkpoint', 'audit', 'fix', 'test', '--done')).toMatch(
    /^passed {2}test: exit 0 \(\d+ ms\)\naudit: fix is done, test is done; all stages are done\.\n$/,
  );
  expect(await said('complete', 'audit')).toMatch(
    /^audit is archived in .*archive.audit-state-\d{8}T\d{6}Z\.json\.\n$/,
  );
});

it('ends with 1 when a check fails, and shows what it said', async () => {
  const { call, json } = await repository();
  await call('init', 'audit', '--stages', 'build', 'ship', '--check', 'build=echo broken; exit 4');
  const failed = await call('checkpoint', 'audit', 'build', 'ship', '--done');
  expect([failed.code, failed.err]).toEqual([1, 'check of build: echo broken; exit 4\n']);
  expect(failed.out).toMatch(
    /^failed {2}build: echo broken; exit 4 \(failed with 4, \d+ ms\)\n {2}broken\naudit: build is failed, ship is pending\.\n$/,
  );
  expect((await call('resume', 'audit')).out).toContain('Resuming from stage 1: build. It failed.');
  const shown = await json('show', 'audit');
  expect(shown.state.stages[0].evidence.check).toMatchObject({ exit_code: 4, passed: false, output: ['broken'] });
  const slow = await call('checkpoint', 'audit', 'build', '--done', '--check', 'sleep 60', '--check-timeout', '1s');
  expect([slow.code, slow.out]).toEqual([1, expect.stringContaining('(ended: timeout, ')]);
});

it('prints JSON for programs', async () => {
  const { json, call, file } = await repository();
  expect(await json('resume', 'audit')).toMatchObject({ fresh: true, stage: null });
  expect(await json('resume', 'audit', '--stages', 'a', 'b')).toMatchObject({
    fresh: true,
    stage: { number: 1, of: 2 },
  });
  expect(await json('resume', 'audit', '--stages', 'a', 'b')).toMatchObject({ fresh: false });
  expect(await json('checkpoint', 'audit', 'a', '--done', '--evidence', '{"rows":3}')).toMatchObject({
    passed: true,
    state: { current_stage: 'b', stages: [{ evidence: { rows: 3 } }, {}] },
  });
  expect(await json('show', 'none')).toMatchObject({ state: null });
  expect(await json('show')).toMatchObject({ names: ['audit'] });
  expect(await json('migrate', 'audit', '--to', '2', '--rename', 'b=c', '--check', 'c=exit 0')).toMatchObject({
    from: 1,
    backup: path.join('.workflow-state', 'audit-state.v1.json.bak'),
    state: {
      version: 2,
      stages: [
        { id: 'a', status: 'done' },
        { id: 'c', check: 'exit 0' },
      ],
    },
  });
  const every = ['--done', '--every', '2'];
  expect(await json('checkpoint', 'audit', 'x', '--add', ...every)).toMatchObject({ saved: false });
  expect(await json('show', 'audit')).toMatchObject({ state: { stages: [{}, {}, { id: 'x', status: 'done' }] } });
  expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ stages: [{}, {}] });
  expect(await json('checkpoint', 'audit', 'y', '--add', ...every)).toMatchObject({ saved: true });
  expect(JSON.parse(await readFile(file, 'utf8')).stages).toHaveLength(4);
  const refused = await call('complete', 'audit', '--json');
  expect([refused.code, refused.out]).toEqual([65, '']);
  expect(JSON.parse(refused.err)).toMatchObject({ error: { code: 'stages-open' } });
  expect(await json('complete', 'audit', '--open')).toMatchObject({ archived: expect.stringContaining('archive') });
});

it('keeps a state outside of a repository too, with a warning, or in another place that is named', async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-cli-state-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const call = (...args: string[]) => callCli(['state', ...args], { cwd: folder });
  // The place is the machine's, so the state has a name of its own.
  const name = `audit-${randomUUID()}`;
  const outside = await call('init', name, '--stages', 'a', '--json');
  const { file, warnings } = JSON.parse(outside.out);
  onTestFinished(async () => {
    for (const left of [file, file.replace(/json$/, 'lock')]) await rm(left, { force: true });
  });
  expect([outside.code, path.basename(file)]).toEqual([0, `${name}-state.json`]);
  expect(warnings.join()).toContain('which a restart of the machine may delete');
  expect((await call('show')).out).toContain(`${name}\n`);
  expect((await call('init', 'audit', '--stages', 'a', '--dir', '.')).code).toBe(0);
  expect((await call('resume', 'audit', '--dir', folder)).out).toContain('Resuming from stage 1: a.');
  const missing = await call('init', 'audit', '--dir', 'missing');
  expect([missing.code, missing.err]).toEqual([78, expect.stringContaining('no folder')]);
});

it('says what to type when two states are equally new, and asks where a person is', async () => {
  const { call, file, deep } = await repository();
  await call('init', 'audit', '--stages', 'a', 'b');
  const copy = file.replace('.json', ' (conflicted copy).json');
  const state = JSON.parse(await readFile(file, 'utf8'));
  await writeFile(copy, JSON.stringify({ ...state, notes: [{ text: 'the other' }] }));
  const refused = await call('resume', 'audit');
  expect(refused.code).toBe(65);
  expect(refused.err).toMatch(
    /somebody must choose:\n {2}1 .*\n {2}2 .*conflicted copy[\s\S]*Type: tidemark state resume audit --choose 1, or --choose 2\n$/,
  );

  let written = '';
  const stream = {
    isTTY: true,
    columns: 200,
    write(text: string | Uint8Array) {
      written += String(text);
      return true;
    },
  };
  const terminal = new Terminal({ stdout: stream, stderr: stream, env: { NO_COLOR: '1' }, json: false });
  const stdin = Object.assign(
    (async function* () {
      yield '2\n';
    })(),
    { isTTY: true },
  );
  expect(await runCli(['state', 'resume', 'audit'], { terminal, env: {}, cwd: deep, stdin })).toBe(0);
  expect(written).toContain('Which one counts? Type its number');
  expect(written).toMatch(
    /conflict resolved .*both are of the same time, and it was chosen; the other is in .*archive.conflict-audit/,
  );
  expect((await call('resume', 'audit')).out).toContain('last note: the other');
});

it('warns on standard error, and refuses secrets without repeating them', async () => {
  const { call, file } = await repository();
  await call('init', 'audit', '--stages', 'a');
  const secret = `gh${'p_'}q7Zr2mX9wK4vB8nT1cJ6yH3dF5gL0sPaRe7U`;
  const refused = await call('checkpoint', 'audit', '--note', `use ${secret}`);
  expect([refused.code, refused.err]).toEqual([65, expect.stringContaining('/notes/0/text (github-token)')]);
  expect(refused.out + refused.err).not.toContain(secret.slice(0, 12));
  await writeFile(file, (await readFile(file, 'utf8')).slice(0, -4));
  const resumed = await call('resume', 'audit');
  expect([resumed.code, resumed.out]).toEqual([0, expect.stringContaining('stage 1: a.')]);
  expect(resumed.err).toMatch(/warning: .*was damaged[\s\S]*warning: .*\.corrupt/);
});

it.each([
  [64, ['checkpoint', 'audit', 'a', '--done', '--fail']],
  [64, ['migrate', 'audit', '--to', '0']],
  [64, ['init', 'audit', '--check', 'x']],
  [64, ['checkpoint', 'audit', 'a', '--done', '--check-timeout', '10']],
  [64, ['checkpoint', 'audit', 'a', '--done', '--check-timeout', '25h']],
  [65, ['init', '../audit']],
  [65, ['init', 'audit', '--stages', 'a', '--check', 'b=exit 0']],
  [65, ['checkpoint', 'audit']],
  [65, ['checkpoint', 'audit', 'a']],
  [65, ['checkpoint', 'audit', '--done']],
  [65, ['checkpoint', 'audit', 'a', '--done', '--evidence', '{"cut']],
])('ends with %d for %j, and changes nothing', async (code, args) => {
  const { call, folder } = await repository();
  const refused = await call(...args);
  expect([refused.code, refused.out]).toEqual([code, '']);
  expect(refused.err).toMatch(/^error: .+\n$/);
  expect(execFileSync('ls', ['-A', folder], { encoding: 'utf8' })).toBe('.git\nsrc\n');
});

it('keeps the evidence of a check that is ended with Ctrl-C', async () => {
  const { deep, file } = await repository();
  const cli = new SpawnedCli(['state', 'checkpoint', 'audit', 'a', '--done', '--check', 'touch begun; sleep 60'], deep);
  onTestFinished(async () => void (await cli.kill()));
  const begun = path.join(file, '..', '..', 'begun');
  await expect
    .poll(
      () =>
        readFile(begun, 'utf8').then(
          () => true,
          () => false,
        ),
      { timeout: 60_000 },
    )
    .toBe(true);
  cli.process.kill('SIGINT');
  expect((await cli.ended()).code).toBe(130);
  expect(JSON.parse(await readFile(file, 'utf8')).stages[0]).toMatchObject({
    status: 'failed',
    evidence_fields: { check: { ended_by: 'interrupt' } },
  });
}, 120_000);
