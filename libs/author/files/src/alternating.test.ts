/** A pipeline whose steps are done by the first users' class and by a mirrored run in turn, by real processes that are killed at each step. */

import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '@tidemark/testkit/eventually';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RunState } from './formats.ts';

const FIXTURES = path.resolve(import.meta.dirname, '../fixtures/first-users');
const STEPS = ['1_collect', '2_filter', '3_draft', '4_rewrite', '5_format'];
const DAY = '2026-05-20';
const KEY_DAY = '20260520';
/** Some twenty processes one after the other, on a busy machine: it only guards against hanging. */
const HANGS_MS = 600_000;
/** Points at which their process is killed, in turn. */
const THEIR_KILLS = [
  ['in a log line', 'before it is marked'],
  ['renaming dedupe_index.json', 'before its state'],
  ['in a log line', 'renaming run_state.json'],
];

let parent: string;
beforeAll(async () => {
  parent = await mkdtemp(path.join(os.tmpdir(), 'tidemark-alternating-'));
});
afterAll(() => rm(parent, { recursive: true, force: true }));

const textOf = (file: string): Promise<string> => readFile(file, 'utf8').catch(() => '');

async function theirs(folder: string, step: string, killAt = ''): Promise<void> {
  const args = [path.join(FIXTURES, 'pipeline_state.py'), folder, step, KEY_DAY];
  const ended = promisify(execFile)('python3', args, { env: { ...process.env, KILL_AT: killAt } });
  if (killAt === '') await ended;
  else await expect(ended).rejects.toMatchObject({ signal: 'SIGKILL' });
}

/** One life: it is killed as soon as the condition holds. */
async function ours(base: string, steps: readonly string[], until: () => Promise<boolean>): Promise<void> {
  const args = [path.join(base, 'files'), path.join(base, 'state'), path.join(base, 'witness'), DAY, ...steps];
  const life = spawn(process.execPath, [path.join(FIXTURES, 'ours.ts'), ...args], {
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  let said = '';
  life.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const gone = new Promise((resolve) => life.once('exit', resolve));
  try {
    await eventually(async () => {
      if (life.exitCode !== null) throw new Error(`It ended by itself: ${said}`);
      return until();
    });
  } catch (error) {
    throw new Error(`${steps}: ${said}`, { cause: error });
  } finally {
    life.kill('SIGKILL');
    await gone;
  }
}

async function run(name: string, isTheirs: (at: number) => boolean, isDisturbed: boolean): Promise<string> {
  const base = path.join(parent, name);
  const folder = path.join(base, 'files');
  await mkdir(folder, { recursive: true });
  const read = (file: string): Promise<string> => textOf(path.join(folder, file));
  for (const [at, step] of STEPS.entries()) {
    if (isTheirs(at)) {
      for (const killAt of isDisturbed ? THEIR_KILLS[at >> 1]! : []) await theirs(folder, step, killAt);
      await theirs(folder, step);
      continue;
    }
    const witness = (what: string) => async () =>
      (await textOf(path.join(base, 'witness'))).includes(`${what} ${step}\n`);
    const isKeyed = async () => (await read('dedupe_index.json')).includes(`"${step}_${KEY_DAY}"`);
    const isDone = async () => {
      const { steps } = JSON.parse((await read('run_state.json')) || '{"steps":{}}') as RunState;
      return steps[step]?.status === 'completed';
    };
    if (isDisturbed)
      for (const kill of at < 2 ? [witness('begins'), witness('ends')] : [isKeyed]) await ours(base, [step], kill);
    await ours(base, [step], isDone);
  }
  // The run is told of a last step of theirs.
  const changedMs = async (file: string) => (await stat(path.join(folder, file))).mtimeMs;
  await ours(base, [], async () => {
    const isLast = (await read('last_success.json')).includes('"5_format"');
    // The last file of a pass; their class calls it completed before.
    const isAfter = async () => (await changedMs('run_state.json')) >= (await changedMs('last_success.json'));
    return (
      isLast &&
      (await isAfter()) &&
      (await read('run_state.json')).includes('"status": "completed",\n  "current_step": 6')
    );
  });
  return folder;
}

/** All files by their names, with the times in them masked, and without the repeats of what was killed before it was kept. */
async function contentOf(folder: string): Promise<Record<string, unknown>> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const names = found
    .filter((file) => file.isFile())
    .map((file) => path.relative(folder, path.join(file.parentPath, file.name)));
  const kept = names.filter((name) => !/^\.|\.lock$|\.tmp\d+$|\.corrupt-/.test(name)).sort();
  const masked = async (name: string) => {
    const text = (await textOf(path.join(folder, name))).replace(/\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-][\d:]+)?/g, 'TIME');
    if (name !== 'execution_log.jsonl') return text;
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const said = lines.map(({ step, action, tokens, workflow }) => JSON.stringify({ step, action, tokens, workflow }));
    return [...new Set(said)].filter((line) => !/"action":"(?:interrupted|failed)"/.test(line)).sort();
  };
  return Object.fromEntries(await Promise.all(kept.map(async (name) => [name, await masked(name)] as const)));
}

it.each([
  ['the class begins', (at: number) => at % 2 === 0],
  ['Tidemark begins', (at: number) => at % 2 === 1],
])(
  'ends with the bytes of an undisturbed one: %s',
  async (name, isTheirs) => {
    const quiet = await contentOf(await run(`${name}, quiet`, isTheirs, false));
    const folder = await run(`${name}, killed`, isTheirs, true);
    const killed = await contentOf(folder);
    expect(killed).toEqual(quiet);
    const state = JSON.parse(await textOf(path.join(folder, 'run_state.json'))) as RunState;
    const theirCount = STEPS.filter((_, at) => isTheirs(at)).length;
    expect(state).toMatchObject({ pipeline_id: `content_gen_${KEY_DAY}`, status: 'completed', current_step: 6 });
    expect(state.total_tokens_used).toBe(theirCount * 100 + (5 - theirCount) * 10);
    const index = JSON.parse(await textOf(path.join(folder, 'dedupe_index.json'))) as Record<
      string,
      { output: string }
    >;
    expect(Object.keys(index).sort()).toEqual(STEPS.map((step) => `${step}_${KEY_DAY}`));
    const last = await textOf(path.join(folder, index[`5_format_${KEY_DAY}`]!.output));
    expect(last).toBe(
      ['topics', ...STEPS.map((step, at) => `${step}: ${at === 0 ? '' : `note of ${STEPS[at - 1]}`}`)].join('\n'),
    );
  },
  HANGS_MS,
);
