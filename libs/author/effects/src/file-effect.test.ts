/** The file effect: written once, whatever comes at once, was there before, or was left by a dead process. */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { link, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { NotDoneError } from '@tidemark/sdk';
import { eventually } from '@tidemark/testkit/eventually';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { contextOf } from './context-fixture.ts';
import { fileEffect } from './file-effect.ts';
import { RefusedError } from './refused-error.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tidemark-effects-'));
});
afterEach(() => rm(folder, { recursive: true }));

const report = fileEffect({
  operation: 'report.write',
  request: z.object({ file: z.string(), text: z.string() }),
  path: ({ file }) => file,
  content: ({ text }) => text,
});
const at = (...parts: string[]): string => path.join(folder, ...parts);
const write = (file: string, text: string, key = 'w:1.0:report.write:0') => report.call({ file, text }, contextOf(key));
const failure = (promise: Promise<unknown>): Promise<Error> =>
  promise.then(
    () => Promise.reject(new Error('written')),
    (error) => error,
  );
const SHA_OF_HELLO = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824';

test('writes the file with its folders, and answers where, what and how much', async () => {
  expect(await write(at('a', 'b', 'c.txt'), 'hello')).toEqual({
    path: at('a', 'b', 'c.txt'),
    sha256: SHA_OF_HELLO,
    bytes: 5,
  });
  expect(await readFile(at('a', 'b', 'c.txt'), 'utf8')).toBe('hello');
  expect(await readdir(at('a', 'b'))).toEqual(['c.txt']);
});

test('writing the same again is done, whoever wrote it', async () => {
  const first = await write(at('c.txt'), 'hello');
  expect(await write(at('c.txt'), 'hello')).toEqual(first);
  expect(await write(at('c.txt'), 'hello', 'another key')).toEqual(first);
  expect(await readdir(folder)).toEqual(['c.txt']);
});

describe('what is there with another content', () => {
  test('stays, and the error names it', async () => {
    await writeFile(at('c.txt'), 'mine');
    const error = await failure(write(at('c.txt'), 'hello'));
    expect(error).toBeInstanceOf(RefusedError);
    expect(error.message).toContain(at('c.txt'));
    expect(await readFile(at('c.txt'), 'utf8')).toBe('mine');
    expect(await readdir(folder)).toEqual(['c.txt']);
    // Control: the usual way, a rename, replaces it.
    await writeFile(at('draft'), 'hello');
    await rename(at('draft'), at('c.txt'));
    expect(await readFile(at('c.txt'), 'utf8')).toBe('hello');
  });

  test('a folder, or a link to nowhere', async () => {
    await mkdir(at('folder'));
    expect(await failure(write(at('folder'), 'hello'))).toBeInstanceOf(RefusedError);
    await symlink(at('nowhere'), at('link'));
    expect((await failure(write(at('link'), 'hello'))).message).toContain(at('link'));
    expect((await readdir(folder)).filter((name) => !name.startsWith('.'))).toEqual(['folder', 'link']);
  });

  test('a part of the path that is no folder', async () => {
    await writeFile(at('file'), 'x');
    expect((await failure(write(at('file', 'c.txt'), 'hello'))).message).toContain('not a folder');
  });
});

describe('at the same time', () => {
  test('calls of one key write it once', async () => {
    const receipts = await Promise.all(Array.from({ length: 20 }, () => write(at('c.txt'), 'hello')));
    expect(new Set(receipts.map((receipt) => JSON.stringify(receipt))).size).toBe(1);
    expect(await readFile(at('c.txt'), 'utf8')).toBe('hello');
    await eventually(async () => (await readdir(folder)).length === 1);
  });

  test('of two contents one wins, and nobody is told otherwise', async () => {
    const texts = Array.from({ length: 10 }, (_, index) => `text ${index}`);
    const results = await Promise.allSettled(texts.map((text) => write(at('c.txt'), text, text)));
    const winners = texts.filter((_, index) => results[index]!.status === 'fulfilled');
    expect(winners).toEqual([await readFile(at('c.txt'), 'utf8')]);
    // Control: with a rename for the link, every one of them believes it has won.
    const naive = async (text: string): Promise<void> => {
      await writeFile(at(text), text);
      await rename(at(text), at('naive.txt'));
    };
    const reported = await Promise.allSettled(texts.map(naive));
    expect(reported.filter(({ status }) => status === 'fulfilled')).toHaveLength(texts.length);
  });
});

describe('a dead process', () => {
  /** Writes all but the end, in the way that is named, and is killed. */
  const dieWriting = async (how: 'draft' | 'in place', file: string): Promise<void> => {
    const child = fork(new URL('./fixtures/half-writer.ts', import.meta.url), [how, file], {
      execArgv: [],
      stdio: 'ignore',
    });
    await once(child, 'message');
    child.kill('SIGKILL');
    await once(child, 'exit');
  };

  test('leaves no half file under the name, and its draft goes with the next call of the key', async () => {
    await dieWriting('draft', at('c.txt'));
    const left = await readdir(folder);
    expect(left).toEqual([expect.stringMatching(/^\.tidemark-/)]);
    expect(await readdir(at(left[0]!))).toHaveLength(1);
    await write(at('c.txt'), 'hello');
    expect(await readdir(folder)).toEqual(['c.txt']);
    expect(await readFile(at('c.txt'), 'utf8')).toBe('hello');
  });

  test('has its draft beside the file, and not where a link leads', async () => {
    await dieWriting('draft', at('c.txt'));
    const [drafts] = await readdir(folder);
    await rm(at(drafts!), { recursive: true });
    await mkdir(at('elsewhere'));
    await symlink(at('elsewhere'), at(drafts!));
    expect((await failure(write(at('c.txt'), 'hello'))).message).toContain('symbolic link');
    expect([await readdir(at('elsewhere')), (await readdir(folder)).includes('c.txt')]).toEqual([[], false]);
  });

  test('control: written in place, half a file is there, and can only be refused', async () => {
    await dieWriting('in place', at('c.txt'));
    expect(await readFile(at('c.txt'), 'utf8')).toBe('hel');
    expect(await failure(write(at('c.txt'), 'hello'))).toBeInstanceOf(NotDoneError);
  });

  test('that died between the link and the tidying: done, and tidied', async () => {
    await dieWriting('draft', at('c.txt'));
    const [drafts] = await readdir(folder);
    await writeFile(at(drafts!, 'whole'), 'hello');
    await link(at(drafts!, 'whole'), at('c.txt'));
    await write(at('c.txt'), 'hello');
    expect(await readdir(folder)).toEqual(['c.txt']);
  });
});

test('the probe compares by digest, and knows nothing of another content', async () => {
  const request = { file: at('c.txt'), text: 'hello' };
  const ask = (asked: typeof request) => report.probe!(contextOf('k').key, { ...contextOf('k'), request: asked });
  expect(await ask(request)).toEqual({ status: 'not-done' });
  const response = await write(request.file, request.text);
  expect(await ask(request)).toEqual({ status: 'done', response });
  expect(await ask({ ...request, text: 'other' })).toEqual({ status: 'unknown' });
});

test('a call that was aborted before it began writes nothing', async () => {
  const context = contextOf('k', AbortSignal.abort());
  expect(await failure(report.call({ file: at('c.txt'), text: 'x' }, context))).toBeInstanceOf(NotDoneError);
  expect(await readdir(folder)).toEqual([]);
});
