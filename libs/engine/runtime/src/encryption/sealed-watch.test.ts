/** Sealed watching: nobody on the way can read messages; they arrive in order; and a message that nobody may open is dropped. */

import { createSecretKey } from 'node:crypto';
import { sealText } from '@tidemark/codec';
import { type WorkflowId, workflowId } from '@tidemark/core';
import type { WatchBus } from '@tidemark/ports';
import { eventually } from '@tidemark/testkit/eventually';
import { beforeEach, expect, it } from 'vitest';
import { boundKeyId } from './key-owner.ts';
import { SealedWatch } from './sealed-watch.ts';

const W = workflowId('w');
const ID = boundKeyId('019abcde-0000-7000-8000-000000000001', W, 'sealing');
const KEY = { id: ID, key: createSecretKey(Buffer.alloc(32, 7)) };

/** What went over the wire. */
let sent: string[];
let listeners: ((message: string) => void)[];
const wire: WatchBus = {
  publish: (_, message) => {
    sent.push(message);
    for (const listener of listeners) listener(message);
  },
  release: () => {},
  subscribe: async (_, listener) => {
    listeners.push(listener);
    return async () => {};
  },
  close: async () => {},
};
beforeEach(() => {
  sent = [];
  listeners = [];
});

const keys = (isAtHand: boolean, has = true) => ({
  peek: () => (isAtHand ? KEY : undefined),
  inUse: async () => (has ? KEY : undefined),
  opening: async (wanted: ReadonlyMap<string, WorkflowId | undefined>) =>
    new Map(Array.from(wanted.keys(), (id) => [id, has ? KEY.key : null])),
});
const parts = Array.from({ length: 20 }, (_, at) => `the answer, part ${at}`);

it.each([true, false])(
  'comes as it was told, in order, and unreadable on its way (key at hand: %s)',
  async (isAtHand) => {
    const watch = new SealedWatch(wire, keys(isAtHand));
    const reported: string[] = [];
    await watch.subscribe(W, (message) => reported.push(message));
    for (const part of parts) watch.publish(W, part, 'none');
    await eventually(async () => reported.length === parts.length);
    expect(reported).toEqual(parts);
    expect(sent).toHaveLength(parts.length);
    expect(sent.join()).not.toContain('answer');
  },
);

it('is not sent without a key, and not told where it can’t be opened, was moved, or came in the clear', async () => {
  const watch = new SealedWatch(wire, keys(false, false));
  watch.publish(W, 'never', 'none');
  const reported: string[] = [];
  const able = new SealedWatch(wire, keys(true));
  await able.subscribe(W, (message) => reported.push(message));
  for (const message of ['plain', sealText('of another', 'watch/v', KEY)]) wire.publish(W, message, 'none');
  able.publish(W, 'last', 'none');
  await eventually(async () => reported.length > 0);
  expect(reported).toEqual(['last']);
  expect(sent.join()).not.toContain('never');
});
