/** Owns the tests of the judge on bad histories: a judge that can't find anything shows nothing. */

import type { LogEntry, Offset, Partition } from '@tidemark/core';
import { describe, expect, it } from 'vitest';
import { entryOf, holderEvent, inboxEvent } from '../naive/events.ts';
import { NaivePartition } from '../naive/fold.ts';
import type { Input } from './effects.ts';
import { checkDurability, checkEndings, checkHistory, checkLedger, checkRows, type Ending } from './judge.ts';
import { checkDeaths, Suspects } from './judge-deaths.ts';
import { checkCompensated, checkUndoWorkflows } from './judge-undo.ts';
import type { LedgerEntry } from './outside.ts';
import { SeededRandom } from './random.ts';
import { Scheduler } from './scheduler.ts';
import { FleetStore } from './store.ts';
import type { History } from './witness.ts';
import { expectedOutput, type Start } from './workloads.ts';

const P0 = 0 as Partition;
const input: Input = { count: 3, amount: 1, receivers: ['probed'], stepMs: 0 };
const start = (fields: Partial<Start> = {}): Start => ({
  id: 'w1',
  workload: 'chain',
  input,
  atMs: 0,
  isAcknowledged: true,
  result: undefined,
  ...fields,
});
const ending = (fields: Partial<Ending> = {}): ReadonlyMap<string, Ending> =>
  new Map([
    [
      'w1',
      {
        workflow: 'w1',
        status: 'completed',
        code: null,
        output: expectedOutput('chain', input),
        chain: new Map([[1, 'c1']]),
        asked: [],
        isRejected: false,
        ...fields,
      } as Ending,
    ],
  ]);
const record = { value: new TextEncoder().encode('r'), type: 't' };
const stored = new Map([[P0, { values: [record.value] } as unknown as History]]);

describe('durability (I1)', () => {
  const acknowledged = (base: number, value = record.value) => [
    { to: 'x', partition: P0, base: base as Offset, records: [{ ...record, value }] },
  ];
  const check = (...[acks, seen, begun]: [unknown, unknown, unknown]) =>
    checkDurability({ histories: stored }, acks as never, seen as never, begun as never, ending());

  it('finds nothing in a sound run', () => {
    const seen = [{ workflow: 'w1', sequence: 1, checkpoint: 'c1' }];
    const begun = [{ workflow: 'w1', task: '1.0', durable: true }];
    expect(check(acknowledged(0), seen, begun)).toEqual([]);
  });

  it.each<[string, unknown, unknown, unknown]>([
    ['an acknowledged record that is gone', acknowledged(1), [], []],
    ['an acknowledged record that changed', acknowledged(0, new TextEncoder().encode('s')), [], []],
    ['a checkpoint that was readable and is another', [], [{ workflow: 'w1', sequence: 1, checkpoint: 'c9' }], []],
    ['a checkpoint that was readable and is gone', [], [{ workflow: 'w1', sequence: 2, checkpoint: 'c2' }], []],
    ['a task that began on a checkpoint that is gone', [], [], [{ workflow: 'w1', task: '2.0', durable: true }]],
  ])('sees %s', (_, acks, seen, begun) => {
    expect(check(acks, seen, begun)).toHaveLength(1);
  });
});

describe('the ledger (I4)', () => {
  const applied = { receiver: 'probed' as const, workflow: 'w', ref: undefined, response: 1, at: 0 };
  const entry = (appliedCount: number) => new Map([['k', { ...applied, appliedCount }]]);
  const effect = (status: string) => new Map([['k', { status, kind: 'irreversible' }]]);

  it('finds nothing in a sound run', () => {
    expect(checkLedger(entry(1), effect('done'))).toEqual([]);
    expect(checkLedger(new Map(), effect('intended'))).toEqual([]);
  });

  it('sees an effect applied twice, one never intended, and one that never was', () => {
    expect(checkLedger(entry(2), effect('done'))[0]).toContain('applied 2 times');
    expect(checkLedger(entry(1), new Map())[0]).toContain('never intended');
    expect(checkLedger(new Map(), effect('done'))[0]).toContain('never applied');
    expect(checkLedger(entry(1), effect('failed'))[0]).toContain('not done in the log');
  });
});

describe('endings (I6, I10)', () => {
  it('finds nothing in a sound run', () => {
    expect(checkEndings([start({ result: { output: expectedOutput('chain', input) } })], ending())).toEqual([]);
  });

  it.each<[string, Start, ReadonlyMap<string, Ending>]>([
    ['a workflow that is not there', start(), new Map()],
    ['one that has not ended', start(), ending({ status: 'open' })],
    ['one that failed', start(), ending({ status: 'failed', code: 'Error' })],
    [
      'one that was left parked',
      start(),
      ending({ status: 'parked', code: 'recovery-limit', asked: ['recovery-limit'] }),
    ],
    ['a question without need', start(), ending({ asked: ['effect-unknown'] })],
    ['one that failed although nobody decided so', start(), ending({ status: 'failed', code: 'rejected' })],
    ['one that should have been compensated', start({ workload: 'unroll' }), ending({ output: null })],
    ['one that was compensated without need', start(), ending({ status: 'compensated' })],
    ['a wrong output', start(), ending({ output: { sum: 1 } })],
    ['a result that the client was told and the log does not have', start({ result: { output: 1 } }), ending()],
    ['an effect asked with another request', start({ workload: 'fickle' }), ending({ output: null })],
  ])('sees %s', (_, begun, endings) => {
    expect(checkEndings([begun], endings)).not.toEqual([]);
  });
});

describe('a history (I2, I3, I5)', () => {
  const opened = inboxEvent('WorkflowOpened', { tasks: [{ step: 'a', after: [], when: [] }] } as never);
  const claimed = holderEvent('LeaseClaimed', { epoch: 1, holder: 'h', ordinal: 1 });
  const history = (...entries: LogEntry[]): History => {
    const naive = new NaivePartition(0, 0);
    const verdicts = entries.map((entry) => {
      const said = naive.fold(entry);
      return said.startsWith('accepted')
        ? { kind: 'accepted' as const, position: Number(said.slice(12)) as never }
        : { kind: 'rejected' as const, reason: said as never };
    });
    return { partition: P0, naive, entries, verdicts, values: [], rightSegments: new Set() };
  };
  const sound = (): History => history(entryOf(opened), entryOf(claimed));

  it('finds nothing in a sound one', () => expect(checkHistory(sound())).toEqual([]));

  it('sees a fold that judged or ended otherwise', () => {
    const otherwise = sound();
    otherwise.verdicts[1] = { kind: 'rejected', reason: 'stale-epoch' };
    expect(checkHistory(otherwise).join()).toContain('differ at');
    const elsewhere = sound();
    elsewhere.naive.streams[0]!.epoch = 7;
    expect(checkHistory(elsewhere).join()).toContain('another state');
  });

  it('sees rows that stand behind, or that differ', async () => {
    const store = new FleetStore(new Scheduler(new SeededRandom('s')));
    await store.ensure();
    await store.addPartitions([{ partition: P0, start: 0 as Offset, rebuildTo: 0 as Offset }]);
    const histories = new Map([[P0, sound()]]);
    expect((await checkRows(store, histories)).join()).toContain('stand at 0');
    store.partitions.get(P0)!.next = 2 as Offset;
    expect((await checkRows(store, histories)).join()).toContain('differ');
  });
});

const acceptedAll = (...events: Parameters<typeof entryOf>[0][]) => ({
  entries: events.map((event) => entryOf(event)),
  verdicts: events.map((_, at) => ({ kind: 'accepted' as const, position: (at + 1) as never })),
});

describe('undoFor', () => {
  const entry = (receiver: LedgerEntry['receiver'], ref: string, at: number): LedgerEntry => ({
    receiver,
    workflow: receiver === 'undo' ? 'w~undo' : 'w',
    ref,
    response: null,
    at,
    appliedCount: 1,
  });
  const effects = new Map([
    ['k1', { intendedAt: 1, knownAt: 2 }],
    ['k2', { intendedAt: 3, knownAt: 4 }],
  ]);
  const check = (...undos: [string, number][]) =>
    checkCompensated(
      ['w'],
      new Map([
        ['k1', entry('probed', 'r1', 0)],
        ['k2', entry('probed', 'r2', 1)],
        ...undos.map(([ref, at]) => [`u${at}`, entry('undo', ref, at)] as const),
      ]),
      effects,
    );

  it('finds nothing when later things are compensated first, once', () => {
    expect(check(['r2', 2], ['r1', 3])).toEqual([]);
  });

  it.each<[string, [string, number][]]>([
    ['what was left', [['r2', 2]]],
    [
      'what was compensated twice',
      [
        ['r2', 2],
        ['r1', 3],
        ['r1', 4],
      ],
    ],
    [
      'an earlier thing compensated before a later one',
      [
        ['r1', 2],
        ['r2', 3],
      ],
    ],
  ])('sees %s', (_, undos) => {
    expect(check(...undos)).toHaveLength(1);
  });

  const started = holderEvent('CompensationStarted', { epoch: 1, holder: 'h', ordinal: 2 });
  const undo = inboxEvent('WorkflowOpened', { compensates: { workflow: 'w', depth: 1 } } as never);

  it('takes one undo workflow for one that is compensated, and no other', () => {
    expect(checkUndoWorkflows([acceptedAll(started, undo)])).toEqual([]);
    expect(checkUndoWorkflows([acceptedAll(undo)])[0]).toContain('goes on');
    expect(checkUndoWorkflows([acceptedAll(started, undo, undo)])[0]).toContain('2 workflows');
  });
});

describe('deaths (D1, D5)', () => {
  const claim = (epoch: number) => holderEvent('LeaseClaimed', { epoch, holder: 'h', ordinal: 1 });
  const death = (epoch: number) => inboxEvent('LeaseRevoked', { epoch, holder: 'h', reason: 'holder-dead' } as never);
  const dying = (count: number) => Array.from({ length: count }, (_, at) => [claim(at + 1), death(at + 1)]).flat();
  const commit = (epoch: number) => holderEvent('CheckpointCommitted', { epoch, holder: 'h', ordinal: 2 });
  const park = (epoch: number) => {
    const parked = holderEvent('WorkflowParked', { epoch, holder: 'h', ordinal: 2 });
    return { ...parked, control: { ...parked.control, code: 'recovery-limit' } } as typeof parked;
  };

  it('sees a step that counts after too many deaths, and nothing before', () => {
    expect(checkDeaths(acceptedAll(...dying(3), claim(4), commit(4)))).toEqual([]);
    expect(checkDeaths(acceptedAll(...dying(4), claim(5), commit(5)))[0]).toContain('after 4 deaths');
    expect(checkDeaths(acceptedAll(...dying(4), claim(5), park(5)))).toEqual([]);
    const shared = { ...death(4), control: { ...death(4).control, beside: 3 } };
    expect(checkDeaths(acceptedAll(...dying(3), claim(4), shared, claim(5), commit(5)))).toEqual([]);
    expect(checkDeaths(acceptedAll(...dying(3), claim(4), park(4)))[0]).toContain('after 3 deaths of its own');
  });

  it('sees a step that counts although nobody asked about what a dead holder had resolved', () => {
    const stream = { tasks: [{ id: '0.0', effects: [{ key: 'k', status: 'done', kind: 'irreversible' }] }] } as never;
    const suspects = new Suspects();
    suspects.follow(death(1), stream);
    suspects.follow(commit(2), stream);
    expect(suspects.violations).toHaveLength(1);
    const asked = new Suspects();
    asked.follow(death(1), stream);
    asked.asked('k');
    asked.follow(commit(2), stream);
    expect(asked.violations).toEqual([]);
  });
});
