/** `tidemark files`: a run as files, a mirror beside `tidemark dev`, and a script's folder as a run. */

import { execFile } from 'node:child_process';
import { appendFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '@tidemark/testkit/eventually';
import { expect, it } from 'vitest';
import { callCli } from './called-cli-fixture.ts';
import { cliFolder } from './spawned-cli-fixture.ts';

const WAIT = { timeoutMs: 60_000 };
/** Twelve commands, each of which opens the folder, on a busy machine: it only guards against hanging. */
const HANGS_MS = 300_000;

/** With the first users' class of the folder as `p`. */
async function python(folder: string, code: string): Promise<void> {
  const fixtures = path.resolve(import.meta.dirname, '../../../author/files/fixtures/first-users');
  const text = `import sys; sys.dont_write_bytecode = True; sys.path.insert(0, ${JSON.stringify(fixtures)})
from pipeline_state import *
p = PipelineState(${JSON.stringify(folder)})
${code}`;
  await promisify(execFile)('python3', ['-c', text]);
}

const tiny = path.resolve(import.meta.dirname, '../fixtures/pipelines.ts');

it(
  'is exported, mirrored beside dev, written to by a shell, and imported',
  async (test) => {
    const { folder, begin, here } = await cliFolder(test);
    const view = (name: string): string => path.join(folder, 'view', name);
    const json = async (name: string): Promise<never> => JSON.parse(await readFile(view(name), 'utf8')) as never;

    const missing = await here('files', 'export', 'view', '--run', 'none');
    expect([missing.code, missing.err]).toEqual([78, expect.stringContaining('No state is kept')]);
    const dev = begin('dev', '--workflows', tiny);
    await dev.says(/runs {4}tiny/);
    const mirror = begin('files', 'mirror', 'view', '--newest', 'tiny', '--json');
    await mirror.says(/"type":"mirroring"/);
    expect((await here('run', 'tiny', '--id', 't1')).out).toBe('2\n');
    await eventually(async () => ((await json('run_state.json')) as { status: string }).status === 'completed', WAIT);
    expect(Object.keys((await json('run_state.json')) as object)).toContain('total_tokens_used');
    // The folder is the mirror's: nobody else writes it meanwhile.
    const second = await here('files', 'export', 'view', '--run', 't1');
    expect([second.code, second.err]).toEqual([78, expect.stringContaining('Another process writes the files')]);
    // What a shell writes comes back through the process that holds the state.
    await appendFile(view('handoff.md'), '\n## shell → next Handoff\n\nMind row 3.\n');
    await mirror.says(/"type":"taken"/);
    // What runs is known to the process that runs it.
    await mkdir(path.join(folder, 'none'));
    await writeFile(path.join(folder, 'none/run_state.json'), '{"pipeline_id": "t4", "status": "new", "steps": {}}');
    const unknown = await here('files', 'import', 'none', '--as', 'other');
    expect([unknown.code, unknown.err]).toEqual([
      65,
      expect.stringMatching(/in what runs on .tidemark .tidemark dev --workflows FILE runs more.*known: tiny/),
    ]);
    expect((await here('files', 'import', 'none', '--as', 'tiny')).err).toContain(
      'tidemark run tiny --id t4 continues it',
    );
    await dev.interrupt();
    await mirror.says(/"type":"waiting"/);
    expect((await here('files', 'export', 'view', '--run', 't1')).err).toContain('Another process writes the files');
    // What its first users' class does while nobody runs workflows is not done again by the next one who does.
    expect((await here('run', 'tiny', '--id', 't3', '--detach', '--workflows', tiny)).code).toBe(0);
    await python(view(''), `p.mark_done('first_t3', [7, 8, 9])`);
    const next = begin('dev', '--workflows', tiny);
    await mirror.says(/taken.*first_t3/);
    expect((await here('run', 'tiny', '--id', 't3')).out).toBe('3\n');
    await next.interrupt();
    expect((await mirror.interrupt()).code).toBe(0);
    // Nobody else has the folders now.
    const exported = await here('files', 'export', 'again', '--run', 't1', '--json');
    expect(JSON.parse(exported.out)).toMatchObject({ workflow: 't1', status: 'completed' });
    expect((await readdir(path.join(folder, 'again'))).sort()).toEqual(
      [
        '.tidemark-files.json',
        '.tidemark-files.lock',
        'dedupe_index.json',
        'execution_log.jsonl',
        'handoff.md',
        'last_success.json',
        'outputs',
        'run_state.json',
      ].sort(),
    );

    await mkdir(path.join(folder, 'script'));
    const done = { status: 'completed', output_file: 'made.json', started_at: null, finished_at: null };
    await writeFile(path.join(folder, 'script/made.json'), '[1,2,3]');
    await writeFile(
      path.join(folder, 'script/run_state.json'),
      JSON.stringify({
        pipeline_id: 't2',
        status: 'failed',
        current_step: 2,
        steps: { first: done },
        total_tokens_used: 9,
      }),
    );
    const imported = await here('files', 'import', 'script', '--as', 'tiny', '--workflows', tiny, '--json');
    expect(JSON.parse(imported.out)).toEqual({
      api_version: 'v1',
      workflow: 't2',
      done: ['first'],
      keys: 0,
      handoffs: 0,
    });
    expect((await here('run', 'tiny', '--id', 't2', '--workflows', tiny)).out).toBe('3\n');
  },
  HANGS_MS,
);

it('is mirrored from the first run on, whose end is there when that ends, unless it says that a mirror is behind', async (test) => {
  const { folder, begin, here } = await cliFolder(test);
  const mirror = begin('files', 'mirror', 'view', '--newest', 'tiny', '--json');
  await mirror.says(/"type":"waiting"/);
  const run = await here('run', 'tiny', '--id', 't0', '--workflows', tiny);
  expect(run.code).toBe(0);
  const state = async () => JSON.parse(await readFile(path.join(folder, 'view/run_state.json'), 'utf8'));
  const ended = { pipeline_id: 't0', status: 'completed' };
  // A machine that is very busy: run waits ten seconds for it.
  if (run.err.includes('goes on by itself')) await expect.poll(state).toMatchObject(ended);
  else expect(await state()).toMatchObject(ended);
});

it.each([
  ['no run', ['export', 'view'], 64, 'name a run with --run ID'],
  ['both', ['mirror', 'view', '--run', 'a', '--newest', 'b'], 64, 'cannot be used with'],
  ['no pipeline', ['import', 'view'], 64, '--as'],
  ['no module', ['import', 'view', '--as', 'none'], 78, 'name at least one module'],
])('with %s is refused, and says what to do', async (_name, args, code, said) => {
  const ended = await callCli(['files', ...args], { cwd: import.meta.dirname });
  expect([ended.code, ended.err]).toEqual([code, expect.stringContaining(said)]);
});
