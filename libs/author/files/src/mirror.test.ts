/** The mirror: what a reader sees while a run is under way, what comes back from outside, and that a crash harms neither. */

import { execFile } from 'node:child_process';
import { appendFile, mkdir, readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { checksumOf, type PipelineContext, pipeline } from '@tidemark/sdk';
import { eventually as eventuallyTrue } from '@tidemark/testkit/eventually';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type FilesWorld, filesWorld } from '../fixtures/files-world.ts';
import { dedupeIndexSchema, readJson, runStateSchema } from './formats.ts';
import { handoffText, readHandoffs } from './handoff-text.ts';
import { type Mirror, type MirrorOptions, mirrorFiles } from './mirror.ts';

const NOTE = { from: 'shell', to: 'second', message: 'Mind row 3.', artifacts: ['rows.csv'] };
/** Opened by the test, once for each time that the second step waits. */
let gate = Promise.withResolvers<void>();
const steps = {
  first: (_: unknown, ctx: PipelineContext) => {
    ctx.handoff('The first is done.');
    return [1];
  },
  second: async (numbers: number[]) => {
    await gate.promise;
    return numbers.length;
  },
};
// Its runs of one day don't skip each other's steps.
const slow = pipeline('slow', steps, { key: ({ step, workflow }) => `${step}_${workflow}` });

/** With default keys; its second step is theirs. */
const shared = pipeline(
  'shared',
  {
    first: steps.second as never,
    second: () => Promise.reject(new Error('It is done by others.')),
    third: String,
  } as never,
  { date: (input) => (input as { day: string }).day, retry: { attempts: 1 } },
);
/** Code that has the first users' class of the folder as `p`. */
const python = async (code: string, day: string): Promise<string> => {
  const fixtures = fileURLToPath(new URL('../fixtures/first-users/', import.meta.url));
  const text = `import sys; sys.dont_write_bytecode = True; sys.path.insert(0, ${JSON.stringify(fixtures)})
from pipeline_state import *
p = PipelineState(${JSON.stringify(world.folder)}, ${JSON.stringify(day)})
${code}`;
  return (await promisify(execFile)('python3', ['-c', text])).stdout;
};

let world: FilesWorld;
let mirror: Mirror | undefined;
let options: MirrorOptions;
let runCount = 0;
beforeAll(async () => {
  world = await filesWorld([slow, shared]);
  const { hints } = world.host.ports;
  options = {
    client: world.client,
    shown: { definition: 'slow' },
    folder: world.folder,
    stepNames: ['first', 'second'],
    onReport: world.onReport,
    back: world.back,
    subscribe: (listener) => hints.subscribe('applied', listener),
    periodMs: 20,
    settleMs: 200,
  };
});
afterAll(() => world.close());
beforeEach(async () => {
  await rm(world.folder, { recursive: true, force: true });
  world.reported.length = 0;
  world.signals.length = 0;
  world.writes.length = 0;
  gate = Promise.withResolvers<void>();
});
afterEach(async () => {
  gate.resolve();
  await mirror?.close();
  mirror = undefined;
});

/** Until it throws no more. */
const eventually = (body: () => unknown): Promise<unknown> =>
  eventuallyTrue(async () => {
    await body();
    return true;
  });
const file = (name: string): string => path.join(world.folder, name);
const read = (name: string): Promise<string> => readFile(file(name), 'utf8').catch(() => '');
const status = async (): Promise<string> =>
  (JSON.parse((await read('run_state.json')) || '{}') as { status: string }).status;
/** Starts a run; resolves when its first step is done, and with an open gate maybe others. */
async function started(): Promise<Awaited<ReturnType<typeof world.host.client.start>>> {
  const run = await world.host.client.start(slow, {}, { id: `slow-${++runCount}` });
  await eventually(async () => expect(await run.checkpoints()).not.toEqual([]));
  return run as never;
}

describe('a mirror', () => {
  it('follows a run, and then the next one: its hand-overs are archived', async () => {
    mirror = await mirrorFiles(options);
    const run = await started();
    await eventually(async () => {
      const state = runStateSchema.parse(JSON.parse(await read('run_state.json')));
      expect(state).toMatchObject({ pipeline_id: run.id, status: 'running', current_step: 2 });
      expect(state.steps).toMatchObject({ first: { status: 'completed' }, second: { status: 'running' } });
    });
    gate.resolve();
    await run.result();
    await eventually(async () => expect(await status()).toBe('completed'));
    gate = Promise.withResolvers();
    const next = await started();
    await eventually(async () => {
      expect(JSON.parse(await read('run_state.json'))).toMatchObject({ pipeline_id: next.id, status: 'running' });
      // The last run that succeeded stays to fall back to.
      expect(JSON.parse(await read('last_success.json'))).toMatchObject({ pipeline_id: run.id });
    });
    const archived = await readdir(file('archive'));
    const handoff = archived.find((name) => name.startsWith('handoff-') && name.includes(run.id));
    expect(readHandoffs(await read(`archive/${handoff}`))).toHaveLength(2);
    await eventually(async () => expect(readHandoffs(await read('handoff.md'))).toHaveLength(1));
  });

  it('is safe to read at any moment: every file is whole', async () => {
    mirror = await mirrorFiles(options);
    const seen = new Set<string>();
    let isOver = false;
    gate.resolve();
    const reader = (async () => {
      while (!isOver) {
        const state = await read('run_state.json');
        if (state !== '') {
          const parsed = readJson(state, runStateSchema);
          expect(parsed.ok).toBe(true);
          seen.add(state);
          // A reader of a path in one file finds the file that it names.
          for (const step of Object.values(parsed.ok ? parsed.value.steps : {})) {
            if (typeof step.output_file === 'string') expect(await read(step.output_file)).not.toBe('');
          }
        }
        const log = await read('execution_log.jsonl');
        for (const line of log.split('\n').slice(0, -1)) expect(JSON.parse(line)).toHaveProperty('action');
        const index = await read('dedupe_index.json');
        if (index !== '') expect(readJson(index, dedupeIndexSchema as never).ok).toBe(true);
      }
    })();
    for (let round = 0; round < 5; round++) {
      gate = Promise.withResolvers();
      const run = await started();
      await eventually(async () => expect(await read('run_state.json')).toContain(run.id));
      gate.resolve();
      await eventually(async () => expect(await status()).toBe('completed'));
    }
    isOver = true;
    await reader;
    expect(seen.size).toBeGreaterThan(1);
  });

  it('writes the output of another run’s key anew where it has another one, and where its file is gone', async () => {
    let output = 'one';
    const records = async () => {
      const value = { step: 'first', workflow: 'before', output, checksum: checksumOf(output) };
      return [{ key: 'done/old', value, at: '2026-05-20T10:00:00.000Z' }];
    };
    mirror = await mirrorFiles({ ...options, records });
    await started();
    const kept = 'outputs/keys~/old.txt';
    const holds = (text: string) =>
      eventually(async () => {
        const now = new Date();
        await utimes(file('handoff.md'), now, now);
        expect(await read(kept)).toBe(text);
      });
    await holds('one');
    output = 'two';
    await holds('two');
    await rm(file(kept));
    await holds('two');
  });

  it('holds its folder alone: a second one is refused, and told so', async () => {
    mirror = await mirrorFiles(options);
    await expect(mirrorFiles(options)).rejects.toMatchObject({
      code: 'files-in-use',
      message: expect.stringContaining('Another process writes the files'),
    });
  });

  it('outlives a disk that is full for a while', async () => {
    let isFull = true;
    mirror = await mirrorFiles({
      ...options,
      writeFile: async (name, bytes) => {
        if (isFull) throw Object.assign(new Error('full'), { code: 'ENOSPC' });
        await writeFile(name, bytes);
      },
    });
    await started();
    await eventually(() => expect(world.reported).toContainEqual(expect.stringMatching(/^away: .*the disk is full/)));
    expect(await readdir(world.folder)).not.toContainEqual(expect.stringContaining('.part'));
    isFull = false;
    await eventually(async () => expect(await status()).toBe('running'));
  });
});

describe('what others write', () => {
  it('to handoff.md comes back once, also when the mirror starts anew', async () => {
    const run = await started();
    mirror = await mirrorFiles({ ...options, shown: { workflow: run.id } });
    await eventually(async () => expect(await read('handoff.md')).toContain('The first is done.'));
    const { stdout } = await promisify(execFile)('sh', [
      '-c',
      `printf '\\n## shell → second Handoff\\n\\nMind row 3.\\n\\nArtifacts:\\n- rows.csv\\n' >> "$1" && echo written`,
      'sh',
      file('handoff.md'),
    ]);
    expect(stdout).toBe('written\n');
    await eventually(() => expect(world.signals).toHaveLength(1));
    expect(world.signals[0]).toMatchObject({ workflow: run.id, name: 'handoff', value: NOTE });
    await eventually(async () => expect(await read('execution_log.jsonl')).toContain('"action":"signal"'));
    await mirror.close();
    // It forgets what it has taken: the key alone keeps it from counting twice.
    await rm(file('.tidemark-files.json'));
    mirror = await mirrorFiles({ ...options, shown: { workflow: run.id } });
    await appendFile(file('handoff.md'), `\n${handoffText({ ...NOTE, message: 'And row 4.' })}`);
    await eventually(() =>
      expect(world.signals.map(({ value }) => value)).toContainEqual({ ...NOTE, message: 'And row 4.' }),
    );
    const received = async () => {
      const events = await world.host.ports.store.events(run.id, 100);
      expect(events.filter(({ type }) => type === 'SignalReceived')).toHaveLength(2);
      expect(readHandoffs(await read('handoff.md'))).toHaveLength(3);
    };
    await eventually(received);
    await mirror.close();
    await received();
  });

  it('to handoff.md of a run that has ended is kept as a record', async () => {
    gate.resolve();
    const run = await started();
    await run.result();
    mirror = await mirrorFiles(options);
    await eventually(async () => expect(await status()).toBe('completed'));
    await appendFile(file('handoff.md'), `\n${handoffText(NOTE)}`);
    await eventually(() => expect(world.reported).toContainEqual(expect.stringMatching(/^taken: .*has ended/)));
    expect(world.writes).toEqual([
      expect.objectContaining({
        subject: 'pipeline:slow',
        key: expect.stringMatching(`^handoff/${run.id}/`),
        value: NOTE,
      }),
    ]);
    expect(await read('handoff.md')).toContain('Mind row 3.');
  });

  it('as done in dedupe_index.json becomes a record, once, with what its path names', async () => {
    const run = await started();
    mirror = await mirrorFiles({ ...options, shown: { workflow: run.id } });
    await eventually(async () => expect(await read('dedupe_index.json')).toContain('first_'));
    await writeFile(file('second.json'), '{ "made": "by hand" }');
    const index = JSON.parse(await read('dedupe_index.json'));
    index['second_2030-01-01'] = { executed_at: '2030-01-01T00:00:00Z', output: 'second.json', checksum: '' };
    // Not in one go, as a shell's redirection does it.
    const text = JSON.stringify(index);
    await writeFile(file('dedupe_index.json'), text.slice(0, 20));
    await writeFile(file('dedupe_index.json'), text);
    // The old form of a key counts as the one of today, too.
    await eventually(() => expect(world.writes).toHaveLength(2));
    const value = { step: 'second', output: { made: 'by hand' } };
    expect(world.writes).toMatchObject([
      { subject: 'pipeline:slow', key: 'done/second_2030-01-01', value },
      { subject: 'pipeline:slow', key: 'done/second_20300101', value },
    ]);
    expect(world.reported).toContainEqual(
      expect.stringMatching(/^overlooked: key "second_2030-01-01" has the old form/),
    );
    gate.resolve();
    await eventually(async () => expect(await status()).toBe('completed'));
    await mirror.close();
    mirror = await mirrorFiles({ ...options, shown: { workflow: run.id } });
    await appendFile(file('handoff.md'), `\n${handoffText({ ...NOTE, message: 'later' })}`);
    await eventually(() => expect(world.reported).toContainEqual(expect.stringContaining('taken: hand-over')));
    expect(world.writes.filter(({ key }) => key.startsWith('done/'))).toHaveLength(2);
    expect(await read('dedupe_index.json')).toContain('second_2030-01-01');
    expect((await readdir(world.folder)).filter((name) => name.includes('corrupt'))).toEqual([]);
  });

  describe('by the class of its first users', () => {
    const names = ['first', 'second', 'third'];
    const data = (): string => path.join(path.dirname(world.folder), 'data');
    const begun = async (
      id: string,
      day: string,
      more: Partial<MirrorOptions> = {},
      input: Record<string, string | boolean> = { day },
    ) => {
      const run = await world.host.client.start(shared, input, { id });
      const back = { ...world.back, remember: world.importing(shared, names).back.remember };
      const shown = { workflow: id };
      mirror = await mirrorFiles({ ...options, back, ...more, shown, outside: [data()], stepNames: names });
      await eventually(async () => expect(await status()).toBe('running'));
      return run;
    };

    it('as done while the run is under way is taken, and is_done of what the run did', async () => {
      const day = '20260520';
      const run = await begun('shared-1', day);
      const made = path.join(data(), 'made.txt');
      await mkdir(data());
      await writeFile(made, 'by hand');
      await python(`p.handoff('Step1', 'Step2', 'x'); p.mark_done(p.key('second'), ${JSON.stringify(made)})`, day);
      await eventually(() => expect(world.reported).toContain(`taken: key "second_${day}" is done`));
      // Of this run's input from then on, which its opening says, before a step of it is done.
      await eventually(async () => expect(await read('dedupe_index.json')).toContain('"input"'));
      await python(`p.handoff('Step1', 'Step2', 'y')`, day);
      await eventually(() => expect(world.signals).toHaveLength(2));
      await eventually(async () => expect(await read('execution_log.jsonl')).toMatch(/(?:"signal".*){2}/s));
      expect(await python(`print(p.is_done(p.key('second')))`, day)).toBe('True\n');
      // What it says of its step before the run comes there stays as it is.
      const own = { status: 'completed', output_file: 'made.txt', finished_at: '2026-05-20T10:00:00.5' };
      const said = `json.loads(${JSON.stringify(JSON.stringify(own))})`;
      await python(`state = p.load_state(); state['steps']['second'].update(${said}); p.save_state(state)`, day);
      await python(`p.handoff('Step1', 'Step2', 'z')`, day);
      await eventually(() => expect(world.signals).toHaveLength(3));
      const second = async () => JSON.parse(await read('run_state.json')).steps.second;
      await eventually(async () => expect(await read('execution_log.jsonl')).toMatch(/(?:"signal".*){3}/s));
      expect(await second()).toEqual({ ...own, started_at: null });
      await python(`p.handoff('second', 'third', 'Mind it.')`, day);
      await eventually(() => expect(world.signals).toHaveLength(4));
      gate.resolve();
      expect(await run.result()).toBe('by hand');
      await eventually(async () => expect(await status()).toBe('completed'));
      expect(await second()).toEqual({ ...own, started_at: null });
      expect(await read('handoff.md')).not.toContain('was done before');
      expect(await python(`print([p.is_done(p.key(s)) for s in ('first', 'second', 'third', 'other')])`, day)).toBe(
        '[True, True, True, False]\n',
      );
      // The same keys for another input aren't done.
      await mirror?.close();
      gate = Promise.withResolvers();
      const other = await begun('shared-5', day, {}, { day, other: true });
      expect(await python(`print([p.is_done(p.key(s)) for s in ('first', 'second')])`, day)).toBe('[False, False]\n');
      gate.resolve();
      await expect(other.result()).rejects.toThrow('done by others');
    });

    it('as done behind its hand-over, in the middle of a pass, is taken after that', async () => {
      const day = '20260524';
      const { remember } = world.importing(shared, names).back;
      const taken: string[] = [];
      let isFirst = true;
      const back: MirrorOptions['back'] = {
        ...world.back,
        async remember(subject, records) {
          taken.push(...records.map(({ key }) => key.split('/')[0]!));
          // The pass has read the hand-overs by now.
          const code = `p.handoff('second', 'third', 'Mind it.'); p.mark_done(p.key('second'), 'by hand')`;
          if (isFirst) await python(code, day);
          isFirst = false;
          return remember(subject, records);
        },
      };
      const run = await begun('shared-6', day, { back });
      await python(`p.handoff('Step1', 'Step2', 'x')`, day);
      await eventually(() => expect(taken).toHaveLength(3));
      expect(taken).toEqual(['handoff', 'handoff', 'done']);
      gate.resolve();
      expect(await run.result()).toBe('by hand');
    });

    it('as done for one input counts for none of the next run, with another, that the same folder shows', async () => {
      const day = '20260525';
      const first = await begun('shared-7', day);
      await mirror?.close();
      await python(`p.handoff('Step1', 'Step2', 'x'); p.mark_done(p.key('second'), 'for the first')`, day);
      const next = await begun('shared-8', day, {}, { day, other: true });
      await eventually(async () => expect(await read('run_state.json')).toContain(next.id));
      expect(await python(`print(p.is_done(p.key('second')))`, day)).toBe('False\n');
      gate.resolve();
      expect(await first.result()).toBe('for the first');
      await expect(next.result()).rejects.toThrow('done by others');
    });

    it('as done by both says so, and keeps what the run made', async () => {
      const day = '20260521';
      const run = await begun('shared-2', day);
      await python(`p.mark_done(p.key('first'), 'by hand'); p.mark_done(p.key('second'), 'by hand')`, day);
      for (const key of ['first', 'second']) {
        await eventually(() => expect(world.reported).toContain(`taken: key "${key}_${day}" is done`));
      }
      gate.resolve();
      await run.result();
      await eventually(async () => expect(await status()).toBe('completed'));
      expect(world.reported).toContain(`refused: key "first_${day}": it is done with another output, which is kept.`);
      expect(JSON.parse(await read('dedupe_index.json'))[`first_${day}`].output).toBe('outputs/shared-2/first.json');
    });

    it('under the lock that it has waits for the one who is writing there', async () => {
      const day = '20260523';
      await mkdir(world.folder, { recursive: true });
      await python(`p.mark_done('theirs', 1)`, day);
      const tried: string[] = [];
      const take = `
with open(p.path('dedupe_index.json.lock'), 'w') as lock:
    try: fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB); print('free', end='')
    except BlockingIOError: print('held', end='')`;
      const writeFileAsking: MirrorOptions['writeFile'] = async (draft, bytes) => {
        if (String(bytes).includes('"executed_at"')) tried.push(await python(take, day));
        await writeFile(draft, bytes);
      };
      await begun('shared-4', day, { writeFile: writeFileAsking });
      await eventually(() => expect(tried).not.toEqual([]));
      expect(new Set(tried)).toEqual(new Set(['held']));
      expect(await python(take, day)).toBe('free');
    });

    it('for the first time while the same file is written here, so that no lock was there, is taken', async () => {
      const day = '20260524';
      let isFirst = true;
      const writeFileBeside: MirrorOptions['writeFile'] = async (draft, bytes) => {
        await writeFile(draft, bytes);
        if (!isFirst || !String(bytes).includes('"executed_at"')) return;
        isFirst = false;
        await python(`p.mark_done('theirs', 1)`, day);
      };
      await begun('shared-9', day, { writeFile: writeFileBeside });
      await eventually(() => expect(world.reported).toContain('taken: key "theirs" is done'));
      await eventually(async () => {
        expect(JSON.parse(await read('dedupe_index.json'))).toMatchObject({ [`first_${day}`]: {}, theirs: {} });
      });
    });

    it('several keys at once loses none, nor what it spends', async () => {
      const day = '20260522';
      const run = await begun('shared-3', day);
      await python(
        `for i in range(10):
    p.mark_done(f'own_{i}', i)
    state = p.load_state(); state['total_tokens_used'] += 1; p.save_state(state)`,
        day,
      );
      await eventually(() => expect(world.reported).toContain('taken: key "own_9" is done'));
      // Written again by the run itself, which ends here: its step was not to run.
      gate.resolve();
      await expect(run.result()).rejects.toThrow('done by others');
      await eventually(async () => expect(await status()).toBe('failed'));
      const index = JSON.parse(await read('dedupe_index.json'));
      expect(Object.keys(index).filter((key) => key.startsWith('own_'))).toHaveLength(10);
      expect(JSON.parse(await read('run_state.json'))).toMatchObject({
        total_tokens_used: 10,
        tidemark_tokens_used: 0,
      });
    });
  });

  it.each([
    [
      'another checksum',
      { executed_at: '2030-01-01T00:00:00Z', output: 1, checksum: 'a'.repeat(64) },
      /checksum is not/,
    ],
    ['a secret', { executed_at: '2030-01-01T00:00:00Z', output: 'hunter2', checksum: '' }, /looks like a secret/],
  ])('as done with %s is refused, told once, and stays', async (_name, entry, said) => {
    const find = (value: unknown) =>
      JSON.stringify(value).includes('hunter2') ? [{ place: '', kind: 'password' }] : [];
    const run = await started();
    mirror = await mirrorFiles({ ...options, find, shown: { workflow: run.id } });
    await eventually(async () => expect(await status()).toBe('running'));
    const index = { ...JSON.parse(await read('dedupe_index.json')), mine: entry };
    await writeFile(file('new.json'), JSON.stringify(index));
    await rename(file('new.json'), file('dedupe_index.json'));
    await eventually(() => expect(world.reported).toEqual([expect.stringMatching(said)]));
    expect(world.reported[0]).not.toContain('hunter2');
    expect(world.writes).toEqual([]);
    expect(await read('dedupe_index.json')).toContain('"mine"');
  });

  it('and leave half written is waited for, then set aside', async () => {
    const run = await started();
    mirror = await mirrorFiles({ ...options, shown: { workflow: run.id } });
    await eventually(async () => expect(await read('dedupe_index.json')).toContain('first_'));
    await writeFile(file('dedupe_index.json'), '{"first_');
    await eventually(() =>
      expect(world.reported).toEqual([expect.stringMatching(/^corrupt: dedupe_index.json: it is no JSON/)]),
    );
    await eventually(async () =>
      expect(readJson(await read('dedupe_index.json'), dedupeIndexSchema as never).ok).toBe(true),
    );
  });

  it('before the mirror begins, for the run that is to come, is taken too', async () => {
    await mkdir(world.folder, { recursive: true });
    await writeFile(file('handoff.md'), handoffText(NOTE));
    await started();
    mirror = await mirrorFiles(options);
    await eventually(() => expect(world.signals).toHaveLength(1));
  });
});
