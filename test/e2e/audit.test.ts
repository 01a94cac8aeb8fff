/**
 * The audit on a folder, as a process that is killed: it goes on from its newest checkpoint, reads no finished file again, and its
 * report is the bytes of an uninterrupted run's (A1, I1, I2, I10, D6).
 */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { type Host, openEmbedded } from '@tidemark/host';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runSeed } from '../run-seed.ts';
import { AuditProcess, momentsOf, resumedFrom } from './audit-process.ts';
import { referenceReport } from './reference-report.ts';
import { randomFrom, writeTree } from './source-tree.ts';

const FILES = 150;
const KILLS = 5;
const TIMEOUT_MS = 600_000;
const seed = runSeed();

let folder: string;
let tree: string;
let reference: readonly Buffer[];

const at = (name: string): string => path.join(folder, name);
const argsOf = (name: string, ...more: string[]): string[] => [
  ...[tree, '--state', at(`${name}.state`), '--out', at(`${name}.out`)],
  ...more,
];
const reportOf = async (name: string): Promise<readonly Buffer[]> => [
  await readFile(path.join(at(`${name}.out`), 'audit-report.md')),
  await readFile(path.join(at(`${name}.out`), 'audit-report.json')),
];

beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-audit-'));
  tree = at('tree');
  await writeTree(tree, { files: FILES, functions: 40, seed: 1 });
  const ended = await new AuditProcess(argsOf('reference')).ended;
  expect(ended.stderr).toBe('');
  expect(ended.code).toBe(0);
  reference = await reportOf('reference');
  expect(reference).toEqual(await referenceReport(tree, 'tree'));
}, TIMEOUT_MS);
afterAll(() => rm(folder, { recursive: true, force: true }));

describe(`killed at random places (TIDEMARK_TEST_SEED=${seed})`, () => {
  it('resumes each time, and ends with the same report', { timeout: TIMEOUT_MS }, async () => {
    const shares = momentsOf(KILLS, randomFrom(seed));
    let before = { files: 0, checkpoint: 0 };
    for (const share of shares) {
      const audit = new AuditProcess(argsOf('killed'));
      await audit.until(({ progress }) => progress.files >= share * FILES);
      const { stdout } = await audit.kill();
      expectResumed(stdout, before);
      before = audit.progress;
    }
    // Once more when all files are done: the merge or the report is under way.
    const last = new AuditProcess(argsOf('killed'));
    await last.until(({ progress }) => progress.files === FILES);
    expectResumed((await last.kill()).stdout, before);

    const ended = await new AuditProcess(argsOf('killed')).ended;
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(await reportOf('killed')).toEqual(reference);
    await expectOneChain(at('killed.state'));
  });

  it('without its state it begins with the first file: the control', { timeout: TIMEOUT_MS }, async () => {
    const first = new AuditProcess(argsOf('control-a'));
    await first.until(({ progress }) => progress.files >= FILES / 2);
    await first.kill();
    const ended = await new AuditProcess(argsOf('control-b')).ended;
    expect(resumedFrom(ended.stdout)).toBeUndefined();
    expect(ended.stdout).toContain('begins with the first file');
    expect(ended.stdout).not.toContain('known from checkpoints');
    expect(await reportOf('control-b')).toEqual(reference);
  });
});

describe('Ctrl-C', () => {
  it('hands over: the next start goes on from the very checkpoint it names', { timeout: TIMEOUT_MS }, async () => {
    const audit = new AuditProcess(argsOf('interrupted'));
    await audit.until(({ progress }) => progress.files >= FILES / 3);
    audit.signal('SIGINT');
    const { code, stdout } = await audit.ended;
    expect(code).toBe(130);
    const said = /Stopped at checkpoint (\d+) of run (\S+): (\d+) of 150 files done/.exec(stdout);
    expect(said).not.toBeNull();
    const ended = await new AuditProcess(argsOf('interrupted')).ended;
    expect(resumedFrom(ended.stdout)).toEqual({ checkpoint: Number(said![1]), run: said![2], files: Number(said![3]) });
    expect(ended.stdout).toContain(`${FILES - Number(said![3])} read now, ${said![3]} known from checkpoints`);
    expect(await reportOf('interrupted')).toEqual(reference);
  });
});

/** Nothing that was told to be committed is lost; the first start has nothing to resume. */
function expectResumed(stdout: string, before: { readonly files: number; readonly checkpoint: number }): void {
  const resumed = resumedFrom(stdout);
  if (before.checkpoint === 0) expect(resumed).toBeUndefined();
  else {
    expect(resumed?.files).toBeGreaterThanOrEqual(before.files);
    expect(resumed?.checkpoint).toBeGreaterThanOrEqual(before.checkpoint);
  }
}

/** Every file has exactly one checkpoint, in one unbroken chain (I2). */
async function expectOneChain(state: string): Promise<void> {
  const host: Host = await openEmbedded({ folder: state });
  try {
    const [only, ...others] = await host.ports.store.workflows({ limit: 10 });
    expect(others).toEqual([]);
    const rows = await host.client.run(only!.workflow).checkpoints(1, 10_000);
    expect(rows.map((row) => row.sequence)).toEqual(rows.map((_, index) => index + 1));
    for (const [index, row] of rows.entries()) expect(row.parent).toBe(rows[index - 1]?.checkpoint ?? null);
    const parsed = rows.filter((row) => row.step === 'parse').map((row) => row.lastAction);
    expect(parsed).toHaveLength(FILES);
    expect(new Set(parsed).size).toBe(FILES);
    // Every life of the process wrote some of them.
    expect(new Set(rows.map((row) => row.epoch)).size).toBeGreaterThan(KILLS);
  } finally {
    await host.close();
  }
}
