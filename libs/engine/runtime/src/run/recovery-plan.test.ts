/** The plan says what the next holder would do: the table's word for each answer, and what comes before and after. */

import type {
  EffectKey,
  EffectState,
  EventId,
  HolderId,
  ProbeAnswer,
  StreamState,
  TaskId,
  WorkflowId,
} from '@tidemark/core';
import type { EffectRow } from '@tidemark/ports';
import { definitionOf, effectOf, foldLog, openWorkflow } from '@tidemark/testkit/engine/simulated-definition';
import { simulatedPorts } from '@tidemark/testkit/engine/simulated-ports';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { beforeEach, describe, expect, it } from 'vitest';
import type { EffectDefinition } from '../definition/definition.ts';
import { askable, type RecoveryFacts, recoveryPlan } from './recovery-plan.ts';

const NOW_MS = 10_000_000;
const KEY = 'w:0.0:pay:0' as EffectKey;

describe('a plan', () => {
  let opened: StreamState;
  beforeEach(async () => {
    const log = new SimulatedLog(1);
    await openWorkflow(simulatedPorts(log), definitionOf({ steps: { go: () => ({ done: null }) } }));
    opened = [...(await foldLog(log)).state.streams.values()][0]!;
  });

  const left = (change: Partial<EffectState>): StreamState => {
    const effect: EffectState = {
      key: KEY,
      operation: 'pay',
      kind: 'irreversible',
      status: 'intended',
      requestDigest: 'r',
      responseDigest: null,
      timeoutMs: 30_000,
      isUntold: false,
      isSuspect: false,
      pending: null,
      ...change,
    };
    const task = { ...[...opened.frontier.tasks][0]!, effects: [effect] };
    return { ...opened, frontier: { ...opened.frontier, tasks: opened.frontier.tasks.set(task) } };
  };

  const planOf = (state: StreamState, more: Partial<RecoveryFacts> = {}) =>
    recoveryPlan({ state, headEffects: [], definition: undefined, answers: new Map(), nowMs: NOW_MS, ...more });
  const knowing = (spec: Partial<EffectDefinition>) =>
    definitionOf({ effects: [effectOf({ call: async () => null, ...spec })], steps: { go: () => ({ done: null }) } });
  const probe: EffectDefinition['probe'] = async () => ({ status: 'unknown' });
  const outcomesOf = (state: StreamState, more: Partial<RecoveryFacts> = {}) =>
    planOf(state, more).effects[0]!.outcomes.map(({ answer, action }) => `${answer} → ${action}`);

  it('tells for each answer of a probe what follows', () => {
    const definition = knowing({ probe });
    expect(outcomesOf(left({}), { definition })).toEqual([
      'done → record-done',
      'not-done → call-again',
      'unknown → ask-person',
    ]);
    expect(outcomesOf(left({ silentHolders: ['h1' as HolderId] }), { definition })).toEqual([
      'done → record-done',
      'not-done → ask-person',
      'unknown → ask-person',
    ]);
    expect(planOf(left({}), { definition }).effects[0]!.waitMs).toBe(35_000);
    expect(planOf(left({}), { definition: knowing({ probe, probeFences: true }) }).effects[0]!.waitMs).toBe(0);
  });

  it('knows what has no probe, and what can be compensated', () => {
    expect(outcomesOf(left({}), { definition: knowing({}) })).toEqual(['none → ask-person']);
    const compensateUnknown = async () => {};
    expect(outcomesOf(left({}), { definition: knowing({ compensateUnknown }) })).toEqual(['none → compensate']);
    const undone = { ...left({}), undo: 'w~undo' as WorkflowId };
    expect(outcomesOf(undone, { definition: knowing({ compensateUnknown }) })).toEqual(['none → ask-person']);
    expect(outcomesOf(left({ kind: 'idempotent' }), { definition: knowing({}) })).toEqual(['none → call-again']);
  });

  it('leaves every answer open where the definition is not at hand, and none once the probe has spoken', () => {
    expect(outcomesOf(left({}))).toHaveLength(4);
    const answers = new Map<EffectKey, ProbeAnswer>([[KEY, 'done']]);
    expect(outcomesOf(left({}), { definition: knowing({ probe }), answers })).toEqual(['done → record-done']);
  });

  it('asks about what is done only after a death, and about what failed never', () => {
    const definition = knowing({ probe });
    expect(outcomesOf(left({ status: 'done' }), { definition })).toEqual(['none → go-on']);
    expect(outcomesOf(left({ status: 'done', isSuspect: true }), { definition })).toEqual([
      'done → go-on',
      'not-done → ask-person',
      'unknown → ask-person',
    ]);
    expect(outcomesOf(left({ status: 'failed' }), { definition })).toEqual(['none → call-again']);
  });

  it('holds the newest checkpoint against the outside after a death, by its probe or by a person', () => {
    const row = { ...left({ status: 'done' }), key: KEY, operation: 'pay', kind: 'irreversible', status: 'done' };
    const headEffects = [row as unknown as EffectRow];
    const dead: StreamState = { ...opened, isUnsettled: true };
    const [planned] = planOf(dead, { definition: knowing({ probe }), headEffects }).effects;
    expect(planned).toMatchObject({ of: 'newest-checkpoint', external: true });
    expect(outcomesOf(dead, { definition: knowing({}), headEffects })).toEqual(['none → ask-person']);
    const harmless = [{ ...row, kind: 'idempotent' } as unknown as EffectRow];
    expect(outcomesOf(dead, { definition: knowing({}), headEffects: harmless })).toEqual(['none → go-on']);
    expect(outcomesOf(opened, { definition: knowing({}), headEffects })).toEqual(['none → go-on']);
    expect(askable(dead, headEffects, knowing({ probe })).map(({ key }) => key)).toEqual([KEY]);
  });

  it('leaves out what is pure, and what nobody will look at', () => {
    expect(planOf(left({ kind: 'pure', status: 'done' })).effects).toEqual([]);
    expect(planOf({ ...left({}), ruling: 'fail' }).effects).toEqual([]);
    expect(planOf({ ...left({}), status: 'compensating' }).effects).toEqual([]);
  });

  it('counts attempts of the last hour', () => {
    const crashTimesMs = [NOW_MS - 3_700_000, NOW_MS - 60_000, NOW_MS];
    const { crashes, next } = planOf({ ...opened, crashCount: 3, crashTimesMs });
    expect(crashes).toMatchObject({ count: 3, lastHourCount: 2, attemptsLeftCount: 1 });
    expect(next).toEqual({ kind: 'runs', task: '0.0', step: 'go', alone: true, besideMax: null });
    expect(planOf({ ...opened, besideMax: 3 }).next).toMatchObject({ alone: false, besideMax: 3 });
    expect(planOf({ ...opened, besideMax: 0 }).next).toMatchObject({ alone: true });
  });

  it.each<[string, (state: StreamState) => StreamState, object]>([
    ['has ended', (s) => ({ ...s, status: 'completed' }), { kind: 'ended' }],
    [
      'is being compensated',
      (s) => ({ ...s, status: 'compensating', undo: 'w~undo' as WorkflowId }),
      { kind: 'compensating', undo: 'w~undo' },
    ],
    ['is only observed', (s) => ({ ...s, shadow: true }), { kind: 'shadow' }],
    ['was decided about', (s) => ({ ...s, ruling: 'compensate' }), { kind: 'ruled', ruling: 'compensate' }],
    [
      'died too often',
      (s) => ({ ...s, crashCount: 4, crashTimesMs: [1, 2, 3, 4] }),
      { kind: 'will-park', code: 'recovery-limit' },
    ],
    ['goes on', (s) => s, { kind: 'runs', task: '0.0', alone: false }],
    [
      'needs-person',
      (s) => ({
        ...s,
        status: 'parked',
        question: { id: 'q' as EventId, code: 'c', task: '0.0' as TaskId, key: null },
      }),
      { kind: 'needs-person', resolutions: ['retry', 'compensate', 'fail'] },
    ],
  ])('of one that %s says so', (_, change, next) => {
    expect(planOf(change(opened)).next).toMatchObject(next);
  });

  it('of one that has used up its budget says that a person is asked', () => {
    const definition = { ...knowing({}), stepBudget: 0 };
    expect(planOf(opened, { definition }).next).toEqual({ kind: 'will-park', code: 'step-budget' });
  });
});
