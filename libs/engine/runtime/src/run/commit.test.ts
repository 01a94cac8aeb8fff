/** A step's result as its checkpoint: declared flow is enforced, values are checked, belief becomes the smallest change. */

import {
  type CheckpointId,
  type Controls,
  InvalidError,
  type Json,
  type Sequence,
  SNAPSHOT_MIN_BYTES,
  type StreamState,
  type TaskId,
  type TaskState,
} from '@tidemark/core';
import { definitionOf } from '@tidemark/testkit/engine/simulated-definition';
import { describe, expect, it } from 'vitest';
import type { Definition, StepResult, TaskRequest } from '../definition/definition.ts';
import { stepNamed } from '../definition/steps.ts';
import { StreamContent } from '../history/content.ts';
import { resolveTask } from '../history/versions.ts';
import { sha256Digest } from '../kernel/system.ts';
import { commitDrafts } from './commit.ts';
import { declareTasks } from './declare-tasks.ts';

const S5 = 5 as Sequence;

const definition = definitionOf({
  name: 'audit',
  steps: {
    scan: { mayAdd: ['read'], run: () => ({}) },
    read: { mayAdd: [], run: () => ({}) },
    loop: {
      mayAdd: ['loop', 'read'],
      run: () => ({}),
      parseInput: (value) => {
        if (typeof value !== 'number') throw new InvalidError('task-input-invalid', 'no number');
        return value;
      },
    },
  },
});

const TASK: TaskState = {
  id: '3.1' as TaskId,
  step: 'loop',
  after: [],
  barrierCount: 0,
  when: [],
  cause: null,
  failureCount: 0,
  failureCode: null,
  sameFailureCount: 0,
  retry: null,
  reserved: null,
  effects: [],
};

function commit(
  result: StepResult,
  options: {
    readonly content?: StreamContent;
    readonly of?: Definition;
    readonly isLast?: boolean;
    readonly state?: StreamState;
  } = {},
) {
  const { content = new StreamContent(), of = definition, isLast = false, state } = options;
  const drafts = commitDrafts({
    definition: of,
    step: of.steps.get('loop')!,
    task: TASK,
    input: { b: 1, a: 2 },
    result,
    notes: [],
    content,
    isLast,
    state,
    checkpoint: 'c5' as CheckpointId,
    sequence: S5,
    parent: 'c4' as CheckpointId,
    digest: sha256Digest,
    nowMs: NOW_MS,
  });
  const [committed, completed] = drafts;
  return {
    control: committed!.control as Controls['CheckpointCommitted'],
    payload: committed!.payload as Record<string, Json>,
    completed,
  };
}

const NOW_MS = 1_000;
const task = (step: string, after?: TaskRequest['after'], input: unknown = 1): TaskRequest => ({ step, input, after });

describe('declared tasks', () => {
  const declare = (by: string | null, ...requests: TaskRequest[]) =>
    declareTasks(definition, by === null ? null : definition.steps.get(by)!, requests, S5, NOW_MS);

  it('are those that the flow lets the step add', () => {
    expect(declare('scan', task('read', undefined, { path: 'a' }))).toEqual({
      tasks: [{ step: 'read', after: [], when: [] }],
      inputs: [{ path: 'a' }],
    });
  });

  it('are refused when the flow does not, with what to declare', () => {
    expect(() => declare('scan', task('read'), task('loop'))).toThrow(
      expect.objectContaining({ code: 'task-not-declared', message: expect.stringContaining('next[1] of audit.scan') }),
    );
  });

  it.each(['nothing', 'constructor', '__proto__', ''])('are refused for a step that is not there: %s', (step) => {
    expect(() => declare('loop', task(step))).toThrow(expect.objectContaining({ code: 'task-unknown' }));
    expect(() => declare(null, task(step))).toThrow(expect.objectContaining({ code: 'task-unknown' }));
  });

  it('of the opening may be of any step', () => {
    expect(declare(null, task('scan'), task('read')).tasks.map((added) => added.step)).toEqual(['scan', 'read']);
  });

  it('may have any name where one step does all, and are counted as one', () => {
    const open = definitionOf({ name: 'open', steps: { '*': { mayAdd: ['*'], run: () => ({}) } } });
    const pay = stepNamed(open.steps, 'pay the bill')!;
    expect(pay).toMatchObject({ name: 'pay the bill', group: '*' });
    expect(declareTasks(open, pay, [task('ship it')], S5, NOW_MS).tasks).toMatchObject([{ step: 'ship it' }]);
    expect(resolveTask(open, 1, 'ship it', 1).step.name).toBe('ship it');
    expect(stepNamed(definition.steps, 'scan')).toBe(definition.steps.get('scan'));
  });

  it('have their inputs checked by the step that gets them', () => {
    expect(() => declare('loop', task('loop', undefined, 'x'))).toThrow(
      expect.objectContaining({ code: 'task-input-invalid' }),
    );
  });

  it('may follow earlier siblings, tasks that exist, and all', () => {
    const first = task('read');
    const second = task('read', [first]);
    expect(
      declare(
        'loop',
        first,
        second,
        task('read', [first, second, '0.0' as TaskId, '4.12' as TaskId]),
        task('read', 'all'),
      ).tasks.map((added) => added.after),
    ).toEqual([[], ['5.0'], ['5.0', '5.1', '0.0', '4.12'], 'all']);
  });

  it('may not follow a later sibling, themselves, or a task of another list', () => {
    const late = task('read');
    const early = task('read', [late]);
    const self: { -readonly [K in keyof TaskRequest]: TaskRequest[K] } = { ...task('read') };
    self.after = [self];
    for (const requests of [[early, late], [self], [task('read', [task('read')])]]) {
      expect(() => declare('loop', ...requests)).toThrow(expect.objectContaining({ code: 'task-after-invalid' }));
    }
  });

  it.each(['foo', '5.0', '6.1', '03.1', '3.01', '3', '3.1.1', '-1.0', '3.-1', '', '1e3.0', '99999999999.0'])(
    'may not follow what is no id of an earlier task: %s',
    (id) => {
      expect(() => declare('loop', task('read', [id as TaskId]))).toThrow(
        expect.objectContaining({ code: 'task-after-invalid' }),
      );
    },
  );

  it('wait for signals and timers, whose names no other task gives', () => {
    const waits = [
      { kind: 'signal', name: 'go' },
      { kind: 'timer', delayMs: 5.2 },
      { kind: 'at', atMs: 400 },
    ] as const;
    const asked = { ...task('read', undefined, { path: 'a' }), when: { anyOf: waits } };
    const timer = (name: string, delayMs: number) => ({ kind: 'timer', timer: name, anchorMs: NOW_MS, delayMs });
    expect(declare('scan', asked, asked).tasks.map(({ when }) => when)).toEqual([
      [{ kind: 'signal', name: 'go' }, timer('wait:5.0:1', 6), timer('wait:5.0:2', 0)],
      [{ kind: 'signal', name: 'go' }, timer('wait:5.1:1', 6), timer('wait:5.1:2', 0)],
    ]);
  });

  it.each([
    ['no time', [{ kind: 'timer', delayMs: Number.NaN }]],
    ['a time beyond ten years', [{ kind: 'timer', delayMs: 1e15 }]],
    ['too many', Array.from({ length: 17 }, () => ({ kind: 'timer', delayMs: 1 }))],
  ] as const)('that wait for %s are refused', (_, anyOf) => {
    const asked = { ...task('read', undefined, { path: 'a' }), when: { anyOf } } as TaskRequest;
    expect(() => declare('scan', asked)).toThrow(expect.objectContaining({ code: 'task-when-invalid' }));
  });

  it('of the opening may follow no id at all', () => {
    expect(() => declareTasks(definition, null, [task('read', ['0.0' as TaskId])], 0 as Sequence, NOW_MS)).toThrow(
      expect.objectContaining({ code: 'task-after-invalid' }),
    );
  });
});

describe('a checkpoint', () => {
  it('names task, step, parent, and the digest of the canonical input', () => {
    expect(commit({ tokens: 3, costMicros: 1.5 }).control).toEqual({
      checkpoint: 'c5',
      sequence: 5,
      parent: 'c4',
      task: '3.1',
      step: 'loop',
      stepVersion: 1,
      inputDigest: sha256Digest.sha256('{"a":2,"b":1}'),
      tasks: [],
      belief: 'none',
      tokens: 3,
      costMicros: 1.5,
      lastAction: 'loop',
      supersedes: null,
    });
  });

  it('is followed by the next run, unless the workflow was cancelled meanwhile', () => {
    const state = { workflow: 'w', ruling: null, frontier: { tasks: [TASK] } } as unknown as StreamState;
    const result = { continueAsNew: null };
    expect(commit(result, { state }).completed?.control).toMatchObject({ continued: 'w~2' });
    expect(commit(result, { state: { ...state, ruling: 'cancel' } }).completed).toBeUndefined();
  });

  it('names the checkpoint that it corrects, and none that is not there', () => {
    expect(commit({ supersedes: 4 as Sequence }).control.supersedes).toBe(4);
    for (const wrong of [0, 5, 1.5]) {
      expect(() => commit({ supersedes: wrong as Sequence })).toThrow(
        expect.objectContaining({ code: 'supersedes-invalid' }),
      );
    }
  });

  it('keeps the output, and null where there is none', () => {
    expect(commit({ output: { n: 1 } }).payload.output).toEqual({ n: 1 });
    expect(commit({}).payload.output).toBeNull();
  });

  it.each([
    ['tokens', -1],
    ['tokens', Number.NaN],
    ['costMicros', Number.POSITIVE_INFINITY],
    ['costMicros', '5'],
    ['tokens', null],
  ])('refuses %s of %s', (field, value) => {
    expect(() => commit({ [field]: value })).toThrow(expect.objectContaining({ code: 'step-result-invalid' }));
  });

  it('is followed by the completion when the step is done, with the digest of the output', () => {
    expect(commit({}).completed).toBeUndefined();
    expect(commit({ done: { b: 1, a: [2] } }).completed).toEqual({
      type: 'WorkflowCompleted',
      control: { outputDigest: sha256Digest.sha256('{"a":[2],"b":1}') },
      payload: { output: { b: 1, a: [2] } },
    });
    // Null is an output; undefined is none.
    expect(commit({ done: null }).completed).toBeDefined();
  });

  it('of the last task must end the workflow or add a task', () => {
    expect(() => commit({ output: 1 }, { isLast: true })).toThrow(
      expect.objectContaining({ code: 'nothing-left', message: expect.stringContaining('Step loop') }),
    );
    expect(commit({ done: null }, { isLast: true }).completed).toBeDefined();
    expect(commit({ next: [task('read')] }, { isLast: true }).completed).toBeUndefined();
  });

  it('is refused with an output that its schema refuses', () => {
    const of = {
      ...definition,
      parseOutput: () => {
        throw new InvalidError('output-invalid', 'no');
      },
    };
    expect(() => commit({ done: 1 }, { of })).toThrow(expect.objectContaining({ code: 'output-invalid' }));
  });
});

describe('belief', () => {
  const believing = (belief: Json): StreamContent => Object.assign(new StreamContent(), { belief });

  it.each([
    ['no update', undefined],
    ['an update that returns the same', (belief: Json) => belief],
    ['an update that returns an equal value', () => ({ n: [1] })],
  ])('is unchanged by %s', (_, belief) => {
    const { control, payload } = commit({ belief }, { content: believing({ n: [1] }) });
    expect(control.belief).toBe('none');
    expect(payload).not.toHaveProperty('delta');
    expect(payload).not.toHaveProperty('snapshot');
  });

  it('is recorded as what changed', () => {
    const { control, payload } = commit(
      { belief: (belief) => ({ ...(belief as object), m: 2 }) },
      { content: believing({ n: 1 }) },
    );
    expect(control.belief).toBe('delta');
    expect(payload.delta).toEqual({ o: { m: { v: 2 } } });
  });

  it('is recorded whole once the deltas outweigh it, and not before', () => {
    const content = Object.assign(believing({ n: 1 }), { deltaBytes: SNAPSHOT_MIN_BYTES });
    const belief = () => ({ n: 2 });
    expect(commit({ belief }, { content }).control.belief).toBe('delta');
    content.deltaBytes++;
    const { control, payload } = commit({ belief }, { content });
    expect(control.belief).toBe('snapshot');
    expect(payload.snapshot).toEqual({ n: 2 });
  });

  it('is updated from the belief at commit, not from that of the step’s begin', () => {
    const content = believing({ n: 41 });
    const { payload } = commit({ belief: (belief) => ({ n: (belief as { n: number }).n + 1 }) }, { content });
    expect(payload.delta).toEqual({ o: { n: { v: 42 } } });
  });

  it.each([
    ['undefined', () => undefined],
    ['a date', () => new Date(0)],
    ['no number', () => ({ n: Number.NaN })],
    [
      'a cycle',
      () => {
        const cycle: Record<string, unknown> = {};
        cycle.self = cycle;
        return cycle;
      },
    ],
  ])('that is %s is refused', (_, belief) => {
    expect(() => commit({ belief })).toThrow(expect.objectContaining({ code: 'not-serialisable' }));
  });

  it('that is asynchronous is refused, and its failure harms nobody', async () => {
    expect(() => commit({ belief: async () => Promise.reject(new Error('unheard')) })).toThrow(
      expect.objectContaining({ code: 'step-result-invalid' }),
    );
    await new Promise((resolve) => setImmediate(resolve));
  });

  it('is not touched by a result that is refused', () => {
    const content = believing({ n: 1 });
    expect(() => commit({ belief: () => ({ n: 2 }), tokens: -1 }, { content })).toThrow();
    expect(content.belief).toEqual({ n: 1 });
  });
});

describe('tasks that are pending at the end', () => {
  const other = (fields: Partial<TaskState>): StreamState =>
    ({
      ...{ workflow: 'w', shadow: false, ruling: null, user: undefined },
      frontier: { tasks: [TASK, { ...TASK, id: '3.2' as TaskId, step: 'read', ...fields }] },
    }) as unknown as StreamState;
  const effect = { key: 'k', operation: 'mail.send', kind: 'idempotent', status: 'done' };
  const child = { kind: 'child', child: 'w~3.2' };

  it('are named by it, and by a warning in the log', () => {
    const { completed, payload } = commit({ done: null }, { state: other({ when: [child] as never }) });
    expect(completed?.control).toMatchObject({ dropped: { count: 1, tasks: ['3.2'] } });
    expect(payload.log).toMatchObject([
      { action: 'warning: pending tasks dropped', detail: { count: 1, tasks: ['3.2 (read)'] } },
    ]);
    expect(commit({ done: null }, { isLast: true }).completed?.control).not.toHaveProperty('dropped');
  });

  it.each([
    ['has called something', 'done-drops-effect', { effects: [effect] }],
    ['waits for a child that runs on', 'done-drops-child', { when: [{ ...child, isAbandoned: true }] }],
  ])('keep it from ending where one %s', (_, code, fields) => {
    expect(() => commit({ done: null }, { state: other(fields as never) })).toThrow(expect.objectContaining({ code }));
    expect(commit({}, { state: other(fields as never) }).completed).toBeUndefined();
  });

  it.each([
    ['that was made for certain', { ...effect, status: 'failed' }],
    ['with an effect outside', { ...effect, kind: 'pure' }],
    ['of a thing that can be compensated (a model has answered)', { ...effect, spend: { tokens: 1, costMicros: 1 } }],
  ])('let it end where no call %s is lost', (_, call) => {
    expect(commit({ done: null }, { state: other({ effects: [call] as never }) }).completed).toBeDefined();
  });
});
