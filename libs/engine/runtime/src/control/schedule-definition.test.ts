/** Slots of a schedule: a change loses none, none starts twice, and no run that can't end or start stops the schedule. */

import { ConflictError, InvalidError, type Json, LimitError, type StreamStatus } from '@tidemark/core';
import { describe, expect, it } from 'vitest';
import { scheduleHost } from '../client/schedules.ts';
import type { Definition, StepContext } from '../definition/definition.ts';
import { type ScheduleBelief, scheduleDefinition } from './schedule-definition.ts';
import type { ScheduleSpec } from './schedule-spec.ts';

const NINE_MS = Date.UTC(2026, 0, 5, 9);
const DAY_MS = 86_400_000;
const spec: ScheduleSpec = {
  ...{ cron: '0 9 * * *', timeZone: 'UTC', input: {}, overlap: 'allow', catchUp: 1, slotField: null, user: null },
};

/** A schedule whose nine o'clock slot is due and hasn't started. */
function schedule(given: Partial<ScheduleSpec> = {}, runStatus: StreamStatus = 'completed') {
  const started: string[] = [];
  const days: string[] = [];
  const openedMs = new Map<string, number>();
  let nowMs = NINE_MS + 40;
  let failure: Error | undefined;
  const host = {
    nowMs: () => nowMs,
    wasBegun: async (_: unknown, { id, beforeMs }: { readonly id: string; readonly beforeMs: number }) =>
      (openedMs.get(id) ?? beforeMs) < beforeMs,
    start: async (_: unknown, { id, day }: { readonly id: string; readonly day: string }) => {
      if (failure !== undefined) throw failure;
      started.push(id);
      openedMs.set(id, openedMs.get(id) ?? nowMs);
      days.push(day);
    },
    statusOf: async () => runStatus,
    end: async () => {},
  };
  const of = { name: 'report', version: 1, upcasters: new Map() } as unknown as Definition;
  const { steps } = scheduleDefinition(of, host);
  const counts = { startedCount: 0, skippedCount: 0, missedCount: 0 };
  let belief: ScheduleBelief = {
    ...{ spec: { ...spec, ...given }, pastMs: NINE_MS - DAY_MS, run: null, heldMs: null },
    ...counts,
  };
  const turn = async (cause: Json): Promise<ScheduleBelief> => {
    const ctx = {
      ...{ belief, cause, input: { tenant: 't' }, workflow: 's', log: () => {} },
      run: async (_: string, body: () => unknown) => body(),
    };
    const result = await steps.get('slot')!.run(ctx as unknown as StepContext, null);
    belief = result.belief?.(belief as unknown as Json) as ScheduleBelief;
    return belief;
  };
  return {
    started,
    days,
    set: (to: Partial<ScheduleSpec>) => turn({ kind: 'signal', value: { set: { ...spec, ...given, ...to } } } as never),
    fire: (atMs: number | true) => turn({ kind: 'signal', value: { fire: atMs } }),
    /** As after a crash between the start of its run and its checkpoint. */
    again: (before: ScheduleBelief) => {
      belief = before;
    },
    passes: (ms: number) => {
      nowMs += ms;
    },
    slot: () => turn({ kind: 'at' }),
    refuse: (error: Error) => {
      failure = error;
    },
    runs: (id: string) => {
      belief = { ...belief, run: { id, slotMs: 1 } };
    },
  };
}

describe('a schedule with a slot that is due', () => {
  it('is changed by no word that says what it is', async () => {
    const { set, slot, started } = schedule({ input: { a: 1, b: 2 } });
    expect(await set({ input: { b: 2, a: 1 } })).toMatchObject({ pastMs: NINE_MS - DAY_MS, startedCount: 0 });
    expect(await slot()).toMatchObject({ startedCount: 1 });
    expect(started).toEqual(['s@2026-01-05T09:00:00.000Z']);
  });

  it('begins it before it is changed', async () => {
    const { set, started } = schedule();
    const after = await set({ cron: '0 12 * * *' });
    expect(after).toMatchObject({ spec: { cron: '0 12 * * *' }, pastMs: NINE_MS + 40, startedCount: 1 });
    expect(started).toEqual(['s@2026-01-05T09:00:00.000Z']);
  });

  it('is changed though the system takes its old input no more', async () => {
    const { set, refuse } = schedule();
    refuse(new InvalidError('input-invalid', 'no'));
    expect(await set({ input: { a: 1 } })).toMatchObject({ spec: { input: { a: 1 } }, skippedCount: 1 });
  });

  it('tells that its id is another workflow’s, and goes on with the next', async () => {
    const { slot, refuse } = schedule();
    refuse(new ConflictError('workflow-differs', 'another'));
    const after = await slot();
    expect(after).toMatchObject({ startedCount: 0, skippedCount: 0, takenCount: 1, pastMs: NINE_MS + 40 });
  });

  it('skips it where the system takes no more', async () => {
    const { slot, refuse } = schedule();
    refuse(new LimitError('tenant-full', 'no'));
    const after = await slot();
    expect(after).toMatchObject({ startedCount: 0, skippedCount: 1 });
    expect(after.takenCount).toBeUndefined();
  });

  it.each(['cancel', 'terminate'] as const)(
    'with overlap %s lets it wait while a run is being compensated',
    async (overlap) => {
      const { slot, runs, started } = schedule({ overlap }, 'compensating');
      runs('before');
      expect(await slot()).toMatchObject({ heldMs: NINE_MS, startedCount: 0 });
      expect(started).toEqual([]);
    },
  );
});

it.each([
  ['UTC', '2026-01-05'],
  ['Pacific/Auckland', '2026-01-05'],
  ['Pacific/Kiritimati', '2026-01-05'],
  ['America/Los_Angeles', '2026-01-05'],
])('a run has the day of its slot where its schedule is (%s)', async (timeZone, day) => {
  const { slot, days } = schedule({ timeZone, cron: '30 0 * * *', catchUp: 1 });
  await slot();
  expect(days).toEqual([day]);
});

it('the moment for which a run is begun by hand names it, and counts once', async () => {
  const { fire, started } = schedule();
  await fire(NINE_MS + 40);
  expect(await fire(NINE_MS + 40)).toMatchObject({ startedCount: 1 });
  expect(await fire(NINE_MS + 41)).toMatchObject({ startedCount: 2 });
  expect(started).toEqual(['s@2026-01-05T09:00:00.040Z', 's@2026-01-05T09:00:00.041Z']);
});

it.each([
  ['allow', 'completed'],
  ['skip', 'open'],
] as const)(
  'a moment that was begun long since, as a slot or by hand, begins nothing (%s)',
  async (overlap, status) => {
    const { fire, slot, passes, started } = schedule({ overlap }, status);
    await slot();
    passes(1_000);
    const before = await fire(NINE_MS + 500);
    passes(1_000);
    expect(await fire(NINE_MS)).toEqual(before);
    expect(started.filter((id) => id.endsWith('09:00:00.000Z'))).toHaveLength(1);
  },
);

it('an attempt that died after the start counts its run', async () => {
  const { fire, again } = schedule();
  const { startedCount, ...rest } = await fire(NINE_MS + 40);
  again({ ...rest, startedCount: 0, run: null });
  expect(await fire(NINE_MS + 40)).toMatchObject({ startedCount: 1, run: { slotMs: NINE_MS + 40 } });
});

it('a signal of before that names no moment begins one now', async () => {
  const { fire, started } = schedule();
  await fire(true);
  expect(started).toEqual(['s@2026-01-05T09:00:00.040Z']);
});

it.each(['workflow-closed', 'workflow-compensating'])('ends what has ended or is ending (%s)', async (code) => {
  const refuse = async () => {
    throw new ConflictError(code, 'no');
  };
  const host = scheduleHost({ cancel: refuse } as never, {} as never);
  await expect(host.end('r' as never, 'cancel', 's')).resolves.toBeUndefined();
});
