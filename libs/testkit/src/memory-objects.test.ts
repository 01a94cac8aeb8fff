/** Runs the contract of ObjectStore on the one in memory, and proves each of its faults. */

import { beforeEach, expect, test } from 'vitest';
import { objectStoreContract } from './contracts/object-store.ts';
import { MemoryObjects } from './memory-objects.ts';

objectStoreContract('memory', async () => {
  const objects = new MemoryObjects();
  return { objects, again: async () => objects, close: async () => {} };
});

const text = (value: string): Uint8Array => new TextEncoder().encode(value);

let objects: MemoryObjects;
beforeEach(async () => {
  objects = new MemoryObjects('simulated');
  await objects.create('a', text('tide'));
});

const said = async (name: string): Promise<string> => Buffer.from((await objects.read(name))!).toString();
async function listed(): Promise<string[]> {
  const names: string[] = [];
  for await (const name of objects.list('')) names.push(name);
  return names;
}
const unavailable = { name: 'UnavailableError', code: 'objects-unavailable' };

test('fail: so many calls, of the operation alone, do nothing', async () => {
  objects.fail(2, 'create');
  for (const _ of [1, 2]) await expect(objects.create('b', text('x'))).rejects.toMatchObject(unavailable);
  expect(await said('a')).toBe('tide');
  expect(objects.names()).toEqual(['a']);
  expect(await objects.create('b', text('x'))).toBe(true);
  objects.fail(2);
  await expect(objects.read('a')).rejects.toMatchObject(unavailable);
  await expect(listed()).rejects.toMatchObject(unavailable);
  expect(await listed()).toEqual(['a', 'b']);
  expect(objects.calls).toEqual({ create: 4, put: 0, read: 2, list: 2, remove: 0, recall: 0 });
});

test('loseAnswers: what was asked is done', async () => {
  objects.loseAnswers(1);
  await expect(objects.create('b', text('x'))).rejects.toMatchObject(unavailable);
  expect(await objects.create('b', text('x'))).toBe(false);
  expect(await said('b')).toBe('x');
});

test('lie and truncate: other bytes are read, the right ones are stored, until it is healed', async () => {
  objects.lie('a');
  expect(await said('a')).toBe('tidd');
  objects.truncate('a');
  expect(await said('a')).toBe('ti');
  expect(Buffer.from(objects.poll('a')!).toString()).toBe('tide');
  objects.heal('a');
  expect(await said('a')).toBe('tide');
  await objects.create('empty', new Uint8Array());
  objects.lie('empty');
  expect((await objects.read('empty'))!.length).toBe(1);
});

test('full: nothing is created, everything else works', async () => {
  objects.full = true;
  await expect(objects.create('b', text('x'))).rejects.toMatchObject(unavailable);
  expect(await said('a')).toBe('tide');
  await objects.remove('a');
  objects.heal();
  expect(await objects.create('a', text('x'))).toBe(true);
});

test('hide and freezeList: the list is stale, reads are not', async () => {
  objects.hide('a');
  expect(await listed()).toEqual([]);
  objects.heal('a');
  objects.freezeList();
  await objects.create('b', text('x'));
  await objects.remove('a');
  expect(await listed()).toEqual(['a']);
  expect([await objects.read('a'), await said('b')]).toEqual([undefined, 'x']);
  objects.heal();
  expect(await listed()).toEqual(['b']);
});

test('archive: not readable until it was recalled so many times', async () => {
  objects.archive('a', 2);
  await expect(objects.read('a')).rejects.toMatchObject({ name: 'UnavailableError', code: 'object-archived' });
  expect(await objects.recall('a')).toEqual({ state: 'recalling', expectedAtMs: null });
  await expect(objects.read('a')).rejects.toMatchObject({ code: 'object-archived' });
  expect(await objects.recall('a')).toEqual({ state: 'ready' });
  expect(await said('a')).toBe('tide');
});

test('lose: it is gone behind everybody’s back', async () => {
  objects.lose('a');
  expect([await objects.read('a'), await listed()]).toEqual([undefined, []]);
});

test('an object where a folder would be is refused, as a folder refuses it', async () => {
  await expect(objects.create('a/b/c', text('x'))).rejects.toMatchObject(unavailable);
  await objects.create('b/c', text('x'));
  await expect(objects.create('b', text('x'))).rejects.toMatchObject(unavailable);
});
