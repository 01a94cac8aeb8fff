/** Gates: a stage with a check is done when that passes, and never else; what it said is kept. */

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { eventually } from '@tidemark/testkit/eventually';
import { expect, it, onTestFinished } from 'vitest';
import { runCheck } from './check.ts';
import { testPlace } from './place-fixture.ts';

/** The command that runs this script with Node. */
const node = (script: string): string => `"${process.execPath}" -e "${script}"`;

it('keeps the evidence of a check that passed, and then the stage is done', async () => {
  const { open, folder, state, clock } = await testPlace({ onTestFinished });
  await writeFile(path.join(folder, 'here.txt'), '');
  const check = node("console.log(require('fs').existsSync('here.txt'))");
  await open().init({ stages: [{ id: 'build', check }, 'ship'] });
  const now = (): number => (clock.nowMs += 250);
  const result = await open({ now }).checkpoint({ stages: ['build'], status: 'done', evidence: { by: 'ci' } });
  expect(result).toMatchObject({ passed: true, saved: true, checks: [{ stage: 'build' }] });
  expect((await state()).stages[0]).toMatchObject({
    status: 'done',
    evidence: {
      by: 'ci',
      check: {
        command: check,
        exit_code: 0,
        passed: true,
        output: ['true'],
        output_sha256: createHash('sha256').update('true\n').digest('hex'),
        output_bytes: 5,
        duration_ms: 250,
        at: expect.stringMatching(/^2026-03-01T14:00:0/),
      },
    },
  });
});

it('leaves the stage failed when it does not pass, with the evidence, and stages behind it as they were', async () => {
  const { open, state } = await testPlace({ onTestFinished });
  await open().init({
    stages: ['lint', { id: 'build', check: node("console.error('no such file');process.exit(3)") }, 'ship'],
  });
  const result = await open({ checkpointEvery: 9 }).checkpoint({ stages: ['lint', 'build', 'ship'], status: 'done' });
  expect(result).toMatchObject({ passed: false, saved: true });
  expect((await state()).stages).toMatchObject([
    { id: 'lint', status: 'done' },
    { id: 'build', status: 'failed', evidence: { check: { exit_code: 3, passed: false, output: ['no such file'] } } },
    { id: 'ship', status: 'pending' },
  ]);
  expect((await open().resume()).line).toBe('Resuming from stage 2: build. Stage 1 already done. It failed.');
});

it('can not be gone around', async () => {
  const { open, state } = await testPlace({ onTestFinished });
  await open().init({ stages: [{ id: 'build', check: node('process.exit(1)') }] });
  const done = (evidence: object) =>
    open().update((now) => ({ ...now, stages: [{ ...now.stages[0]!, status: 'done', ...evidence }] }));
  await expect(done({})).rejects.toMatchObject({ code: 'check-missing' });
  // What a caller says of a check is not evidence of it, nor is another command's.
  const said = { check: { passed: true, command: 'x' } };
  expect(await open().checkpoint({ stages: ['build'], status: 'done', evidence: said })).toMatchObject({
    passed: false,
  });
  expect((await state()).stages[0]).toMatchObject({ status: 'failed', evidence: { check: { exit_code: 1 } } });
  await open().checkpoint({ stages: ['build'], status: 'done', check: node('0') });
  await expect(open().checkpoint({ stages: ['build'], check: node('1') })).rejects.toMatchObject({
    code: 'check-missing',
  });
});

it('does not run for a change that would be refused', async () => {
  const { open, folder } = await testPlace({ onTestFinished });
  await open().init({ stages: ['build'] });
  const check = 'echo > ran';
  const refused: [string, object][] = [
    ['state-secret', { stages: ['build'], note: `password${'='}hunter22` }],
    ['stage-unknown', { stages: ['built'] }],
  ];
  for (const [code, change] of refused) {
    await expect(open().checkpoint({ status: 'done', check, ...change })).rejects.toMatchObject({ code });
  }
  expect(existsSync(path.join(folder, 'ran'))).toBe(false);
});

it('that passes says nothing against what another program said of the stage meanwhile', async () => {
  const { open, folder, state } = await testPlace({ onTestFinished });
  await open().init({ stages: ['build', 'ship'] });
  const check = 'while [ ! -e said ]; do sleep 0.02; done; rm said';
  const during = (stage: string) => () => {
    const said = open().checkpoint({ stages: [stage], status: 'failed', evidence: { text: 'seen to fail' } });
    void said.then(() => writeFile(path.join(folder, 'said'), ''));
  };
  const build = { stages: ['build'], status: 'done', check } as const;
  await expect(open({ onCheck: during('build') }).checkpoint(build)).rejects.toMatchObject({
    code: 'stage-changed',
    message: expect.stringContaining('(it is failed)'),
  });
  expect((await state()).stages[0]).toMatchObject({ status: 'failed', evidence: { text: 'seen to fail' } });
  // What was said of another stage does not count against it (control).
  await open({ onCheck: during('ship') }).checkpoint(build);
  expect((await state()).stages).toMatchObject([{ status: 'done' }, { status: 'failed' }]);
});

it('that passes is kept beside another program’s word that its stage is done', async () => {
  const { open, folder, state, read, write } = await testPlace({ onTestFinished });
  await open().init({ stages: ['build'] });
  const check = 'while [ ! -e said ]; do sleep 0.02; done';
  const onCheck = () => {
    const said = read().then((text) =>
      write(text.replace('"status": "pending"', '"status": "done", "evidence": "seen"')),
    );
    void said.then(() => writeFile(path.join(folder, 'said'), ''));
  };
  await open({ onCheck }).checkpoint({ stages: ['build'], status: 'done', check, evidence: { text: 'mine' } });
  expect((await state()).stages).toMatchObject([
    { status: 'done', check, evidence: { text: 'seen', also: { text: 'mine' }, check: { passed: true } } },
  ]);
});

it('has another check to pass after a migration that brings one', async () => {
  const { open } = await testPlace({ onTestFinished });
  await open().init({ stages: ['build'] });
  await open().checkpoint({ stages: ['build'], status: 'done' });
  const { state } = await open().migrate({ to: 2, stages: [{ id: 'build', check: node('0') }] });
  expect(state.stages).toMatchObject([{ status: 'in_progress', check: node('0') }]);
});

it('keeps the last lines alone, without colours and secrets', async () => {
  const { open } = await testPlace({ onTestFinished });
  const script =
    "for(let i=0;i<5000;i++)console.log('line',i,'x'.repeat(i%900));console.log('\\u001b[31mpassword'+'=hunter22\\u001b[0m')";
  const { checks } = await open().checkpoint({ stages: ['a'], status: 'done', check: node(script) });
  const { output, output_bytes, passed } = checks[0]!.evidence;
  expect(passed).toBe(true);
  expect(output).toHaveLength(20);
  expect(output.at(-1)).toBe('password=[masked password]');
  expect(output.at(-2)).toMatch(/^line 4999 x+…$/);
  expect(Math.max(...output.map((line) => line.length))).toBeLessThanOrEqual(401);
  expect(output_bytes).toBeGreaterThan(1_000_000);
});

it('is ended with all that it started when it takes too long, or is interrupted', async () => {
  const { folder } = await testPlace({ onTestFinished });
  const child = 'setInterval(()=>{},1e3)';
  const command = node(
    `console.log(require('child_process').spawn(process.execPath,['-e','${child}'],{stdio:'ignore'}).pid);${child}`,
  );
  const options = { cwd: folder, now: () => performance.now() };
  let slow = await runCheck(command, { ...options, timeoutMs: 1_500 });
  // A busy machine may need longer to begin.
  if (slow.output.length === 0) slow = await runCheck(command, { ...options, timeoutMs: 30_000 });
  expect(slow).toMatchObject({ exit_code: null, passed: false, ended_by: 'timeout' });
  await eventually(() => isGone(Number(slow.output[0])));
  const asked = new AbortController();
  const running = runCheck(node(child), { ...options, timeoutMs: 60_000, signal: asked.signal });
  asked.abort();
  expect(await running).toMatchObject({ passed: false, ended_by: 'interrupt' });
});

it('that can not be started has failed', async () => {
  const { folder } = await testPlace({ onTestFinished });
  const options = { now: () => 0, timeoutMs: 5_000 };
  expect(await runCheck('no-such-command-anywhere', { ...options, cwd: folder })).toMatchObject({ passed: false });
  expect(await runCheck('exit 0', { ...options, cwd: path.join(folder, 'missing') })).toMatchObject({
    passed: false,
    ended_by: 'not started',
  });
});

function isGone(pid: number): boolean {
  expect(pid).toBeGreaterThan(1);
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}
