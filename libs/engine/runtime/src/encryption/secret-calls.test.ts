/**
 * A call that receives secrets keeps them out of everything that comes back: answers, errors and progress, of calls, probes and
 * compensations.
 */

import { createSecretKey } from 'node:crypto';
import { DEFAULT_TENANT, type EffectKey, type Json, workflowId } from '@tidemark/core';
import { describe, expect, it, vi } from 'vitest';
import { type EffectDefinition, type Parse, PendingResult } from '../definition/definition.ts';
import { NotDoneError } from '../definition/step-errors.ts';
import { sealedEffect } from './secret-calls.ts';
import { Vault } from './secret-vault.ts';

// An id that contains the code, as an id may by chance.
const KEY = { id: '019abcde-0000-7000-8000-000000424242', key: createSecretKey(Buffer.alloc(32, 7)) };
const VAULT = new Vault({ tenant: DEFAULT_TENANT, workflow: workflowId('w') }, [KEY]);
const [CARD, CODE] = ['card-4111-1111', 424242];

/** Marks `card` and `receipt`. */
const marked: Parse = (value, seal) =>
  Object.fromEntries(
    Object.entries(value as Record<string, Json>).map(([name, each]) => [
      name,
      seal !== undefined && /^(?:card|receipt|code)$/.test(name) ? seal(each) : each,
    ]),
  );

const effectOf = (parts: Partial<EffectDefinition>): EffectDefinition =>
  sealedEffect(
    {
      operation: 'charge',
      kind: 'irreversible',
      timeoutMs: 1_000,
      confirm: { probeEveryMs: 1, timeoutMs: 1 },
      retry: { attempts: 1, firstDelayMs: 1, factor: 1, maxDelayMs: 1, jitter: 0, nonRetryable: [] },
      parseRequest: marked,
      parseResponse: marked,
      call: async () => ({}),
      ...parts,
    },
    VAULT,
  );

const heartbeat = vi.fn();
const context = { key: 'k' as EffectKey, signal: new AbortController().signal, heartbeat };
const request = effectOf({}).parseRequest({ card: CARD, code: CODE, cents: 700 });

describe('what a call with secrets gives back', () => {
  it('holds them in fields that are secret themselves, and masked elsewhere', async () => {
    const { call, parseResponse } = effectOf({
      call: async (given) => {
        const { card, code } = given as { card: string; code: number };
        return { receipt: `for ${card}`, echo: { sent: [card, code, 7] }, form: `card=${encodeURIComponent(card)}` };
      },
    });
    const stored = parseResponse(await call(request, context));
    expect(VAULT.open(stored, 'response charge')).toEqual({
      receipt: `for ${CARD}`,
      echo: { sent: ['[masked]', 0, 7] },
      form: 'card=[masked]',
    });
    expect(JSON.stringify(stored)).not.toContain(CARD);
  });

  it('names none of them in an error, which stays what it is', async () => {
    const { call, probe, compensateUnknown } = effectOf({
      call: async (given) => {
        throw new NotDoneError(`refused: ${JSON.stringify(given)}`, { excerpt: JSON.stringify(given) });
      },
      probe: async (_key, { request: asked }) => {
        throw new Error(`nothing of ${(asked as { card: string }).card}`);
      },
      compensateUnknown: async (given) => {
        throw new Error(`kept ${(given as { card: string }).card}`);
      },
    });
    const error = await call(request, context).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(NotDoneError);
    const { message, stack, details } = error as NotDoneError;
    expect(message).toBe('refused: {"card":"[masked]","code":[masked],"cents":700}');
    expect(JSON.stringify([stack, details])).not.toMatch(/4111|424242/);
    await expect(probe!('k' as EffectKey, { ...context, request })).rejects.toThrow('nothing of [masked]');
    await expect(compensateUnknown!(request, context)).rejects.toThrow('kept [masked]');
  });

  it('holds none of them in what is confirmed later, found by a probe, or shown meanwhile', async () => {
    const { call, probe } = effectOf({
      call: async (given, { heartbeat: beat }) => {
        const { card } = given as { card: string };
        beat({ done: 1, total: 2, text: `charging ${card}` });
        return new PendingResult('token', { sent: card });
      },
      probe: async (_key, { request: asked }) => ({
        status: 'done',
        response: { echo: (asked as { card: string }).card },
      }),
    });
    expect(await call(request, context)).toEqual(new PendingResult('token', { sent: '[masked]' }));
    expect(heartbeat).toHaveBeenCalledWith({ done: 1, total: 2, text: 'charging [masked]' });
    const found = await probe!('k' as EffectKey, { ...context, request });
    expect(found).toEqual({ status: 'done', response: { echo: '[masked]' } });
  });

  it('is left alone where nothing secret was given', async () => {
    const answer = { echo: [CARD] };
    expect(await effectOf({ call: async () => answer }).call({ cents: 1 }, context)).toBe(answer);
  });
});
