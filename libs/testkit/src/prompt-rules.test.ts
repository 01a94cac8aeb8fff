/** Owns the tests of what is sent: every rule of docs/prompts.md over conversations as the world brings them, and each rule by example. */

import { hash } from 'node:crypto';
import {
  assembleBundle,
  type BundleMessage,
  callIds,
  PROMPT_FORMS,
  portableName,
  portablePrompt,
} from '@tidemark/core';
import { tokenizerFor } from '@tidemark/tokenizer';
import { describe, expect, test } from 'vitest';
import { conversationOf } from './conversations.ts';
import { brokenRules, PROMPT_RULES } from './prompt-rules.ts';

const sha256 = (text: string): string => hash('sha256', text);
const CONVERSATIONS = 1_500;
const seeds = Array.from({ length: CONVERSATIONS }, (_, n) => n);
const family = (form: string) => (form === '1-mistral' ? 'mistral' : 'any');

/** The messages of a seed's call before they are made fit; undefined: the bundle says that it has no room for the newest. */
function givenOf(seed: number): readonly BundleMessage[] | undefined {
  const { input, prompt } = conversationOf(seed);
  try {
    const bundle = assembleBundle(input, { tokenizer: tokenizerFor(), sha256 });
    expect(bundle.bundle.token_estimate).toBeLessThanOrEqual(input.policy.budgetTokens);
    return [...bundle.messages, ...prompt];
  } catch (error) {
    expect(error).toMatchObject({ code: 'bundle-newest-too-large' });
    return undefined;
  }
}

const given = seeds.map(givenOf);
const usable = given.filter(
  (messages) => messages !== undefined && messages.length > 0,
) as (readonly BundleMessage[])[];

/** As one text, so that one prompt can begin with another. */
const written = (messages: readonly BundleMessage[]): string =>
  messages
    .map(({ role, content }) =>
      typeof content === 'string'
        ? `<${role}>${content}`
        : `<${role}>${content.map((part) => (part.type === 'text' ? part.text : JSON.stringify(part))).join('\n\n')}`,
    )
    .join('\n');

describe('conversations as the world brings them', () => {
  test('most of them can be asked, and before they are made fit they break every rule', () => {
    expect(usable.length).toBeGreaterThan(CONVERSATIONS * 0.9);
    const broken = new Set(usable.flatMap((messages) => brokenRules(messages, 'mistral')).map(({ rule }) => rule));
    expect([...broken].sort()).toEqual([...PROMPT_RULES].sort());
  });

  test.each(PROMPT_FORMS)('in form %s they break no rule, and made fit again they stay as they are', (form) => {
    for (const [n, messages] of usable.entries()) {
      const { messages: sent } = portablePrompt(messages, form);
      expect(brokenRules(sent, family(form)), `conversation ${n}`).toEqual([]);
      expect(portablePrompt(sent, form).messages).toEqual(sent);
    }
  });

  test('no word is lost, and each result follows its own call', () => {
    for (const messages of usable) {
      const { messages: sent } = portablePrompt(messages, '1');
      const all = JSON.stringify(sent);
      for (const { content } of messages)
        for (const part of typeof content === 'string' ? [content] : content) {
          const text =
            typeof part === 'string'
              ? part
              : part.type === 'text'
                ? part.text
                : part.type === 'tool-result'
                  ? part.output
                  : '';
          if (text.trim() !== '') expect(all).toContain(JSON.stringify(text).slice(1, -1));
        }
      for (const [at, message] of sent.entries()) {
        if (message.role !== 'assistant') continue;
        const answer = sent[at + 1]!;
        const calls = message.content.filter((part) => part.type === 'tool-call');
        for (const [n, { input }] of calls.entries()) {
          const asked = /^(?:call )?(\d+)/.exec(
            String((input as { n?: number; text?: string }).n ?? (input as { text?: string }).text),
          );
          const result = answer.role === 'tool' ? answer.content[n]!.output : '';
          const said = /^result (\d+)/.exec(result);
          if (said !== null && asked !== null) expect(said[1]).toBe(asked[1]);
        }
      }
    }
  });

  test.each(PROMPT_FORMS)('in form %s a longer conversation begins with the bytes of the shorter one', (form) => {
    let compared = 0;
    for (const messages of usable) {
      for (let end = 1; end < messages.length; end++) {
        const next = messages.slice(end);
        const isWhole = next[0]!.role !== 'tool' && next.every(({ role }) => role !== 'system');
        const before = portablePrompt(messages.slice(0, end), form);
        if (!isWhole || before.added.some((text) => /no result|continue/.test(text))) continue;
        compared += 1;
        expect(written(portablePrompt(messages, form).messages).startsWith(written(before.messages))).toBe(true);
      }
    }
    expect(compared).toBeGreaterThan(500);
  });
});

describe('one rule each', () => {
  const user = (text: string): BundleMessage => ({ role: 'user', content: [{ type: 'text', text }] });
  const assistant = (text: string): BundleMessage => ({ role: 'assistant', content: [{ type: 'text', text }] });
  const calls = (...ids: string[]): BundleMessage => ({
    role: 'assistant',
    content: ids.map((id, n) => ({ type: 'tool-call', id, name: 'find', input: { n } })),
  });
  const results = (...ids: string[]): BundleMessage => ({
    role: 'tool',
    content: ids.map((id, n) => ({ type: 'tool-result', id, name: 'find', output: `r${n}` })),
  });
  const sentOf = (messages: readonly BundleMessage[], form = '1') => portablePrompt(messages, form).messages;
  const idsOf = (messages: readonly BundleMessage[]): string[] =>
    messages.flatMap((message) => (message.role === 'tool' ? message.content.map(({ id }) => id) : []));

  test('system alone gets a turn of the user; nothing at all is an error', () => {
    expect(sentOf([{ role: 'system', content: 'Be kind.' }])).toEqual([
      { role: 'system', content: 'Be kind.' },
      user('Please continue.'),
    ]);
    expect(() => portablePrompt([], '1')).toThrow(expect.objectContaining({ code: 'prompt-missing' }));
    expect(() => portablePrompt([user('x')], '2')).toThrow(expect.objectContaining({ code: 'prompt-form-unknown' }));
    expect(() => portablePrompt([{ role: 'bot', content: 'x' } as never], '1')).toThrow(/message 1 has the role "bot"/);
  });

  test('system messages are one, first, in their order', () => {
    expect(sentOf([{ role: 'system', content: 'a' }, user('x'), { role: 'system', content: 'b' }])).toEqual([
      { role: 'system', content: 'a\n\nb' },
      user('x'),
    ]);
  });

  test('what one side says in a row is one message', () => {
    expect(sentOf([user('a'), user(''), user('b'), assistant('c'), assistant('d'), user('e')])).toEqual([
      user('a\n\nb'),
      assistant('c\n\nd'),
      user('e'),
    ]);
  });

  test("Mistral's models get an answer between results and the user, and ids of nine letters and digits", () => {
    const prompt = [user('go'), calls('call_1', 'abcdefghi'), results('call_1', 'abcdefghi'), user('and?')];
    expect(sentOf(prompt).map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user']);
    const sent = sentOf(prompt, '1-mistral');
    expect(sent.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
    expect(idsOf(sent)[0]).toMatch(/^[a-z0-9]{9}$/);
    expect(idsOf(sent)[1]).toBe('abcdefghi');
  });

  test('ids are distinct and stay what they were where they can', () => {
    const prompt = [user('go'), calls('a', 'a', '', 'b c'), results('a', 'a', '', 'b c'), calls('a'), results('a')];
    expect(idsOf(sentOf(prompt))).toEqual(['a', 'a-1', 'call-1', 'b_c', 'a-2']);
    expect(['\0', 'a', 'a', '\ud800', 'call-4', 'a-2', 'x'.repeat(600)].map(callIds())).toEqual([
      'call-1',
      'a',
      'a-4',
      'call-4',
      'call-4-6',
      'a-2',
      'call-7',
    ]);
  });

  test('fields of a provider stay with the results that they came with', () => {
    const marked = (mark: string, ...ids: readonly string[]) =>
      ({
        ...results(...ids),
        providerOptions: { anthropic: { cacheControl: { type: mark } } },
      }) as object as BundleMessage;
    const sent = sentOf([
      user('go'),
      calls('a', 'b'),
      marked('one', 'a'),
      marked('two', 'b'),
      marked('stray', 'z', 'y'),
    ]);
    expect(sent.map(({ role, ...rest }) => [role, JSON.stringify(rest).match(/one|two|stray/)?.[0]])).toEqual([
      ['user', undefined],
      ['assistant', undefined],
      ['tool', 'two'],
      ['user', 'stray'],
    ]);
    expect(sentOf(sent)).toEqual(sent);
  });

  test('a call without a result says so; a result without a call is what the user tells', () => {
    expect(sentOf([user('go'), calls('a', 'b'), user('wait'), results('b'), results('z')])).toEqual([
      user('go'),
      calls('a', 'b'),
      {
        role: 'tool',
        content: [
          { type: 'tool-result', id: 'a', name: 'find', output: '(This call has no result.)' },
          { type: 'tool-result', id: 'b', name: 'find', output: 'r0' },
        ],
      },
      user('wait\n\nResult of find:\nr0'),
    ]);
  });

  test('names are made fit as tools are declared, and what they were is known', () => {
    const prompt: BundleMessage[] = [
      user('go'),
      { role: 'assistant', content: [{ type: 'tool-call', id: 'a', name: 'web.search', input: {} }] },
      { role: 'assistant', content: [{ type: 'tool-call', id: 'b', name: '2fa', input: 'x' }] },
      { role: 'assistant', content: [{ type: 'tool-call', id: 'c', name: 'web_search', input: 'x' }] },
    ];
    const { messages, originals } = portablePrompt(prompt, '1', new Map([['2fa', 'two_fa']]));
    const made = portableName('web.search');
    expect(made).toMatch(/^web_search-[a-z0-9]{9}$/);
    expect(
      messages
        .flatMap(({ content }): readonly object[] => (typeof content === 'string' ? [] : content))
        .map((part) => 'name' in part && part.name),
    ).toEqual([false, made, made, 'two_fa', 'two_fa', 'web_search', 'web_search']);
    expect([...originals]).toEqual([
      [made, 'web.search'],
      ['two_fa', '2fa'],
    ]);
  });

  test("messages and parts with a provider's own fields are not joined, and keep them", () => {
    const cache = { providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } };
    const marked = [
      { role: 'system', content: 'a', ...cache },
      { role: 'system', content: 'b' },
      { ...user('x'), ...cache },
      user('y'),
    ];
    expect(sentOf(marked as BundleMessage[])).toEqual(marked);
  });
});
