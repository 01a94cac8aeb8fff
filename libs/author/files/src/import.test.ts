/** A folder that a shell script wrote becomes a run in which the steps that it calls completed are done; and a mirrored one resumes elsewhere. */

import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { decodePayload } from '@tidemark/codec';
import { checksumOf, inputDigestOf, type KeyParts, type PipelineContext, pipeline, stepRecordIn } from '@tidemark/sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type FilesWorld, filesWorld } from '../fixtures/files-world.ts';
import { exportFiles } from './export.ts';
import type { DedupeEntry } from './formats.ts';
import { type ImportOptions, importFiles } from './import.ts';

const calls: string[] = [];
const steps = {
  collect: () => {
    calls.push('collect');
    return ['collected here'];
  },
  draft: async (items: string[], ctx: PipelineContext) => {
    calls.push('draft');
    const notes = await ctx.handoffs();
    return `${items.join()}; ${notes.map(({ message }) => message).join()}`;
  },
  format: (text: string) => `<${text}>`,
};
const content = pipeline('content', steps, { key: ({ step, workflow }: KeyParts) => `${step}_${workflow}` });

/** With default keys. */
const daily = pipeline('daily', { collect: (input: string) => `made of ${input}` }, { date: () => '2026-05-20' });
/** Nobody runs it. */
const resting = pipeline('resting', steps);

let world: FilesWorld;
let options: ImportOptions;
beforeAll(async () => {
  world = await filesWorld([content, daily]);
  options = world.importing(content, ['collect', 'draft', 'format']);
});
afterAll(() => world.close());
beforeEach(async () => {
  await rm(world.folder, { recursive: true, force: true });
  await mkdir(world.folder, { recursive: true });
  world.reported.length = 0;
  calls.length = 0;
});

const put = (name: string, text: string): Promise<void> => writeFile(path.join(world.folder, name), text);
const step = (status: string, output_file: string | null) => ({
  status,
  output_file,
  started_at: null,
  finished_at: null,
});
const state = (id: string, steps: object) =>
  JSON.stringify({ pipeline_id: id, status: 'failed', current_step: 'draft', steps, total_tokens_used: 700 });

describe('a folder that a shell script made', () => {
  it('becomes a run in which its completed steps are done, with their outputs and its hand-overs', async () => {
    await put('collected.json', '["from the script"]');
    await put(
      'run_state.json',
      state('script-1', { collect: step('completed', 'collected.json'), draft: step('failed', null) }),
    );
    await put('handoff.md', '## script → draft Handoff\n\nMind the gap.\n');
    const before = await readdir(world.folder);
    const imported = await importFiles(options);
    expect(imported).toEqual({ id: 'script-1', done: ['collect'], keyCount: 0, handoffCount: 1 });
    const run = world.host.client.run('script-1');
    expect(await run.result()).toBe('<from the script; collect was done before: 1 items.,Mind the gap.>');
    expect(calls).toEqual(['draft']);
    const [first] = await run.checkpoints();
    const record = stepRecordIn(decodePayload('CheckpointCommitted', first!.payload).output);
    expect(record).toMatchObject({ skipped: { workflow: 'script-1' }, output: ['from the script'] });
    expect(await readdir(world.folder)).toEqual(before);
    // The same import again is the same run.
    expect(await importFiles(options)).toEqual(imported);
  });

  it('whose completed steps name their outputs in the index alone, as its class does, hands them on with what was spent', async () => {
    await put('collected.txt', 'an older day');
    await put('new.json', '["from the index"]');
    const index = {
      collect_20260519: { executed_at: '2026-05-19T10:00:00+08:00', output: 'collected.txt', checksum: null },
      collect_20260520: { executed_at: '2026-05-20T10:00:00.5', output: 'new.json' },
      // Of no step's own output.
      draft_20260520: { executed_at: '2026-05-20T10:00:00', output: null },
    };
    await put('dedupe_index.json', JSON.stringify(index));
    const completed = { status: 'completed' };
    const { steps, ...rest } = JSON.parse(state('index-only', { collect: completed })) as { steps: object };
    await put('run_state.json', JSON.stringify({ ...rest, steps, current_step: 99, total_tokens_used: 8_500 }));
    await put('handoff.md', '## Step1 → Step2 Handoff\n\nMind the gap.\n\n## Step1 → Step 4 Handoff\n\nFor nobody.\n');
    expect(await importFiles(options)).toMatchObject({ done: ['collect'], keyCount: 3, handoffCount: 2 });
    expect(world.reported).toEqual([
      'refused: current_step is 99, beyond the 3 steps of the pipeline; 1 of the steps are known to be done: the others run again.',
    ]);
    const run = world.host.client.run('index-only');
    // The hand-over that its class wrote is that of the step: there is none of ours behind it.
    expect(await run.result()).toBe('<from the index; Mind the gap.>');
    const elsewhere = { client: world.client, records: world.records, folder: `${world.folder}-else` };
    const view = await exportFiles({ ...elsewhere, shown: { workflow: 'index-only' } });
    expect([view.tokens, view.importedTokens]).toEqual([0, 8_500]);
    const read = async (name: string) => readFile(path.join(elsewhere.folder, name), 'utf8');
    expect(await read('handoff.md')).not.toContain('was done before');
    // As its class reads it: outputs are paths of files, times are those of whoever did the step.
    const shown = JSON.parse(await read('dedupe_index.json')) as Record<string, DedupeEntry>;
    const at = (time: string) => new Date(time).toISOString();
    for (const [key, output] of [
      ['collect_20260519', 'an older day'],
      ['collect_20260520', '["from the index"]'],
    ] as const) {
      expect(shown[key]!.executed_at).toBe(at(index[key].executed_at));
      expect(await read(String(shown[key]!.output))).toBe(output);
    }
    expect(JSON.parse(await read('run_state.json')).steps.collect).toMatchObject({
      started_at: null,
      finished_at: at('2026-05-20T10:00:00.5'),
    });
    for (const [file, field] of Object.entries({
      'run_state.json': 'total_tokens_used',
      'last_success.json': 'total_tokens',
    })) {
      const text = await readFile(path.join(`${world.folder}-else`, file), 'utf8');
      expect(JSON.parse(text)).toMatchObject({ [field]: 8_500 });
    }
  });

  it('is shown as it is before anybody runs it, with what it spent and its steps that the pipeline lacks', async () => {
    await put('collected.json', '["from the script"]');
    const checksum = checksumOf(['from the script']);
    await put('dedupe_index.json', JSON.stringify({ collect_20260520: { output: 'collected.json', checksum } }));
    const { steps: own, ...rest } = JSON.parse(state('rests', { collect: step('completed', 'collected.json') }));
    await put('run_state.json', JSON.stringify({ ...rest, steps: own }));
    const names = ['collect', 'draft', 'format'];
    await importFiles(world.importing(resting, names));
    const review = { status: 'completed', by: 'ana' };
    await put('run_state.json', JSON.stringify({ ...rest, steps: { ...own, review } }));
    const { client, records, back, onReport, folder } = world;
    const common = { client, records, back, onReport, shown: { workflow: 'rests' }, stepNames: names };
    await exportFiles({ ...common, folder });
    const shown = JSON.parse(await readFile(path.join(folder, 'run_state.json'), 'utf8'));
    expect(shown).toMatchObject({ status: 'running', current_step: 2, total_tokens_used: 700 });
    expect(shown.steps).toMatchObject({ collect: { status: 'completed' }, draft: { status: 'pending' }, review });
    const index = JSON.parse(await readFile(path.join(folder, 'dedupe_index.json'), 'utf8'));
    expect(index.collect_20260520).toEqual({ output: 'collected.json', checksum, input: inputDigestOf({}) });
    // Also where none of its steps was done.
    await put('run_state.json', state('none-done', { collect: step('failed', null) }));
    await importFiles(world.importing(resting, names));
    const view = await exportFiles({ ...common, shown: { workflow: 'none-done' }, folder: `${folder}-none` });
    expect([view.tokens, view.importedTokens]).toEqual([0, 700]);
    expect(world.reported).toEqual([]);
  });

  it('is one of several with the same keys for other inputs: each is that of its own', async () => {
    const { client } = world.host;
    for (const input of ['one', 'two']) {
      const entry = { executed_at: '2026-05-20T00:00:00Z', output: `by hand of ${input}` };
      await put('run_state.json', state(input, { collect: step('running', null) }));
      await put('dedupe_index.json', JSON.stringify({ collect_20260520: entry }));
      await importFiles({ ...world.importing(daily, ['collect']), input, start: async () => {} });
    }
    const made = ['one', 'two', 'three'].map(async (input) => (await client.start(daily, input)).result());
    expect(await Promise.all(made)).toEqual(['by hand of one', 'by hand of two', 'made of three']);
  });

  it('whose hand-over may be meant for several steps says so by its name', async () => {
    await put('run_state.json', state('script-4', {}));
    await put('handoff.md', '## Step1 → Same Handoff\n\nWhich?\n');
    const pipeline = { name: 'content', stepNames: ['1_same', '2_same'] };
    await importFiles({ ...options, pipeline, start: async () => {} });
    expect(world.reported).toEqual([
      expect.stringMatching(/^refused: hand-over from Step1 to Same: .*1_same or 2_same/),
    ]);
  });

  it('whose completed step has no output to build upon runs that one again, and says so', async () => {
    await put('run_state.json', state('script-2', { collect: step('completed', 'gone.json') }));
    expect(await importFiles(options)).toMatchObject({ done: [] });
    expect(world.reported).toEqual(["refused: step collect: its output gone.json isn't there. It runs again."]);
    await world.host.client.run('script-2').result();
    expect(calls).toEqual(['collect', 'draft']);
  });

  it('that marks keys done has them skipped by later runs', async () => {
    const entry = { executed_at: '2026-01-01T00:00:00Z', output: ['by hand'], checksum: '' };
    await put('run_state.json', state('script-3', {}));
    await put('dedupe_index.json', JSON.stringify({ 'collect_script-3': entry }));
    expect(await importFiles(options)).toMatchObject({ keyCount: 1 });
    expect(await world.host.client.run('script-3').result()).toMatch(/^<by hand; /);
  });

  it('stands before what another run has made under the same key', async () => {
    const entry = { executed_at: '2026-01-01T00:00:00Z', output: ['by another run'], checksum: '' };
    await put('collected.json', '["by this one"]');
    await put('run_state.json', state('script-5', { collect: step('completed', 'collected.json') }));
    await put('dedupe_index.json', JSON.stringify({ 'collect_script-5': entry }));
    await importFiles(options);
    expect(await world.host.client.run('script-5').result()).toMatch(/^<by this one; /);
  });

  it.each([
    ['nothing', {}, 'files-missing'],
    ['a state that is cut', { 'run_state.json': '{"pipeline_id":' }, 'files-corrupt'],
    ['a state of something else', { 'run_state.json': '{"version": 3}' }, 'files-unfit'],
    ['steps of another pipeline', { 'run_state.json': state('x', { brew: step('completed', null) }) }, 'files-unfit'],
    ['an index that is cut', { 'run_state.json': state('x', {}), 'dedupe_index.json': '{"a": {' }, 'files-corrupt'],
    [
      'a secret',
      { 'run_state.json': state('x', { collect: step('completed', 'c.txt') }), 'c.txt': 'password=hunter2' },
      'files-secret',
    ],
  ])('with %s is refused, and nothing is started', async (_name, files, code) => {
    for (const [name, text] of Object.entries(files)) await put(name, text);
    const find = (value: unknown) =>
      JSON.stringify(value).includes('hunter2') ? [{ place: '/output', kind: 'password' }] : [];
    const start = async (): Promise<void> => expect.unreachable();
    const refused = importFiles({ ...options, find, start });
    await expect(refused).rejects.toMatchObject({ code });
    await expect(refused).rejects.not.toThrow('hunter2');
  });

  it('with several faults is told all of them', async () => {
    const wrong = {
      pipeline_id: 3,
      status: 'done',
      steps: { collect: { status: 'ok' }, draft: { finished_at: 'noon' } },
    };
    await put('run_state.json', JSON.stringify(wrong));
    await put('dedupe_index.json', '{"a": 1, "b": {"executed_at": "yesterday"}}');
    await put('last_success.json', '{"at": "2026-05-19"}');
    const refused: unknown = await importFiles(options).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'files-unfit' });
    for (const place of [
      ...[
        'run_state.json',
        'pipeline_id',
        'status',
        'steps.collect.status',
        'steps.draft.status',
        'steps.draft.finished_at',
      ],
      ...['dedupe_index.json', 'a: ', 'b.executed_at', 'last_success.json', 'outputs'],
    ]) {
      expect((refused as Error).message).toContain(place);
    }
    const other = { collect: step('completed', null), brew: step('completed', null), pour: step('pending', null) };
    await put('run_state.json', state('x', other));
    await expect(importFiles(options)).rejects.toThrow(/names brew, pour, .*dedupe_index\.json/s);
  });

  it('can not make a run read what lies outside of it', async () => {
    await writeFile(path.join(path.dirname(world.folder), 'outside.json'), '["private"]');
    await put('run_state.json', state('script-4', { collect: step('completed', '../outside.json') }));
    await expect(importFiles(options)).rejects.toMatchObject({ code: 'files-outside' });
  });
});

it('a run that was exported goes on elsewhere under another id', async () => {
  await (await world.host.client.start(content, {}, { id: 'there' })).result();
  await exportFiles({ client: world.client, shown: { workflow: 'there' }, folder: world.folder });
  const copy = `${world.folder}-copy`;
  await cp(world.folder, copy, { recursive: true });
  const text = await readFile(path.join(copy, 'run_state.json'), 'utf8');
  const cut = JSON.parse(text) as { steps: Record<string, object> };
  cut.steps.format = step('running', null);
  await writeFile(path.join(copy, 'run_state.json'), JSON.stringify(cut));
  calls.length = 0;
  const imported = await importFiles({ ...options, folder: copy, id: 'here' });
  expect(imported).toMatchObject({ id: 'here', done: ['collect', 'draft'], keyCount: 3 });
  expect(await world.host.client.run('here').result()).toBe(await world.host.client.run('there').result());
  expect(calls).toEqual([]);
});
