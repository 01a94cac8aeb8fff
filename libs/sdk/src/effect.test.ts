import { effectKey, type InvalidError, type Json, taskId, workflowId } from '@tidemark/core';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineEffect, done, type EffectSpec, notDone, unknown } from './effect.ts';

const key = effectKey(workflowId('w'), taskId(3, 0), 'payments.credit', 0);
const context = { key, signal: new AbortController().signal, heartbeat: () => {} };

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
    const probing = (result: unknown) => defineEffect({ ...spec, probe: () => result as never }).probe!(key, context);
    expect(await probing(done({ creditId: 'c1' }))).toEqual({ status: 'done', response: { creditId: 'c1' } });
    expect(await probing(notDone())).toEqual({ status: 'not-done' });
    expect(await probing(unknown())).toEqual({ status: 'unknown' });
    await expect(probing(done({}))).rejects.toMatchObject({ code: 'effect-response-invalid' });
    // Neither a forgotten return nor a bare value may pass for an answer.
    await expect(probing(undefined)).rejects.toMatchObject({ code: 'probe-invalid' });
    await expect(probing({ creditId: 'c1' })).rejects.toMatchObject({ code: 'probe-invalid' });
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
  ])('checks the definition: %o', (change, expected) => expect(codes(change)).toEqual(expected));

  it('lists all problems at once', () => {
    expect(() => defineEffect({ ...spec, kind: 'once' as never, timeoutMs: -1 })).toThrow(
      /Effect payments\.credit can't be used:\n {2}- kind must be one of .*\n {2}- timeoutMs must be/,
    );
  });
});
