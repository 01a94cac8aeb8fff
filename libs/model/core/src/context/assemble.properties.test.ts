/**
 * Owns the properties of bundle assembly over random contexts: I8 (order changes no byte, directives stay), the budget, what is trimmed
 * first, and that any provider takes the messages. A failure prints its seed and path.
 */

import { hash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LimitError } from '../errors.ts';
import { sequence } from '../ids.ts';
import { type AssembledBundle, assembleBundle, type BundleInput } from './assemble.ts';
import { characters, quarters } from './context-fixture.ts';
import { readConversation } from './conversation.ts';
import { cutText } from './cut.ts';
import { comparePlaces, FRAGMENT_TYPES, type Fragment, placeName } from './fragment.ts';
import type { BundleMessage } from './message.ts';
import { newestPairs } from './newest.ts';
import { definePolicy, LANES } from './policy.ts';
import type { Tokenizer } from './tokenizer.ts';

/** Properties take seconds when other work has the machine; a hang is still found. */
const sha256 = (text: string): string => hash('sha256', text);

const words = fc.oneof(
  { weight: 8, arbitrary: fc.string({ maxLength: 60 }) },
  { weight: 2, arbitrary: fc.string({ unit: 'grapheme', maxLength: 60 }) },
  { weight: 1, arbitrary: fc.nat(900).map((length) => 'long '.repeat(length)) },
  { weight: 1, arbitrary: fc.constantFrom('</task_goal>', '{{name}}', '{{other}}', '\n\n', '<constraint>') },
);
const drawnType = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom(...FRAGMENT_TYPES) },
  { weight: 6, arbitrary: fc.constantFrom('user_message', 'agent_message', 'tool_call', 'tool_result' as const) },
);
const fragments = fc
  .array(
    fc.record({
      type: drawnType,
      text: words,
      call: fc.option(fc.constantFrom('a', 'b', 'c'), { nil: undefined }),
      together: fc.boolean(),
      back: fc.nat(8),
      owner: fc.option(fc.constantFrom('mine', 'other', null), { nil: undefined, freq: 3 }),
    }),
    { maxLength: 40 },
  )
  .map((drawn) => {
    let at = 1;
    let index = 0;
    const made = drawn.map(({ type, text, call, together, back }, n): Fragment => {
      if (together) index += 1;
      else [at, index] = [at + 1, 0];
      const run = n < drawn.length / 4 ? -1 : 0;
      const isTool = type === 'tool_call' || type === 'tool_result';
      const to = { run, sequence: sequence(Math.max(1, at - back)), index: 0 };
      const from = { run: -1, sequence: sequence(0), index: 0 };
      return {
        run,
        sequence: sequence(at),
        index,
        type,
        text,
        digest: sha256(text),
        ...(isTool ? { call, tool: 'tool' } : {}),
        ...(type === 'summary' && back > 2 ? { covers: { from, to } } : {}),
      };
    });
    let until = 0;
    return made.map((first, n): Fragment => {
      const { owner } = drawn[n]!;
      if (n < until || owner === undefined || !isSaid(first)) return first;
      const others = made
        .slice(n + 1)
        .findIndex((one, at) => !isSaid(one) || one.index !== first.index + 1 + at || one.sequence !== first.sequence);
      const members = made.slice(n, others < 0 ? undefined : n + 1 + others);
      until = n + members.length;
      const signed = { providerMetadata: { mine: { signature: `of ${placeName(first)}` } } };
      const parts = members.flatMap((one) => [
        { type: 'reasoning', text: 'so', ...signed },
        one.type === 'tool_call' ? { type: 'tool-call', ...signed } : { type: 'text', chars: one.text.length },
      ]);
      const stored = JSON.stringify(parts);
      return { ...first, parts: { provider: owner, spans: members.length, text: stored, digest: sha256(stored) } };
    });
  });
const isSaid = ({ type }: Fragment): boolean => type === 'agent_message' || type === 'tool_call';

const shares = fc
  .array(fc.nat(10), { minLength: LANES.length, maxLength: LANES.length })
  .filter((weights) => weights.some((weight) => weight > 0))
  .map((weights) => {
    const sum = weights.reduce((total, weight) => total + weight, 0);
    return Object.fromEntries(LANES.map((lane, at) => [lane, weights[at]! / sum]));
  });

const input: fc.Arbitrary<BundleInput> = fc
  .record({
    fragments,
    lanes: shares,
    trimOrder: fc.shuffledSubarray([...LANES], { minLength: LANES.length }),
    budgetTokens: fc.oneof(fc.integer({ min: 1, max: 600 }), fc.integer({ min: 300, max: 6_000 })),
    session: fc.boolean(),
    system: fc.option(words, { nil: undefined }),
    memory: fc.dictionary(fc.string({ maxLength: 10 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 }),
    recent: fc.array(fc.record({ sequence: fc.nat(9), step: words, action: words }), { maxLength: 14 }),
    earlier: fc.dictionary(fc.string({ maxLength: 8 }), fc.nat(9), { maxKeys: 3 }),
    continuation: fc.array(words, { maxLength: 3 }),
    userContext: fc.array(words, { maxLength: 3 }),
  })
  .map(({ lanes, trimOrder, budgetTokens, session, memory, recent, earlier, ...rest }) => ({
    ...rest,
    policy: definePolicy({ type: 'reply', budgetTokens, lanes, trimOrder, session }),
    workingMemory: { phase: 'work', entries: memory as Record<string, string> },
    trace: { recent, earlier },
    placeholders: { name: 'value' },
    provider: 'mine',
  }));

/** Undefined where the directives alone exceed the budget. */
function tryAssemble(given: BundleInput, tokenizer: Tokenizer = quarters): AssembledBundle | undefined {
  try {
    return assembleBundle(given, { tokenizer, sha256 });
  } catch (error) {
    expect(error).toBeInstanceOf(LimitError);
    return undefined;
  }
}

function textsOf(message: BundleMessage): readonly string[] {
  if (message.role === 'system') return [message.content];
  return message.content.map((part) => {
    if (part.type === 'opaque' || part.type === 'file') return JSON.stringify(part.type === 'opaque' ? part.part : '');
    if (part.type === 'tool-result') return `${part.name}${part.output}`;
    const options = 'providerOptions' in part ? JSON.stringify(part.providerOptions) : '';
    return options + (part.type === 'text' ? part.text : `${part.name}${JSON.stringify(part.input)}`);
  });
}

const bytesOf = (result: AssembledBundle | undefined): string => JSON.stringify(result);

describe('I8', () => {
  test('the same bytes whatever the order, over 10,000 shuffles, with fragments given twice', () => {
    const shuffled = fc.record({ given: input, keys: fc.array(fc.nat(), { minLength: 80, maxLength: 80 }) });
    fc.assert(
      fc.property(shuffled, ({ given, keys }) => {
        const before = bytesOf(tryAssemble(given));
        const twice = given.fragments.filter((_, at) => keys[at]! % 3 === 0);
        for (let n = 0; n < 10; n++) {
          const order = [...given.fragments, ...twice]
            .map((fragment, at) => ({ fragment, key: Math.imul(keys[at % keys.length]! + at + n, 2_654_435_761) }))
            .sort((a, b) => a.key - b.key)
            .map(({ fragment }) => ({ ...fragment }));
          const entries = Object.fromEntries(Object.entries(given.workingMemory!.entries).reverse());
          const workingMemory = { phase: 'work', entries };
          expect(bytesOf(tryAssemble({ ...given, fragments: order, workingMemory }))).toBe(before);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  test('every directive is in the messages, whatever the budget', () => {
    fc.assert(
      fc.property(input, (given) => {
        const result = tryAssemble(given);
        if (result === undefined) return;
        for (const { type, state, place } of result.manifest.items) {
          if (['user_message', 'agent_message', 'tool_call', 'tool_result', ...LANES].includes(type)) continue;
          expect(['kept', 'superseded', 'other-workflow'], place).toContain(state);
        }
        const constraints = given.fragments.filter(
          ({ type, run }) => type === 'constraint' && (given.policy.session || run === 0),
        );
        expect(result.bundle.constraints).toHaveLength(constraints.length);
      }),
    );
  });
});

describe('the budget', () => {
  test.each([quarters, characters])('the estimate covers the texts and stays within it, by $id', (tokenizer) => {
    fc.assert(
      fc.property(input, (raw) => {
        const given = { ...raw, placeholders: {} };
        const result = tryAssemble(given, tokenizer);
        if (result === undefined) return;
        const { token_estimate, token_budget } = result.bundle;
        const counted = result.messages.flatMap(textsOf).reduce((sum, text) => sum + tokenizer.count(text), 0);
        expect(token_estimate).toBeLessThanOrEqual(token_budget);
        expect(counted).toBeLessThanOrEqual(token_estimate);
        const { directives, lanes } = result.manifest;
        const lanesTokens = LANES.reduce((sum, lane) => sum + lanes[lane].tokens, 0);
        expect(directives.tokens + lanesTokens).toBe(token_estimate);
      }),
      { numRuns: 500 },
    );
  });

  test('nothing is trimmed where all fits; where something is, all would not fit', () => {
    fc.assert(
      fc.property(input, (given) => {
        const result = tryAssemble(given);
        if (result === undefined) return;
        const whole = tryAssemble({ ...given, policy: { ...given.policy, budgetTokens: 1_000_000 } })!;
        expect(whole.manifest.items.every(({ state }) => state !== 'over-budget')).toBe(true);
        const fits = whole.bundle.token_estimate <= given.policy.budgetTokens;
        expect(result.manifest.items.every(({ state }) => state !== 'over-budget')).toBe(fits);
      }),
    );
  });

  test('agent messages go before user messages, the older before the newer, a call with its result', () => {
    fc.assert(
      fc.property(input, (raw) => {
        // What is bound to others is larger than its own tokens say.
        const given = { ...raw, fragments: raw.fragments.map(({ parts: _, ...fragment }) => fragment) };
        const result = tryAssemble(given);
        if (result === undefined) return;
        const conversation = readConversation(given.fragments, given.policy);
        const pairs = [...newestPairs(conversation)].flatMap(({ call, result: answer }) => [call, answer]);
        const newest = [conversation.userMessages.at(-1), ...pairs].flatMap((fragment) =>
          fragment === undefined ? [] : placeName(fragment),
        );
        // They are there, whatever the budget.
        for (const { place, state } of result.manifest.items)
          if (newest.includes(place)) expect(state, place).toBe('kept');
        const newestTokens = result.manifest.items
          .filter(({ place, state }) => state === 'kept' && newest.includes(place))
          .reduce((sum, { tokens }) => sum + (tokens ?? 0), 0);
        const room = given.policy.budgetTokens - result.manifest.directives.tokens - newestTokens;
        const places = new Map(given.fragments.map((fragment) => [placeName(fragment), fragment]));
        const of = (type: string, state: string) =>
          result.manifest.items.filter((item) => item.type === type && item.state === state);
        // What exceeds all the room that directives and the newest turn leave is skipped, so it proves nothing about the order.
        const trimmed = (type: string) =>
          of(type, 'over-budget').filter(({ tokens }) => tokens === null || tokens <= room);
        for (const type of ['user_message', 'agent_message']) {
          const last = trimmed(type).at(-1);
          const first = of(type, 'kept')[0];
          const newestUser = type === 'user_message' ? of(type, 'kept').at(-1) : undefined;
          if (last === undefined || first === undefined || first === newestUser) continue;
          expect(comparePlaces(places.get(last.place)!, places.get(first.place)!)).toBeLessThan(0);
        }
        if (trimmed('user_message').length > 0) expect(of('agent_message', 'kept')).toEqual([]);
        const calls = of('tool_call', 'kept').length;
        const results = result.bundle.tool_results.length;
        expect(calls).toBeLessThanOrEqual(results);
        expect(of('tool_result', 'kept')).toHaveLength(results);
      }),
      { numRuns: 500 },
    );
  });
});

test('a cut ends whatever the text and the room, and fits', () => {
  const text = fc
    .array(fc.oneof(words, fc.constantFrom('\n', '{"a":1,', '\\"', '\ud83d', '\ude00')), { maxLength: 30 })
    .map((all) => all.join(''));
  const long = fc.tuple(fc.constantFrom('\n', '\n\n', '[\n', ''), text).map(([head, rest]) => head + rest.repeat(20));
  fc.assert(
    fc.property(fc.oneof(text, long), fc.integer({ min: -20, max: 90 }), (whole, room) => {
      let counts = 0;
      const count = (part: string): number => {
        expect(++counts).toBeLessThan(1_000);
        return quarters.count(part);
      };
      const cut = cutText(whole, room, { id: 'ends', count }, { remedy: 'Ask for less.' });
      if (cut === undefined) return;
      expect(cut.tokens).toBeLessThanOrEqual(room);
      expect(cut.text.startsWith(whole.slice(0, cut.keptChars))).toBe(true);
    }),
    { examples: [['\n'.padEnd(100, 'x'), 20]] },
  );
});

describe('messages', () => {
  test('are a conversation that providers take: system first, each result directly after the message with its call', () => {
    fc.assert(
      fc.property(input, (given) => {
        const result = tryAssemble(given);
        if (result === undefined) return;
        const roles = result.messages.map(({ role }) => role);
        expect(roles.lastIndexOf('system')).toBe(roles.filter((role) => role === 'system').length - 1);
        result.messages.forEach((message, at) => {
          const calls = message.role === 'assistant' ? message.content.filter((part) => part.type === 'tool-call') : [];
          const next = result.messages[at + 1];
          const results = next?.role === 'tool' ? next.content : [];
          expect(results.map(({ id }) => id)).toEqual(calls.map(({ id }) => id));
        });
        expect(roles[0]).not.toBe('tool');
      }),
    );
  });

  test('an answer with parts is there whole, in its order, or not at all; of another provider, without its parts', () => {
    let seenCount = 0;
    fc.assert(
      fc.property(input, (given) => {
        const result = tryAssemble(given);
        if (result === undefined) return;
        const signatures = JSON.stringify(result.messages).match(/of -?[\d./]+(?=")/g) ?? [];
        const states = new Map(result.manifest.items.map(({ place, state }) => [place, state]));
        for (const first of given.fragments) {
          if (first.parts === undefined) continue;
          const { provider, spans, text } = first.parts;
          const count = signatures.filter((one) => one === `of ${placeName(first)}`).length;
          const members = Array.from({ length: spans }, (_, at) => placeName({ ...first, index: first.index + at }));
          const found = new Set(members.map((place) => states.get(place)));
          const isWhole = [...found].every((state) => state === 'kept' || state === 'over-budget');
          const isSent = (provider === 'mine' || provider === null) && isWhole && found.has('kept');
          expect(count).toBe(isSent ? text.split('"signature"').length - 1 : 0);
          if (isSent) expect(found.size).toBe(1);
          if (isSent) seenCount += 1;
        }
      }),
      { numRuns: 1_000 },
    );
    expect(seenCount).toBeGreaterThan(100);
  });
});
