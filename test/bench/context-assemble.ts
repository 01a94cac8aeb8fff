/**
 * Owns the measurement of bundle assembly: 500 fragments of a support conversation into 8,000 tokens, counted by o200k. Warm: every
 * count is remembered, which is what a step sees that calls its model again. Cold: the tokenizer is loaded, no count is
 * remembered; the first assembly of a process of its own, each time.
 */

import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { assembleBundle, type BundleInput, definePolicy, type Fragment, type Sha256, sequence } from '@tidemark/core';
import { tokenizerFor } from '@tidemark/tokenizer';
import { nextState } from './pseudo-random.ts';
import { median } from './report.ts';

const FRAGMENT_COUNT = 500;
const BUDGET_TOKENS = 8_000;
const WARM_RUNS = 300;
const COLD_RUNS = 7;

const sha256 = (text: string): Sha256 => hash('sha256', text);

const WORDS =
  'the order was shipped on Tuesday but customer reports a damaged parcel; we checked invoice 4411 and found that warehouse Leipzig confirmed the return, refund pending approval by finance team before Friday noon, tracking says delivered at reception, replacement part reserved'.split(
    ' ',
  );

/** Text of about `count` words, a number or an id among eight, always the same for a `seed`. */
function words(seed: number, count: number): string {
  let state = seed * 2_654_435_761 + 1;
  const drawn = Array.from({ length: count }, (_, n) => {
    state = nextState(state);
    if (n % 8 === 7) return state % 2 === 0 ? `${state % 10_000},` : `ref-${state.toString(16)}`;
    return WORDS[(state >>> 8) % WORDS.length]!;
  });
  return drawn.join(' ');
}

/** Turns of four: a question (40 words), a tool call, its result (120 words), an answer (80 words). About 48,000 tokens in all. */
function benchFragments(count = FRAGMENT_COUNT): readonly Fragment[] {
  const fragment = (at: number, type: Fragment['type'], text: string, more: Partial<Fragment> = {}): Fragment => ({
    run: 0,
    sequence: sequence(at),
    index: 0,
    type,
    text,
    digest: sha256(text),
    ...more,
  });
  const head = [
    fragment(0, 'task_goal', 'Settle the complaint about order 4411 with the customer.'),
    fragment(1, 'constraint', 'Never promise a refund above 500 EUR without an approval.'),
    fragment(2, 'checkpoint_note', 'The warehouse has confirmed the return.'),
  ];
  const turns = Array.from({ length: count - head.length }, (_, n): Fragment => {
    const at = n + head.length;
    const call = `call-${Math.floor(n / 4)}`;
    if (n % 4 === 0) return fragment(at, 'user_message', words(n, 40));
    if (n % 4 === 1) return fragment(at, 'tool_call', JSON.stringify({ order: 4_411 + n }), { call, tool: 'lookup' });
    if (n % 4 === 2) return fragment(at, 'tool_result', words(n, 120), { call, tool: 'lookup' });
    return fragment(at, 'agent_message', words(n, 80));
  });
  return [...head, ...turns];
}

function benchInput(fragments: readonly Fragment[] = benchFragments()): BundleInput {
  return {
    policy: definePolicy({ type: 'reply', budgetTokens: BUDGET_TOKENS }),
    fragments,
    system: 'You are a support agent of a mail-order company. Be brief and exact.',
    workingMemory: { phase: 'settle', entries: { order: 4_411, customer: 'c-17', open: ['refund', 'replacement'] } },
    trace: {
      recent: Array.from({ length: 10 }, (_, n) => ({ sequence: 480 + n, step: 'answer', action: words(n, 6) })),
      earlier: { answer: 110, classify: 12 },
    },
    userContext: ['Prefers German.', 'Wants calls after 17:00.'],
  };
}

function timed(input: BundleInput): number {
  const tokenizer = tokenizerFor();
  const start = performance.now();
  assembleBundle(input, { tokenizer, sha256 });
  return performance.now() - start;
}

export interface AssemblyFigures {
  readonly median_ms: number;
  /** Median of several processes. */
  readonly cold_ms: number;
}

export async function measureAssembly(): Promise<AssemblyFigures> {
  const input = benchInput();
  for (let n = 0; n < WARM_RUNS / 3; n++) timed(input);
  const warm = Array.from({ length: WARM_RUNS }, () => timed(input));
  const cold: number[] = [];
  for (let n = 0; n < COLD_RUNS; n++) {
    const child = await promisify(execFile)(process.execPath, [fileURLToPath(import.meta.url)]);
    cold.push(Number(child.stdout));
  }
  return { median_ms: median(warm), cold_ms: median(cold) };
}

/** As a program: one cold assembly, its milliseconds on standard output. */
if (import.meta.main) {
  const input = benchInput();
  tokenizerFor();
  process.stdout.write(String(timed(input)));
}
