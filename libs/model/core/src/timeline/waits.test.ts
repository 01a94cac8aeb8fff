/** Owns the words for why a workflow does not move: each case with its text, since when, and whether what would end it is there. */

import { describe, expect, test } from 'vitest';
import { EMPTY_FRONTIER, type StreamState, type TaskState } from '../state.ts';
import { blockedWords, type There, type Wait, waitOf } from './waits.ts';

const NOW_MS = Date.parse('2026-03-01T10:00:00.000Z');
const at = (ms: number): string => new Date(NOW_MS + ms).toISOString();
const MINUTE_MS = 60_000;

const stream = {
  ...{ tenant: 'acme', workflow: 'w', definition: 'refund', version: 2, pinned: false, shadow: false },
  ...{ status: 'open', reason: null, question: null, ruling: null, undo: null, lease: null, isUnsettled: false },
  ...{ openedAtMs: NOW_MS - 9 * MINUTE_MS, updatedAtMs: NOW_MS - MINUTE_MS, crashCount: 0, unreadable: null },
  head: { sequence: 1, checkpoint: 'c', atMs: NOW_MS - 2 * MINUTE_MS },
  frontier: EMPTY_FRONTIER,
} as unknown as StreamState;

const task = {
  ...{ id: '1.0', step: 'charge', after: [], barrierCount: 0, when: [], cause: null, failureCount: 0 },
  ...{ failureCode: null, sameFailureCount: 0, retry: null, reserved: null, effects: [] },
} as unknown as TaskState;

const here: There = {
  ...{ nowMs: NOW_MS, isIdle: false, callWindowMs: 5_000 },
  workers: new Set(['worker-a', 'worker-b']) as unknown as There['workers'],
  builds: () => ['one', undefined],
  versions: () => new Map([[2, 2]]),
  paused: () => undefined,
  limit: () => undefined,
};

interface Case {
  readonly of?: Partial<Record<keyof StreamState, unknown>>;
  readonly task?: Partial<Record<keyof TaskState, unknown>>;
  readonly there?: Partial<Record<keyof There, unknown>>;
}

const waitIn = ({ of, task: changed, there }: Case): Wait | null =>
  waitOf({ ...stream, ...of } as StreamState, [{ ...task, ...changed } as TaskState], { ...here, ...there } as There);
const retry = { timer: 't', anchorMs: NOW_MS - 1_000, delayMs: 4 * MINUTE_MS + 1_000 };
const call = { key: 'w:1.0:payments.charge:0', operation: 'payments.charge', kind: 'irreversible', timeoutMs: 10_000 };
const intended = { ...call, status: 'intended', pending: null };
const lease = { holder: 'worker-a', epoch: 3, ordinal: 1 };

describe('a workflow that needs a worker', () => {
  test.each<[Case, Partial<Wait>]>([
    [{}, { kind: 'worker', text: 'waits for its turn at a worker', isThere: true, sinceMs: stream.updatedAtMs }],
    [{ there: { workers: undefined, builds: () => [] } }, { kind: 'worker', isThere: null }],
    [{ there: { isIdle: true } }, { kind: 'no-process', text: 'no process runs workflows here', isThere: false }],
    [{ there: { workers: new Set() } }, { kind: 'no-worker', text: 'no worker is running', isThere: false }],
    [
      { there: { builds: () => [], versions: () => new Map([[1, 1]]) } },
      { kind: 'no-version', text: 'no worker runs refund v2 (1 worker runs v1)', isThere: false },
    ],
    [
      { there: { builds: () => [], versions: () => new Map([[1, 2], [3, 1]]) }, of: { pinned: true } }, // biome-ignore format: a pair
      { text: 'no worker runs refund v2, to which it is pinned (1 worker runs v3, 2 workers run v1)' },
    ],
    [{ there: { builds: () => [], versions: () => new Map() } }, { text: 'no worker runs refund v2' }],
    [
      { of: { failedOn: { task: '1.0', builds: ['one'], next: 'two' } }, there: { builds: () => ['one'] } },
      { kind: 'no-build', text: 'waits for build two: task 1.0 failed on one', isThere: false },
    ],
    [
      { of: { failedOn: { task: '1.0', builds: ['one'], next: 'two' } }, there: { builds: () => ['one', 'three'] } },
      { kind: 'worker', isThere: true },
    ],
    [
      { there: { paused: () => ({ by: 'ana', sinceMs: 7 }) } },
      { kind: 'paused-queue', text: 'its queue is paused by ana', sinceMs: 7, isThere: null },
    ],
    [{ there: { limit: () => 'site:x' } }, { kind: 'limit', text: 'waits for room in its limit site:x' }],
    [{ there: { limit: () => '' } }, { text: 'waits for room in its limit' }],
    [{ of: { besideMax: null } }, { kind: 'worker' }],
    [{ of: { besideMax: 3 } }, { kind: 'suspect', text: 'suspect of a crash, runs beside at most 3 others next' }],
    [{ of: { besideMax: 0, crashCount: 2 } }, { kind: 'suspect', text: 'suspect of a crash, runs alone next' }],
  ])('%j', (given, expected) => expect(waitIn(given)).toMatchObject(expected));

  test('who waits for a person, a pause, a release or an undo is told that first', () => {
    const asked = { question: { code: 'step-failed' }, status: 'parked' };
    expect(waitIn({ of: asked, there: { workers: new Set() } })).toMatchObject({
      ...{ kind: 'person', text: 'waits for a person: step-failed', isThere: null },
    });
    expect(waitIn({ of: { ...asked, question: { code: 'budget_exceeded' } } })).toMatchObject({ kind: 'budget' });
    expect(waitIn({ of: { paused: { by: 'ana', atMs: 5 } } })).toMatchObject({ text: 'paused by ana', sinceMs: 5 });
    expect(waitIn({ of: { status: 'compensating', undo: 'w~undo' } })).toMatchObject({
      text: 'is compensated by w~undo',
    });
    const unreadable = { type: 'Newer', v: 3, offset: 1 };
    expect(waitIn({ of: { unreadable } })).toMatchObject({
      text: 'no coordinator reads Newer v3, which a newer release wrote',
      isThere: false,
    });
    expect(waitIn({ of: { unreadable: { ...unreadable, problem: 'record-torn' } } })).toMatchObject({
      ...{ kind: 'record', text: 'waits for a person: record-torn' },
    });
    expect(waitIn({ of: { shadow: true } })).toMatchObject({ kind: 'observed' });
    expect(waitIn({ of: { status: 'completed' } })).toBeNull();
  });

  test('one that a worker holds runs, is asked about, or is taken over', () => {
    expect(waitIn({ of: { lease } })).toMatchObject({ kind: 'running', text: 'running charge on worker-a' });
    expect(waitIn({ of: { lease: { ...lease, holder: 'worker-x' } } })).toMatchObject({
      ...{ kind: 'lease', text: 'its worker worker-x is gone', isThere: true },
    });
    const updatedAtMs = NOW_MS - 8_000;
    const asking = { of: { lease, isUnsettled: true, updatedAtMs }, task: { effects: [intended] } };
    expect(waitIn(asking)).toMatchObject({
      ...{ kind: 'probe', text: `asking the probe of payments.charge; may call again at ${at(7_000)}` },
      untilMs: NOW_MS + 7_000,
    });
    // It has called again since.
    const calls = { ...asking, of: { ...asking.of, lease: { ...lease, ordinal: 3 } } };
    expect(waitIn(calls)).toMatchObject({ kind: 'running' });
    expect(waitIn({ of: { lease }, there: { isIdle: true } })).toMatchObject({ kind: 'no-process', isThere: false });
  });
});

describe('a workflow of which no task can run', () => {
  const outage = { of: 'provider openai', why: '429', sinceMs: NOW_MS - 5 * MINUTE_MS, count: 3 };
  const timer = { kind: 'timer', timer: 'x', anchorMs: NOW_MS, delayMs: 2 * MINUTE_MS };
  test.each<[Case, Partial<Wait>]>([
    [
      { task: { retry, outage, failureCount: 3 } },
      {
        ...{ kind: 'provider', text: `waits for provider openai: 429 until ${at(4 * MINUTE_MS)}`, isThere: true },
        ...{ sinceMs: outage.sinceMs, untilMs: NOW_MS + 4 * MINUTE_MS },
      },
    ],
    [
      { task: { retry, failureCount: 2, failureCode: 'boom' } },
      { kind: 'retry', text: `failed 2 times (boom), is tried again at ${at(4 * MINUTE_MS)}` },
    ],
    [
      { task: { when: [{ kind: 'signal', name: 'go' }, timer] } },
      {
        ...{ kind: 'signal', text: `waits for the signal go or until ${at(2 * MINUTE_MS)}`, sinceMs: stream.head.atMs },
        untilMs: NOW_MS + 2 * MINUTE_MS,
      },
    ],
    [{ task: { id: '0.0', when: [{ kind: 'signal', name: 'go' }] } }, { sinceMs: stream.openedAtMs, isThere: null }],
    [
      { task: { when: [{ kind: 'approval', name: 'pay', assignee: 'user:ana', askedAtMs: 3 }] } },
      { kind: 'approval', text: 'waits for the approval pay of user:ana', sinceMs: 3, isThere: null },
    ],
    [{ task: { when: [{ kind: 'child', child: 'w~1.0' }] } }, { kind: 'child', text: 'waits for the workflow w~1.0' }],
    [
      { task: { effects: [{ ...call, status: 'pending', pending: { isDue: false, token: 'T', deadline: null } }] } },
      { kind: 'confirmation', text: `waits for the confirmation of ${call.key}` },
    ],
    [
      { task: { when: [timer] }, there: { nowMs: NOW_MS + 10 * MINUTE_MS } },
      {
        ...{ kind: 'late-timer', isThere: false },
        text: `was due at ${at(2 * MINUTE_MS)}, and no coordinator has fired its timer`,
      },
    ],
    [
      { task: { when: [timer] }, there: { nowMs: NOW_MS + 10 * MINUTE_MS, isIdle: true } },
      { kind: 'no-process', isThere: false },
    ],
  ])('%j', (given, expected) => expect(waitIn(given)).toMatchObject(expected));

  test('the first task that does not wait for others says why', () => {
    const first = { ...task, id: '0.5', after: ['1.0'] } as unknown as TaskState;
    const second = { ...task, when: [{ kind: 'signal', name: 'go' }] } as unknown as TaskState;
    expect(waitOf(stream, [first, second], here)?.text).toBe('waits for the signal go (task 1.0, of several)');
    const steps = new Map([[task.id, 'charge']]);
    expect(blockedWords(first, steps)).toBe('runs after 1.0 (charge)');
    const both = { ...first, barrierCount: 12, when: [{ kind: 'signal', name: 'go' }] } as unknown as TaskState;
    expect(blockedWords(both, new Map())).toBe(
      'runs after 1.0, and runs after all earlier tasks (12 to go), and waits for the signal go',
    );
  });
});
