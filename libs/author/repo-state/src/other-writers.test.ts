/** A state as another program writes it: read as it is, and written back in its form; outside of a repository, and by a patch. */

import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { testPlace } from './place-fixture.ts';
import { openRepoState } from './repo-state.ts';

const SAMPLE = await readFile(new URL('../fixtures/release-state.json', import.meta.url), 'utf8');
const FILE = 'release-state.json';

/** How their program reads it. */
function theirs(text: string) {
  const state = JSON.parse(text) as {
    stages: { id: string; status: string; evidence?: string }[];
    artifacts: string[];
    notes: string;
  };
  return {
    next: state.stages.find(({ status }) => status !== 'done')?.id,
    evidence: state.stages.map(({ evidence }) => evidence?.toUpperCase()),
    artifacts: state.artifacts.filter((each) => each.endsWith('.tgz')),
    notes: state.notes.split('\n'),
  };
}

describe('a state of another program', () => {
  it('is resumed, and written back so that its own reader still works', async () => {
    const { open, write, read } = await testPlace({ onTestFinished });
    await write(SAMPLE, FILE);
    const release = open({ name: 'release' });
    const report = await release.resume();
    expect(report).toMatchObject({
      line: 'Resuming from stage 2: build. Stage 1 already done. It is in progress.',
      warnings: [],
      state: {
        artifacts: { 'plan.md': 'plan.md', 'dist/app.tgz': 'dist/app.tgz' },
        notes: [{ text: 'waiting for the build' }],
      },
    });
    await release.checkpoint({
      stages: ['build'],
      status: 'done',
      evidence: { text: 'built' },
      artifacts: { 'dist/app.sig': 'dist/app.sig' },
      note: 'signed',
    });
    expect(theirs(await read(FILE))).toEqual({
      next: 'ship',
      evidence: ['PLAN.MD REVIEWED', 'BUILT', undefined],
      artifacts: ['dist/app.tgz'],
      notes: ['waiting for the build', 'signed'],
    });
    expect((await release.resume()).line).toBe('Resuming from stage 3: ship. Stages 1–2 already done.');
  });

  it('in a hundred variants: missing fields, other orders, fields of its own, other times, lists and texts', async () => {
    const { open, write, read } = await testPlace({ onTestFinished });
    const sample = JSON.parse(SAMPLE) as Record<string, unknown>;
    const variants = fc.record({
      keys: fc.shuffledSubarray(Object.keys(sample)),
      more: fc.dictionary(fc.constantFrom('owner', 'x-tries', 'größe'), fc.jsonValue({ maxDepth: 1 })),
      evidence: fc.constantFrom<unknown>('reviewed', '', ['a', 'b'], { by: 'ann' }, undefined),
      updated_at: fc.constantFrom('2026-05-20T10:00:00Z', '2026-05-20T10:00:00.120345', '2026-05-20 10:00:00+08:00'),
      slip: fc.constantFrom(
        (text: string) => text,
        (text: string) => text.replace(/}$/, ',}'),
      ),
    });
    let count = 0;
    await fc.assert(
      fc.asyncProperty(variants, async ({ keys, more, evidence, updated_at, slip }) => {
        const [plan, ...rest] = sample.stages as object[];
        const all = { ...sample, updated_at, stages: [{ ...plan, evidence }, ...rest] } as Record<string, unknown>;
        const given: Record<string, unknown> = { ...more };
        for (const key of new Set([...keys, 'workflow', 'stages'])) given[key] = all[key];
        await write(slip(JSON.stringify(given)), FILE);
        const release = open({ name: 'release' });
        expect((await release.resume()).line).toMatch(/^Resuming from stage 2: build\. Stage 1 already done\./);
        await release.checkpoint({ stages: ['build'], status: 'in_progress' });
        const after = JSON.parse(await read(FILE)) as Record<string, unknown>;
        expect(after).toMatchObject(more);
        expect((after.stages as { evidence?: unknown }[])[0]?.evidence).toEqual(evidence);
        expect(Array.isArray(after.artifacts)).toBe('artifacts' in given);
        expect(typeof after.notes === 'string').toBe('notes' in given);
        count += 1;
      }),
      { numRuns: 100, seed: 24 },
    );
    expect(count).toBe(100);
  });
});

describe('outside of a repository', () => {
  it('a state lies in the system’s temporary folder, for its user alone, and each answer warns of it', async () => {
    const { temporaryFolder } = await testPlace({ onTestFinished });
    const outside = openRepoState({ folder: undefined, name: 'audit', now: () => 0, temporaryFolder });
    expect((await outside.resume()).line).toBe('No prior state found, beginning from stage 1.');
    const { file, warnings } = await outside.init({ stages: ['scan'] });
    expect(file).toBe(path.join(temporaryFolder, 'workflow-state', 'audit-state.json'));
    expect(warnings).toEqual([expect.stringContaining('which a restart of the machine may delete')]);
    expect((await stat(path.dirname(file))).mode & 0o777).toBe(0o700);
    expect((await outside.resume()).line).toBe('Resuming from stage 1: scan.');
  });

  it('a folder that somebody else made there is not used', async () => {
    const { temporaryFolder } = await testPlace({ onTestFinished });
    await writeFile(path.join(temporaryFolder, 'workflow-state'), '');
    const outside = openRepoState({ folder: undefined, name: 'audit', now: () => 0, temporaryFolder });
    for (const act of [() => outside.init({ stages: ['scan'] }), () => outside.resume()]) {
      await expect(act()).rejects.toThrow(/belongs to somebody else|can't be used/);
    }
  });
});

describe('a blackboard', () => {
  it('is joined with a patch: what others wrote stays, and null takes away', async () => {
    const { open } = await testPlace({ onTestFinished });
    await open().init({ stages: ['scan'] });
    await Promise.all([
      open().patch({ findings: { carts: 1, prices: 2 } }),
      open().patch({ findings: { users: { count: 3 } }, artifacts: { bundle: 'dist/shop.js' } }),
    ]);
    const { state } = await open().patch({ findings: { carts: null } });
    expect(state).toMatchObject({
      findings: { prices: 2, users: { count: 3 } },
      artifacts: { bundle: 'dist/shop.js' },
    });
    expect((state as { findings?: object }).findings).not.toHaveProperty('carts');
  });

  it.each(['stages', 'version', 'updated_at'])('can not change %s so', async (field) => {
    const { open } = await testPlace({ onTestFinished });
    await open().init({ stages: ['scan'] });
    await expect(open().patch({ [field]: null })).rejects.toMatchObject({ code: 'patch-field-owned' });
  });

  it('is none without a state', async () => {
    const { open, folder } = await testPlace({ onTestFinished });
    await mkdir(path.join(folder, '.workflow-state'));
    await expect(open().patch({ a: 1 })).rejects.toMatchObject({ code: 'state-missing' });
  });
});
