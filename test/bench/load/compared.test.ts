/** What a load run came to, beside what it must come to: outputs, effects and rows, each on a sound history and on bad ones. */

import { encodePayload } from '@tidemark/codec';
import type { Envelope, LogEntry, Partition } from '@tidemark/core';
import type { CheckpointRow, EffectRow, WorkflowSummary } from '@tidemark/ports';
import { type Fields, holderEvent, inboxEvent } from '@tidemark/testkit/naive/events';
import { describe, expect, it } from 'vitest';
import { Ledger, receiptOf } from '../../chaos/ledger.ts';
import { expectedOf } from './expected.ts';
import { Gathered } from './judge.ts';
import { compareRows, type Rows, sampleOf } from './rows.ts';

const W = 'load-0';
const STEPS = 20;
const ACTION = `${W}/20`;
const KEY = `${W}:19.0:chaos.wire:0`;
const fields: Fields = { workflow: W };
const at = (ordinal: number) => ({ epoch: 1, holder: 'h1', ordinal });
const effect = { task: '19.0', key: KEY, operation: 'chaos.wire', kind: 'irreversible' } as const;
const TASK = { after: [], when: [], step: 'step' };
const { output } = expectedOf(W, STEPS);

const entryOf = (envelope: Envelope): LogEntry => {
  return { kind: 'event', envelope, payload: Buffer.from(JSON.stringify({ of: envelope.type })) };
};

/** Twenty steps, the last of which has an effect. */
function historyWith(given: { readonly output?: unknown } = {}): readonly LogEntry[] {
  let ordinal = 1;
  const entries = [
    entryOf(inboxEvent('WorkflowOpened', { tasks: [TASK] }, fields)),
    entryOf(holderEvent('LeaseClaimed', at(ordinal++), {}, fields)),
  ];
  for (let n = 1; n <= STEPS; n++) {
    if (n === STEPS) {
      entries.push(entryOf(holderEvent('EffectIntended', at(ordinal++), effect, fields)));
      entries.push(entryOf(holderEvent('EffectResolved', at(ordinal++), effect, fields)));
    }
    const control = {
      ...{ task: `${n - 1}.0`, checkpoint: `c${n}`, sequence: n, parent: n === 1 ? null : `c${n - 1}` },
      tasks: n === STEPS ? [] : [TASK],
    };
    entries.push(entryOf(holderEvent('CheckpointCommitted', at(ordinal++), control as never, fields)));
  }
  const envelope = holderEvent('WorkflowCompleted', at(ordinal), {}, fields);
  const payload = encodePayload('WorkflowCompleted', { output: given.output ?? output } as never);
  return [...entries, { kind: 'event', envelope, payload }];
}

function ledger(...keys: readonly string[]): Ledger['entries'] {
  const applied = new Ledger();
  for (const key of keys) applied.apply({ receiver: 'probed', key, action: ACTION, amount: 20 }, 1, 0);
  return applied.entries;
}

function gathered(entries: readonly LogEntry[], applied = ledger(KEY)): Gathered {
  const found = new Gathered({
    starts: new Map([[W, STEPS]]),
    ledgers: new Map([[W, applied]]),
    sample: new Set([W]),
  });
  found.add(0 as Partition, entries);
  return found;
}

describe('outputs and effects', () => {
  it('are what a start and its number of steps say', () => {
    expect(output).toEqual({ done: STEPS, receipts: receiptOf(ACTION, 20) });
    expect(expectedOf(W, 59).actions).toEqual([
      { action: `${W}/20`, receiver: 'probed' },
      { action: `${W}/40`, receiver: 'dedupe' },
    ]);
  });

  it('are found to be right in a sound history, each of which is counted', () => {
    const { wrongOutputs, falseCommits, outputCount, rejected, broken } = gathered(historyWith());
    expect({ wrongOutputs, falseCommits, rejected, broken }).toEqual({
      ...{ wrongOutputs: [], falseCommits: [], rejected: {}, broken: [] },
    });
    expect(outputCount).toBe(1);
  });

  it('are found to be wrong: another output', () => {
    const { wrongOutputs } = gathered(historyWith({ output: { done: STEPS, receipts: 1 } }));
    expect(wrongOutputs).toEqual([expect.stringContaining('load-0: ended with {"done":20,"receipts":1} instead of')]);
  });

  it('are found to be wrong: a checkpoint relies on an effect that the ledger never saw', () => {
    expect(gathered(historyWith(), ledger()).falseCommits).toEqual([
      `${W}: checkpoint 20 holds ${KEY}, which never happened`,
      `${W}: completed without ${ACTION}`,
    ]);
    expect(gathered(historyWith(), ledger('other')).falseCommits).toHaveLength(1);
  });
});

const text = (entry: LogEntry): string => (entry.kind === 'event' ? Buffer.from(entry.payload).toString() : '');

/** Rows as a store answers them, made from the entries. */
function rowsOf(entries: readonly LogEntry[]) {
  const checkpoints: CheckpointRow[] = [];
  const effects: EffectRow[] = [];
  for (const entry of entries) {
    if (entry.kind !== 'event') continue;
    const { holder, epoch, atMs, type, control } = entry.envelope;
    const by = { holder, epoch, atMs, payload: text(entry) };
    if (type === 'WorkflowOpened') {
      checkpoints.push({ ...by, sequence: 0, checkpoint: null, parent: null, task: null, step: null } as never);
    }
    if (type === 'CheckpointCommitted') checkpoints.push({ ...by, ...control } as never);
    if (type === 'EffectResolved') effects.push({ ...by, ...control, status: control.outcome } as never);
  }
  const summary = { status: 'completed', sequence: STEPS, result: text(entries.at(-1)!) } as WorkflowSummary;
  return { summaries: [summary], checkpoints, effects };
}

async function compared(change: (rows: ReturnType<typeof rowsOf>) => void = () => {}) {
  const entries = historyWith();
  const { streams, kept } = gathered(entries);
  const rows = rowsOf(entries);
  change(rows);
  const store: Rows = {
    workflow: async () => rows.summaries[0],
    checkpoints: async () => rows.checkpoints,
    effects: async () => rows.effects,
  };
  return compareRows(store, new Map([[W, STEPS]]), streams, kept);
}

describe('rows', () => {
  it('are found to be right, and counted', async () => {
    expect(await compared()).toEqual({ workflowCount: 1, sampleCount: 1, rowCount: STEPS + 2, wrong: [] });
  });

  it.each<[string, (rows: ReturnType<typeof rowsOf>) => void, RegExp]>([
    ['none of a workflow', ({ summaries }) => void summaries.pop(), /^load-0: has no row$/],
    [
      'one that says otherwise',
      ({ summaries }) => void summaries.splice(0, 1, { ...summaries[0]!, sequence: 19 as never }),
      /its row says .*"sequence":19.* the log .*"sequence":20/,
    ],
    ['a checkpoint without one', ({ checkpoints }) => void checkpoints.splice(7, 1), /checkpoint 7: has no row$/],
    [
      'a checkpoint with other text',
      ({ checkpoints }) => void checkpoints.splice(3, 1, { ...checkpoints[3]!, payload: '{"output":"other"}' }),
      /checkpoint 3: its row is not as the log makes it$/,
    ],
    [
      'a checkpoint that is in no log',
      ({ checkpoints }) => void checkpoints.push({ ...checkpoints[3]!, sequence: 99 as never }),
      /checkpoint 99: nothing in the log makes its row$/,
    ],
    ['an effect without one', ({ effects }) => void effects.pop(), /effect load-0:19.0:chaos.wire:0: has no row$/],
  ])('are found to be wrong: %s', async (_, change, expected) => {
    const { wrong } = await compared(change);
    expect(wrong).toEqual([expect.stringMatching(expected)]);
  });

  it('are compared in a sample from the first to the last', () => {
    const started = Array.from({ length: 10 }, (_, n) => `load-${n}`);
    expect([...sampleOf(started, 3)]).toEqual(['load-0', 'load-3', 'load-6']);
    expect([...sampleOf(started, 100)]).toEqual(started);
  });
});
