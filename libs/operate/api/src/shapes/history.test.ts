/** Effects are shown with what the answer's schema declares, whichever event left them. */

import type { EffectRow } from '@tidemark/ports';
import { expect, test } from 'vitest';
import { effectSchema } from '../schemas/workflow.ts';
import { effectJson, eventJson } from './history.ts';

const DIGEST = 'a'.repeat(64);
const rowOf = (status: EffectRow['status'], payload: unknown): EffectRow =>
  ({
    ...{ workflow: 'w', key: 'w:0.0:pay:0', task: '0.0', operation: 'pay', kind: 'irreversible', status },
    ...{ requestDigest: DIGEST, responseDigest: DIGEST, position: 1, atMs: 0, request: null },
    payload: JSON.stringify(payload),
  }) as EffectRow;

test.each([
  ['an intention', 'intended', { request: { amount: 1 }, prompt: DIGEST }, { request: { amount: 1 } }],
  ['a receiver that accepted', 'pending', { detail: { ticket: 'x' } }, {}],
  ['a response', 'done', { response: 7 }, { response: 7 }],
  ['a failure', 'failed', { error: { name: 'Error', message: 'no' } }, { error: { name: 'Error', message: 'no' } }],
  ["a person's answer", 'done', { why: 'checked with the bank', response: 7 }, { response: 7 }],
  ["a person's refusal", 'failed', { why: 'checked with the bank' }, {}],
] as const)('%s', (_, status, payload, shown) => {
  const { request, response, error } = effectSchema.strict().parse(effectJson(rowOf(status, payload)));
  expect(JSON.parse(JSON.stringify({ request, response, error }))).toEqual(shown);
});

test('what only a provider reads, and files, are shown by size, in answers, fragments, prompts and texts of prompts', () => {
  const signed = { providerMetadata: { p: { signature: 'SIGNED' } } };
  const message = {
    role: 'assistant',
    content: [
      { type: 'opaque', part: { type: 'reasoning', text: 'SIGNED' } },
      { type: 'text', text: 'seen', providerOptions: signed },
      { type: 'file', mediaType: 'image/png', data: 'SIGNED' },
    ],
  };
  const parts = { provider: 'p', text: '["SIGNED"]' };
  const response = { text: 'seen', parts, detail: { content: [{ type: 'text', chars: 4, ...signed }] } };
  const payload = {
    response,
    fragments: [{ type: 'agent_message', text: 'seen', parts: { ...parts, spans: 1 } }],
    texts: { [DIGEST]: JSON.stringify({ content: message.content, role: 'assistant' }) },
  };
  const shown = [
    effectJson(rowOf('done', { response })),
    eventJson({ control: '{}', payload: JSON.stringify(payload), atMs: 0, holder: '' } as never),
  ];
  expect(JSON.stringify(shown)).not.toContain('SIGNED');
  expect(JSON.stringify(shown).match(/seen/g)).toHaveLength(4);
  expect(shown[0]).toMatchObject({ response: { parts: { provider: 'p', bytes: 10 } } });
});
