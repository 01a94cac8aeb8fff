import { describe, expect, it } from 'vitest';
import { type Moment, Timeline } from './rows.ts';

const AT = Date.parse('2026-01-01T00:00:00Z');

/** Events with positions in order, one a second. */
function history(...events: readonly (readonly [type: string, control?: object, holder?: string, epoch?: number])[]) {
  return events.map(
    ([type, control = {}, holder, epoch = 0], at): Moment => ({
      ...{ position: at + 1, type, at: new Date(AT + at * 1_000).toISOString(), epoch },
      holder: holder ?? null,
      control: control as Moment['control'],
    }),
  );
}

function timelineOf(events: readonly Moment[]): Timeline {
  const timeline = new Timeline();
  for (const event of events) timeline.add(event);
  return timeline;
}

const call = { key: 'w:0.0:mail:1', operation: 'mail', kind: 'irreversible', task: '0.0' };
const crashed = history(
  ['WorkflowOpened', { definition: 'refund', version: 2 }],
  ['LeaseClaimed', {}, 'a', 1],
  ['EffectIntended', call, 'a', 1],
  ['LeaseRevoked', { epoch: 1, holder: 'a', reason: 'holder-dead' }],
  ['LeaseClaimed', {}, 'b', 2],
  ['EffectIntended', call, 'b', 2],
  ['EffectResolved', { ...call, outcome: 'done', spent: { tokens: 7, costMicros: 9 } }, 'b', 2],
  [
    'CheckpointCommitted',
    { sequence: 1, step: 'pay', task: '0.0', tokens: 7, costMicros: 9, lastAction: 'paid' },
    'b',
    2,
  ],
  ['WorkflowCompleted', {}, 'b', 2],
);

describe('the timeline of a workflow', () => {
  it('has the checkpoint that is reserved while its effect awaits a confirmation, once', () => {
    const waits = timelineOf(
      history(['WorkflowOpened'], ['EffectIntended', call], ['EffectPending', call], ['EffectPending', call]),
    );
    expect(waits.rows.slice(2)).toMatchObject([
      { title: 'Checkpoint reserved', detail: 'task 0.0 · until mail is confirmed' },
    ]);
  });

  it('tells of a lost worker, of what it left behind, and of who went on', () => {
    const timeline = timelineOf(crashed);
    expect(timeline.holders).toEqual(['a', 'b']);
    expect(timeline.crashCount).toBe(1);
    expect(timeline.isClosed).toBe(true);
    const titles = timeline.rows.map((row) => (row.kind === 'note' ? row.title : `${row.kind} ${row.lane}`));
    expect(titles).toEqual([
      'Opened',
      'Lease claimed',
      'effect 0',
      'Worker lost',
      'Taken over',
      'effect 1',
      'checkpoint 1',
      'Completed',
    ]);
    const effects = timeline.rows.filter((row) => row.kind === 'effect');
    expect(effects).toMatchObject([
      { status: 'lost', attempt: 1 },
      { status: 'done', attempt: 2, tokens: 7, endedAtMs: AT + 6_000 },
    ]);
    expect(timeline.leases).toMatchObject([
      { lane: 0, end: 'revoked', reason: 'holder-dead', toMs: AT + 3_000 },
      { lane: 1, end: 'ended', toMs: AT + 8_000 },
    ]);
  });

  it('T1: takes each event once, whatever comes again', () => {
    const timeline = timelineOf([...crashed, ...crashed]);
    expect(timeline.rows).toHaveLength(8);
    expect(timeline.add(crashed[0]!)).toBe(false);
  });

  it('T2: what comes later about a row moves none', () => {
    const timeline = timelineOf(crashed.slice(0, 6));
    const before = timeline.rows.map(({ position }) => position);
    timeline.add(crashed[6]!);
    expect(timeline.rows.map(({ position }) => position)).toEqual(before);
  });

  it('finds a checkpoint by its sequence', () => {
    const timeline = timelineOf(crashed);
    expect(timeline.rows[timeline.rowOf(1)!]).toMatchObject({ kind: 'checkpoint', sequence: 1 });
    expect(timeline.rowOf(2)).toBeUndefined();
  });

  it('tells of types that it does not know', () => {
    const timeline = timelineOf(history(['SomethingNew', {}]));
    expect(timeline.rows[0]).toMatchObject({ kind: 'note', title: 'Something New' });
  });

  it('warns of tasks that the end dropped', () => {
    const dropped = { count: 2, tasks: ['0.1', '0.2'] };
    expect(timelineOf(history(['WorkflowCompleted', { dropped }])).rows).toMatchObject([
      { title: 'Completed', detail: '2 pending tasks were dropped: 0.1, 0.2', tone: 'warn' },
    ]);
  });

  it('names the workflow that goes on and each child as they are, with what became of it', () => {
    const timeline = timelineOf(
      history(
        ['RulesRaised', { rules: 3 }],
        ['ChildClosed', { task: '1.0', child: 'my_order-7~1.0', outcome: 'completed' }],
        ['ChildClosed', { task: '1.1', child: 'my_order-7~1.1', outcome: 'failed' }],
        ['WorkflowCompleted', { continued: 'r-1~2' }],
      ),
    );
    expect(timeline.rows).toMatchObject([
      { title: 'Event rules version 3', detail: 'from here on', about: undefined },
      { title: 'Child completed', about: 'my_order-7~1.0', tone: 'good' },
      { title: 'Child failed', about: 'my_order-7~1.1', tone: 'bad' },
      { title: 'Continues', detail: 'as', about: 'r-1~2', tone: 'good' },
    ]);
  });

  it('says what a timer was for and who answered what, with names as they are', () => {
    const timeline = timelineOf(
      history(
        ['TimerFired', { timer: 'wait:2.0:0' }],
        ['TimerFired', { timer: 'base:retry:3:1' }],
        ['ApprovalGiven', { task: '2.0', name: 'pay', approved: true, by: 'ana' }],
        ['ApprovalGiven', { task: '2.1', name: 'pay-out', approved: false, by: 'ana' }],
        ['ApprovalDecided', { resolution: 'not-done', by: 'ana-b' }],
      ),
    );
    expect(timeline.rows).toMatchObject([
      { title: 'Timer fired', detail: 'task 2.0' },
      { title: 'Timer fired', detail: 'for a retry' },
      { title: 'Approval answered', detail: 'pay · approved by ana', tone: 'good' },
      { title: 'Approval answered', detail: 'pay-out · rejected by ana', tone: 'warn' },
      { title: 'Question answered', detail: 'not done by ana-b' },
    ]);
  });

  it('holds 20,000 events', () => {
    const many = Array.from({ length: 20_000 }, (_, at): Moment => {
      const control = { sequence: at + 1, step: 's', task: `${at}.0` } as const;
      return { ...crashed[7]!, position: at + 1, control };
    });
    expect(timelineOf(many).rowOf(20_000)).toBe(19_999);
  });
});
