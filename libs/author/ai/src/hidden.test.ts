/** What is hidden of a provider's words, and what stays of them. */

import { tokenizerFor } from '@tidemark/tokenizer';
import { MockLanguageModelV4 } from 'ai/test';
import { afterEach, expect, test, vi } from 'vitest';
import { ask } from './ask.ts';
import { hiddenOf } from './hidden.ts';

const none = await hiddenOf({}, undefined, []);
afterEach(() => void vi.unstubAllEnvs());

test.each([
  'Incorrect API key provided: hunter2hunter2. You can find your key in the settings.',
  'request had {"authorization":"Bearer hunter2hunter2","content-type":"x"} in it',
  'request had {"organization":"hunter2hunter2"} in it',
  'request had authorization: Bearer hunter2hunter2',
  'x-goog-api-key=hunter2hunter2 is not valid',
  'see https://api.example.com/v1?key=hunter2hunter2 for more',
  'cookie: session=hunter2hunter2; path=/',
  'bearer hunter2hunter2',
])('what looks like a key or a header is hidden: %s', (text) => {
  expect(none.excerpt(text)).not.toContain('hunter2');
});

test.each([
  "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens",
  'Invalid schema for function weather: In context=(), additionalProperties is required to be supplied',
  'The model gpt-4o-mini does not support the parameter temperature: use the default of 1',
])('what says what is wrong stays: %s', (text) => {
  expect(none.excerpt(text)).toBe(text);
});

test('an excerpt is one line of bounded length, whatever was said', () => {
  const text = none.excerpt(`a\n\u0000b\ud800 ${'word '.repeat(5_000)}`);
  expect(text.length).toBeLessThanOrEqual(300);
  expect(text.isWellFormed()).toBe(true);
  expect(text).not.toMatch(/\p{Cc}/u);
});

test.each([
  ['the call’s own headers', {}, { authorization: 'Bearer plainword' }, []],
  ['headers in the provider’s configuration', { config: { headers: { 'x-api-key': 'plainword' } } }, undefined, []],
  [
    'a function that gives them',
    { config: { headers: async () => ({ Authorization: 'Bearer plainword' }) } },
    undefined,
    [],
  ],
  ['what the user names', {}, undefined, ['plainword']],
])('%s are known, however plain they look', async (_, model, headers, secrets) => {
  const text = 'the word is plainword';
  expect(none.excerpt(text)).toBe(text);
  const hidden = await hiddenOf(model, headers, secrets);
  expect(hidden.excerpt(text)).toBe('the word is [hidden]');
  expect(hidden.clean({ deep: [text], count: 1 })).toEqual({ deep: ['the word is [hidden]'], count: 1 });
  // Providers quote it as they like.
  for (const quoted of [
    encodeURIComponent('pa/ss word'),
    '"pa\\/ss word"',
    Buffer.from('pa/ss word').toString('base64'),
  ]) {
    const shown = (await hiddenOf({}, { 'x-key': 'pa/ss word' }, [])).excerpt(`bad key ${quoted}`);
    expect(shown).toContain('[hidden]');
    expect(shown).not.toContain(quoted);
  }
});

test('what a header says to everyone, and the model’s own name, are no secrets', async () => {
  const headers = { 'content-type': 'application/json', 'x-model': 'gpt-4o-mini' };
  const { excerpt } = await hiddenOf({ provider: 'openai.chat', modelId: 'gpt-4o-mini' }, headers, []);
  expect(excerpt('gpt-4o-mini wants application/json')).toBe('gpt-4o-mini wants application/json');
});

test('keys in the environment are known', async () => {
  vi.stubEnv('ACME_API_KEY', 'plainword');
  expect((await hiddenOf({}, undefined, [])).excerpt('the word is plainword')).toBe('the word is [hidden]');
});

test.each([
  [
    'throws',
    {
      headers: () => {
        throw new Error('no');
      },
    },
  ],
  ['hangs', { headers: () => new Promise(() => {}) }],
  ['gives nothing', { headers: null }],
])('a configuration that %s hides nothing and breaks nothing', async (_, config) => {
  expect((await hiddenOf({ config }, undefined, [])).excerpt('a plain word')).toBe('a plain word');
});

test('an answer that echoes headers in its metadata is recorded without them', async () => {
  const headers = { authorization: 'Bearer plainword' };
  const languageModel = new MockLanguageModelV4({
    doGenerate: async (options) => ({
      content: [
        { type: 'text', text: 'Hi', providerMetadata: { echo: { seen: String(options.headers?.authorization) } } },
      ],
      finishReason: { unified: 'stop', raw: 'stop' },
      usage: {
        inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: 1, text: 1, reasoning: 0 },
      },
      providerMetadata: { echo: { headers: JSON.stringify(options.headers) } },
      warnings: [{ type: 'other', message: `seen ${options.headers?.authorization}` }],
      request: { body: options.headers },
      response: { id: '1', headers: { echo: 'plainword' }, body: options.headers },
    }),
  });
  const context = { signal: new AbortController().signal, onDelta: () => {}, promptTokens: 1 };
  const tokenizer = tokenizerFor('m');
  const answer = await ask({ languageModel, tokenizer, secrets: [] }, { prompt: [], headers }, context, false);
  expect(JSON.stringify(answer)).not.toContain('plainword');
  expect(answer).toMatchObject({
    text: 'Hi',
    detail: {
      response: { id: '1' },
      warnings: [{ message: 'seen [hidden]' }, { message: expect.stringContaining('quotes a secret') }],
    },
  });
});
