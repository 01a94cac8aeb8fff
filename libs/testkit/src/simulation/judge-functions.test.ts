/** Owns the tests of the judge of functions on bad histories. */

import { encodePayload } from '@tidemark/codec';
import type { EventType, LogEntry } from '@tidemark/core';
import { describe, expect, it } from 'vitest';
import { entryOf, holderEvent, inboxEvent } from '../naive/events.ts';
import { checkFunctions } from './judge-functions.ts';
import type { LedgerEntry } from './outside.ts';

const at = { epoch: 1, holder: 'h', ordinal: 2 };
const withPayload = (event: Parameters<typeof entryOf>[0], payload: object): LogEntry => ({
  ...(entryOf(event) as Extract<LogEntry, { kind: 'event' }>),
  payload: encodePayload(event.type as EventType, payload as never),
});
const call = (name: string, place = 0, asks = 'a') => ({ name, place, asks });
const opened = (definition = 'script') => entryOf(inboxEvent('WorkflowOpened', { definition }));
const paid = (number: number) =>
  withPayload(inboxEvent('SignalReceived', { name: 'paid' }), { value: { paid: number } });
const intended = (task: string) => entryOf(holderEvent('EffectIntended', at, { task }));
const completed = () => entryOf(holderEvent('WorkflowCompleted', at));

interface Made {
  readonly sequence: number;
  readonly task: string;
  readonly decides?: ReturnType<typeof call>;
  readonly value?: unknown;
  readonly begins?: readonly ReturnType<typeof call>[];
  readonly drops?: readonly string[];
}

function checkpoint({ sequence, task, decides, value = null, begins = [], drops = [] }: Made): LogEntry {
  const tasks = begins.map(({ name }) => ({ step: name, after: [], when: [] }));
  return withPayload(holderEvent('CheckpointCommitted', at, { sequence, task, tasks, drops }), {
    output: value,
    journal: { chapter: 1, call: decides ?? null, begins },
    tasks: begins.map(({ place }) => ({ place })),
  });
}

const check = (entries: readonly LogEntry[], ledger: readonly Partial<LedgerEntry>[] = []): string[] =>
  checkFunctions(
    [{ entries: [...entries], verdicts: entries.map((_, n) => ({ kind: 'accepted', position: (n + 1) as never })) }],
    new Map(ledger.map((entry, n) => [`k${n}`, { workflow: 'w', ...entry } as LedgerEntry])),
  );

const begun = checkpoint({ sequence: 1, task: '0.0', begins: [call('a'), call('a', 1, 'b'), call('wait')] });
const decided = (task: string, decides: ReturnType<typeof call>, sequence = 2) =>
  checkpoint({ sequence, task, decides });

describe('functions', () => {
  it('finds nothing in a sound run', () => {
    const read = checkpoint({
      sequence: 4,
      task: '1.2',
      decides: call('wait'),
      value: { paid: 1 },
    });
    const sound = [opened(), begun, intended('1.1'), decided('1.1', call('a', 1, 'b')), decided('1.0', call('a'), 3)];
    expect(check([...sound, paid(1), paid(2), read, completed()], [{ ref: 'r' }])).toEqual([]);
  });

  it.each<[string, string, readonly LogEntry[]]>([
    [
      'an outcome of another place',
      'has the outcome of a#0 (a) as that of a#1 (b)',
      [decided('1.0', call('a', 1, 'b'))],
    ],
    [
      'an outcome of another request',
      'has the outcome of a#0 (a) as that of a#0 (z)',
      [decided('1.0', call('a', 0, 'z'))],
    ],
    ['a call that is decided twice', 'decides a#0 twice', [decided('1.0', call('a')), decided('2.0', call('a'), 3)]],
    ['an outcome of a call that is elsewhere', 'decides a#0 outside of its task', [decided('0.1', call('a'))]],
    [
      'a call after its outcome',
      'calls a#0 again after its outcome',
      [checkpoint({ sequence: 2, task: '1.0', decides: call('a'), begins: [call('a')] })],
    ],
    ['a call that is begun twice', 'begins a#0 twice', [checkpoint({ sequence: 2, task: '0.1', begins: [call('a')] })]],
    [
      'a dropped task that is finished',
      'finishes task 1.2, which was dropped',
      [checkpoint({ sequence: 2, task: '1.0', decides: call('a'), drops: ['1.2'] }), decided('1.2', call('wait'), 3)],
    ],
    [
      'a dropped task that has called',
      'drops task 1.1, which has called something',
      [intended('1.1'), checkpoint({ sequence: 2, task: '1.0', decides: call('a'), drops: ['1.1'] })],
    ],
    [
      'a signal that is lost',
      'reads signals 2, and got 1,2',
      [
        ...[paid(1), paid(2)],
        checkpoint({ sequence: 2, task: '1.2', decides: call('wait'), value: { index: 0, value: { paid: 2 } } }),
      ],
    ],
    ['an end that leaves a call unsaid', 'nothing says what task 1.1 did', [intended('1.1'), completed()]],
  ])('sees %s', (_, finding, entries) => {
    expect(check([opened(), begun, ...entries]).join()).toContain(finding);
  });

  it('sees a request that was made again', () => {
    expect(check([opened()], [{ ref: 'r' }, { ref: 'r' }])[0]).toContain('did r again');
  });

  it('sees what a cancelled function left behind', () => {
    const value = { operation: 'o', request: { ref: 'registered' } };
    const registered = checkpoint({ sequence: 1, task: '0.0', decides: call('onRollback'), value });
    const ended = [
      entryOf(inboxEvent('CancelRequested')),
      entryOf(holderEvent('CompensationStarted', at)),
      entryOf(inboxEvent('CompensationFinished')),
    ];
    const all = [opened('retreat'), registered, ...ended];
    const tidied = { ref: 'w/tidied' };
    const rolledBack = { workflow: 'w~undo', ref: 'registered' };
    expect(check(all, [tidied, rolledBack])).toEqual([]);
    expect(check(all, [rolledBack]).join()).toContain('did not tidy up');
    expect(check(all, [tidied]).join()).toContain('rolled back registered 0 times');
    // After too many deaths nobody runs it again.
    const claimed = entryOf(holderEvent('LeaseClaimed', at));
    const died = entryOf(inboxEvent('LeaseRevoked', { reason: 'lease-not-listed' }));
    const deaths = Array.from({ length: 4 }, () => [died, claimed]).flat();
    const [cancelled, ...rest] = ended;
    const withDeaths = (from: number) => [all[0]!, registered, cancelled!, ...deaths.slice(from), ...rest];
    expect(check(withDeaths(0), [rolledBack])).toEqual([]);
    expect(check(withDeaths(2), [rolledBack]).join()).toContain('did not tidy up');
  });
});
