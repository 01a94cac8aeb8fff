/**
 * Owns conversations as the world brings them, made from a seed: parallel calls, ids that are empty, equal, used again or another provider's,
 * names that no provider takes, calls without results and results without calls, empty and huge texts, hand-overs, summaries, late system
 * messages, nothing but a system message. Each result says of which call it is, so a check can tell whether they were confused.
 */

import { hash } from 'node:crypto';
import { type BundleMessage, definePolicy, type Fragment, type Json, sequence } from '@tidemark/core';

export interface Conversation {
  /** What `assembleBundle` takes. */
  readonly input: {
    readonly policy: ReturnType<typeof definePolicy>;
    readonly fragments: readonly Fragment[];
    readonly system: string | undefined;
    readonly phaseSince: ReturnType<typeof sequence> | undefined;
  };
  /** What the step sends after the bundle. */
  readonly prompt: readonly BundleMessage[];
}

/** Ids and names as providers and models give them. */
const IDS = [
  '',
  'call',
  'call_1',
  'toolu_01A09q90qw90lq917835lq9',
  'chatcmpl-tool-1:0',
  'functions.search:0',
  'é',
  `fc_${'x'.repeat(50)}`,
  'x'.repeat(80),
];
const NAMES = ['search', 'web.search', 'my tool', '2fa', 'namespace/tool', 'ツール', 'n'.repeat(70), ''];
const TEXTS = ['Hello.', '', ' \n', 'Why?\nBecause.', '{"a":1,"b":[1,2]}', '😀', '</task_goal>', 'line\n'.repeat(400)];

type Draw = (below: number) => number;

/** Numbers below a bound, the same for a seed. */
function drawing(seed: number): Draw {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** A turn of the conversation: what a user or a model says, or calls with the results that came of them. */
type Exchange =
  | { readonly kind: 'user' | 'agent' | 'system'; readonly text: string }
  | {
      readonly kind: 'calls';
      readonly text: string | undefined;
      readonly calls: readonly {
        readonly id: string;
        readonly name: string;
        readonly input: Json;
        readonly output: string | undefined;
      }[];
    }
  | { readonly kind: 'stray'; readonly id: string; readonly name: string; readonly output: string };

function exchanges(draw: Draw, count: number): readonly Exchange[] {
  const pick = <Item>(items: readonly Item[]): Item => items[draw(items.length)]!;
  let number = 0;
  return Array.from({ length: count }, (): Exchange => {
    const kind = draw(10);
    if (kind < 2) return { kind: 'user', text: pick(TEXTS) };
    if (kind < 4) return { kind: 'agent', text: pick(TEXTS) };
    if (kind === 4) return { kind: 'system', text: pick(TEXTS) };
    if (kind === 5) return { kind: 'stray', id: `stray-${number++}`, name: pick(NAMES), output: pick(TEXTS) };
    const isAnswered = draw(6) > 0;
    const id = pick(IDS);
    const calls = Array.from({ length: 1 + draw(4) }, () => {
      const n = number++;
      const input: Json = draw(5) === 0 ? `call ${n}` : { n };
      const output = draw(8) === 0 ? '' : `result ${n} ${draw(12) === 0 ? 'row\n'.repeat(20_000) : pick(TEXTS)}`;
      return { id: draw(3) === 0 ? pick(IDS) : id, name: pick(NAMES), input, output: isAnswered ? output : undefined };
    });
    return { kind: 'calls', text: draw(2) === 0 ? pick(TEXTS) : undefined, calls };
  });
}

/** Some huge texts and some thousand tokens of budget, or all of it and no budget to speak of. */
export function conversationOf(seed: number): Conversation {
  const draw = drawing(seed);
  const shown = exchanges(draw, draw(8) === 0 ? 0 : draw(14));
  const fragments = fragmentsOf(shown, draw);
  return {
    input: {
      policy: definePolicy({ type: 'reply', budgetTokens: [1_500, 3_000, 20_000, 1_000_000][draw(4)]! }),
      fragments,
      system: draw(3) === 0 ? undefined : 'You are of help.',
      phaseSince: draw(3) === 0 ? sequence(draw(shown.length + 1)) : undefined,
    },
    prompt: promptOf(exchanges(draw, draw(3) === 0 ? 0 : draw(7)), draw),
  };
}

function fragmentsOf(shown: readonly Exchange[], draw: Draw): readonly Fragment[] {
  const fragments: Fragment[] = [];
  const add = (at: number, type: Fragment['type'], text: string, more: Partial<Fragment> = {}): void => {
    const index = fragments.filter((one) => one.sequence === at).length;
    fragments.push({ run: 0, sequence: sequence(at), index, type, text, digest: hash('sha256', text), ...more });
  };
  if (draw(2) === 0) add(0, 'task_goal', 'Be of help.');
  for (const [n, one] of shown.entries()) {
    const at = 2 * n + 1;
    if (one.kind === 'user') add(at, 'user_message', one.text);
    else if (one.kind === 'agent') add(at, 'agent_message', one.text);
    else if (one.kind === 'system') add(at, 'checkpoint_note', one.text);
    else if (one.kind === 'stray') add(at, 'tool_result', one.output, { call: one.id, tool: one.name });
    else if (one.kind === 'calls') {
      if (one.text !== undefined) add(at, 'agent_message', one.text);
      for (const { id, name, input } of one.calls)
        add(at, 'tool_call', JSON.stringify(input), { call: id, tool: name });
      for (const { id, name, output } of one.calls)
        if (output !== undefined) add(at + 1, 'tool_result', output, { call: id, tool: name });
    }
  }
  const covered = draw(4) === 0 ? fragments[draw(fragments.length + 1)] : undefined;
  if (covered !== undefined) {
    const { run, sequence: at, index } = covered;
    add(2 * shown.length + 1, 'summary', 'So far.', {
      covers: { from: { run, sequence: sequence(0), index: 0 }, to: { run, sequence: at, index } },
    });
  }
  return fragments;
}

function promptOf(said: readonly Exchange[], draw: Draw): readonly BundleMessage[] {
  return said.flatMap((one): BundleMessage[] => {
    if (one.kind === 'system') return [{ role: 'system', content: one.text }];
    if (one.kind === 'stray')
      return [{ role: 'tool', content: [{ type: 'tool-result', id: one.id, name: one.name, output: one.output }] }];
    if (one.kind !== 'calls')
      return [{ role: one.kind === 'user' ? 'user' : 'assistant', content: [{ type: 'text', text: one.text }] }];
    const calls = one.calls.map(({ id, name, input }) => ({ type: 'tool-call' as const, id, name, input }));
    const text = one.text === undefined ? [] : [{ type: 'text' as const, text: one.text }];
    const results = one.calls.flatMap(({ id, name, output }) =>
      output === undefined ? [] : [{ type: 'tool-result' as const, id, name, output }],
    );
    return [
      { role: 'assistant', content: draw(4) === 0 ? [...calls, ...text] : [...text, ...calls] },
      // Some write a message for each result, and some say something before them.
      ...(draw(6) === 0 ? [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Wait.' }] }] : []),
      ...(draw(2) === 0
        ? results.map((result) => ({ role: 'tool' as const, content: [result] }))
        : results.length === 0
          ? []
          : [{ role: 'tool' as const, content: results }]),
    ];
  });
}
