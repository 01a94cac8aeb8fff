import type { Client, Event, Workflow } from '@tidemark/client';
import { describe, expect, it } from 'vitest';
import type { Change, Crowd } from './change.ts';
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

async function reported(changes: AsyncIterable<Change | Crowd>): Promise<readonly (Change | Crowd)[]> {
  const all: (Change | Crowd)[] = [];
  for await (const change of changes) all.push(change);
  return all;
}

const { signal } = new AbortController();

/** What is told of all at the first look. */
async function firstOf(follower: FleetFollower, world: World, crowds: boolean): Promise<readonly (Change | Crowd)[]> {
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
    expect(changes[2]).toMatchObject({ sequence_number: 2, took_ms: 1_000 });
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
      { type: 'checkpoint', took_ms: null },
      { type: 'step_failed', retry_ms: 500 },
      { type: 'failed', reason: 'x', message: 'never', took_ms: 5_000 },
    ]);
  });

  it('tells a crowd by its number, and each of it where programs read', async () => {
    const world = new World();
    world.run('w', CROWD_MIN_COUNT + 1);
    const client = world.client();
    const people = await reported(followOne('w', new Followed(world.row('w'), true), { client, signal, crowds: true }));
    expect(people.slice(1)).toMatchObject([{ type: 'checkpoints', from: 1, to: CROWD_MIN_COUNT + 1 }]);
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
    expect(await firstOf(follower, world, false)).toMatchObject([{ type: 'checkpoint', sequence_number: 5 }]);
  });

  it('tells people of many at once by their number', async () => {
    const world = new World();
    for (let at = 0; at < CROWD_MIN_COUNT; at++) {
      world.run(`w${at}`, 2);
      world.happen(`w${at}`, 'WorkflowCompleted');
    }
    const [crowd] = await firstOf(new FleetFollower(), world, true);
    expect(crowd).toMatchObject({ type: 'crowd', workflow_count: 25, checkpoint_count: 50, completed_count: 25 });
  });
});

describe('telling', () => {
  const about = { workflow: 'refund-1', definition: 'refund', at: new Date(START_MS).toISOString() };
  const narrator = new Narrator((_, text) => text, { showsWorkflow: true });

  it.each<[Change, string]>([
    [{ ...about, type: 'started', definition_version: 2 }, 'started refund v2'],
    [{ ...about, type: 'resumed', sequence_number: 3 }, 'resumes from checkpoint #3'],
    [{ ...about, type: 'resumed', sequence_number: 0 }, 'resumes from its start'],
    [{ ...about, type: 'signal', name: 'approved' }, 'signal approved came'],
    [
      { ...about, type: 'step_failed', task: '1.0', attempt: 2, code: 'x', message: 'no\nway', retry_ms: 400 },
      'step failed (task 1.0, attempt 2): no⏎way; again in 400 ms',
    ],
    [
      { ...about, type: 'parked', reason: 'effect-open', message: 'in doubt' },
      'waits for a person (effect-open): in doubt',
    ],
    [{ ...about, type: 'failed', reason: 'x', message: 'broke', took_ms: 5 }, 'failed (x): broke'],
    [
      { ...about, type: 'checkpoints', from: 2, to: 40, last_action: 'did 40' },
      '#2–#40 39 checkpoints, the last: did 40',
    ],
    [{ ...about, type: 'lease_lost', holder: 'w', reason: 'dead' }, 'lease revoked (dead): another worker resumes it'],
    [
      { ...about, type: 'waiting', tasks: ['2.0 credit: waits for signal approved'] },
      'waiting 2.0 credit: waits for signal approved',
    ],
    [{ ...about, type: 'completed', output: 1, took_ms: 61_000 }, 'completed in 1 min 1 s'],
  ])('says %j in words', (change, words) => {
    expect(narrator.line(change)).toBe(`12:00:00  refund-1  ${words}`);
  });

  it('names the action where the step gave one, and what it cost', () => {
    const checkpoint = {
      ...about,
      type: 'checkpoint',
      sequence_number: 7,
      checkpoint_id: 'c7',
      task: '6.0',
      step: 'credit',
      last_action: 'credit issued',
      tokens: 1_200,
      cost_micros: 12_000,
      took_ms: 320,
    } as const;
    expect(narrator.line(checkpoint)).toMatch(/#7 credit: credit issued {2}320 ms, 1,200 tokens, \$0\.0120$/);
    const silent = { ...checkpoint, last_action: 'credit', tokens: 0, cost_micros: 0, took_ms: null };
    expect(narrator.line(silent)).toMatch(/#7 credit$/);
  });
});
