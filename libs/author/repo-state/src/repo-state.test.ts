/** The life of a state: begin, checkpoint, resume, migrate, complete. */

import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { nodeFiles } from './files.ts';
import { findRepository } from './place.ts';
import { aState, START, testPlace } from './place-fixture.ts';
import { listStates } from './repo-state.ts';

describe('the life of a state', () => {
  it('begins, goes from stage to stage, and is put away', async (context) => {
    const { open, clock, list, read, folder } = await testPlace(context);
    const audit = open({ agent: 'ann' });
    expect(await audit.resume()).toMatchObject({
      fresh: true,
      line: 'No earlier state was found: work begins at stage 1.',
      warnings: [],
    });
    const begun = await audit.init({ stages: ['scan', 'fix', 'test'], note: 'be careful' });
    expect(begun).toMatchObject({ file: path.join('.workflow-state', 'audit-state.json'), warnings: [] });
    expect(JSON.parse(await read())).toEqual({
      format: 1,
      workflow: 'audit',
      version: 1,
      created_at: START,
      updated_at: START,
      current_stage: 'scan',
      stages: ['scan', 'fix', 'test'].map((id) => ({ id, status: 'pending' })),
      artifacts: [],
      notes: 'be careful',
      note_entries: [{ text: 'be careful', at: START, agent: 'ann' }],
    });
    clock.nowMs += 60_000;
    await audit.checkpoint({
      stages: ['scan'],
      status: 'done',
      evidence: { files: 12 },
      artifacts: { report: 'out.json' },
    });
    clock.nowMs += 60_000;
    await audit.checkpoint({ stages: ['fix'], status: 'in_progress' });
    expect(await open().resume()).toMatchObject({
      fresh: false,
      line: 'Resuming from stage 2: fix. Stage 1 already done. It is in progress with ann.',
      stage: { number: 2, of: 3, id: 'fix', status: 'in_progress' },
      conflicts: [],
      state: {
        updated_at: '2026-03-01T14:02:00.000Z',
        current_stage: 'fix',
        artifacts: { report: 'out.json' },
        stages: [{ id: 'scan', evidence: { files: 12 }, updated_at: '2026-03-01T14:01:00.000Z' }, {}, {}],
      },
    });
    await expect(audit.complete()).rejects.toMatchObject({
      code: 'stages-open',
      message: expect.stringContaining('fix (in_progress)'),
    });
    await audit.checkpoint({ stages: ['fix', 'test'], status: 'done' });
    expect((await audit.resume()).line).toBe('all 3 stages are done: nothing to resume');
    const { archived } = await audit.complete();
    expect(archived).toBe(path.join('.workflow-state', 'archive', 'audit-state-20260301T140200Z.json'));
    expect(JSON.parse(await read('archive/audit-state-20260301T140200Z.json'))).toMatchObject({
      current_stage: null,
      completed_at: expect.any(String),
    });
    expect(await list()).toEqual(['.gitignore', 'archive']);
    expect(await audit.resume()).toMatchObject({ fresh: true });
    expect(await listStates(folder)).toEqual([]);
  });

  it('begins with a checkpoint where there is no state, and keeps what others put into the file', async (context) => {
    const { open, state, write } = await testPlace(context);
    await open().checkpoint({ stages: ['scan'], status: 'done' });
    expect(await state()).toMatchObject({ current_stage: null, stages: [{ id: 'scan', status: 'done' }] });
    await write(aState({ mine: { kept: true }, notes: ['written by hand'] }));
    await open().checkpoint({ note: 'seen' });
    expect(await state()).toMatchObject({
      mine: { kept: true },
      notes: [{ text: 'written by hand' }, { text: 'seen' }],
    });
    await open().checkpoint({ artifacts: { a: 1, b: 2 } });
    await open().checkpoint({ artifacts: { a: null } });
    expect(await state()).toMatchObject({ artifacts: { b: 2 } });
  });

  it('refuses a second beginning, stages it does not have, and to begin with two of the same id', async (context) => {
    const { open } = await testPlace(context);
    await expect(open().init({ stages: ['a', 'a'] })).rejects.toMatchObject({
      message: expect.stringContaining('same id'),
    });
    await open().init({ stages: ['scan'] });
    await expect(open().init({ stages: ['scan'] })).rejects.toMatchObject({ code: 'state-exists' });
    await expect(open().checkpoint({ stages: ['skan'], status: 'done' })).rejects.toMatchObject({
      code: 'stage-unknown',
      message: expect.stringContaining('it has scan'),
    });
    const added = await open().checkpoint({ stages: ['more'], status: 'pending', add: true });
    expect(added.state.stages.map(({ id }) => id)).toEqual(['scan', 'more']);
    for (const act of [
      () => open({ name: 'x' }).complete(),
      () => open({ name: 'x' }).migrate({ to: 2 }),
      () => open({ name: 'x' }).update((s) => s),
    ]) {
      await expect(act()).rejects.toMatchObject({ code: 'state-missing' });
    }
  });

  it('writes every stage, or every N', async (context) => {
    const { open, state, write, list } = await testPlace(context);
    const audit = open({ checkpointEvery: 3 });
    const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    await audit.init({ stages: ids });
    const done = async () => (await state()).stages.filter(({ status }) => status === 'done').length;
    const seen: [boolean, number][] = [];
    for (const id of ids) {
      const { saved } = await audit.checkpoint({ stages: [id], status: 'done' });
      seen.push([saved, await done()]);
      // Every process of Tidemark's sees what is not in the file yet, and may die.
      expect((await open().show()).state?.stages.find((stage) => stage.id === id)?.status).toBe('done');
    }
    expect(seen).toEqual([
      [false, 0],
      [false, 0],
      [true, 3],
      [false, 3],
      [false, 3],
      [true, 6],
      [true, 7],
    ]);
    await audit.update((now) => ({ ...now, stages: ids.map((id) => ({ id, status: 'pending' as const })) }));
    await audit.checkpoint({ stages: ['a'], status: 'done' });
    await audit.checkpoint({ stages: ['b'], status: 'failed' });
    expect(await done()).toBe(1);
    await audit.checkpoint({ stages: ['c'], status: 'done', evidence: { text: 'seen' } });
    expect(await done()).toBe(1);
    expect(await audit.flush()).toMatchObject({ state: { current_stage: 'b' } });
    expect([await done(), await audit.flush()]).toEqual([2, undefined]);
    // A successor's resume writes it; what waited for another state doesn't count for this one.
    await open({ checkpointEvery: 3 }).checkpoint({ stages: ['d'], status: 'done', artifacts: { d: 'd.txt' } });
    expect(await done()).toBe(2);
    expect((await open().resume()).state).toMatchObject({ artifacts: { d: 'd.txt' } });
    expect(await done()).toBe(3);
    await open({ checkpointEvery: 3 }).checkpoint({ stages: ['e'], status: 'done' });
    await write(aState({ created_at: '2026-02-01T00:00:00Z' }));
    const other = await open().resume();
    expect(other.state?.stages.map(({ id }) => id)).toEqual(['scan', 'fix', 'test']);
    expect(other.warnings).toEqual([expect.stringContaining('of another state')]);
    expect(await list()).toEqual(['.gitignore', 'audit-state.json', 'audit-state.waiting.json.corrupt']);
    expect(() => open({ checkpointEvery: 0 })).toThrow(/whole number/);
  });

  it('keeps what waits beside what another program writes, whose own word about a stage counts', async (context) => {
    const { open, state, read, write, list } = await testPlace(context);
    const audit = open({ checkpointEvery: 9 });
    await audit.init({ stages: ['a', 'b', 'c', 'd'] });
    await audit.checkpoint({ stages: ['a', 'b'], status: 'done', artifacts: { a: 'a.txt', b: 'b.txt' } });
    const statuses = async () => (await audit.show()).state?.stages.map(({ status }) => status).join(' ');
    expect(await statuses()).toBe('done done pending pending');
    const theirs = JSON.parse(await read());
    // Another program knows nothing of it: it failed at one of them, and did another.
    theirs.stages = theirs.stages.map((stage: { id: string }) => ({
      ...stage,
      ...({ b: { status: 'failed' }, c: { status: 'done' } } as Record<string, object>)[stage.id],
    }));
    await write(theirs);
    expect(await statuses()).toBe('done failed done pending');
    expect((await audit.show()).warnings).toEqual([
      expect.stringMatching(/waiting\.json for b does not count: another program/),
    ]);
    // What waits from now on is on top of what the file says now.
    await audit.checkpoint({ stages: ['b'], status: 'done' });
    expect(await statuses()).toBe('done done done pending');
    expect((await audit.resume()).stage).toMatchObject({ id: 'd' });
    expect(await list()).toEqual(['.gitignore', 'audit-state.json', 'audit-state.waiting.json.corrupt']);
    expect((await state()).artifacts).toEqual({ a: 'a.txt', b: 'b.txt' });
  });

  it('keeps what waits where another program says the same, says it of before, or changes only what stands beside', async (context) => {
    const { open, state, read, write, list } = await testPlace(context);
    const audit = open({ checkpointEvery: 9, agent: 'ann' });
    await audit.init({ stages: ['a', 'b', 'c', 'd', 'e'] });
    const evidence = { text: 'ours', rows: 3 };
    const done = await audit.checkpoint({
      stages: ['a', 'b', 'c', 'd'],
      status: 'done',
      evidence,
      artifacts: { x: 'x1' },
    });
    expect(done.saved).toBe(false);
    const before = new Date(Date.parse(done.state.updated_at) - 1).toISOString();
    const theirs = JSON.parse(await read());
    const said = [
      { status: 'done', evidence: 'theirs', agent: 'bob' },
      { status: 'in_progress', updated_at: before },
      { owner: 'bob' },
      { status: 'failed', updated_at: done.state.updated_at },
    ];
    theirs.stages = theirs.stages.map((stage: object, at: number) => ({ ...stage, ...said[at] }));
    Object.assign(theirs, { artifacts: ['x2'], artifact_names: { x: 'x2' } });
    await write(theirs);
    expect((await open().show()).warnings).toEqual([
      expect.stringMatching(/waiting\.json for d, artifact x does not count/),
    ]);
    // The next one doesn't wait with them, for a file that says something else by now.
    expect((await audit.checkpoint({ stages: ['e'], status: 'done' })).saved).toBe(true);
    const { stages, artifacts } = await state();
    expect(stages).toMatchObject([
      { status: 'done', evidence: { text: 'theirs', rows: 3, also: { text: 'ours' } }, agent: 'bob' },
      { status: 'done', evidence, agent: 'ann' },
      { status: 'done', evidence, owner: 'bob' },
      { status: 'failed' },
      { status: 'done' },
    ]);
    expect([artifacts, JSON.parse(await read()).stages[0].evidence]).toEqual([{ x: 'x2' }, 'theirs']);
    expect(await list()).toContain('audit-state.waiting.json.corrupt');
    // All that waits can be without effect, and is flushed all the same.
    await audit.checkpoint({ stages: ['d'], status: 'in_progress' });
    await audit.update((now) => ({ ...now, stages: [...now.stages, { id: 'f', status: 'pending' }] }));
    await audit.checkpoint({ stages: ['f'], status: 'done' });
    await write((await read()).replace(/("id": "f",\s+"status": )"pending"/, '$1"failed"'));
    expect((await audit.flush())?.warnings).toEqual([expect.stringContaining('for f does not count')]);
  });

  it('keeps what waits for a file that does not say when it was created, and not for the next one there', async (context) => {
    const { open, write } = await testPlace(context);
    const { created_at: _, ...undated } = aState() as { created_at: string; stages: { id: string }[] };
    await write(undated);
    const audit = open({ checkpointEvery: 9 });
    await audit.checkpoint({ stages: ['test'], status: 'done' });
    const done = async () =>
      (await audit.show()).state?.stages.flatMap(({ id, status }) => (status === 'done' ? [id] : []));
    await write({ ...undated, updated_at: '2026-03-01T15:00:00Z', notes: 'theirs' });
    expect(await done()).toEqual(['scan', 'test']);
    await write({
      ...undated,
      updated_at: '2026-03-01T16:00:00Z',
      stages: undated.stages.map(({ id }) => ({ id, status: 'pending' })),
    });
    expect([await done(), (await audit.show()).warnings]).toEqual([[], [expect.stringContaining('of another state')]]);
  });

  it('writes what waited once, also when it is killed before it removed that', async (context) => {
    const { open, state, read, write, list } = await testPlace(context);
    let isKilled = false;
    const remove = async (file: string): Promise<void> => {
      if (isKilled && file.endsWith('.waiting.json')) throw new Error('killed');
      await nodeFiles.remove(file);
    };
    const audit = open({ checkpointEvery: 2, files: { ...nodeFiles, remove } });
    await audit.init({ stages: ['a', 'b', 'c'] });
    await audit.checkpoint({ stages: ['a'], status: 'done', artifacts: { a: 'a.txt' } });
    isKilled = true;
    await expect(audit.checkpoint({ stages: ['b'], status: 'done' })).rejects.toThrow('killed');
    const theirs = JSON.parse(await read());
    theirs.stages[0].status = 'failed';
    theirs.artifacts = [];
    await write(theirs);
    isKilled = false;
    expect((await audit.resume()).stage).toMatchObject({ id: 'a' });
    expect(await state()).toMatchObject({ artifacts: {}, stages: [{ status: 'failed' }, { status: 'done' }, {}] });
    expect((await list()).filter((name) => name.endsWith('waiting.json'))).toEqual([]);
  });

  it('goes forward in time when the clock does not', async (context) => {
    const { open, clock, state } = await testPlace(context);
    await open().init({ stages: ['a'] });
    clock.nowMs -= 3_600_000;
    await open().checkpoint({ note: 'x' });
    expect((await state()).updated_at).toBe('2026-03-01T14:00:00.001Z');
  });

  it('is a blackboard: agents see who has a stage, and take it over only when they say so', async (context) => {
    const { open, state } = await testPlace(context);
    const [ann, bob] = [open({ agent: 'ann' }), open({ agent: 'bob' })];
    await ann.init({ stages: ['scan', 'fix'] });
    await ann.checkpoint({ stages: ['scan'], status: 'in_progress' });
    await expect(bob.checkpoint({ stages: ['scan'], status: 'in_progress' })).rejects.toMatchObject({
      code: 'stage-taken',
      message: expect.stringContaining('with ann since 2026-03-01'),
    });
    await bob.checkpoint({ stages: ['scan'], status: 'in_progress', take: true, note: 'ann is away' });
    expect(await state()).toMatchObject({
      stages: [{ agent: 'bob' }, {}],
      notes: [{ agent: 'bob', text: 'ann is away' }],
    });
    await bob.update((now) => ({ ...now, artifacts: { ...now.artifacts, count: 1 } }));
    expect((await ann.show()).state?.artifacts).toEqual({ count: 1 });
  });
});

describe('versions of a workflow', () => {
  it('migrates, keeps the old file, and never replaces an old one', async (context) => {
    const { open, write, read, state, list } = await testPlace(context);
    const old = JSON.stringify(aState());
    await write(old);
    const result = await open().migrate({ to: 2, rename: { fix: 'repair' }, stages: ['scan', 'lint', 'repair'] });
    expect(result).toMatchObject({ from: 1, backup: path.join('.workflow-state', 'audit-state.v1.json.bak') });
    expect(await read('audit-state.v1.json.bak')).toBe(old);
    expect(await state()).toMatchObject({
      version: 2,
      current_stage: 'lint',
      stages: [
        { id: 'scan', status: 'done' },
        { id: 'lint', status: 'pending' },
        { id: 'repair', status: 'in_progress' },
      ],
    });
    await write(aState({ notes: ['another one'] }));
    await open().migrate({ to: 2 });
    expect(await read('audit-state.v1.json.bak')).toBe(old);
    expect(await list()).toContain('audit-state.v1-2.json.bak');
    await expect(open().migrate({ to: 2 })).rejects.toMatchObject({ code: 'version-invalid' });
    await expect(open().migrate({ to: 3, rename: { nix: 'x' } })).rejects.toMatchObject({ code: 'stage-unknown' });
  });

  it('follows a chain of migrations at resume, and refuses where there is none', async (context) => {
    const { open, write, state, list } = await testPlace(context);
    await write(aState());
    await expect(open({ version: 3 }).resume()).rejects.toMatchObject({
      code: 'state-older',
      message: expect.stringContaining('tidemark state migrate audit --to 3'),
    });
    await expect(open({ version: 3 }).checkpoint({ note: 'x' })).rejects.toMatchObject({ code: 'state-older' });
    const report = await open({
      version: 3,
      migrations: {
        1: (was) => ({ ...was, artifacts: { from: 1 } }),
        2: (was) => ({ ...was, artifacts: { ...was.artifacts, next: 2 } }),
      },
    }).resume();
    expect(report.line).toBe('Resuming from stage 2: fix. Stage 1 already done. It is in progress.');
    expect(await state()).toMatchObject({ version: 3, artifacts: { from: 1, next: 2 } });
    expect(await list()).toContain('audit-state.v1.json.bak');
    await expect(open({ version: 2 }).resume()).rejects.toMatchObject({ code: 'state-newer' });
    await expect(open({ version: 2 }).checkpoint({ note: 'x' })).rejects.toMatchObject({ code: 'state-newer' });
    expect(await state()).toMatchObject({ version: 3 });
  });
});

describe('where a state is', () => {
  it('is found from anywhere in the repository, which may be a worktree', async (context) => {
    const { folder, write } = await testPlace(context);
    const deep = path.join(folder, 'a', 'b');
    await mkdir(deep, { recursive: true });
    expect(findRepository(deep)).toBe(folder);
    await rm(path.join(folder, '.git'), { recursive: true });
    await write('gitdir: elsewhere', '../.git');
    expect(findRepository(deep)).toBe(folder);
  });

  it('lists what a folder has', async (context) => {
    const { folder, open } = await testPlace(context);
    expect(await listStates(folder)).toEqual([]);
    for (const name of ['b', 'a']) await open({ name }).init({ stages: [] });
    expect(await listStates(folder)).toEqual(['a', 'b']);
  });
});
