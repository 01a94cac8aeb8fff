/** The owner of a data key: its id shows it to everybody who knows the workflow, by a digest that no two workflows share by chance. */

import { type WorkflowId, workflowId } from '@tidemark/core';
import { expect, it } from 'vitest';
import { boundKeyId, isKeyOf, takesPlain } from './key-owner.ts';

const UUID = '0190a0a0-1234-7567-89ab-0123456789ab';
const [A, B] = [workflowId('a'), workflowId('b')];
const id = boundKeyId(UUID, A, 'sealing');

it('follows from an id of version 8, which keeps all but the last group', () => {
  expect(id).toMatch(/^0190a0a0-1234-8567-89ab-[0-9a-f]{12}$/);
  expect([isKeyOf(id, A), isKeyOf(id, B), takesPlain(id, A)]).toEqual([true, false, false]);
  const plain = boundKeyId(UUID, A, 'plain');
  expect([isKeyOf(plain, A), isKeyOf(plain, B), takesPlain(plain, A)]).toEqual([true, false, true]);
});

it('is told by 48 bits: ids from the same bits differ in each four of them', () => {
  const ids = Array.from({ length: 500 }, (_, at) => boundKeyId(UUID, `w${at}` as WorkflowId, 'sealing'));
  for (const at of Array.from({ length: 12 }, (_, digit) => id.length - 12 + digit)) {
    expect(new Set(ids.map((one) => one[at])).size).toBe(16);
  }
});

it('is nobody’s where anything of it was changed, or it is no such id', () => {
  for (let at = 0; at < id.length; at++) {
    const changed = `${id.slice(0, at)}${id[at] === '8' ? '9' : '8'}${id.slice(at + 1)}`;
    expect(isKeyOf(changed, A), changed).toBe(false);
  }
  for (const no of ['', UUID, id.toUpperCase(), `${id}\n`, ` ${id}`]) expect(isKeyOf(no, A), no).toBe(false);
});
