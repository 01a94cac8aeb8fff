/** Tests notice an answer that has more than its schema declares, which callers who may see everything would receive. */

import { Reads } from '@tidemark/access/reads';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { LOCAL_PRINCIPAL } from './local.ts';
import { type AnyCall, Operation } from './operation.ts';
import { redactionOf } from './redaction.ts';
import { type AnyRoute, ok } from './route.ts';

const answerWith = (body: object, checksAnswers: boolean) => {
  const answers = { 200: z.object({ shown: z.int(), optional: z.string().optional() }) };
  const route = { method: 'GET', path: '/v1/x', right: 'read', answers, handle: async () => ok(body) };
  const backend = { forCaller: () => backend, tenantOf: () => undefined };
  const redaction = redactionOf(LOCAL_PRINCIPAL);
  const call = { principal: LOCAL_PRINCIPAL, redaction, backend, signal: new AbortController().signal };
  const operation = new Operation(route as unknown as AnyRoute);
  return operation.answer(call as unknown as AnyCall, { reads: new Reads(), checksAnswers });
};

test('an answer with a member that its schema lacks is noticed where answers are checked', async () => {
  await expect(answerWith({ shown: 1, extra: 2 }, true)).rejects.toThrow('extra');
  expect((await answerWith({ optional: undefined, shown: 1 }, true)).text).toBe('{"shown":1}');
  expect((await answerWith({ shown: 1, extra: 2 }, false)).text).toContain('extra');
});
