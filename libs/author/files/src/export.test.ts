/** A run as files: what is in them, for a pipeline and for any other workflow, and what is not. */

import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isNameWithin } from '@tidemark/blob-fs/folder-root';
import { tenantId } from '@tidemark/core';
import {
  defineEffect,
  defineWorkflow,
  type KeyParts,
  type PipelineContext,
  pipeline,
  signal,
  task,
} from '@tidemark/sdk';
import { eventually } from '@tidemark/testkit/eventually';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type FilesWorld, filesWorld } from '../fixtures/files-world.ts';
import { pathName } from './documents.ts';
import { type ExportOptions, exportFiles } from './export.ts';
import { openFolder } from './folder.ts';
import { dedupeIndexSchema, lastSuccessFileSchema, logLineSchema, runStateSchema } from './formats.ts';
import { readHandoffs } from './handoff-text.ts';
import { mirrorFiles } from './mirror.ts';
import { RunReader } from './source.ts';

const SECRET = 'the password is hunter2hunter2';
const contentSteps = {
  collect: (input: { leak?: boolean }, ctx: PipelineContext) => {
    ctx.tokens(100);
    ctx.log('read', { result: 'two items', from: 'feed' });
    ctx.handoff('Two items.\n\n## not a heading of ours', ['items.json']);
    return ['one', input.leak === true ? SECRET : 'two'];
  },
  format: (items: readonly string[], ctx: PipelineContext) => {
    ctx.tokens(20);
    return `# Digest\n${items.length} items\n`;
  },
};
// Its runs of one day don't skip each other's steps.
const keyOf = ({ step, workflow }: KeyParts) => `${step}_${workflow}`;
const content = pipeline('content', contentSteps, { key: keyOf });
const failing = pipeline('failing', { only: () => Promise.reject(new Error('no feed')) }, { retry: { attempts: 1 } });
const sometimes = pipeline(
  'sometimes',
  { only: ({ fails }: { fails: boolean }) => (fails ? Promise.reject(new Error('no feed')) : 'made') },
  { retry: { attempts: 1 }, key: keyOf },
);
/** A loop that is no pipeline. */
const loop = defineWorkflow({
  name: 'loop',
  version: 1,
  input: z.object({}),
  belief: z.object({}),
  output: z.number(),
  tasks: { turn: z.object({ left: z.number() }) },
  flow: { turn: ['turn'] },
  starts: ['turn'],
  begin: () => ({ belief: {}, next: [task('turn', { left: 2 })] }),
  steps: {
    async turn(ctx, { left }) {
      ctx.log('handoff', { from: 'turn', to: 'turn', message: `${left} left`, artifacts: [] });
      return left === 0 ? { done: 3 } : { output: { left }, next: [task('turn', { left: left - 1 })] };
    },
  },
});

const book = defineEffect({
  operation: 'book',
  kind: 'idempotent',
  request: z.object({}),
  response: z.object({}),
  call: async () => ({}),
  compensate: async () => {},
});
/** Keeps what it hears in working memory, corrects the checkpoint before, and fails at last. */
const mindful = defineWorkflow({
  name: 'mindful',
  version: 1,
  input: z.object({}),
  belief: z.object({}),
  output: z.object({}),
  signals: { go: z.json() },
  tasks: { hear: z.object({ at: z.number() }) },
  flow: { hear: ['hear'] },
  starts: ['hear'],
  effects: [book],
  onFailure: 'compensate',
  retry: { attempts: 1 },
  phases: { only: { budgetTokens: 100 } },
  begin: () => ({ belief: {}, next: [task('hear', { at: 1 })] }),
  steps: {
    async hear(ctx, { at }) {
      if (at === 3) throw new Error('enough');
      await ctx.effect(book, {});
      return {
        memory: { [`heard-${at}`]: true },
        next: [task('hear', { at: at + 1 }, { when: signal('go') })],
        ...(at === 2 && { supersedes: 1 }),
      };
    },
  },
});

let world: FilesWorld;
let common: Pick<ExportOptions, 'client' | 'folder' | 'onReport'>;
beforeAll(async () => {
  world = await filesWorld([content, failing, sometimes, loop, mindful]);
  common = { client: world.client, folder: world.folder, onReport: world.onReport };
  await (await world.host.client.start(content, {}, { id: 'content-1' })).result();
  await (await world.host.client.start(content, { leak: true }, { id: 'leaky/../run' })).result();
  await (await world.host.client.start(loop, {}, { id: 'loop-1' })).result();
  await (await world.host.client.start(failing, {}, { id: 'failing-1' })).result().catch(() => {});
});
afterAll(() => world.close());
beforeEach(async () => {
  await rm(world.folder, { recursive: true, force: true });
  world.reported.length = 0;
});

const read = (name: string): Promise<string> => readFile(path.join(world.folder, name), 'utf8');
const logLines = async () => {
  const lines = (await read('execution_log.jsonl')).trimEnd().split('\n');
  return lines.map((line) => logLineSchema.parse(JSON.parse(line)));
};
const json = async (name: string): Promise<never> => JSON.parse(await read(name)) as never;

describe('a link in the folder', () => {
  const linked = { name: 'InvalidError', code: 'path-linked' };
  let outside: string;
  beforeEach(async () => {
    outside = path.join(world.folder, '../outside');
    await rm(outside, { recursive: true, force: true });
    for (const folder of [outside, world.folder]) await mkdir(folder);
    await writeFile(path.join(outside, 'mine'), 'mine');
  });

  it.each(['outputs', 'archive'])('in place of %s is not written through', async (name) => {
    // Whose hand-overs go to the archive.
    await exportFiles({ ...common, shown: { workflow: 'loop-1' } });
    await rm(path.join(world.folder, name), { recursive: true, force: true });
    await symlink(outside, path.join(world.folder, name));
    await expect(exportFiles({ ...common, shown: { workflow: 'content-1' } })).rejects.toMatchObject(linked);
    expect(await readdir(outside)).toEqual(['mine']);
  });

  it.each(['handoff.md', 'run_state.json', '.tidemark-files.json'])('in place of %s is not read', async (name) => {
    await symlink(path.join(outside, 'mine'), path.join(world.folder, name));
    await expect(exportFiles({ ...common, shown: { workflow: 'content-1' } })).rejects.toMatchObject(linked);
    expect(await readFile(path.join(outside, 'mine'), 'utf8')).toBe('mine');
  });

  it('to which a key that is marked done leads is told, and nothing of it is taken', async () => {
    await symlink(outside, path.join(world.folder, 'own'));
    const entry = { executed_at: '2026-01-01T00:00:00Z', output: 'own/mine', checksum: '' };
    await writeFile(path.join(world.folder, 'dedupe_index.json'), JSON.stringify({ other_1: entry }));
    await exportFiles({ ...common, shown: { workflow: 'content-1' }, back: world.back });
    expect(world.reported).toContainEqual(
      expect.stringMatching(/refused: key "other_1": its output can't be read: .*link/),
    );
    expect(world.writes).toEqual([]);
  });
});

it('names what is a name on every system', () => {
  const names = ['plain-1.x', '..', '../a', 'nul', 'Con.x', 'a.', 'a'.repeat(200), 'a/b'].map(pathName);
  expect(names).toEqual([
    'plain-1.x',
    expect.stringMatching(/^_~/),
    expect.stringMatching(/^__a~/),
    expect.stringMatching(/^_nul~/),
    expect.stringMatching(/^_Con\.x~/),
    expect.stringMatching(/^a_~/),
    expect.stringMatching(/^a{120}~/),
    expect.stringMatching(/^a_b~/),
  ]);
  for (const name of names) expect(isNameWithin(name)).toBe(true);
});

it('says of each checkpoint what became of it and what memory held, also to who read it before', async () => {
  const run = await world.host.client.start(mindful, {}, { id: 'mindful-1' });
  // One reader, as a mirror has it: what it knows of checkpoints is not asked again.
  const reader = new RunReader({ client: world.client });
  const statuses = async () => {
    const { log } = await reader.view((await reader.newest({ workflow: 'mindful-1' }))!);
    return log.flatMap(({ line }) => (line.action === 'done' ? line.status : []));
  };
  await eventually(async () => expect(await statuses()).toEqual(['committed']));
  await world.host.client.signal('mindful-1', 'go', null);
  await eventually(async () => expect(await statuses()).toEqual(['superseded', 'committed']));
  await world.host.client.signal('mindful-1', 'go', null);
  await run.result().catch(() => {});
  await eventually(async () => expect(await statuses()).toEqual(['compensated', 'compensated']));
  await exportFiles({ ...common, shown: { workflow: 'mindful-1' } });
  const done = (await logLines()).filter(({ action }) => action === 'done');
  const scopes = (length: number, keys: readonly string[]) => ({
    system_context: { keys: [] },
    working_memory: { phase: 'only', keys, tokens: expect.any(Number), budget_tokens: 100 },
    trace: { length },
  });
  expect(done).toMatchObject([
    { sequence: 1, status: 'compensated', supersedes: null, memory_scope_snapshot: scopes(1, ['heard-1']) },
    { sequence: 2, status: 'compensated', supersedes: 1, memory_scope_snapshot: scopes(2, ['heard-1', 'heard-2']) },
  ]);
});

describe('a pipeline that succeeded', () => {
  it('is the five files, in their formats', async () => {
    await exportFiles({ ...common, shown: { workflow: 'content-1' } });
    const state = runStateSchema.parse(await json('run_state.json'));
    expect(state).toMatchObject({
      pipeline_id: 'content-1',
      status: 'completed',
      current_step: 3,
      total_tokens_used: 120,
    });
    const fields = ['pipeline_id', 'status', 'current_step', 'steps', 'total_tokens_used', 'tidemark_tokens_used'];
    expect(Object.keys(state)).toEqual(fields);
    expect(state.steps.collect).toEqual({
      status: 'completed',
      output_file: 'outputs/content-1/collect.json',
      started_at: expect.any(String),
      finished_at: expect.any(String),
    });
    expect(await read('outputs/content-1/format.txt')).toBe('# Digest\n2 items\n');
    const index = dedupeIndexSchema.parse(await json('dedupe_index.json'));
    expect(Object.keys(index)).toEqual(['collect_content-1', 'format_content-1']);
    expect(readHandoffs(await read('handoff.md'))).toEqual([
      { from: 'collect', to: 'format', message: 'Two items.\n\n## not a heading of ours', artifacts: ['items.json'] },
      expect.objectContaining({ from: 'format', to: 'end' }),
    ]);
    const lines = await logLines();
    expect(lines.map(({ step, action }) => `${step} ${action}`)).toEqual([
      ...['collect start', 'collect read', 'collect handoff', 'collect done'],
      ...['format start', 'format handoff', 'format done', 'null ended'],
    ]);
    expect(lines.reduce((sum, { tokens }) => sum + (tokens ?? 0), 0)).toBe(state.total_tokens_used);
    expect(lines[1]).toMatchObject({ result: 'two items', from: 'feed' });
    expect(lastSuccessFileSchema.parse(await json('last_success.json'))).toMatchObject({
      pipeline_id: 'content-1',
      total_tokens: 120,
      outputs: { collect: 'outputs/content-1/collect.json', format: 'outputs/content-1/format.txt' },
    });
    expect(world.reported).toEqual([]);
  });

  it('has outputs whose sha256sum is the recorded checksum', async () => {
    await exportFiles({ ...common, shown: { definition: 'content' } });
    const index = dedupeIndexSchema.parse(await json('dedupe_index.json'));
    for (const { output, checksum } of Object.values(index)) {
      const sum = execFileSync('sha256sum', [path.join(world.folder, String(output))], { encoding: 'utf8' });
      expect(sum.split(' ')[0]?.replace('\\', '')).toBe(checksum);
    }
    // An id that would lead out of the folder stays within it.
    expect(Object.values(index).map(({ output }) => output)).toEqual([
      expect.stringMatching(/^outputs\/leaky_\.\._run~[0-9a-f]{8}\/collect\.json$/),
      expect.stringContaining('format.txt'),
    ]);
  });

  it('holds no secret: it is withheld, and told by its place', async () => {
    const find = (value: unknown) =>
      JSON.stringify(value).includes('hunter2') ? [{ place: '/1', kind: 'password' }] : [];
    await exportFiles({ ...common, shown: { workflow: 'leaky/../run' }, find });
    const names = await readdir(world.folder, { recursive: true, withFileTypes: true });
    for (const file of names.filter((entry) => entry.isFile())) {
      expect(await readFile(path.join(file.parentPath, file.name), 'utf8')).not.toContain('hunter2');
    }
    expect(world.reported).toEqual([
      'withheld: output of step collect at /1 (password): looks like a secret; it is not written.',
    ]);
    expect(runStateSchema.parse(await json('run_state.json')).steps.collect?.output_file).toBeNull();
    // The control: without the check it is there.
    await exportFiles({ ...common, shown: { workflow: 'leaky/../run' } });
    expect(
      await read(
        String(
          ((await json('run_state.json')) as { steps: { collect: { output_file: string } } }).steps.collect.output_file,
        ),
      ),
    ).toContain('hunter2');
  });
});

describe('another workflow', () => {
  it('is shown by its steps: a repeated one once, with each output', async () => {
    await exportFiles({ ...common, shown: { workflow: 'loop-1' }, stepNames: ['turn'] });
    const state = runStateSchema.parse(await json('run_state.json'));
    expect(state.steps).toMatchObject({ turn: { status: 'completed' } });
    const index = dedupeIndexSchema.parse(await json('dedupe_index.json'));
    expect(Object.keys(index)).toEqual(['turn_0.0', 'turn_1.0', 'turn_2.0']);
    expect(readHandoffs(await read('handoff.md')).map(({ message }) => message)).toEqual([
      '2 left',
      '1 left',
      '0 left',
    ]);
    expect((await readdir(path.join(world.folder, 'outputs/loop-1'))).sort()).toEqual([
      'turn-1.0.json',
      'turn-2.0.json',
      'turn.json',
    ]);
  });

  it('that failed says where and why, and has no last success', async () => {
    await exportFiles({ ...common, shown: { definition: 'failing' }, stepNames: ['only'] });
    const state = runStateSchema.parse(await json('run_state.json'));
    expect(state).toMatchObject({ status: 'failed', current_step: 1, steps: { only: { status: 'failed' } } });
    expect(await read('execution_log.jsonl')).toContain('no feed');
    await expect(read('last_success.json')).rejects.toThrow('ENOENT');
  });

  it("that failed falls back to its own tenant's last success, and to nobody else's", async () => {
    const { client } = world.host;
    const start = async (fails: boolean, tenant: string, id: string): Promise<void> => {
      const run = await client.start(sometimes, { fails }, { id, tenant: tenantId(tenant) });
      await run.result().catch(() => {});
    };
    await start(false, 'acme', 'acme-1');
    await start(true, 'default', 'own-1');
    await start(false, 'acme', 'acme-2');
    const view = await exportFiles({ ...common, shown: { definition: 'sometimes' } });
    expect(view.workflow).toBe('own-1');
    await expect(read('last_success.json')).rejects.toThrow('ENOENT');
    await start(false, 'default', 'own-2');
    await start(true, 'default', 'own-3');
    expect((await exportFiles({ ...common, shown: { definition: 'sometimes' } })).status).toBe('failed');
    expect(await json('last_success.json')).toMatchObject({ pipeline_id: 'own-2' });
  });

  it('that is unknown is refused, and nothing is made', async () => {
    await expect(exportFiles({ ...common, shown: { workflow: 'nobody' } })).rejects.toMatchObject({
      code: 'workflow-unknown',
    });
    await expect(readdir(world.folder)).rejects.toThrow('ENOENT');
  });
});

describe('a folder that is not as it should be', () => {
  const shown = { workflow: 'content-1' };
  const put = async (name: string, text: string): Promise<void> => {
    const file = path.join(world.folder, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text);
  };

  it.each([
    ['run_state.json', '{"pipeline_id": "content-1", "sta'],
    ['run_state.json', ''],
    ['dedupe_index.json', '{"a": {"executed_at": "yesterday"}}'],
    ['last_success.json', '{"pipeline_id": "content-0"}'],
    ['handoff.md', '## a → b Handoff\n\0\0'],
    ['.tidemark-files.json', '{"ver'],
  ])('has a corrupt %s (%j): set aside, told, and rebuilt', async (name, text) => {
    await exportFiles({ ...common, shown });
    const whole = await read(name);
    await put(name, text);
    await exportFiles({ ...common, shown });
    const parsed = (content: string): unknown => (name.startsWith('.') ? JSON.parse(content) : content);
    expect(parsed(await read(name))).toEqual(parsed(whole));
    const aside = (await readdir(world.folder)).filter((file) => file.startsWith(`${name}.corrupt-`));
    expect(aside).toHaveLength(1);
    expect(await read(aside[0] as string)).toBe(text);
    expect(world.reported).toEqual([expect.stringMatching(`^corrupt: ${name}: .* it is now ${name}.corrupt-`)]);
  });

  it('is of a newer version: refused, and nothing is changed', async () => {
    await put('.tidemark-files.json', '{"version": 2, "run": "x"}');
    await put('run_state.json', 'whatever');
    await expect(exportFiles({ ...common, shown })).rejects.toMatchObject({ code: 'files-newer' });
    expect(await read('run_state.json')).toBe('whatever');
  });

  const theirs = { pipeline_id: 'theirs', status: 'running', current_step: 3, steps: {}, total_tokens_used: 1 };
  it.each([
    ['run_state.json', '{"version": 3, "current": "build", "tasks": [{"id": 1, "done": true}]}'],
    ['run_state.json', '{\n  // kept by hand\n  "phase": "review",\n}'],
    ['run_state.json', '[]'],
    ['run_state.json', 'phase: review\n'],
    ['run_state.json', JSON.stringify(theirs)],
    ['dedupe_index.json', '{"https://example.com": {"title": "seen"}}'],
    ['dedupe_index.json', '["a", "b"]'],
    ['last_success.json', '{"at": "2026-05-19", "commit": "abc"}'],
    ['last_success.json', '{"pipeline_id": "theirs", "outputs": {}}'],
    ['execution_log.jsonl', '{"level":"info","msg":"started"}\n'],
    ['execution_log.jsonl', '{"ts":"2026-01-01T00:00:00Z","step":"x","action":"x"}\n'],
    ['handoff.md', '# Handoff\n\nWhat the next engineer must know.\n'],
    ['handoff.md', '# Notes\n\n## Alice → Bob Handoff\n\nhello\n'],
    ['handoff.md', '## Alice → Bob Handoff\n\nhello\n\n## Other\n'],
    ['outputs/content-1/collect.json', '{"theirs":true}'],
    ['outputs/content-1/format.txt', 'their text'],
  ])("has another program's %s (%j): refused by its name, and nothing is touched", async (name, text) => {
    await put(name, text);
    const refused = { code: 'files-foreign', message: expect.stringContaining(name) };
    const names = async (): Promise<readonly string[]> => {
      const found = await readdir(world.folder, { recursive: true, withFileTypes: true });
      const files = found.filter((file) => file.isFile() && !file.name.startsWith('.tidemark-files.'));
      return files.map((file) => path.relative(world.folder, path.join(file.parentPath, file.name)));
    };
    await expect(exportFiles({ ...common, shown })).rejects.toMatchObject(refused);
    expect(await names()).toEqual([name]);
    const mirror = await mirrorFiles({ ...common, shown });
    await expect(mirror.ended).rejects.toMatchObject(refused);
    expect(await names()).toEqual([name]);
    expect(await read(name)).toBe(text);
  });

  it('is one of ours, in which another program has begun to write: refused as well', async () => {
    await exportFiles({ ...common, shown });
    for (const [name, text] of [
      ['run_state.json', '{"version": 3}'],
      ['run_state.json', '{"pipeline_id":"theirs","status":"new","steps":{}}'],
      ['run_state.json', '{"pipeline_id":"theirs","phase":"x"}'],
      ['run_state.json', '{"seed": 123456789012345678901234567890}'],
      ['run_state.json', '{"a":1,"a":2}'],
      ['run_state.json', 'phase: review\n'],
      ['last_success.json', 'null'],
      ['last_success.json', '{"pipeline_id":"theirs","outputs":{}}'],
      ['dedupe_index.json', '{"entries":[1]}'],
      ['dedupe_index.json', '{"https://example.com": {"title": "seen"}}'],
      ['execution_log.jsonl', 'time=12 level=info\n'],
      ['execution_log.jsonl', '{"level":"info","msg":"started"}\n'],
      ['handoff.md', '# Handoff\n\nWhat the next engineer must know.\n'],
      ['outputs/content-1/collect.json', '{"theirs":true}'],
    ] as const) {
      const ours = await read(name);
      await put(name, text);
      // Nothing else is written either.
      const lost = path.join(world.folder, 'dedupe_index.json');
      if (name === 'last_success.json') await rm(lost, { force: true });
      await expect(exportFiles({ ...common, shown })).rejects.toMatchObject({
        code: 'files-foreign',
        details: { file: name },
      });
      expect(await read(name)).toBe(text);
      if (name === 'last_success.json') await expect(readFile(lost)).rejects.toThrow('ENOENT');
      await put(name, ours);
      if (name === 'last_success.json') await exportFiles({ ...common, shown });
    }
    expect((await readdir(world.folder)).filter((name) => name.includes('corrupt'))).toEqual([]);
    await exportFiles({ ...common, shown });
  });

  it('is one of ours, to which a script of the run adds: what it says in the same form stays', async () => {
    await exportFiles({ ...common, shown });
    const { pipeline_id, ...state } = JSON.parse(await read('run_state.json'));
    await put('run_state.json', JSON.stringify({ owner: 'a script', ...state, pipeline_id }));
    const log = await read('execution_log.jsonl');
    const theirs = [
      '{"ts": "2026-01-01T00:00:00Z", "action": "theirs", "cost": 1.50}',
      '{"ts":"2099-01-01T00:00:00Z","x":1}',
    ];
    // Its writer was killed in the middle of a line, and a later one went on behind it.
    await put('execution_log.jsonl', `${log}${theirs[0]}\n{"ts": "20${theirs[1]}\n{"ts": "2`);
    await put('handoff.md', `# Ours\n${await read('handoff.md')}\n## x → y Handoff\n\ntheirs\n`);
    await exportFiles({ ...common, shown });
    expect(await read('run_state.json')).toContain('a script');
    const kept = `${theirs[0]}\n${log}${theirs[1]}\n`;
    expect(await read('execution_log.jsonl')).toBe(kept);
    expect(world.reported.filter((each) => !each.startsWith('refused: hand-over'))).toEqual([
      expect.stringMatching(/^corrupt: execution_log.jsonl: line 10 is cut; .*its whole lines stay/),
    ]);
    await exportFiles({ ...common, shown });
    expect(await read('execution_log.jsonl')).toBe(kept);
    expect(await read('handoff.md')).toContain('theirs');
  });

  it('has a state that a script is still writing, before the first export: it is waited for', async () => {
    const whole = JSON.stringify({ ...theirs, pipeline_id: 'content-1', owner: 'a script' });
    await put('run_state.json', '');
    const exported = exportFiles({ ...common, shown });
    await put('run_state.json', whole.slice(0, 40));
    await put('run_state.json', whole);
    await exported;
    expect(await read('run_state.json')).toContain('a script');
    // The control: one that stays so is another program's.
    await rm(world.folder, { recursive: true });
    await put('run_state.json', '');
    await expect(exportFiles({ ...common, shown })).rejects.toMatchObject({ code: 'files-foreign' });
    expect(await readdir(world.folder)).toEqual(['run_state.json']);
  });

  it('has the files of a script that kept this run: its log and hand-overs stay', async () => {
    await put('run_state.json', JSON.stringify({ ...theirs, pipeline_id: 'content-1', owner: 'a script' }));
    await put('handoff.md', '## x → y Handoff\n\ntheirs');
    await put('execution_log.jsonl', '{"ts":"2026-01-01T00:00:00Z","step":"x","action":"theirs"}\n');
    await exportFiles({ ...common, shown });
    expect(await read('run_state.json')).toContain('a script');
    expect(await read('handoff.md')).toContain('theirs');
    const [first, ...rest] = (await read('execution_log.jsonl')).split('\n');
    expect(first).toBe('{"ts":"2026-01-01T00:00:00Z","step":"x","action":"theirs"}');
    expect(rest).toHaveLength(9);
    await expect(readdir(path.join(world.folder, 'archive'))).rejects.toThrow('ENOENT');
  });

  it('names that differ in case are distinct on every disk', () => {
    const names = ['report', 'Report', 'REPORT', 'rEport'].map((name) => pathName(name).toLowerCase());
    expect(new Set(names).size).toBe(4);
    expect(pathName('report')).toBe('report');
  });

  it('is in use by another process: refused', async () => {
    const holder = await openFolder(world.folder);
    await expect(exportFiles({ ...common, shown })).rejects.toMatchObject({ code: 'files-in-use' });
    await holder.close();
    await exportFiles({ ...common, shown });
  });

  it('can not be made, since a file stands in its way: refused', async () => {
    await put('file', '');
    for (const folder of ['file', 'file/below'].map((name) => path.join(world.folder, name))) {
      await expect(exportFiles({ ...common, folder, shown })).rejects.toMatchObject({ code: 'files-no-folder' });
    }
  });

  it.each([
    ['ENOSPC', /disk is full/],
    ['EROFS', /read-only/],
  ])('can not be written (%s): what was there stays whole, and nothing half written is left', async (code, said) => {
    await exportFiles({ ...common, shown });
    const before = await read('run_state.json');
    const writeFile = async (): Promise<void> => {
      throw Object.assign(new Error(code), { code });
    };
    const other = exportFiles({ ...common, shown: { workflow: 'loop-1' }, writeFile });
    await expect(other).rejects.toMatchObject({ code: 'files-unavailable', message: expect.stringMatching(said) });
    expect(await read('run_state.json')).toBe(before);
    expect((await readdir(world.folder, { recursive: true })).filter((name) => name.endsWith('.part'))).toEqual([]);
  });
});
