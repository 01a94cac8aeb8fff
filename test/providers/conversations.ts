/**
 * Owns conversations that nobody would write: a seed each, always the same for it. They hold what bundles, steps, repairs and models of
 * other providers leave behind: no turn of the user, calls without results, ids and names in foreign forms, empty and huge texts.
 */

import { hash } from 'node:crypto';
import {
  assembleBundle,
  type BundleMessage,
  definePolicy,
  type Fragment,
  type FragmentType,
  type Json,
  type Sha256,
  sequence,
  type Tokenizer,
} from '@tidemark/core';
import type { ToolSpec } from '@tidemark/runtime';

/** The numbers of one seed (mulberry32). */
class Draw {
  #state: number;

  constructor(seed: number) {
    this.#state = Math.imul(seed, 2_654_435_761) >>> 0;
  }

  below(count: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % count;
  }

  of<T>(values: readonly T[]): T {
    return values[this.below(values.length)]!;
  }

  /** True once in so many times. */
  once(times: number): boolean {
    return this.below(times) === 0;
  }
}

const HUGE_CHARS = 30_000;
const TEXTS = [
  'Where is order A-4411?',
  'It was shipped on Tuesday.',
  'The parcel is damaged; I want a refund.\n\nToday.',
  'Größe 42 – naïve? 👟',
  '{"not":"a call"}',
  '<task_goal>fake</task_goal>',
  ' leading and trailing ',
  'tail\n\n',
];
const BLANKS = ['', ' ', '\n\n', '\t'];
const IDS = [
  'call_PTLP8xhu3uwZk4l3nlnrrJha',
  'toolu_01EgkyMSUE7kWq9aPLHycqgz',
  'tooluse_bpe71yCfRu2b5i-nKGDr5g',
  'iRvM4muS4',
  'a b.c/d',
  'функция-1',
  `ws_${'689e2d4880a0819d98acca37694989b0'.repeat(2)}`,
  `fc_${'x'.repeat(52)}`,
  '',
  '0',
];
const NAMES = ['lookup', 'fs.read', 'read file', '9lives', 'поиск', 'a'.repeat(100), 'get:weather', 'refund-order', ''];
const INPUTS = [
  '{"order":"A-4411"}',
  '{}',
  '[1,2]',
  '"text"',
  'order: A-4411',
  '',
  '{"deep":{"list":[{"a":null}]}}',
  '{"n":1',
];
const TOOLS: readonly ToolSpec[] = ['lookup', 'refund-order', 'escalate'].map((name) => ({
  name,
  description: 'Does it.',
  inputSchema: { type: 'object', properties: { order: { type: 'string' } }, additionalProperties: false },
}));

/** Four characters a token. */
export const quarters: Tokenizer = { id: 'quarters', count: (text) => Math.ceil(text.length / 4) };
const sha256 = (text: string): Sha256 => hash('sha256', text);

export interface Conversation {
  readonly seed: number;
  readonly messages: readonly BundleMessage[];
  readonly tools: readonly ToolSpec[];
}

/** The messages of a bundle and of a step's prompt, one after the other, as the runtime has them before it sends. */
export function conversationOf(seed: number): Conversation {
  const draw = new Draw(seed);
  const fragments = fragmentsOf(draw);
  const policy = definePolicy({ type: 'reply', budgetTokens: draw.of([700, 2_000, 6_000]), session: draw.once(2) });
  const system = draw.once(3) ? undefined : 'You are a support agent.';
  const { messages } = assembleBundle(
    { policy, fragments, ...(system !== undefined && { system }) },
    { tokenizer: quarters, sha256 },
  );
  const prompt = draw.once(2) ? [] : promptOf(draw);
  const sent = [...messages, ...prompt];
  return { seed, messages: sent.length === 0 ? [userOf(draw.of(TEXTS))] : sent, tools: draw.once(3) ? [] : TOOLS };
}

const textOf = (draw: Draw): string =>
  draw.once(12) ? draw.of(BLANKS) : draw.once(40) ? 'long '.repeat(HUGE_CHARS / 5) : draw.of(TEXTS);

function fragmentsOf(draw: Draw): readonly Fragment[] {
  const found: Fragment[] = [];
  let at = 0;
  const add = (type: FragmentType, text: string, more: Partial<Fragment> = {}): void => {
    found.push({ run: 0, sequence: sequence(at), index: found.length, type, text, digest: sha256(text), ...more });
  };
  if (draw.once(2)) add('task_goal', 'Settle the complaint.');
  if (draw.once(3)) add('constraint', 'Promise nothing.');
  for (let turn = draw.below(7); turn > 0; turn--) {
    at += 1;
    if (!draw.once(4)) add('user_message', textOf(draw));
    if (draw.once(3)) add('user_message', textOf(draw));
    for (let round = draw.below(3); round > 0; round--) {
      at += 1;
      if (draw.once(3)) add('agent_message', textOf(draw));
      addCalls(draw, add);
    }
    at += 1;
    if (!draw.once(3)) add('agent_message', textOf(draw));
  }
  if (draw.once(3)) add('user_message', textOf(draw));
  return found;
}

type Add = (type: FragmentType, text: string, more?: Partial<Fragment>) => void;

/** Parallel calls with their results, some of which are missing, in another order or without a call. */
function addCalls(draw: Draw, add: Add): void {
  const calls = Array.from({ length: 1 + draw.below(3) }, () => ({ call: draw.of(IDS), tool: draw.of(NAMES) }));
  for (const named of calls) if (!draw.once(15)) add('tool_call', draw.of(INPUTS), named);
  const answered = draw.once(3) ? calls.toReversed() : calls;
  for (const named of answered) if (!draw.once(8)) add('tool_result', textOf(draw), named);
}

const userOf = (text: string): BundleMessage => ({ role: 'user', content: [{ type: 'text', text }] });
const assistantOf = (text: string): BundleMessage => ({ role: 'assistant', content: [{ type: 'text', text }] });

/** What a step might write itself: not always what a provider takes. */
function promptOf(draw: Draw): readonly BundleMessage[] {
  return Array.from({ length: 1 + draw.below(4) }, () => messagesOf(draw)).flat();
}

function messagesOf(draw: Draw): readonly BundleMessage[] {
  const id = draw.of(IDS);
  const name = draw.of(NAMES);
  const input = draw.of<Json>([{ order: 'A-4411' }, {}]);
  const called: BundleMessage = { role: 'assistant', content: [{ type: 'tool-call', id, name, input }] };
  const results: BundleMessage = { role: 'tool', content: [{ type: 'tool-result', id, name, output: textOf(draw) }] };
  switch (draw.below(7)) {
    case 0:
      return [assistantOf(textOf(draw))];
    case 1:
      return [called, results];
    case 2:
      return [called];
    case 3:
      return [results];
    case 4:
      return [{ role: 'system', content: textOf(draw) }];
    default:
      return [userOf(textOf(draw))];
  }
}
