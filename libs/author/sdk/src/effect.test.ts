import { effectKey, type InvalidError, type Json, taskId, workflowId } from '@tidemark/core';
import { PendingResult } from '@tidemark/runtime';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineEffect, done, type EffectSpec, notDone, pending, unknown } from './effect.ts';

const key = effectKey(workflowId('w'), taskId(3, 0), 'payments.credit', 0);
const context = { key, signal: new AbortController().signal, heartbeat: () => {} };

const asked = { signal: context.signal, request: { cents: 5 } };

const spec = {
  operation: 'payments.credit',
  kind: 'irreversible' as const,
  request: z.object({ cents: z.number().int() }),
  response: z.object({ creditId: z.string() }),
  call: ({ cents }: { cents: number }) => ({ creditId: `c${cents}` }),
};

/** Codes of the problems that a changed spec has; it may be of any shape, as without types. */
function codes(change: object): readonly string[] {
  try {
    defineEffect({ ...spec, ...change } as EffectSpec<typeof spec.request, typeof spec.response>);
    return [];
  } catch (error) {
    expect(error).toMatchObject({ code: 'effect-invalid' });
    return ((error as InvalidError).details.problems as { code: string }[]).map(({ code }) => code);
  }
}

describe('defineEffect', () => {
  it('gives the runtime what it needs, with documented defaults', async () => {
    const effect = defineEffect(spec);
    expect(effect).toMatchObject({ operation: 'payments.credit', kind: 'irreversible', timeoutMs: 30_000 });
    expect(await effect.call({ cents: 5 }, context)).toEqual({ creditId: 'c5' });
    expect(effect.probe).toBeUndefined();
    expect(effect.compensate).toBeUndefined();
  });

  it('takes from the default policy what is left out', () => {
    expect(defineEffect(spec).retry).toMatchObject({ attempts: 5, firstDelayMs: 200 });
    expect(defineEffect({ ...spec, retry: { attempts: 3 } }).retry).toMatchObject({ attempts: 3, firstDelayMs: 200 });
  });

  it('validates request and response, naming the operation and the path', () => {
    const effect = defineEffect(spec);
    expect(() => effect.parseRequest({ cents: 1.5 })).toThrow(
      expect.objectContaining({
        code: 'effect-request-invalid',
        message: expect.stringContaining('request of effect payments.credit: cents: expected int'),
      }),
    );
    expect(() => effect.parseResponse({})).toThrow(expect.objectContaining({ code: 'effect-response-invalid' }));
  });

  it('validates what a probe found', async () => {
    const probing = (result: unknown) => defineEffect({ ...spec, probe: () => result as never }).probe!(key, asked);
    expect(await probing(done({ creditId: 'c1' }))).toEqual({ status: 'done', response: { creditId: 'c1' } });
    expect(await probing(notDone())).toEqual({ status: 'not-done' });
    expect(await probing(unknown())).toEqual({ status: 'unknown' });
    await expect(probing(done({}))).rejects.toMatchObject({ code: 'effect-response-invalid' });
    // Neither a forgotten return nor a bare value may pass for an answer.
    await expect(probing(undefined)).rejects.toMatchObject({ code: 'probe-invalid' });
    await expect(probing({ creditId: 'c1' })).rejects.toMatchObject({ code: 'probe-invalid' });
  });

  it('tells a probe what was asked', async () => {
    const effect = defineEffect({ ...spec, probe: (_, { request }) => done({ creditId: `c${request.cents}` }) });
    expect(await effect.probe!(key, asked)).toEqual({ status: 'done', response: { creditId: 'c5' } });
  });

  it('follows up what is confirmed later, with documented defaults', () => {
    const confirm = (options?: object) => defineEffect({ ...spec, confirm: options }).confirm;
    expect(confirm()).toEqual({ probeEveryMs: 60_000, timeoutMs: 86_400_000 });
    expect(confirm({ probeEveryMs: 500 })).toEqual({ probeEveryMs: 500, timeoutMs: 86_400_000 });
    // A deadline before the first probe of the default would otherwise be refused.
    expect(confirm({ timeoutMs: 1_000 })).toEqual({ probeEveryMs: 1_000, timeoutMs: 1_000 });
  });

  it('hands on that a call was accepted and is confirmed later, unvalidated', async () => {
    const accepted = await defineEffect({ ...spec, call: () => pending('t1', { queue: 3 }) }).call({}, context);
    expect(accepted).toBeInstanceOf(PendingResult);
    expect(accepted).toMatchObject({ token: 't1', detail: { queue: 3 } });
  });

  it('refuses a token that could name nothing, and a detail that is no JSON', () => {
    expect(() => pending('')).toThrow(expect.objectContaining({ code: 'pending-invalid' }));
    expect(() => pending('x'.repeat(513))).toThrow(expect.objectContaining({ code: 'pending-invalid' }));
    expect(() => pending(undefined as never)).toThrow('got nothing');
    expect(() => pending('t', new Date(0))).toThrow(expect.objectContaining({ code: 'not-serialisable' }));
  });

  it('has limits of each receiver, whose name is stored nowhere readable, and has them where none can be told', async () => {
    const limits = [{ rate: { count: 1, per: '1m' } }, { key: 'bank', concurrency: 2 }];
    const receiver = ({ cents }: { cents: number }) => {
      if (cents === 0) throw new Error('nobody');
      return `https://shop-${cents}.example`;
    };
    const keysOf = async (cents: number) =>
      (await defineEffect({ ...spec, limits, receiver }).scopesOf!({ cents })).map(({ key: named }) => named);
    const [one, other] = [await keysOf(1), await keysOf(2)];
    expect(one).toEqual([expect.stringMatching(/^effect payments\.credit #[0-9a-f]{16}$/), 'limit bank']);
    expect(other[0]).not.toBe(one[0]);
    expect(await keysOf(1)).toEqual(one);
    expect(await keysOf(0)).toEqual(['effect payments.credit', 'limit bank']);
  });

  it('refuses two limits of one key that declare the same', () => {
    const rate = { count: 1, per: '1m' };
    expect(codes({ limits: [{ rate }, { rate }] })).toEqual(['limit-invalid']);
    expect(codes({ limits: [{ key: 'k', concurrency: 2 }, { rate }, { key: 'k', rate, concurrency: 1 }] })).toEqual([
      'limit-invalid',
    ]);
    expect(codes({ limits: [{ key: 'k', rate }, { key: 'k', concurrency: 1 }, { rate }] })).toEqual([]);
  });

  it('undoes what may have happened with the request', async () => {
    const seen: unknown[] = [];
    const effect = defineEffect({ ...spec, compensateUnknown: async ({ cents }, { key }) => seen.push([cents, key]) });
    expect(await effect.compensateUnknown!({ cents: 5 }, context)).toBeUndefined();
    expect(seen).toEqual([[5, key]]);
  });

  it('compensates with the response and the key', async () => {
    const seen: unknown[] = [];
    const effect = defineEffect({
      ...spec,
      compensate: async (response: Json, { key }) => seen.push([response, key]),
    });
    expect(await effect.compensate!({ creditId: 'c1' }, context)).toBeUndefined();
    expect(seen).toEqual([[{ creditId: 'c1' }, key]]);
  });

  it.each<[object, string[]]>([
    [{}, []],
    [{ operation: 'a:b' }, ['name-invalid']],
    [{ operation: undefined }, ['name-invalid']],
    [{ kind: 'once' }, ['kind-invalid']],
    [{ call: undefined }, ['call-missing']],
    [{ request: undefined, response: {} }, ['schema-missing', 'schema-missing']],
    [{ request: z.object({ at: z.date() }) }, ['schema-not-storable']],
    [{ kind: 'pure', compensate: () => {} }, ['compensate-useless']],
    [{ retry: { attempts: 0 } }, ['retry-invalid']],
    [{ timeoutMs: 0 }, ['timeout-invalid']],
    [{ timeoutMs: Number.NaN }, ['timeout-invalid']],
    [{ timeOut: 5 }, ['option-unknown']],
    [{ kind: 'pure', compensateUnknown: () => {} }, ['compensate-useless']],
    [{ probe: 5, compensate: 'x' }, ['option-invalid', 'option-invalid']],
    [{ probe: () => notDone(), probeFences: true }, []],
    [{ probeFences: true }, ['option-invalid']],
    [{ heartbeatTimeoutMs: 5_000 }, []],
    [{ heartbeatTimeoutMs: 30_000 }, ['timeout-invalid']],
    [{ heartbeatTimeoutMs: 0 }, ['timeout-invalid']],
    [{ confirm: { timeoutMs: 1_000 } }, []],
    [{ confirm: { timeoutMs: 1_000, probeEveryMs: 2_000 } }, ['confirm-invalid']],
    [{ confirm: { timeoutMs: 0 } }, ['confirm-invalid']],
    [{ confirm: { probeEvery: 5 } }, ['option-unknown']],
    [{ retry: { nonRetryable: ['card-declined'] } }, []],
    [{ retry: { nonRetryable: 'card-declined' } }, ['retry-invalid']],
  ])('checks the definition: %o', (change, expected) => expect(codes(change)).toEqual(expected));

  it('lists all problems at once', () => {
    expect(() => defineEffect({ ...spec, kind: 'once' as never, timeoutMs: -1 })).toThrow(
      /Effect payments\.credit can't be used:\n {2}- kind must be one of .*\n {2}- timeoutMs must be/,
    );
  });
});
