/** What the audit says to its user: bad input and bad places get one clear line and a code of their own, and nothing is touched. */

import { createHash } from 'node:crypto';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AuditProcess, type Ended } from './audit-process.ts';
import { writeTree } from './source-tree.ts';

const TIMEOUT_MS = 300_000;
let folder: string;
const at = (...names: string[]): string => path.join(folder, ...names);
const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> =>
  new AuditProcess(args, env, folder).ended;

beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-audit-command-'));
  await writeTree(at('tree'), { files: 12, functions: 3, seed: 2 });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** One line that says it all, nothing on standard output, and no state made. */
function expectRefused(ended: Ended, code: number, words: RegExp): void {
  expect(ended.stderr).toMatch(words);
  expect(ended.stderr.trim().split('\n')).toHaveLength(1);
  expect(ended.code).toBe(code);
}

describe('bad input', { timeout: TIMEOUT_MS }, () => {
  it.each([
    [['absent'], 65, /absent cannot be read \(ENOENT\)/],
    [['tree/package.json'], 65, /tree\/package.json is not a folder/],
    [['empty'], 65, /empty holds no source file/],
    [['tree', 'tree'], 64, /one PATH at most/],
    [['--fast'], 64, /--fast/],
    [['tree', '--state', ''], 64, /--state is empty/],
    [['tree', '--out', 'tree/package.json'], 78, /can't be written to tree\/package.json/],
    [['tree', '--state', 'tree/package.json'], 78, /tree\/package.json/],
  ] as const)('%j ends with %i', async (args, code, words) => {
    await mkdir(at('empty'), { recursive: true });
    const before = await readdir(folder);
    const ended = await run(args);
    expectRefused(ended, code, words);
    expect((await readdir(folder)).filter((name) => !before.includes(name) && name !== '.audit')).toEqual([]);
  });

  it.skipIf(process.getuid?.() === 0)('a folder that may not be read ends with 65', async () => {
    await mkdir(at('secret'));
    await chmod(at('secret'), 0);
    expectRefused(await run(['secret']), 65, /secret cannot be read \(EACCES\)/);
  });

  it('--help explains all of it', async () => {
    const ended = await run(['--help']);
    expect(ended.code).toBe(0);
    for (const word of ['--state', '--out', '--fresh', 'Exit codes', '130']) expect(ended.stdout).toContain(word);
  });
});

describe('state that cannot be used is left untouched', { timeout: TIMEOUT_MS }, () => {
  beforeAll(async () => expect((await run(['tree', '--state', 'whole'])).code).toBe(0), TIMEOUT_MS);

  it('in use by another process', async () => {
    await writeTree(at('long'), { files: 120, functions: 60, seed: 3 });
    const first = new AuditProcess(['long', '--state', 'shared'], {}, folder);
    await first.until(({ progress }) => progress.files > 0);
    // It mustn't come to its end before the other one has begun.
    first.signal('SIGSTOP');
    expectRefused(await run(['tree', '--state', 'shared']), 78, /in use by process \d+/);
    first.signal('SIGTERM');
    first.signal('SIGCONT');
    expect((await first.ended).code).toBe(143);
    expect((await run(['long', '--state', 'shared'])).stdout).toContain('Resuming from checkpoint');
  });

  it('damaged', async () => {
    await cp(at('whole'), at('damaged'), { recursive: true });
    const file = await logFile('damaged');
    const bytes = await readFile(file);
    await writeFile(file, Buffer.concat([Buffer.from('no such thing'), bytes.subarray(13)]));
    const before = await digestOf('damaged/log');
    expectRefused(await run(['tree', '--state', 'damaged']), 74, /damaged/);
    expect(await digestOf('damaged/log')).toBe(before);
  });

  it('of a newer version', async () => {
    await cp(at('whole'), at('newer'), { recursive: true });
    const log = new DatabaseSync(await logFile('newer'));
    log.exec('pragma user_version = 99');
    log.close();
    const before = await digestOf('newer/log');
    expectRefused(await run(['tree', '--state', 'newer']), 78, /format 99/);
    expect(await digestOf('newer/log')).toBe(before);
  });
});

describe('the same command again', { timeout: TIMEOUT_MS }, () => {
  const args = ['tree', '--state', 'again.state', '--out', 'again.out'];

  it('answers at once while nothing has changed, and begins anew when something has, or when it is told to', async () => {
    const first = await run(args);
    expect(first.stdout).toMatch(/Run audit-tree-[0-9a-f]{10}-1 begins with the first file\./);
    expect(first.stdout).toContain('No model key in the environment');
    expect(first.stdout).toContain('Report: again.out/audit-report.md');
    const report = await readFile(at('again.out/audit-report.json'));

    const second = await run(args);
    expect(second.code).toBe(0);
    expect(second.stdout).toMatch(/Nothing has changed since run audit-tree-[0-9a-f]{10}-1/);
    expect(second.stdout).toContain('Findings: ');

    await rm(at('again.out/audit-report.md'));
    expect((await run(args)).stdout).toMatch(/-2 begins .*the report of run \S+-1 is no longer as it was written/);
    await utimes(at('tree/part-0/module-0.ts'), 1, 1);
    expect((await run(args)).stdout).toMatch(/-3 begins .*the tree has changed since run \S+-2/);
    expect((await run([...args, '--fresh'])).stdout).toMatch(/-4 begins .*\(--fresh\)/);
    expect(await readFile(at('again.out/audit-report.json'))).toEqual(report);
    expect((await readdir(at('again.out'))).sort()).toEqual(['audit-report.json', 'audit-report.md']);
  });

  it('--fresh puts an end to a run that is under way', async () => {
    const long = ['long', '--state', 'fresh.state', '--out', 'fresh.out'];
    const first = new AuditProcess(long, {}, folder);
    await first.until(({ progress }) => progress.files > 20);
    await first.kill();
    const fresh = await run([...long, '--fresh']);
    expect(fresh.code).toBe(0);
    expect(fresh.stdout).toMatch(/-2 begins with the first file \(--fresh\)/);
    expect((await run(long)).stdout).toMatch(/Nothing has changed since run \S+-2/);
  });

  it('audits neither its own state nor its report', async () => {
    const inside = ['.', '--state', 'state', '--out', 'out'];
    const first = await new AuditProcess(inside, {}, at('tree')).ended;
    expect(first.stdout).toContain('Auditing tree: 12 files');
    expect((await new AuditProcess(inside, {}, at('tree')).ended).stdout).toContain('Nothing has changed');
    for (const name of ['state', 'out']) await rm(at('tree', name), { recursive: true });
  });
});

describe('with a model', { timeout: TIMEOUT_MS }, () => {
  it('asks it about each module, and tells what that took', async () => {
    const model = await startModel();
    try {
      const env = { OPENAI_API_KEY: 'not-a-key', OPENAI_BASE_URL: `${model.url}/v1`, AUDIT_MODEL: 'tiny' };
      const ended = await run(['tree', '--state', 'model.state', '--out', 'model.out'], env);
      expect(ended).toMatchObject({ code: 0, stderr: '' });
      expect(ended.stdout).toContain(`Summaries: ${model.count()} by openai/tiny, ${model.count() * 12} tokens.`);
      expect(model.count()).toBe(12);
      expect(await readFile(at('model.out/audit-report.md'), 'utf8')).toContain('> A folder of modules.');
    } finally {
      await model.stop();
    }
  });
});

/** Answers as OpenAI's chat completions do. */
async function startModel() {
  let count = 0;
  const server = http.createServer((request, response) => {
    count++;
    request.resume().on('end', () => {
      response.setHeader('content-type', 'application/json');
      const message = { role: 'assistant', content: 'A folder of modules.' };
      response.end(
        JSON.stringify({
          id: `c${count}`,
          object: 'chat.completion',
          created: 1,
          model: 'tiny',
          choices: [{ index: 0, message, finish_reason: 'stop' }],
          usage: { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 },
        }),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    count: () => count,
    stop: () => new Promise((resolve) => server.close(resolve)),
  };
}

async function logFile(state: string): Promise<string> {
  const names = await readdir(at(state, 'log'));
  const [name] = names.filter((each) => /\.(db|sqlite)$/.test(each));
  return at(state, 'log', name ?? 'none');
}

/** Of the names and bytes of all files in a folder. */
async function digestOf(name: string): Promise<string> {
  const hash = createHash('sha256');
  for (const file of (await readdir(at(name))).sort()) hash.update(file).update(await readFile(at(name, file)));
  return hash.digest('hex');
}
