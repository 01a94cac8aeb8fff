// The audit as a workflow, in process: stopped at every kind of place, it parses no finished file again and writes the same bytes
// (A1, I2, I10).

import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NotDoneError } from '@tidemark/sdk';
import { type CrashPoint, type TestWorld, testWorld } from '@tidemark/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { MAX_SUMMARY_ATTEMPTS, PARALLEL_FILES } from './limits.ts';
import { askModel } from './summary-effect.ts';
import { type AuditInput, type AuditResult, codebaseAudit } from './workflow.ts';

const FILES = 50;
/** Paths that the parse step was run for, in all lives of the worker. */
let parsed: string[] = [];
let beforeParse: (path: string) => void = () => {};

/** The workflow itself, with an eye on its parse step. */
const steps = [...codebaseAudit.steps].map(([name, step]) => {
  const run: typeof step.run = (context, input) => {
    if (name === 'parse') {
      const { path } = input as { path: string };
      parsed.push(path);
      beforeParse(path);
    }
    return step.run(context, input);
  };
  return [name, { ...step, run }] as const;
});
const workflow: typeof codebaseAudit = { ...codebaseAudit, steps: new Map(steps) };

let world: TestWorld;
let folder: string;
beforeAll(async () => {
  world = await testWorld({ workflows: [workflow] });
});
afterAll(() => world.close());
beforeEach(() => {
  for (const name of ['OPENAI_API_KEY', 'OPENAI_BASE_URL', 'AI_GATEWAY_API_KEY', 'AUDIT_MODEL']) vi.stubEnv(name, '');
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'audit-workflow-')));
  for (let n = 0; n < FILES; n++) {
    put(`f${n}.ts`, `import { x as y } from './f${(n + 1) % FILES}.ts';\nexport const x = eval(y);`);
  }
  parsed = [];
});
afterEach(() => {
  vi.unstubAllEnvs();
  beforeParse = () => {};
  rmSync(folder, { recursive: true, force: true });
});

const put = (path: string, text: string): void => writeFileSync(join(folder, path), text);
/** Ids are of this test's folder, so that no two tests mean the same run. */
const start = (out: string) => {
  const input: AuditInput = { root: folder, label: 'tree', out: join(folder, out), skipPaths: [], fingerprint: 'f' };
  return world.start(workflow, input, { id: `${folder} ${out}` });
};
const audited = async (out: string) => (await (await start(out)).result()) as AuditResult;
const reportIn = (out: string): string[] =>
  readdirSync(join(folder, out))
    .sort()
    .map((file) => readFileSync(join(folder, out, file), 'utf8'));
const named = <P extends CrashPoint>(points: readonly P[]) =>
  points.map((point) => [JSON.stringify(point), point] as const);

describe('the audit', () => {
  it('reads each file once, and writes nothing but its two reports', async () => {
    const result = await audited('out');
    expect(result).toMatchObject({ files: FILES, unreadable: 0, cycles: 1, summaries: { model: null } });
    expect(result.findings.high).toBe(FILES);
    expect(parsed).toHaveLength(FILES);
    expect(readdirSync(join(folder, 'out')).sort()).toEqual(['audit-report.json', 'audit-report.md']);
  });

  const points = named([
    { after: 'LeaseClaimed' },
    { before: 'CheckpointCommitted', step: 'discover' },
    { after: 'CheckpointCommitted', step: 'discover' },
    { before: 'CheckpointCommitted', step: 'parse' },
    { after: 'CheckpointCommitted', step: 'parse' },
    { before: 'CheckpointCommitted', step: 'merge' },
    { after: 'CheckpointCommitted', step: 'merge' },
    { before: 'WorkflowCompleted' },
  ]);
  it.each(points)('gives the same bytes when its worker dies at %s', async (_name, point) => {
    const expected = await audited('uninterrupted');
    parsed = [];
    const crashCount = world.crashCount;
    world.crash(point);
    expect(await audited('interrupted')).toEqual(expected);
    expect(world.crashCount).toBe(crashCount + 1);
    expect(reportIn('interrupted')).toEqual(reportIn('uninterrupted'));
    // Only what was under way at the crash is read a second time, and each file is committed once.
    expect(new Set(parsed).size).toBe(FILES);
    expect(parsed.length).toBeLessThanOrEqual(FILES + PARALLEL_FILES);
    const rows = await (await start('interrupted')).checkpoints();
    expect(rows.filter((row) => row.step === 'parse')).toHaveLength(FILES);
  });

  it('goes from page to page, and merges after the last file of all', { timeout: 120_000 }, async () => {
    for (let n = 0; n < 1_000; n++) put(`g${n}.ts`, '');
    world.crash({ after: 'CheckpointCommitted', step: 'discover' });
    expect((await audited('out')).files).toBe(FILES + 1_000);
    expect(new Set(parsed).size).toBe(FILES + 1_000);
    const ran = (await (await start('out')).checkpoints(1, 10_000)).map((row) => row.step);
    expect(ran.filter((step) => step === 'discover')).toHaveLength(2);
    expect(ran.slice(-2)).toEqual(['merge', 'report']);
  });

  it('records a file that is gone by then, and goes on', async () => {
    beforeParse = (path) => path === 'f7.ts' && rmSync(join(folder, path), { force: true });
    expect(await audited('out')).toMatchObject({ files: FILES, unreadable: 1 });
    expect(reportIn('out')[1]).toContain('Could not be read: `f7.ts`');
  });

  it('fails, rather than reporting an empty tree, when the whole tree is gone', async () => {
    rmSync(folder, { recursive: true });
    const result = world.fastForward((await start('out')).result());
    await expect(result).rejects.toMatchObject({ message: expect.stringContaining('ENOENT') });
  });
});

describe('with a model', () => {
  let callsBefore: number;
  const calls = () => world.calls(askModel).slice(callsBefore);
  beforeEach(() => {
    vi.stubEnv('OPENAI_API_KEY', 'k');
    vi.stubEnv('AUDIT_MODEL', 'stub');
    callsBefore = world.calls(askModel).length;
    world.stub(askModel, async () => ({ ok: true, text: 'What it does.', model: 'openai/stub', tokens: 30 }));
  });

  it('asks about each module once, and puts the answers into the report', async () => {
    const { summaries } = await audited('out');
    expect(summaries).toEqual({ model: 'openai/stub', written: 1, missing: 0, unasked: 0, tokens: 30, reason: null });
    expect(reportIn('out')[1]).toContain('> What it does.');
    expect(calls()).toHaveLength(1);
    expect((await (await start('out')).summary())?.tokens).toBe(30);
  });

  const points = named([
    { before: 'EffectIntended' },
    { after: 'EffectIntended' },
    { after: 'call' },
    { after: 'EffectResolved' },
    { before: 'CheckpointCommitted', step: 'summarise' },
  ]);
  it.each(points)('never asks again once an answer is recorded: its worker dies at %s', async (_name, point) => {
    const crashCount = world.crashCount;
    world.crash(point);
    expect((await audited('out')).summaries).toMatchObject({ written: 1, tokens: 30 });
    expect(world.crashCount).toBe(crashCount + 1);
    expect(calls()).toHaveLength(point.after === 'call' ? 2 : 1);
    expect(new Set(calls().map((call) => call.key)).size).toBe(1);
  });

  it('does without it when it stays out of reach, and says so', async () => {
    world.stub(askModel, async () => {
      throw new NotDoneError('the model is overloaded');
    });
    expect(await world.fastForward((await start('out')).result())).toMatchObject({
      summaries: { written: 0, missing: 1, reason: expect.stringContaining('the model is overloaded') },
    });
    expect(calls()).toHaveLength(MAX_SUMMARY_ATTEMPTS);
    expect(reportIn('out')[1]).not.toContain('What the modules do');
  });
});
