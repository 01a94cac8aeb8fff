/** A state as another program writes it: read as it is, and written back in its form; outside of a repository, and by a patch. */

import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Json } from '@tidemark/core';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { checkpointed, isContradicted } from './changes.ts';
import { nodeFiles } from './files.ts';
import { aState, testPlace } from './place-fixture.ts';
import { openRepoState } from './repo-state.ts';
import type { RepoState } from './state-file.ts';

const SAMPLE = await readFile(new URL('../fixtures/release-state.json', import.meta.url), 'utf8');
const FILE = 'release-state.json';
const AT = '2026-05-20T10:00:00.000Z';

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
        expect([Array.isArray(after.artifacts), typeof after.notes]).toEqual([true, 'string']);
        count += 1;
      }),
      { numRuns: 100, seed: 24 },
    );
    expect(count).toBe(100);
  });
});

it('each word that another’s stands before is kept in `also`', () => {
  const stage = { id: 'scan', status: 'done', evidence: { text: 'theirs' } } as const;
  const both = (state: RepoState, evidence: Record<string, Json>) =>
    checkpointed(state, { stages: ['scan'], status: 'done', evidence }, new Map(), AT, new Set(['scan']));
  const once = both({ ...aState(), stages: [stage] } as never, { text: 'ann' });
  const again = { ...once, stages: [{ ...once.stages[0]!, evidence: { ...once.stages[0]!.evidence, rows: 3 } }] };
  expect(both(again, { rows: 4 }).stages[0]?.evidence).toEqual({
    ...{ text: 'theirs', rows: 3 },
    also: { text: 'ann', rows: 4 },
  });
});

it.each([
  ['2026-05-20T09:00:00Z', false],
  ['2026-05-20T13:00:00+02:00', true],
  // Of an unknown zone.
  ['2026-05-20T09:00:00', true],
  [undefined, true],
])('a change of status of %s counts against ours of ten o’clock: %s', (updated_at, is) => {
  const now = { id: 'scan', status: 'failed', ...(updated_at !== undefined && { updated_at }) } as const;
  expect(isContradicted({ id: 'scan', status: 'pending' }, now, { status: 'done', at: AT })).toBe(is);
  // What only stands beside the status doesn't, without a time that can be compared.
  const beside = { ...now, status: 'pending', owner: 'bob' } as const;
  if (!/[Z+]/.test(updated_at ?? '')) {
    expect(isContradicted({ id: 'scan', status: 'pending' }, beside, { status: 'done', at: AT })).toBe(false);
  }
});

describe('a new state', () => {
  it('is plain for other programs: texts and a list of paths, with what is ours in fields beside them', async () => {
    const { open, read, write } = await testPlace({ onTestFinished });
    const release = open({ name: 'release', agent: 'ann' });
    await release.init({ stages: ['plan', { id: 'build', check: 'exit 0' }, 'ship'], note: 'begun' });
    await release.checkpoint({
      stages: ['plan'],
      status: 'done',
      evidence: { rows: 3 },
      artifacts: { plan: 'plan.md' },
    });
    const evidence = { text: 'built', by: 'ci' };
    await release.checkpoint({ stages: ['build'], status: 'done', evidence, artifacts: { size: 7 }, note: 'signed' });
    const text = await read(FILE);
    expect(theirs(text)).toMatchObject({ next: 'ship', artifacts: [], notes: ['begun', 'signed'] });
    const file = JSON.parse(text) as { artifacts: unknown; stages: { evidence?: unknown }[] };
    expect(file.artifacts).toEqual(['plan.md']);
    expect(file.stages.map((stage) => stage.evidence)).toEqual(['{"rows":3}', 'built', undefined]);
    const mine = (await release.show()).state!;
    expect(mine).toMatchObject({
      artifacts: { plan: 'plan.md', size: 7 },
      notes: [
        { text: 'begun', agent: 'ann' },
        { text: 'signed', agent: 'ann' },
      ],
      stages: [{ evidence: { rows: 3 } }, { evidence: { ...evidence, check: { passed: true } } }, {}],
    });
    // Their program changes what it knows; the rest stays, and what it took away is gone.
    const changed = JSON.parse(text);
    changed.stages[0].evidence = 'reviewed';
    changed.artifacts = ['dist/app.tgz'];
    changed.notes += '\ntheirs';
    await write(changed, FILE);
    expect((await release.show()).state).toMatchObject({
      stages: [{ evidence: { rows: 3, text: 'reviewed' } }, { evidence: { check: { passed: true } } }, {}],
      notes: [...mine.notes, { text: 'theirs' }],
    });
    expect((await release.show()).state?.artifacts).toEqual({ 'dist/app.tgz': 'dist/app.tgz', size: 7 });
    changed.notes = 'only this';
    await write(changed, FILE);
    expect((await release.checkpoint({ stages: ['ship'], status: 'done' })).state.notes).toEqual([
      { text: 'only this' },
    ]);
    expect(JSON.parse(await read(FILE))).toMatchObject({ notes: 'only this', artifacts: ['dist/app.tgz'] });
    expect(await read(FILE)).not.toContain('note_entries');
  });
});

describe('outside of a repository', () => {
  it.skipIf(process.platform === 'win32')('is where other programs look, whatever TMPDIR says', async () => {
    vi.stubEnv('TMPDIR', (await testPlace({ onTestFinished })).temporaryFolder);
    onTestFinished(() => void vi.unstubAllEnvs());
    const files = {
      ...nodeFiles,
      stat: async () => ({ kind: 'absent', sizeBytes: 0, changedMs: 0, owner: -1, mode: 0 }) as const,
    };
    const { file } = await openRepoState({ folder: undefined, name: 'audit', now: () => 0, files }).show();
    expect(file).toBe('/tmp/workflow-state/audit-state.json');
  });

  it('a state lies in the system’s temporary folder, for its user alone, and each answer warns of it', async () => {
    const { temporaryFolder } = await testPlace({ onTestFinished });
    const outside = openRepoState({ folder: undefined, name: 'audit', now: () => 0, temporaryFolder });
    expect((await outside.resume()).line).toBe('No earlier state was found: work begins at stage 1.');
    const { file, warnings } = await outside.init({ stages: ['scan'] });
    expect(file).toBe(path.join(temporaryFolder, 'workflow-state', 'audit-state.json'));
    expect(warnings).toEqual([expect.stringContaining('which a restart of the machine may delete')]);
    expect((await stat(path.dirname(file))).mode & 0o777).toBe(0o700);
    expect((await outside.resume()).line).toBe('Resuming from stage 1: scan.');
  });

  it('another place is taken where that folder is not the user’s own, or others may write to it', async () => {
    const { temporaryFolder } = await testPlace({ onTestFinished });
    const shared = path.join(temporaryFolder, 'workflow-state');
    await mkdir(shared);
    await chmod(shared, 0o777);
    await writeFile(path.join(shared, 'audit-state.json'), JSON.stringify(aState()));
    const outside = openRepoState({ folder: undefined, name: 'audit', now: () => 0, temporaryFolder });
    expect(await outside.resume()).toMatchObject({ fresh: true });
    const { file, warnings } = await outside.init({ stages: ['scan'] });
    expect(file.startsWith(path.join(temporaryFolder, 'tidemark-state-'))).toBe(true);
    expect(warnings.join()).toContain(`${shared} isn't used (others may write to it)`);
    expect(await outside.resume()).toMatchObject({ line: 'Resuming from stage 1: scan.' });
    await chmod(shared, 0o700);
    expect((await outside.resume({ choose: 1 })).line).toBe(
      'Resuming from stage 2: fix. Stage 1 already done. It is in progress.',
    );
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
