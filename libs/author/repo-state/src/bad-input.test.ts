/** Files that are damaged, foreign, newer or in conflict, and names that lead elsewhere. */

import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isCopy, mergeSides } from './candidates.ts';
import { aState, START, testPlace } from './place-fixture.ts';

const LATER = '2026-03-01T15:00:00.000Z';

describe('a damaged file', () => {
  const whole = JSON.stringify(aState({ notes: [{ text: 'last words' }] }), undefined, 2);

  it.each([
    ['a byte order mark', `\ufeff${whole}`],
    ['trailing commas', whole.replaceAll(/\n( *)([\]}])/g, ',\n$1$2')],
    ['comments', `// by hand\n${whole}`],
  ])('is read in full through %s, kept, and told', async (_what, text) => {
    const { open, write, read, state, list } = await testPlace({ onTestFinished });
    await write(text);
    const report = await open().resume();
    expect(report).toMatchObject({
      fresh: false,
      line: 'Resuming from stage 2: fix. Stage 1 already done. It is in progress.',
    });
    expect(report.warnings).toEqual([
      expect.stringMatching(
        /audit-state\.json was damaged \(.+\); it was read as far as it goes, nothing of it is known to be lost/,
      ),
      expect.stringContaining('audit-state.json.corrupt'),
    ]);
    expect(await read('audit-state.json.corrupt')).toBe(text);
    expect(await state()).toMatchObject({ notes: [{ text: 'last words' }] });
    expect((await open().resume()).warnings).toEqual([]);
    expect(await list()).toEqual(['.gitignore', 'audit-state.json', 'audit-state.json.corrupt']);
  });

  it('that was cut off gives what is whole: a stage without a status is never done', async (context) => {
    const { open, write, state } = await testPlace(context);
    await write(whole.slice(0, whole.indexOf('"in_progress"') + 5));
    const report = await open().resume();
    expect(report.warnings[0]).toContain('lost: the status of stage fix');
    expect(await state()).toMatchObject({
      current_stage: 'fix',
      stages: [
        { id: 'scan', status: 'done' },
        { id: 'fix', status: 'pending' },
      ],
    });
  });

  it('at every cut has all stages of its plan, and none that is done and was not', async (context) => {
    const { open, write, state } = await testPlace(context);
    const stages = ['scan', 'fix', 'release'];
    const ended = { exit_code: 0, passed: true, output: ['fine'], output_bytes: 4, duration_ms: 3 };
    const evidence = { command: 'npm test', ...ended, output_sha256: 'ab', at: START };
    const text = JSON.stringify(
      aState({
        stages: [
          { id: 'scan', status: 'done', evidence: { check: evidence } },
          { id: 'fix', status: 'in_progress' },
          { id: 'release', status: 'pending' },
        ],
      }),
      undefined,
      2,
    );
    const inEvidence = text.indexOf('"exit_code"');
    for (let cut = 0; cut < text.length - 2; cut += 5) {
      await write(text.slice(0, cut));
      const { warnings } = await open().resume({ otherwise: { stages } });
      const now = await state();
      expect(now.stages.map(({ id }) => id)).toEqual(stages);
      expect(now.stages.slice(1).filter(({ status }) => status === 'done')).toEqual([]);
      expect(warnings[0]).toMatch(/fresh start|lost: .*(?:what followed|all of it)/);
      if (cut > inEvidence) expect(now.stages[0]).toMatchObject({ status: 'done' });
    }
  });

  it('cut before the stage under way still has it, and can not be put away as finished', async (context) => {
    const { open, write } = await testPlace(context);
    await write(whole.slice(0, whole.indexOf('"id": "fix"')));
    const report = await open().resume();
    expect(report.warnings[0]).toContain('what was known of stage fix, what followed stage fix');
    await expect(open().complete()).rejects.toMatchObject({ code: 'stages-open' });
  });

  it('at every cut is a state that can be written again, or a fresh start', async (context) => {
    const { open, write, state, read } = await testPlace(context);
    const text = JSON.stringify(aState());
    for (let cut = 0; cut < text.length; cut += 7) {
      await write(text.slice(0, cut));
      await open().checkpoint({ stages: ['fix'], status: 'failed', add: true });
      expect((await state()).stages.find(({ id }) => id === 'fix')).toMatchObject({ status: 'failed' });
    }
    expect(await read('audit-state.json.corrupt')).toBe('');
  });

  it.each(['', '\0\0\0\0\0\0\0\0', 'not a state', '[1, 2,'])(
    'with nothing to read is a fresh start: %j',
    async (text) => {
      const { open, write, read, list } = await testPlace({ onTestFinished });
      await write(text);
      // Who only looks changes nothing.
      expect(await open().show()).toMatchObject({
        state: undefined,
        warnings: [expect.stringContaining('fresh start')],
      });
      expect(await list()).toEqual(['audit-state.json']);
      const report = await open().resume();
      expect(report).toMatchObject({
        fresh: true,
        warnings: [expect.stringContaining('fresh start'), expect.anything()],
      });
      expect(await read('audit-state.json.corrupt')).toBe(text);
      expect(await list()).not.toContain('audit-state.json');
    },
  );

  it('never replaces the damaged file of another time', async (context) => {
    const { open, write, read, list } = await testPlace(context);
    for (const text of ['{"first', '{"second']) {
      await write(text);
      await open().resume();
    }
    expect(await read('audit-state.json.corrupt')).toBe('{"first');
    expect(await list()).toContain('audit-state.json.20260301T140000Z.corrupt');
  });
});

describe('a file that is not this state', () => {
  it.each([
    ['state-foreign', 'another tool', { name: 'my-package', version: '1.0.0', scripts: {} }],
    ['state-foreign', 'another tool that writes comments', '{\n  // by hand\n  "phase": "review",\n}'],
    ['state-foreign', 'a list', [1, 2]],
    ['state-other-workflow', 'another workflow', aState({ workflow: 'deploy' })],
    ['state-newer', 'a newer Tidemark', aState({ format: 2, stages: [{ of: 'another shape' }] })],
    ['state-invalid', 'a slip of the pen', aState({ stages: [{ id: 'scan', status: 'finished' }] })],
    [
      'state-invalid',
      'two stages of one id',
      aState({
        stages: [
          { id: 'a', status: 'done' },
          { id: 'a', status: 'done' },
        ],
      }),
    ],
  ])('%s: the file of %s is left as it is', async (code, _whose, content) => {
    const { open, write, read, list } = await testPlace({ onTestFinished });
    await write(content);
    const audit = open();
    const acts = [
      () => audit.resume(),
      () => audit.show(),
      () => audit.checkpoint({ note: 'x' }),
      () => audit.init({ stages: [] }),
      () => audit.complete({ open: true }),
      () => audit.migrate({ to: 2 }),
    ];
    for (const act of acts)
      await expect(act()).rejects.toMatchObject({ code, message: expect.stringContaining('audit-state.json') });
    expect(await read()).toBe(typeof content === 'string' ? content : JSON.stringify(content));
    expect(await list()).toEqual(['audit-state.json']);
  });

  it('names the place of a slip', async (context) => {
    const { open, write } = await testPlace(context);
    await write(aState({ stages: [{ id: 'scan', status: 'finished' }], updated_at: 'yesterday' }));
    await expect(open().show()).rejects.toThrow(/\/updated_at: .*; \/stages\/0\/status: invalid option/);
  });

  it('is refused when it was cut off, too, if it is newer or another workflow’s', async (context) => {
    const { open, write, read } = await testPlace(context);
    for (const [code, more] of [
      ['state-newer', { format: 2 }],
      ['state-other-workflow', { workflow: 'deploy' }],
    ] as const) {
      const text = JSON.stringify({ ...more, ...aState(more) }).slice(0, -4);
      await write(text);
      await expect(open().resume()).rejects.toMatchObject({ code });
      expect(await read()).toBe(text);
    }
  });
});

describe('two states of one workflow', () => {
  const newer = aState({ updated_at: LATER, notes: [{ text: 'newer' }] });
  const older = aState({ notes: [{ text: 'older' }] });

  it.each([
    ['the copy', older, newer],
    ['the file', newer, older],
  ])('the newer one wins, here %s; the other is kept, and the report names it', async (_which, file, copy) => {
    const { open, write, read, state, list } = await testPlace({ onTestFinished });
    await write(file);
    await write(copy, 'audit-state (conflicted copy 2026-03-01).json');
    const report = await open().resume();
    const archived = 'conflict-audit-state-20260301T150000Z.json';
    expect(report.conflicts).toEqual([
      {
        at: expect.any(String),
        kept: expect.stringContaining('audit-state'),
        because: `it is newer (${LATER} against ${START})`,
        archived: path.join('.workflow-state', 'archive', archived),
      },
    ]);
    expect(await state()).toMatchObject({ notes: [{ text: 'newer' }] });
    expect(JSON.parse(await read(`archive/${archived}`))).toEqual(older);
    expect(await list()).toEqual(['.gitignore', 'archive', 'audit-state.json']);
    // It is in later reports as well.
    expect(await open().resume()).toMatchObject({ conflicts: report.conflicts, warnings: [] });
  });

  it('equal ones ask, and change nothing until somebody has chosen', async (context) => {
    const { open, write, state, list } = await testPlace(context);
    await write(aState({ notes: [{ text: 'one' }] }));
    await write(
      aState({ notes: [{ text: 'two' }], current_stage: 'fix' }),
      'audit-state.sync-conflict-20260301-ABC.json',
    );
    const before = await list();
    for (const act of [
      () => open().resume(),
      () => open().checkpoint({ note: 'x' }),
      () => open().resume({ choose: 3 }),
    ]) {
      await expect(act()).rejects.toMatchObject({
        code: 'state-conflict',
        message: expect.stringMatching(
          /1 {2}\.workflow-state.*1 of 3 stages done, at fix\n.*2 {2}.*sync-conflict[\s\S]*Type: tidemark state resume audit --choose 1, or --choose 2$/,
        ),
      });
    }
    expect(await open().show()).toMatchObject({
      state: { notes: [{ text: 'one' }] },
      warnings: [expect.stringContaining('--choose')],
    });
    expect(await list()).toEqual(before);
    const report = await open().resume({ choose: 2 });
    expect(report.conflicts).toMatchObject([{ because: 'both are of the same time, and it was chosen' }]);
    expect(await state()).toMatchObject({ notes: [{ text: 'two' }] });
  });

  it('may be three: each of the others is kept', async () => {
    const { open, write, read } = await testPlace({ onTestFinished });
    await write(newer);
    await write(aState({ notes: [{ text: 'one' }] }), 'audit-state (1).json');
    await write(aState({ notes: [{ text: 'two' }] }), 'audit-state (2).json');
    expect((await open().resume()).conflicts).toHaveLength(2);
    const kept = await Promise.all(
      ['', '-2'].map((more) => read(`archive/conflict-audit-state-20260301T150000Z${more}.json`)),
    );
    expect(kept.map((text) => JSON.parse(text).notes[0].text)).toEqual(['one', 'two']);
  });

  it('are left as they are by a change that is refused', async () => {
    const { open, write, list } = await testPlace({ onTestFinished });
    await write(newer);
    await write(older, 'audit-state (1).json');
    const before = await list();
    const refused = open().update((now) => ({ ...now, mine: { password: 'correcthorse' } }));
    await expect(refused).rejects.toMatchObject({ code: 'state-secret' });
    expect(await list()).toEqual(before);
  });

  it('that are the same are one', async (context) => {
    const { open, write, list } = await testPlace(context);
    await write(newer);
    await write(newer, 'audit-state (1).json');
    expect(await open().resume()).toMatchObject({ conflicts: [] });
    expect(await list()).not.toContain('audit-state (1).json');
  });

  it('are found in a file that was left in the middle of a merge', async (context) => {
    const { open, write, state, read } = await testPlace(context);
    const lines = JSON.stringify(older, undefined, 2).split('\n');
    const at = lines.findIndex((line) => line.includes('updated_at'));
    const merged = lines.toSpliced(
      at,
      1,
      '<<<<<<< HEAD',
      lines[at]!,
      '=======',
      lines[at]!.replace(START, LATER),
      '>>>>>>> other',
    );
    await write(merged.join('\n'));
    const report = await open().resume();
    expect(report.warnings[0]).toContain('middle of a merge');
    expect(report.conflicts).toMatchObject([
      { kept: expect.stringContaining('their side'), because: expect.stringContaining('newer') },
    ]);
    expect((await state()).created_at).toBe(START);
    expect(await read('archive/conflict-audit-state-20260301T150000Z.json')).toBe(JSON.stringify(older, undefined, 2));
  });

  it('reads the sides of merges, with a base or without', () => {
    const sides = mergeSides('a\n<<<<<<< x\nb\n||||||| base\nc\n=======\nd\n>>>>>>> y\ne')!;
    expect(sides.map(({ text }) => text)).toEqual(['a\nb\ne', 'a\nd\ne']);
    expect(mergeSides('a\n=======\nb')).toBeUndefined();
    expect(mergeSides('a\n<<<<<<< x\nb')).toBeUndefined();
  });

  it('takes no other workflow for a copy', () => {
    const copies = [
      'audit-state (1).json',
      'audit-state 2.json',
      'audit-state.sync-conflict-1.json',
      'audit-state-conflict.json',
    ];
    const others = [
      'audit-state.json',
      'audit-state-conflict-state.json',
      'audit-state.v1.json.bak',
      'audit-state2.json',
      'x-state (1).json',
    ];
    expect(copies.filter((file) => !isCopy(file, 'audit'))).toEqual([]);
    expect(others.filter((file) => isCopy(file, 'audit'))).toEqual([]);
  });

  it('leaves alone what looks like a copy and is none', async (context) => {
    const { open, write, list } = await testPlace(context);
    await write(newer);
    await write({ of: 'another tool' }, 'audit-state (1).json');
    expect((await open().resume()).warnings).toEqual([expect.stringContaining('left as it is')]);
    await open().checkpoint({ note: 'x' });
    expect(await list()).toContain('audit-state (1).json');
  });
});

describe('secrets', () => {
  const secret = `gh${'p_'}q7Zr2mX9wK4vB8nT1cJ6yH3dF5gL0sPaRe7U`;

  it('are refused by their place, wherever they come from, and nothing is changed', async (context) => {
    const { open, read } = await testPlace(context);
    const audit = open({ checkpointEvery: 5 });
    await audit.init({ stages: ['a', 'b'] });
    const before = await read();
    const acts = [
      [() => audit.checkpoint({ note: `with ${secret}` }), '/notes/0/text (github-token)'],
      [
        () => audit.checkpoint({ stages: ['a'], status: 'done', evidence: { log: [secret] } }),
        '/stages/0/evidence/log/0',
      ],
      [
        () => audit.checkpoint({ artifacts: { db: `postgres://u:${'hunter2'}@db/x` } }),
        '/artifacts/db (connection-string)',
      ],
      [() => audit.checkpoint({ artifacts: { [secret]: 'x' } }), '/artifacts/(a key)'],
      [
        () => audit.update((now) => ({ ...now, mine: { db_password: 'correcthorse' } })),
        '/mine/db_password (password)',
      ],
      [() => open({ name: 'other' }).init({ stages: ['a'], note: secret }), '/notes/0/text'],
      [
        () => audit.migrate({ to: 2, migrations: { 1: (now) => ({ ...now, artifacts: { secret } }) } }),
        '/artifacts/secret',
      ],
    ] as const;
    for (const [act, place] of acts) {
      const error = await act().then(
        () => undefined,
        (thrown: Error) => thrown,
      );
      expect(error).toMatchObject({ code: 'state-secret', message: expect.stringContaining(place) });
      expect(`${error?.stack}${JSON.stringify(error)}`).not.toContain(secret.slice(0, 14));
    }
    expect(await read()).toBe(before);
  });

  it('that somebody wrote into the file are told at the next change', async (context) => {
    const { open, write } = await testPlace(context);
    await write(aState({ mine: secret }));
    await expect(open().checkpoint({ note: 'x' })).rejects.toMatchObject({
      code: 'state-secret',
      message: expect.stringContaining('/mine'),
    });
  });
});

describe('names and sizes', () => {
  it.each(['../x', '..', '.', '', 'a/b', 'a\\b', '/etc/passwd', 'a..b', '-rf', 'a b', 'a\0', 'x'.repeat(65)])(
    'refuses the name %j',
    async (name) => {
      const { open } = await testPlace({ onTestFinished });
      expect(() => open({ name })).toThrow(expect.objectContaining({ code: 'state-name-invalid' }));
    },
  );

  it('refuses what is too large, and says what to do', async (context) => {
    const { open, read } = await testPlace(context);
    await open().init({ stages: ['a'] });
    const before = await read();
    await expect(open().checkpoint({ note: 'words '.repeat(200_000) })).rejects.toMatchObject({
      code: 'state-too-large',
    });
    expect(await read()).toBe(before);
  });
});
