import type { Moment } from '@tidemark/core/timeline';
import { describe, expect, it } from 'vitest';
import { Timeline } from './rows.ts';

const momentOf = (position: number, type: string, control: object = {}, more: Partial<Moment> = {}): Moment => ({
  ...{ position, type, at: new Date(position * 1_000).toISOString(), epoch: 0, holder: null },
  ...{ control: control as Moment['control'], ...more },
});

describe('the timeline of a workflow', () => {
  it('takes each event once, whatever comes again, and finds a checkpoint by its sequence and by its task', () => {
    const timeline = new Timeline();
    const events = [
      momentOf(1, 'WorkflowOpened', { definition: 'refund', version: 2 }),
      momentOf(2, 'CheckpointCommitted', { sequence: 1, task: '0.0' }),
    ];
    expect([...events, ...events].map((event) => timeline.add(event))).toEqual([true, true, false, false]);
    expect(timeline.rows).toHaveLength(2);
    expect(timeline.rows[timeline.rowOf(1)!]).toMatchObject({ kind: 'checkpoint', sequence: 1 });
    expect([timeline.rowOf(2), timeline.sequenceOf('0.0'), timeline.sequenceOf('1.0')]).toEqual([
      undefined,
      1,
      undefined,
    ]);
  });

  it('shows what comes live as its history shows it, without content', () => {
    const timeline = new Timeline();
    const error = { message: 'no such account' };
    timeline.add(momentOf(1, 'WorkflowFailed', { code: 'refused' }, { payload: { error } }));
    expect(timeline.rows).toMatchObject([{ description: { title: 'Failed', detail: '(refused)', words: '' } }]);
  });

  it('holds 20,000 events', () => {
    const timeline = new Timeline();
    for (let sequence = 1; sequence <= 20_000; sequence++) {
      timeline.add(momentOf(sequence, 'CheckpointCommitted', { sequence, step: 's', task: `${sequence}.0` }));
    }
    expect(timeline.rowOf(20_000)).toBe(19_999);
  });
});
