/** A folder that others read and append to: nothing half, nothing lost, one writer. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { mkdir, mkdtemp, open, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type FilesFolder, openFolder } from './folder.ts';

let place: string;
let folder: FilesFolder | undefined;
beforeEach(async () => {
  place = await mkdtemp(path.join(os.tmpdir(), 'tidemark-folder-'));
});
afterEach(async () => {
  await folder?.close();
  folder = undefined;
  await rm(place, { recursive: true });
});

const file = (name: string): string => path.join(place, name);
const read = (name: string): Promise<string> => readFile(file(name), 'utf8');

it('replaces a file at once: whoever has the old one open reads that to its end', async () => {
  folder = await openFolder(place);
  await folder.write('a.json', 'x'.repeat(100_000));
  const reader = await open(file('a.json'), 'r');
  const first = (await reader.read(Buffer.alloc(10), 0, 10)).bytesRead;
  expect(await folder.write('a.json', 'new')).toBe(true);
  const rest = await reader.readFile('utf8');
  await reader.close();
  expect(first + rest.length).toBe(100_000);
  expect(await read('a.json')).toBe('new');
  // The same again is no writing.
  expect(await folder.write('a.json', 'new')).toBe(false);
});

it('asks again what becomes of a file whose lock, or other content, comes while it is written', async () => {
  const others = [() => writeFile(file('a.json.lock'), ''), () => writeFile(file('a.json'), 'theirs')];
  const writeNew = async (draft: string, bytes: Uint8Array): Promise<void> => {
    await writeFile(draft, bytes);
    await others.shift()?.();
  };
  folder = await openFolder(place, { writeFile: writeNew });
  const seen: (string | undefined)[] = [];
  const ours = async (text: string | undefined): Promise<string> => {
    seen.push(text);
    return `${text ?? ''}ours`;
  };
  expect(await folder.replaceLocked('a.json', ours)).toBe('theirsours');
  expect(seen).toEqual([undefined, undefined, 'theirs']);
  expect(await read('a.json')).toBe('theirsours');
  expect(await folder.replaceLocked('a.json', async () => undefined)).toBe(undefined);
  expect(await read('a.json')).toBe('theirsours');
});

it('loses nothing that others append while it is changed', async () => {
  folder = await openFolder(place);
  await writeFile(file('notes.md'), 'one\n');
  let isFirst = true;
  await folder.replace('notes.md', (text) => {
    if (isFirst) appendFileSync(file('notes.md'), 'between\n');
    isFirst = false;
    return `${text}mine\n`;
  });
  expect(await read('notes.md')).toBe('one\nbetween\nmine\n');
  // Opened before it was replaced, written to after.
  const slow = await open(file('notes.md'), 'a');
  await folder.replace('notes.md', (text) => `${text}more\n`);
  await slow.writeFile('late\n');
  await slow.close();
  expect(await read('notes.md')).not.toContain('late');
  await folder.replace('notes.md', (text) => text ?? '');
  expect(await read('notes.md')).toBe('one\nbetween\nmine\nmore\nlate\n');
});

it('loses nothing of a program that keeps the file open: each line, half of one until it is whole, and what comes before it closes', async () => {
  folder = await openFolder(place);
  await writeFile(file('log'), 'one\n');
  const logger = await open(file('log'), 'a');
  const merge = (text: string | undefined) => folder!.replace('log', (now) => `${now}${text ?? ''}`);
  await merge('mine 1\n');
  await logger.writeFile('two\nthr');
  await merge('mine 2\n');
  expect(await read('log')).toBe('one\nmine 1\ntwo\nmine 2\n');
  await logger.writeFile('ee\n');
  await merge('mine 3\n');
  await logger.writeFile('four');
  await logger.close();
  await folder.close();
  folder = undefined;
  expect(await read('log')).toBe('one\nmine 1\ntwo\nmine 2\nthree\nmine 3\nfour');
});

it('never overwrites what it sets aside', async () => {
  folder = await openFolder(place);
  for (const text of ['1', '2', '3']) {
    await folder.write('a', text);
    await folder.move('a', 'archive/a');
  }
  expect((await readdir(file('archive'))).sort()).toEqual(['a', 'a-2', 'a-3']);
});

const HOLD = `
  const { openFolder } = await import(process.argv[1]);
  await openFolder(process.argv[2]);
  process.stdout.write('held');
  setInterval(() => {}, 1000);
`;

it('has one writing process, which loses it with its life, and leaves nothing half written', async () => {
  const module = path.join(import.meta.dirname, 'folder.ts');
  const holder = spawn(process.execPath, ['--input-type=module', '-e', HOLD, module, place]);
  try {
    await once(holder.stdout, 'data');
    await expect(openFolder(place)).rejects.toMatchObject({ code: 'files-in-use' });
    await mkdir(file('.tidemark-files.drafts'));
    await writeFile(file(`.tidemark-files.drafts/${crypto.randomUUID()}.part`), 'half');
  } finally {
    holder.kill('SIGKILL');
    await once(holder, 'exit');
  }
  folder = await openFolder(place);
  expect(await readdir(place)).toEqual(['.tidemark-files.lock']);
});

it('keeps what others call a part', async () => {
  await mkdir(file('videos'));
  for (const name of ['.a.part', 'videos/.film.1-1.part']) await writeFile(file(name), 'mine');
  folder = await openFolder(place);
  await folder.write('a', '1');
  await folder.close();
  folder = undefined;
  const left = (await readdir(place, { recursive: true })).sort();
  expect(left).toEqual(['.a.part', '.tidemark-files.lock', 'a', 'videos', 'videos/.film.1-1.part']);
});

it('has its lock nowhere else', async () => {
  await symlink(path.join(os.tmpdir(), `elsewhere-${crypto.randomUUID()}`), file('.tidemark-files.lock'));
  await expect(openFolder(place)).rejects.toMatchObject({ name: 'InvalidError', code: 'path-linked' });
});
