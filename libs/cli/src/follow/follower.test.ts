import { type Sequence, workflowId } from '@tidemark/core';
import type { CheckpointRow, EventRow, WorkflowSummary } from '@tidemark/ports';
import { describe, expect, it } from 'vitest';
import { CROWD_MIN_COUNT } from '../limits.ts';
import type { Desk } from '../state/desk.ts';
import type { Change, Crowd } from './change.ts';
import { Follower } from './follower.ts';
import { changeJson, Narrator } from './words.ts';

const START_MS = new Date(2026, 2, 1, 12, 0, 0).getTime();

/** Rows that a test moves by hand. Each checkpoint takes one position after the opening. */
class Rows {
  readonly summaries = new Map<string, WorkflowSummary>();
  readonly events: EventRow[] = [];

  move(id: string, sequence: number, change: Partial<WorkflowSummary> = {}): void {
    const row = {
      workflow: workflowId(id),
      definition: 'count',
      version: 1,
      status: 'open',
      reason: null,
      position: sequence + 1,
      sequence,
      holder: 'worker',
      runnable: false,
      pendingCount: 1,
      openedAtMs: START_MS,
      updatedAtMs: START_MS + sequence * 1_000,
      lastAction: `did ${sequence}`,
      ...change,
    };
    this.summaries.set(id, row as unknown as WorkflowSummary);
  }

  happen(id: string, type: string, position: number, control: object, payload: object | null = null): void {
    const row = { workflow: id, type, position, atMs: START_MS + position * 1_000, epoch: 1, holder: 'worker' };
    this.events.push({ ...row, control: JSON.stringify(control), payload: JSON.stringify(payload) } as never);
  }

  desk(): Desk {
    const reads = {
      workflow: async (id: string) => this.summaries.get(id),
      workflows: async ({ status }: { status?: string }) =>
        [...this.summaries.values()].filter((row) => status === undefined || row.status === status),
      // Always newer than the summaries: what they don't name yet must not be told.
      checkpoints: async (id: string, { from, limit }: { from: Sequence; limit: number }) =>
        Array.from({ length: limit }, (_, at) => this.#checkpoint(id, from + at)),
      events: async (id: string) => this.events.filter(({ workflow }) => workflow === id),
      tasks: async () => [],
    };
    return { reads, place: { kind: 'cluster', topic: 't' } } as unknown as Desk;
  }

  #checkpoint(id: string, sequence: number): CheckpointRow {
    const atMs = START_MS + sequence * 1_000;
    const row = { workflow: id, sequence, position: sequence + 1, atMs, step: 'tick', task: `${sequence - 1}.0` };
    return { ...row, lastAction: `did ${sequence}`, tokens: 0, costMicros: 0, checkpoint: `c${sequence}` } as never;
  }
}

/** What is told until the condition holds. */
async function told(follower: Follower, rows: Rows, count: number): Promise<readonly (Change | Crowd)[]> {
  const enough = new AbortController();
  const all: (Change | Crowd)[] = [];
  for await (const change of follower.changes(rows.desk(), enough.signal)) {
    all.push(change);
    if (all.length === count) enough.abort();
  }
  return all;
}

describe('following', () => {
  it('begins with all that has been, without a baseline', async () => {
    const rows = new Rows();
    rows.move('w', 2);
    const changes = await told(new Follower({ workflow: 'w' }), rows, 3);
    expect(changes.map((change) => [change.type, 'sequence' in change ? change.sequence : 0])).toEqual([
      ['started', 0],
      ['checkpoint', 1],
      ['checkpoint', 2],
    ]);
    expect(changes[2]).toMatchObject({ tookMs: 1_000 });
  });

  it('tells what came after the baseline, each once, in the order of the stream', async () => {
    const rows = new Rows();
    rows.move('w', 2);
    const follower = new Follower({ workflow: 'w' });
    await follower.baseline(rows.desk());
    rows.happen(
      'w',
      'StepFailed',
      4,
      { task: '2.0', attempt: 1, code: 'x', retry: { delayMs: 500 } },
      {
        error: { name: 'Error', message: 'not yet' },
      },
    );
    rows.move('w', 3, { position: 4 as never });
    // The checkpoint stands before the failure by its position, though it was read from another table.
    rows.happen('w', 'WorkflowFailed', 5, { code: 'x' }, { error: { name: 'Error', message: 'never' } });
    const first = await told(follower, rows, 2);
    expect(first.map(({ type }) => type)).toEqual(['checkpoint', 'step_failed']);
    rows.move('w', 3, { position: 5 as never, status: 'failed' });
    const second = await told(follower, rows, 1);
    expect(second).toMatchObject([{ type: 'failed', reason: 'x', message: 'never', tookMs: 5_000 }]);
  });

  it('tells a crowd by its number, and each of it where programs read', async () => {
    const rows = new Rows();
    rows.move('w', CROWD_MIN_COUNT + 1);
    const people = await told(new Follower({ workflow: 'w', crowds: true }), rows, 2);
    expect(people[1]).toMatchObject({ type: 'checkpoints', from: 1, to: CROWD_MIN_COUNT + 1 });
    expect(await told(new Follower({ workflow: 'w' }), rows, CROWD_MIN_COUNT + 2)).toHaveLength(CROWD_MIN_COUNT + 2);

    const many = new Rows();
    for (let at = 0; at < CROWD_MIN_COUNT; at++) many.move(`w${at}`, 2, { status: 'completed' });
    const [crowd] = await told(new Follower({ crowds: true }), many, 1);
    expect(crowd).toMatchObject({ type: 'crowd', workflowCount: 25, checkpointCount: 50, completedCount: 25 });
  });
});

describe('telling', () => {
  const about = { workflow: 'refund-1', definition: 'refund', atMs: START_MS };
  const narrator = new Narrator((_, text) => text, { showsWorkflow: true });

  it.each<[Change, string]>([
    [{ ...about, type: 'started', version: 2 }, 'started refund v2'],
    [{ ...about, type: 'resumed', sequence: 3 }, 'resumes from checkpoint #3'],
    [{ ...about, type: 'resumed', sequence: 0 }, 'goes on from its start'],
    [{ ...about, type: 'signal', name: 'approved' }, 'signal approved came'],
    [
      { ...about, type: 'step_failed', task: '1.0', attempt: 2, code: 'x', message: 'no\nway', retryMs: 400 },
      'step failed (task 1.0, attempt 2): no⏎way; again in 400 ms',
    ],
    [
      { ...about, type: 'parked', reason: 'effect-open', message: 'in doubt' },
      'waits for a person (effect-open): in doubt',
    ],
    [{ ...about, type: 'failed', reason: 'x', message: 'broke', tookMs: 5 }, 'failed (x): broke'],
    [
      { ...about, type: 'checkpoints', from: 2, to: 40, lastAction: 'did 40' },
      '#2–#40 39 checkpoints, the last: did 40',
    ],
    [{ ...about, type: 'lease_lost', holder: 'w', reason: 'dead' }, 'lease revoked (dead): another worker goes on'],
    [
      { ...about, type: 'waiting', tasks: ['2.0 credit: waits for signal approved'] },
      'waiting 2.0 credit: waits for signal approved',
    ],
    [{ ...about, type: 'completed', output: 1, tookMs: 61_000 }, 'completed in 1 min 1 s'],
  ])('says %j in words, and as one object', (change, words) => {
    expect(narrator.line(change)).toBe(`12:00:00  refund-1  ${words}`);
    const json = changeJson(change);
    expect(json).toMatchObject({ type: change.type, workflow: 'refund-1', definition: 'refund' });
    expect(Object.keys(json).filter((key) => /[A-Z]/.test(key))).toEqual([]);
  });

  it('names the action where the step gave one, and what it cost', () => {
    const checkpoint = {
      ...about,
      type: 'checkpoint',
      sequence: 7,
      checkpoint: 'c7',
      task: '6.0',
      step: 'credit',
      lastAction: 'credit issued',
      tokens: 1_200,
      costMicros: 12_000,
      tookMs: 320,
    } as const;
    expect(narrator.line(checkpoint)).toMatch(/#7 credit: credit issued {2}320 ms, 1,200 tokens, \$0\.0120$/);
    const silent = { ...checkpoint, lastAction: 'credit', tokens: 0, costMicros: 0, tookMs: null };
    expect(narrator.line(silent)).toMatch(/#7 credit$/);
  });
});
