/** Folders as their makers write them, and a hundred variants: read, gone on with, and written back so that their own reader still works. */

import { execFileSync } from 'node:child_process';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { crc32 } from 'node:zlib';
import { type PipelineContext, pipeline } from '@tidemark/sdk';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type FilesWorld, filesWorld } from '../fixtures/files-world.ts';
import { exportFiles } from './export.ts';
import { type ImportOptions, importFiles } from './import.ts';

const SAMPLES = fileURLToPath(new URL('../fixtures/first-users/', import.meta.url));
const STEPS = ['1_collect', '2_filter', '3_draft', '4_rewrite', '5_format'];

const calls: string[] = [];
const step = (name: string) => (made: unknown, ctx: PipelineContext) => {
  calls.push(name);
  ctx.tokens(10);
  return `${name} of ${JSON.stringify(made)}`;
};
const content = pipeline('content_gen', Object.fromEntries(STEPS.map((name) => [name, step(name)])) as never, {
  key: ({ step: name, workflow }) => `${name}_${workflow.replace('content_gen_', '')}`,
});

let world: FilesWorld;
let data: string;
let options: ImportOptions;
beforeAll(async () => {
  world = await filesWorld([content]);
  data = path.join(path.dirname(world.folder), 'data');
  options = { ...world.importing(content, STEPS), outside: [data] };
});
afterAll(() => world.close());

/** The sample, whose `/data` is a folder of the test's, with its checksum made right or not. */
beforeEach(async () => {
  await rm(world.folder, { recursive: true, force: true });
  await rm(data, { recursive: true, force: true });
  await cp(SAMPLES, world.folder, { recursive: true });
  await mkdir(data);
  await writeFile(path.join(data, 'raw_topics.json'), RAW);
  await writeFile(path.join(data, 'filtered_topics.json'), '["agents"]');
  for (const file of ['run_state.json', 'dedupe_index.json', 'last_success.json']) {
    await put(file, (await read(file)).replaceAll('/data/', `${data}/`));
  }
  world.reported.length = 0;
  calls.length = 0;
});

const RAW = '["agents", "models"]';
const read = (file: string): Promise<string> => readFile(path.join(world.folder, file), 'utf8');
const put = (file: string, text: string): Promise<void> => writeFile(path.join(world.folder, file), text);
const rightChecksum = async (): Promise<void> =>
  put(
    'dedupe_index.json',
    (await read('dedupe_index.json')).replace('a3f2b8c1', crc32(RAW).toString(16).padStart(8, '0')),
  );

/** How their scripts find the step to do: `current_step` counts from 1. Null: all is done. */
function theirNext(text: string): string | null {
  const {
    status,
    current_step: number,
    steps,
  } = JSON.parse(text) as {
    status: string;
    current_step: number;
    steps: Record<string, { status: string }>;
  };
  expect(number).toBeTypeOf('number');
  return status === 'completed' ? null : (Object.keys(steps)[Math.max(number, 1) - 1] ?? null);
}

describe('the folder of a pipeline that somebody else’s program runs', () => {
  it('is gone on with from where it is, and written back for its own reader', async () => {
    await rightChecksum();
    const own = JSON.parse(await read('run_state.json')) as { steps: Record<string, object> };
    await put(
      'run_state.json',
      JSON.stringify({ ...own, owner: 'ops', steps: { ...own.steps, '4_rewrite': { status: 'pending', tries: 2 } } }),
    );
    expect(theirNext(await read('run_state.json'))).toBe('3_draft');
    const [log, handoff] = [await read('execution_log.jsonl'), await read('handoff.md')];
    const imported = await importFiles({ ...options, id: 'content_gen_20260520' });
    expect(imported).toMatchObject({ done: ['1_collect', '2_filter'], keyCount: 2, handoffCount: 2 });
    await world.host.client.run(imported.id).result();
    expect(calls).toEqual(['3_draft', '4_rewrite', '5_format']);

    await exportFiles({
      client: world.client,
      shown: { workflow: imported.id },
      folder: world.folder,
      stepNames: STEPS,
      back: world.back,
      onReport: world.onReport,
    });
    const written = await read('run_state.json');
    expect(theirNext(written)).toBeNull();
    expect(JSON.parse(written)).toMatchObject({
      pipeline_id: 'content_gen_20260520',
      status: 'completed',
      current_step: 6,
      owner: 'ops',
      steps: { '4_rewrite': { status: 'completed', tries: 2 } },
    });
    // What they wrote is there byte for byte: hand-overs in place, their log before ours.
    expect((await read('handoff.md')).startsWith(handoff)).toBe(true);
    expect((await read('execution_log.jsonl')).startsWith(log)).toBe(true);
    // What they had spent counts, and what the run has.
    expect(JSON.parse(written)).toMatchObject({ total_tokens_used: 8_530, tidemark_tokens_used: 30 });
    const index = JSON.parse(await read('dedupe_index.json')) as Record<string, { output: string }>;
    expect(Object.keys(index)).toEqual(expect.arrayContaining(STEPS.map((name) => `${name}_20260520`)));
    for (const { output } of Object.values(index)) {
      expect(await readFile(path.resolve(world.folder, output), 'utf8')).not.toBe('');
    }
    // In their own words where it is the same output.
    expect(index['1_collect_20260520']).toMatchObject({
      executed_at: '2026-05-20T10:01:23+08:00',
      output: path.join(data, 'raw_topics.json'),
    });
    expect(JSON.parse(written).steps['1_collect']).toMatchObject({ finished_at: '2026-05-20T10:01:23+08:00' });
    expect(world.reported.join('\n')).not.toContain('another output');
  });

  it('whose output differs from its checksum says so, and only then does that step again', async () => {
    const start = async (): Promise<void> => {};
    expect(await importFiles({ ...options, id: 'differs', start })).toMatchObject({ done: [] });
    expect(world.reported).toContain('refused: step 1_collect: its checksum is not that of its output. It runs again.');
    expect(world.reported).toContain('refused: key "1_collect_20260520": its checksum is not that of its output.');
  });

  it('whose output is missing says so, and only then does that step again', async () => {
    await rightChecksum();
    await rm(path.join(data, 'filtered_topics.json'));
    const start = async (): Promise<void> => {};
    expect(await importFiles({ ...options, id: 'missing', start })).toMatchObject({ done: ['1_collect'] });
    expect(world.reported).toContainEqual(
      expect.stringMatching(/step 2_filter: its output .* isn't there. It runs again/),
    );
  });

  it('whose outputs lie elsewhere is refused without the word that they may be read', async () => {
    const start = async (): Promise<void> => expect.unreachable();
    await expect(importFiles({ ...options, outside: [], start })).rejects.toMatchObject({
      code: 'files-outside',
      message: expect.stringContaining('--outputs'),
    });
  });

  it('of which hardly anything is known goes on behind its completed steps', async () => {
    await put('run_state.json', await read('run_state.sparse.json'));
    await rm(path.join(world.folder, 'dedupe_index.json'));
    const imported = await importFiles({ ...options, id: 'sparse' });
    expect(imported.done).toEqual(['1_collect']);
    await world.host.client.run('sparse').result();
    expect(calls).toEqual(STEPS.slice(1));
    expect(world.reported).toContain(
      'unnamed: step 1_collect: it is done and names no output, so the next step receives null.',
    );
  });
});

it.each(['Asia/Kolkata', 'America/Anchorage', 'UTC'])('a day is theirs, where both are in %s', (zone) => {
  const env = { ...process.env, TZ: zone };
  // Midnight of UTC, and around it.
  const seconds = [-20, -6, -1, 0, 1, 6, 20].map((hours) => Date.UTC(2026, 2, 29) / 1_000 + hours * 3_600);
  const core = fileURLToPath(import.meta.resolve('@tidemark/core'));
  const ours = `import { localDay } from ${JSON.stringify(core)};
    for (const at of ${JSON.stringify(seconds)}) console.log(localDay(at * 1_000).replaceAll('-', ''))`;
  const theirs = `from datetime import datetime
for at in ${JSON.stringify(seconds)}: print(datetime.fromtimestamp(at).strftime('%Y%m%d'))`;
  const days = execFileSync('python3', ['-c', theirs], { env, encoding: 'utf8' });
  expect(execFileSync(process.execPath, ['--input-type=module', '-e', ours], { env, encoding: 'utf8' })).toBe(days);
});

type Fields = Record<string, unknown>;

/** Members of an object in another order, without some, and with some of their own. */
const variantOf = (object: Fields, needed: readonly string[]) =>
  fc
    .record({
      keys: fc.shuffledSubarray(Object.keys(object), { minLength: 0 }),
      more: fc.dictionary(fc.constantFrom('owner', 'x-tries', 'größe'), fc.jsonValue({ maxDepth: 1 })),
    })
    .map(({ keys, more }) => {
      const all = [...new Set([...keys, ...needed])];
      return { ...more, ...Object.fromEntries(all.map((key) => [key, object[key]])) } as Fields;
    });

const TIMES = ['2026-05-20T10:01:23Z', '2026-05-20 10:01:23', '2026-05-20T10:01:23.120345', '2026-05-20T10:01+0800'];
/** As an agent writes JSON: plain, indented, with a trailing comma, with a comment. */
const WRITERS: readonly ((value: unknown) => string)[] = [
  (value) => JSON.stringify(value),
  (value) => JSON.stringify(value, null, 4),
  (value) => JSON.stringify(value, null, 1).replace(/\n}$/, ',\n}'),
  (value) => `// by an agent\n${JSON.stringify(value)}`,
];

describe('a hundred variants of it', () => {
  it('are read: missing fields, other orders, unknown fields, other times, trailing commas and comments', async () => {
    const sample = JSON.parse(await read('run_state.json')) as { steps: Record<string, Fields> };
    const variants = fc.record({
      whole: variantOf({ ...sample }, ['pipeline_id', 'status', 'steps']),
      collect: variantOf({ ...sample.steps['1_collect'] }, ['status']),
      time: fc.constantFrom(...TIMES),
      current: fc.constantFrom<unknown>(0, 3, '3_draft', null),
      write: fc.constantFrom(...WRITERS),
    });
    let count = 0;
    await fc.assert(
      fc.asyncProperty(variants, async ({ whole, collect, time, current, write }) => {
        count += 1;
        const first = 'finished_at' in collect ? { ...collect, finished_at: time } : collect;
        const steps = { ...sample.steps, '1_collect': first };
        await put('run_state.json', write({ ...whole, current_step: current, steps }));
        await rm(path.join(world.folder, 'dedupe_index.json'), { force: true });
        const kept: string[] = [];
        const back = {
          remember: async (_: string, records: readonly { key: string }[]) =>
            kept.push(...records.map(({ key }) => key)),
        };
        const { done } = await importFiles({ ...options, back, id: 'variant', start: async () => {} });
        expect(done).toEqual(['1_collect', '2_filter']);
        expect(kept).toEqual(expect.arrayContaining(['import/variant/1_collect', 'import/variant/2_filter']));
      }),
      { numRuns: 100, seed: 24 },
    );
    expect(count).toBe(100);
  });
});
