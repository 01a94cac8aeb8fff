import type { Client, Event, Workflow, WorkflowView } from '@tidemark/client';
import { describe, expect, it } from 'vitest';
import { type Change, recordOf, resumed, withCounts } from './change.ts';
import { CROWD_MIN_COUNT, FleetFollower, Followed, followOne } from './follower.ts';
import { Narrator } from './words.ts';

const START_MS = new Date(2026, 2, 1, 12, 0, 0).getTime();
const atSecond = (second: number): string => new Date(START_MS + second * 1_000).toISOString();

/** Workflows of which a test says what happens to them; each event takes a second. */
class World {
  readonly #events = new Map<string, Event[]>();
  readonly #rows = new Map<string, Workflow>();

  happen(id: string, type: string, control: object = {}, payload: object = {}): void {
    const events = this.#events.get(id) ?? [];
    const position = events.length + 1;
    events.push({ position, type, at: atSecond(position - 1), control, payload } as unknown as Event);
    this.#events.set(id, events);
    const status = ENDS[type] ?? 'open';
    const row = {
      ...{ workflow: id, definition: 'count', definition_version: 1, status, activity: 'running', position },
      ...{ opened_at: atSecond(0), updated_at: atSecond(position - 1), undo: null, frontier: [] },
      sequence_number: events.filter((event) => event.type === 'CheckpointCommitted').length,
    };
    this.#rows.set(id, row as unknown as Workflow);
  }

  /** Opened, and so many checkpoints. */
  run(id: string, count: number): void {
    this.happen(id, 'WorkflowOpened');
    for (let sequence = 1; sequence <= count; sequence++) {
      this.happen(id, 'CheckpointCommitted', { sequence, step: 'tick', lastAction: `did ${sequence}`, tokens: 0 });
    }
  }

  /** The same world, of which only one is listed. */
  only(id: string): World {
    const world = new World();
    world.#events.set(id, this.#events.get(id)!);
    world.#rows.set(id, this.#rows.get(id)!);
    return world;
  }

  row(id: string): Workflow {
    return this.#rows.get(id)!;
  }

  client(onListed = (): void => {}): Client {
    const events = this.#events;
    const rows = this.#rows;
    return {
      run: (id: string) => ({
        get: async () => rows.get(id),
        async *events({ from }: { readonly from: number }) {
          for (const data of events.get(id)!.slice(from - 1)) yield { name: 'event', data };
        },
      }),
      async *changes({ signal }: { readonly signal: AbortSignal }) {
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        yield* [];
      },
      async *all({ status }: { readonly status?: string }) {
        yield* rows.values();
        if (status === 'compensating') onListed();
      },
    } as unknown as Client;
  }
}

const ENDS: Readonly<Record<string, string>> = { WorkflowCompleted: 'completed', WorkflowFailed: 'failed' };

async function reported(changes: AsyncIterable<Change>): Promise<readonly Change[]> {
  const all: Change[] = [];
  for await (const change of changes) all.push(change);
  return all;
}

const { signal } = new AbortController();

/** What is told of all at the first look. */
async function firstOf(follower: FleetFollower, world: World, crowds: boolean): Promise<readonly Change[]> {
  const enough = new AbortController();
  const client = world.client(() => enough.abort());
  return reported(follower.changes({ client, signal: enough.signal, crowds }));
}

describe('following one', () => {
  it('begins with all that has been where nothing was told yet, and says how long each took', async () => {
    const world = new World();
    world.run('w', 2);
    const changes = await reported(
      followOne('w', new Followed(world.row('w'), true), { client: world.client(), signal }),
    );
    expect(changes.map(({ type }) => type)).toEqual(['started', 'checkpoint', 'checkpoint']);
    expect(changes[2]).toMatchObject({ facts: { sequence_number: 2, took_ms: 1_000 } });
  });

  it('tells what came after what was told, each once, in the order of the stream', async () => {
    const world = new World();
    world.run('w', 2);
    const followed = new Followed(world.row('w'), false);
    world.happen('w', 'CheckpointCommitted', { sequence: 3 });
    world.happen('w', 'StepFailed', { task: '2.0', attempt: 1, code: 'x', retry: { delayMs: 500 } });
    world.happen('w', 'WorkflowFailed', { code: 'x' }, { error: { message: 'never' } });
    const changes = await reported(followOne('w', followed, { client: world.client(), signal }));
    expect(changes).toMatchObject([
      { type: 'checkpoint', facts: { took_ms: null } },
      { type: 'step_failed', facts: { retry_ms: 500 } },
      { type: 'failed', facts: { reason: 'x', message: 'never', took_ms: 5_000 } },
    ]);
  });

  it('tells a crowd by its number, and each of it where programs read', async () => {
    const world = new World();
    world.run('w', CROWD_MIN_COUNT + 1);
    const client = world.client();
    const people = await reported(followOne('w', new Followed(world.row('w'), true), { client, signal, crowds: true }));
    expect(people.slice(1)).toMatchObject([{ type: 'checkpoints', facts: { from: 1, to: CROWD_MIN_COUNT + 1 } }]);
    expect(await reported(followOne('w', new Followed(world.row('w'), true), { client, signal }))).toHaveLength(
      CROWD_MIN_COUNT + 2,
    );
  });
});

describe('following all', () => {
  it('tells what moved after the baseline alone', async () => {
    const world = new World();
    world.run('a', 1);
    world.run('b', 1);
    const follower = new FleetFollower();
    expect(await follower.baseline(world.client())).toHaveLength(2);
    world.happen('b', 'CheckpointCommitted', { sequence: 2, step: 'tick' });
    expect(await firstOf(follower, world, false)).toMatchObject([{ type: 'checkpoint', workflow: 'b' }]);
    expect(await firstOf(follower, world, false)).toEqual([]);
  });

  it('does not tell what has been of one that was beyond the baseline, but what comes', async () => {
    const world = new World();
    world.run('old', 3);
    world.run('new', 1);
    const follower = new FleetFollower();
    await follower.baseline(world.only('new').client());
    world.happen('old', 'CheckpointCommitted', { sequence: 4, step: 'tick' });
    expect(await firstOf(follower, world, false)).toEqual([]);
    world.happen('old', 'CheckpointCommitted', { sequence: 5, step: 'tick' });
    expect(await firstOf(follower, world, false)).toMatchObject([
      { type: 'checkpoint', facts: { sequence_number: 5 } },
    ]);
  });

  it('tells people of many at once by their number', async () => {
    const world = new World();
    for (let at = 0; at < CROWD_MIN_COUNT; at++) {
      world.run(`w${at}`, 2);
      world.happen(`w${at}`, 'WorkflowCompleted');
    }
    const [crowd] = await firstOf(new FleetFollower(), world, true);
    const line = new Narrator((_, text) => text, { showsWorkflow: true, at: {} }).line(crowd!);
    expect(line.slice(10)).toBe('25 workflows moved on: 50 checkpoints, 25 completed');
  });
});

describe('a line', () => {
  const row = { workflow: 'refund-1', definition: 'refund', opened_at: atSecond(0), position: 0, sequence_number: 0 };
  const narrator = new Narrator((_, text) => text, { showsWorkflow: false, at: { state: 'my state' } });

  /** What people and programs get of events, each a second after the one before. */
  function changesOf(...events: readonly (readonly [type: string, control?: object, payload?: object])[]) {
    const followed = new Followed(row as unknown as Workflow, true);
    const all = events.map(([type, control = {}, payload = {}], at) => {
      const position = at + 1;
      return { position, type, at: atSecond(at), epoch: 1, holder: null, control, payload } as unknown as Event;
    });
    followed.add(all);
    return followed.pending.map((change) => ({
      line: narrator.line(change).replace(/^[\d:]+ {2}/, ''),
      ...recordOf(change),
    }));
  }

  it('says in a line what happened, with what a step did, took and cost; programs get an object', () => {
    const checkpoint = { sequence: 1, checkpoint: 'c1', task: '0.0', step: 'credit', tokens: 0, costMicros: 0 };
    const changes = changesOf(
      ['WorkflowOpened', { definition: 'refund', version: 2 }],
      [
        'StepFailed',
        { task: '0.0', attempt: 2, code: 'x', retry: { delayMs: 400 } },
        { error: { message: 'no\nway' } },
      ],
      ['LeaseReleased', { reason: 'idle' }],
      ['TimerFired', { timer: 'retry:0.0:1' }],
      ['CheckpointCommitted', { ...checkpoint, lastAction: 'credit issued', tokens: 1_200, costMicros: 12_000 }],
      ['CheckpointCommitted', { ...checkpoint, sequence: 2, lastAction: 'credit' }],
      ['WorkflowParked', { code: 'effect-open' }, { error: { message: 'in doubt' } }],
      ['WorkflowCompleted', {}, { output: 1 }],
    );
    const about = { workflow: 'refund-1', definition: 'refund' };
    expect(changes).toMatchObject([
      { ...about, line: 'started refund v2', type: 'started', at: atSecond(0), definition_version: 2 },
      { line: 'step failed (x, task 0.0, attempt 2): no⏎way  again in 400 ms', type: 'step_failed', retry_ms: 400 },
      { line: '#1 credit: credit issued  4.0 s, 1,200 tokens, $0.0120', type: 'checkpoint', took_ms: 4_000 },
      { line: '#2 credit  1.0 s', sequence_number: 2, checkpoint_id: 'c1', task: '0.0' },
      { line: 'waits for a person (effect-open): in doubt', type: 'parked', message: 'in doubt' },
      { line: 'completed in 7.0 s', type: 'completed', output: 1, took_ms: 7_000 },
    ]);
    expect(Object.keys(changes[0]!)).not.toContain('description');
  });

  it('says what an undo did once that is known, and from where a run resumes', () => {
    const { workflow, definition } = row;
    const followed = new Followed(row as unknown as Workflow, true);
    const control = { undo: 'u', outcome: 'compensated' };
    followed.add([{ position: 1, type: 'CompensationFinished', at: atSecond(3), control } as unknown as Event]);
    const lineOf = (change: Change): string => narrator.line(change).slice(10);
    expect(followed.pending.map((change) => lineOf(withCounts(change, { undone_count: 2, left_count: 1 })))).toEqual([
      'was compensated in 3.0 s: 2 compensated, 1 left as it is',
    ]);
    const resumedFrom = (sequence: number) => lineOf(resumed({ workflow, definition }, atSecond(0), sequence));
    expect([0, 3].map(resumedFrom)).toEqual(['resumes from its start', 'resumes from checkpoint #3']);
  });

  it('says once that it waits for a person, with the commands that answer', () => {
    const followed = new Followed(row as unknown as Workflow, false);
    const asking = {
      task: '3.0',
      step: 'tool',
      state: 'pending',
      why: 'waits for the approval tool',
      blocked_on: [{ on: 'approval' }],
    };
    const view = {
      ...row,
      activity: 'waiting',
      updated_at: atSecond(3),
      frontier: [asking],
    } as unknown as WorkflowView;
    const [asked] = followed.waiting(view);
    expect(narrator.line(asked!).slice(10).split('\n')).toEqual([
      'waiting 3.0 tool: waits for the approval tool',
      "    tidemark approve refund-1 --task 3.0 --state 'my state' --value JSON --why TEXT",
      "    tidemark reject refund-1 --task 3.0 --state 'my state' --why TEXT",
    ]);
    expect(recordOf(asked!)).toMatchObject({ type: 'waiting', approvals: ['3.0'] });
    expect(followed.waiting(view)).toEqual([]);
  });
});
