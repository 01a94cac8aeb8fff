/**
 * Starts, interruptions and ends are counted once, by what was committed; a recovery lasts until the next checkpoint, not until the claim.
 */

import type { Controls, StreamState } from '@tidemark/core';
import { noTelemetry, RANGE_COUNT } from '@tidemark/ports';
import { definitionOf, foldLog, inboxRecord, openWorkflow, P0 } from '@tidemark/testkit/engine/simulated-definition';
import { quiet, type SimulatedPorts, simulatedPorts } from '@tidemark/testkit/engine/simulated-ports';
import { claimedRun } from '@tidemark/testkit/engine/simulated-run';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Definition } from '../definition/definition.ts';
import { FatalError, ParkError } from '../definition/step-errors.ts';
import { LamportClock } from '../kernel/ports.ts';
import { drawUpOpening } from '../run/index.ts';
import { LifecycleMetrics } from './lifecycle-metrics.ts';
import { Projector } from './projector.ts';

let log: SimulatedLog;
let ports: SimulatedPorts;
let counted: Map<string, number>;
let recoveriesS: number[];
let isRebuilding: boolean;
let projector: Projector;
let holderCount: number;

const make = (): Projector => {
  const telemetry = {
    ...ports.telemetry,
    count: (name: string, value: number, labels: object = {}) => {
      if (!/^workflows_|^checkpoint_resumes/.test(name)) return;
      const key = [name, ...Object.values(labels)].join(' ');
      counted.set(key, (counted.get(key) ?? 0) + value);
    },
    observe: (name: string, value: number) => {
      if (name === 'recovery_duration_seconds') recoveriesS.push(value);
    },
  };
  const made = new Projector({
    ports: { ...ports, telemetry: { ...ports.telemetry, gauge: () => {}, ...telemetry } },
    lamport: new LamportClock(),
    onApplied: () => {},
    onError: (error) => {
      throw error;
    },
    isRebuilding: () => isRebuilding,
  });
  made.own(Array.from({ length: RANGE_COUNT }, (_, range) => range));
  made.start();
  return made;
};

beforeEach(() => {
  log = new SimulatedLog(1);
  ports = simulatedPorts(log);
  counted = new Map();
  recoveriesS = [];
  isRebuilding = false;
  holderCount = 0;
  projector = make();
});
afterEach(() => projector.stop());

const project = async (): Promise<void> => {
  projector.hint([P0]);
  await quiet();
};
const claim = (definition: Definition) =>
  claimedRun(log, definition, { ports, holder: `h${++holderCount}-`, head: [] });

async function die(): Promise<void> {
  const stream: StreamState = [...(await foldLog(log)).state.streams.values()][0]!;
  const { epoch, holder } = stream.lease!;
  const control: Controls['LeaseRevoked'] = { epoch, holder, reason: 'holder-dead' };
  const value = inboxRecord(stream, `revoke:${epoch}`, 'LeaseRevoked', control, null, 0);
  await log.append(P0, [{ value, type: 'LeaseRevoked' }]);
  await project();
}

const inTwoSteps = definitionOf({ steps: { a: () => ({ next: [{ step: 'b', input: 1 }] }), b: () => ({ done: 1 }) } });

it('one that is interrupted twice and then commits: resumed once of one, and timed from the first death to that commit', async () => {
  await openWorkflow(ports, inTwoSteps);
  await claim(inTwoSteps);
  await die();
  await ports.clock.run(2_000);
  await claim(inTwoSteps);
  await die();
  await ports.clock.run(3_000);
  const { runner } = await claim(inTwoSteps);
  await project();
  // The claim alone is no recovery.
  expect(recoveriesS).toEqual([]);
  await ports.clock.run(4_000);
  await runner.run();
  await project();
  expect(recoveriesS).toEqual([9]);
  expect(Object.fromEntries(counted)).toEqual({
    workflows_started_total: 1,
    workflows_interrupted_total: 1,
    'checkpoint_resumes_total resumed': 1,
    'workflows_ended_total completed true d t1': 1,
  });
});

it.each([
  ['ended', () => new FatalError('no'), { 'workflows_ended_total failed false d t1': 1 }],
  ['parked', () => new ParkError('unclear', 'A person must look.', null, null), {}],
])('one that is %s before it commits anything was interrupted and never resumed', async (_, error, ended) => {
  const definition = definitionOf({ steps: { a: () => Promise.reject(error()) } });
  await openWorkflow(ports, definition);
  await claim(definition);
  await die();
  const { runner } = await claim(definition);
  await runner.run();
  await project();
  expect(recoveriesS).toEqual([]);
  expect(Object.fromEntries(counted)).toEqual({
    ...{ workflows_started_total: 1, workflows_interrupted_total: 1, 'checkpoint_resumes_total stopped': 1 },
    ...ended,
  });
});

it('what sessions of each arm of recall took and came to, by what the opening says', async () => {
  const compared = { ...inTwoSteps, context: { recallControlShare: 1 } as Definition['context'] };
  const drawn = drawUpOpening({ definition: compared, input: null, workflow: 'w' as never, session: 's-1' }, ports);
  const events = [];
  for (const status of ['open', 'completed'] as const) {
    const head = { sequence: 3, checkpoint: null, atMs: 0 };
    const state = { ...drawn.control, head, tokens: 70, status, openedAtMs: 1_000, updatedAtMs: 3_500 };
    events.push(state as unknown as StreamState);
  }
  const [before, after] = events as [StreamState, StreamState];
  const sums = new Map<string, number>();
  const count = (name: string, value: number, labels: object = {}) =>
    void sums.set(
      [name, ...Object.values(labels)].join(' '),
      value + (sums.get([name, ...Object.values(labels)].join(' ')) ?? 0),
    );
  const metrics = new LifecycleMetrics({ telemetry: { ...noTelemetry, count }, clock: ports.clock });
  // A child's steps and tokens are its session's; a fork is of no session.
  const parent = { workflow: 'p', task: '0.0', onClose: 'cancel' } as unknown as StreamState['parent'];
  const fork = { workflow: 'w', sequence: 0, effects: 'replay' } as unknown as StreamState['fork'];
  for (const more of [{}, { parent }, { fork }]) {
    metrics.accept([{ type: 'WorkflowCompleted', before, after: { ...after, ...more } }]);
  }
  expect(Object.fromEntries(sums)).toEqual({
    'workflows_ended_total completed false d ': 3,
    'recall_arm_workflows_total control completed': 1,
    'recall_arm_steps_total control': 6,
    'recall_arm_tokens_total control': 140,
    'recall_arm_seconds_total control': 2.5,
  });
});

it('nothing is counted again while rows are rebuilt', async () => {
  await openWorkflow(ports, inTwoSteps);
  await (await claim(inTwoSteps)).runner.run();
  isRebuilding = true;
  await project();
  expect(Object.fromEntries(counted)).toEqual({});
});
