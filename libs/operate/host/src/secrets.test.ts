/**
 * Secret fields on the embedded default: steps, effects, undos and forks are given the values; nobody reads them without the key that is
 * theirs, not in files, not in rows, and not with the key of histories.
 */

import { fileURLToPath } from 'node:url';
import { DEFAULT_TENANT, type Json, workflowId } from '@tidemark/core';
import { openFileKeys } from '@tidemark/keys-file';
import { forget } from '@tidemark/runtime';
import { defineEffect, defineFunction, defineWorkflow, FatalError, NotDoneError, secret, task } from '@tidemark/sdk';
import { eventually } from '@tidemark/testkit/eventually';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { FolderFixture } from './folder-fixture.ts';
import type { Host } from './host.ts';

/** Starting PGlite takes seconds, on a busy machine many. */
const CARD = 'card-4111-1111';
const RECEIPT = 'receipt-of-ana';

const calls: string[] = [];
/** How often the receiver refuses, quoting what it was sent. */
let refusals = 0;
const charge = defineEffect({
  operation: 'charge',
  kind: 'idempotent',
  request: z.object({ card: secret(z.string().max(20)), cents: z.number() }),
  response: z.object({ receipt: secret(z.string()), ok: z.boolean() }),
  retry: { firstDelayMs: 1 },
  call: ({ card, cents }) => {
    if (refusals-- > 0) throw new NotDoneError(`status 422: {"card":"${card}"} is unknown`);
    calls.push(`charge ${card} ${cents}`);
    return { receipt: RECEIPT, ok: true };
  },
  compensate: ({ receipt }) => {
    calls.push(`refund ${receipt}`);
  },
});

const paying = defineWorkflow({
  name: 'paying',
  version: 1,
  onFailure: 'compensate',
  input: z.object({ card: secret(z.string().max(20)), cents: z.number(), falls: z.boolean().default(false) }),
  belief: z.object({ card: secret(z.string()), paid: z.number(), receipts: z.array(secret(z.string())) }),
  output: z.object({ receipt: secret(z.string()), cents: z.number() }),
  tasks: { pay: z.object({ card: secret(z.string()) }), end: z.object({}) },
  flow: { pay: ['end'], end: [] },
  effects: [charge],
  begin: ({ card }) => ({ belief: { card, paid: 0, receipts: [] }, next: [task('pay', { card })] }),
  steps: {
    async pay(ctx, { card }) {
      if (card !== ctx.belief.card || card !== ctx.input.card) throw new FatalError('another card');
      const { receipt } = await ctx.effect(charge, { card, cents: ctx.input.cents });
      return {
        belief: (b) => ({ ...b, paid: b.paid + ctx.input.cents, receipts: [...b.receipts, receipt] }),
        next: [task('end', {})],
      };
    },
    end({ belief, input }) {
      if (input.falls) throw new FatalError('the gangway is gone');
      return { done: { receipt: belief.receipts[0]!, cents: belief.paid } };
    },
  },
});

const payingPlainly = defineFunction({
  name: 'paying-plainly',
  version: 1,
  input: z.object({ card: secret(z.string().max(20)) }),
  output: z.object({ receipt: secret(z.string()), ok: z.boolean() }),
  effects: [charge],
  signals: { go: z.json() },
  async run(ctx, { card }) {
    const paid = await ctx.effect(charge, { card, cents: 700 });
    await ctx.signal('go');
    await ctx.run('after', () => null);
    return paid;
  },
});

const longCards = {
  ...{ version: 1, input: z.object({ card: secret(z.string()) }), belief: z.object({}), output: z.null() },
  tasks: { one: z.object({}) },
  flow: { one: [] },
  begin: () => ({ belief: {}, next: [task('one', {})] }),
  steps: { one: () => ({ done: null }) },
} as const;

const noting = defineWorkflow({
  ...{
    name: 'noting',
    version: 1,
    input: z.object({ card: secret(z.string()) }),
    output: z.object({ note: z.string() }),
  },
  belief: z.object({ card: secret(z.string()), note: z.string() }),
  tasks: { one: z.object({}) },
  flow: { one: [] },
  begin: ({ card }) => ({ belief: { card, note: 'none' }, next: [task('one', {})] }),
  steps: { one: ({ belief }) => ({ done: { note: belief.note } }) },
});

let at: FolderFixture;
beforeEach(async () => {
  at = await FolderFixture.make();
  calls.length = 0;
  refusals = 0;
});
afterEach(() => at.end());

const SECRETS = { secretsUrl: 'secrets' };

/** `keysUrl`, `secretsUrl`: names of key files. */
const open = (names: { readonly keysUrl?: string; readonly secretsUrl?: string } = SECRETS): Promise<Host> =>
  at.open(Object.fromEntries(Object.entries(names).map(([setting, name]) => [setting, at.keysUrl(name)])));

const work = (host: Host) => host.startWorker({ definitions: [paying], concurrency: 4 });
const INPUT = { card: CARD, cents: 700 };

const beliefOf = async (host: Host, id: string): Promise<Json> => {
  const [opening] = await host.client.run(id).checkpoints(0);
  return (JSON.parse(opening!.payload) as { readonly belief: Json }).belief;
};

describe('secret fields', () => {
  it('are given to steps and effects, and stored for nobody else', async () => {
    refusals = 1;
    const host = await open();
    await work(host);
    const run = await host.client.start(paying, INPUT, { id: 'w', session: 's', user: 'ana' });
    expect(await run.result()).toEqual({ receipt: RECEIPT, cents: 700 });
    expect(calls).toEqual([`charge ${CARD} 700`]);
    // What the receiver quoted in its refusal is told without it.
    const events = (await host.ports.store.events(workflowId('w'), 100)).map(({ payload }) => payload);
    expect(events.find((payload) => payload.includes('status 422'))).toContain(
      '{\\"card\\":\\"[masked]\\"} is unknown',
    );
    expect(events.join()).not.toContain(CARD);
    // What the session leaves is told to others, and to models.
    const left = { tenant: DEFAULT_TENANT, subject: 'user:ana', kind: 'summary', limit: 10 } as const;
    const [summary] = await host.ports.store.memories(left);
    expect(summary?.value).toContain('[secret]');
    expect(summary?.value).not.toContain('secret:');
    const belief = await beliefOf(host, 'w');
    expect(JSON.stringify(belief)).not.toContain(CARD);
    expect(await host.client.reveal('w', belief)).toEqual({ card: CARD, paid: 0, receipts: [] });
    await at.close(host);
    expect(await at.filesWith(CARD)).toEqual([]);
    expect(await at.filesWith(RECEIPT)).toEqual([]);
    // The control: what is not marked is there.
    expect(await at.filesWith('"cents":700')).not.toEqual([]);

    const reader = await open({});
    expect(await reader.client.run('w').result()).toEqual({ receipt: '[secret]', cents: 700 });
    expect(await reader.client.reveal('w', belief)).toEqual({ card: '[secret]', paid: 0, receipts: [] });
  });

  it('are given to a function again after a wait, and stored for nobody else', async () => {
    const host = await open();
    await host.startWorker({ definitions: [payingPlainly], concurrency: 4 });
    const run = await host.client.start(payingPlainly, { card: CARD }, { id: 'f' });
    const made = await eventually(async () => (await run.checkpoints(2))[0]);
    expect(made!.payload).toContain('"response of charge":{"receipt":"secret:');
    await host.client.signal('f', 'go');
    expect(await run.result()).toEqual({ receipt: RECEIPT, ok: true });
    expect(calls).toEqual([`charge ${CARD} 700`]);
    const { workflow } = await host.client.fork('f', { at: 2, effects: 'replay', by: 'ana' });
    await host.client.signal(workflow, 'go');
    expect(await host.client.run(workflow).result()).toEqual({ receipt: RECEIPT, ok: true });
    await at.close(host);
    expect(await at.filesWith(CARD)).toEqual([]);
    expect(await at.filesWith(RECEIPT)).toEqual([]);
  });

  it('are not read with the key of histories, nor with another', async () => {
    const host = await open({ keysUrl: 'keys', ...SECRETS });
    await work(host);
    await (await host.client.start(paying, INPUT, { id: 'w' })).result();
    await at.close(host);
    const operator = await open({ keysUrl: 'keys' });
    expect(await operator.client.run('w').result()).toEqual({ receipt: '[secret]', cents: 700 });
    await at.close(operator);
    await (await openFileKeys({ file: fileURLToPath(at.keysUrl('others')) })).close();
    const unauthenticated = await open({ keysUrl: 'keys', secretsUrl: 'others' });
    await expect(unauthenticated.client.run('w').result()).rejects.toMatchObject({ code: 'key-wrong' });
  });

  it('need their key before anything is started, and are not mistaken for what is shown in their place', async () => {
    const host = await open({});
    await expect(host.client.start(paying, INPUT, { id: 'w' })).rejects.toMatchObject({
      code: 'secrets-unconfigured',
      message: expect.stringContaining('TIDEMARK_SECRETS_KEYS_URL'),
    });
    expect(await host.client.run('w').summary()).toBeUndefined();
    await expect(work(host)).rejects.toMatchObject({ code: 'secrets-unconfigured' });
    await at.close(host);
    const able = await open();
    await expect(able.client.start(paying, { ...INPUT, card: '[secret]' })).rejects.toMatchObject({
      code: 'secret-masked',
    });
    const foreign = `secret:1:${'p'.repeat(22)}:019abcde-0000-7000-8000-000000000001:${'A'.repeat(60)}`;
    const long = defineWorkflow({ ...longCards, name: 'long-cards' });
    await expect(able.client.start(long, { card: foreign })).rejects.toMatchObject({ code: 'secret-sealed' });
    expect(() => able.client.shadow(paying, { id: 's' })).toThrow(/marks fields as secret/);
  });

  it('are compensated, and forked, by those who may read them', async () => {
    // Without a key of histories: what is found in files was not sealed as a secret.
    const host = await open();
    await work(host);
    const base = await host.client.start(paying, INPUT, { id: 'base' });
    await base.result();
    const { workflow } = await host.client.fork('base', { at: 0, effects: 'replay', by: 'ana' });
    expect(await host.client.run(workflow).result()).toEqual({ receipt: RECEIPT, cents: 700 });
    expect(calls).toEqual([`charge ${CARD} 700`]);
    const belief = { card: CARD, paid: 100, receipts: ['earlier'] };
    const other = await host.client.fork('base', { at: 0, effects: 'live', by: 'ana', belief, definitions: [paying] });
    expect(await host.client.run(other.workflow).result()).toEqual({ receipt: 'earlier', cents: 800 });

    const falling = await host.client.start(paying, { ...INPUT, falls: true }, { id: 'falls' });
    await expect(falling.result()).rejects.toMatchObject({ code: 'workflow-compensated' });
    expect(calls.at(-1)).toBe(`refund ${RECEIPT}`);
    await at.close(host);
    expect(await at.filesWith(RECEIPT)).toEqual([]);
  });

  it('are opened nowhere but in their place: no caller gives their texts', async () => {
    const host = await open();
    await host.startWorker({ definitions: [noting], concurrency: 4 });
    const base = await host.client.start(noting, { card: CARD }, { id: 'base' });
    expect(await base.result()).toEqual({ note: 'none' });
    const { card } = (await beliefOf(host, 'base')) as { card: string };
    expect(card).toMatch(/^secret:1:/);
    const refused = (field: string) =>
      expect.objectContaining({ name: 'InvalidError', code: 'secret-sealed', message: expect.stringMatching(field) });
    const { client } = host;
    const fork = { at: 0, effects: 'live', by: 'ana', definitions: [noting] } as const;
    await expect(client.fork('base', { ...fork, belief: { card: CARD, note: card } })).rejects.toEqual(
      refused('belief/note'),
    );
    await expect(client.fork('base', { ...fork, belief: { card, note: '' } })).rejects.toEqual(refused('belief/card'));
    await expect(client.start(noting, { card })).rejects.toEqual(refused('input/card'));
    await expect(client.signal('base', 'note', { a: [card] })).rejects.toEqual(refused('value/a/0'));
    await expect(client.confirm('base', 'token', { response: card })).rejects.toEqual(refused('response'));
    await expect(client.approve('base', '0.0', { approved: true, by: 'ana', value: { card } })).rejects.toEqual(
      refused('value/card'),
    );
    const decision = { resolution: 'done', by: 'ana', why: 'seen', response: { card } } as const;
    await expect(client.decide('base', decision)).rejects.toEqual(refused('response/card'));
    const memory = [{ subject: 'user:ana', kind: 'fact', key: 'a', value: { card }, source: 'ana' }] as const;
    await expect(client.memory.remember(memory, { tenant: DEFAULT_TENANT })).rejects.toEqual(
      refused('memories/0/value/card'),
    );
    // The control: a fork with a belief of its own is made, and its steps are given what it has.
    const other = await client.fork('base', { ...fork, belief: { card: CARD, note: 'seen' } });
    expect(await client.run(other.workflow).result()).toEqual({ note: 'seen' });
  });

  it('are forgotten with their workflow, and wrapped anew with their own key', async () => {
    const host = await open({ keysUrl: 'keys', ...SECRETS });
    await work(host);
    const run = await host.client.start(paying, INPUT, { id: 'w', user: 'ana' });
    await run.result();
    const { keys, secrets } = host;
    const kept: string[] = [];
    for await (const key of keys!.store.list({ user: 'ana' })) kept.push(key.provider);
    expect(kept.sort()).toEqual(['local', 'secrets:local']);
    expect(await keys!.data.rewrapAll({})).toMatchObject({ seenCount: 1, wrongCount: 0 });
    expect(await secrets!.data.rewrapAll({})).toMatchObject({ seenCount: 1, wrongCount: 0 });
    const options = { store: host.ports.store, keys: keys!.data, keyStore: keys!.store, memory: host.client.memory };
    const request = { tenant: DEFAULT_TENANT, user: 'ana', by: 'carl', why: 'she asked' };
    const certificate = await forget({ ...options, now: () => 'now' }, request);
    expect(certificate.keys).toHaveLength(2);
    await at.close(host);
    const later = await open({ keysUrl: 'keys', ...SECRETS });
    await expect(later.client.run('w').result()).rejects.toMatchObject({
      name: 'InvalidError',
      code: 'history-forgotten',
      message: expect.stringContaining('forgotten for good'),
    });
  });
});
