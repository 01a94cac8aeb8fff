/**
 * The comparison rebuilds from the log alone and finds every difference from the agent's reports; a promotion needs its observation, enough
 * runs and no difference, and its state is the same for every process and after every restart.
 */

import { decodePayload, decodeRecord, encodePayload, encodeRecord } from '@tidemark/codec';
import { InvalidError, type Json, type Partition, type WorkflowId } from '@tidemark/core';
import { AGENT, BEGINNING, outputOf, reportAll, reportsOf } from '@tidemark/testkit/engine/shadow-fixture';
import { definitionOf } from '@tidemark/testkit/engine/simulated-definition';
import { SimulatedWorld } from '@tidemark/testkit/engine/simulated-world';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Client } from '../client/client.ts';
import type { ShadowDefinition } from '../definition/shadow-definition.ts';
import { LamportClock } from '../kernel/ports.ts';
import { sha256Digest } from '../kernel/system.ts';
import type { PromoteOptions } from './shadow-account.ts';
import { SHADOW_OBSERVE_MS, SHADOW_WORKFLOWS_MIN } from './shadow-limits.ts';
import type { StepReport } from './shadow-report.ts';
import { isInShare } from './share-members.ts';

const PARTITIONS = 4;

describe('shadow mode', () => {
  let log: SimulatedLog;
  let world: SimulatedWorld;

  const inTime = async <T>(promise: Promise<T>, maxMs = 60_000): Promise<T> => {
    let isSettled = false;
    const settled = promise.finally(() => {
      isSettled = true;
    });
    settled.catch(() => {});
    await world.ports.clock.runUntil(() => isSettled, maxMs);
    return settled;
  };
  const promote = (to?: PromoteOptions['to'], options: Partial<PromoteOptions> = {}, client = world.client) =>
    inTime(client.shadows.promote('agent', { to, by: 'ops', ...options }));
  const account = (client = world.client) => inTime(client.shadows.account('agent'));
  const otherClient = (): Client => new Client({ ports: world.ports, lamport: new LamportClock() });

  beforeEach(async () => {
    log = new SimulatedLog(PARTITIONS);
    world = new SimulatedWorld(log, PARTITIONS);
    await world.coordinator.start();
  });
  afterEach(() => world.close());

  /** Ids in the share, in order. */
  const idsIn = (percent: 1 | 10 | 50 | 100, count: number, from = 0): readonly string[] => {
    const found: string[] = [];
    for (let n = from; found.length < count; n++) {
      if (isInShare(`run-${n}` as WorkflowId, percent, sha256Digest)) found.push(`run-${n}`);
    }
    return found;
  };

  async function reportRuns(ids: readonly string[], definition: ShadowDefinition = AGENT): Promise<void> {
    const runs = ids.map((id) => world.client.shadow(definition, { id, ...BEGINNING }));
    for (const run of runs) reportAll(run, 2);
    for (const run of runs) expect(await inTime(run.flushed(60_000))).toBe(true);
  }

  describe('compares', () => {
    beforeEach(() => promote(100).then(() => {}));

    /** The differences found in one run that is reported like this. */
    async function foundIn(
      report: (run: ReturnType<Client['shadow']>) => void,
      definition: ShadowDefinition = AGENT,
    ): Promise<readonly string[]> {
      const run = world.client.shadow(definition, { id: 'a', ...BEGINNING });
      report(run);
      await inTime(run.flushed());
      const found = await account();
      expect(found.differingCount).toBe(found.differences.length > 0 ? 1 : 0);
      return found.differences.map(({ sequence, path, what }) => `${sequence} ${path}: ${what}`);
    }

    const [plan, first, second] = reportsOf(2);
    const each = (run: ReturnType<Client['shadow']>, reports: readonly StepReport[]): void => {
      for (const report of reports) run.step(report);
    };

    it('a run that is as its agent said: nothing differs', async () => {
      expect(await foundIn((run) => reportAll(run, 2))).toEqual([]);
      expect(await account()).toMatchObject({ agreedCount: 1, openCount: 0, incompleteCount: 0, stepCount: 4 });
    });

    it('a belief that is not what its changes make, by the member', async () => {
      const tampered = { ...first!, belief: { total: 7, seen: [0] } };
      expect(await foundIn((run) => each(run, [plan!, tampered, second!]))).toEqual([
        '2 belief.total: is not what the agent had',
      ]);
    });

    it('a step that was never announced, and one whose announcement was never done', async () => {
      const found = await foundIn((run) => {
        run.step(plan!);
        run.step(first!);
        run.step({ key: 'x', step: 'improvise', pending: ['act'] });
        run.done(outputOf(2));
      });
      expect(found).toEqual([
        "3 frontier: 'improvise' was done and was not pending",
        '4 frontier: the agent ended with act pending',
      ]);
    });

    it('what the agent has pending', async () => {
      const found = await foundIn((run) => {
        run.step({ ...plan!, pending: ['act', 'check'] });
      });
      expect(found).toEqual(['1 frontier: has act, act pending, the agent had act, check']);
    });

    it('another input than the step was added with', async () => {
      const found = await foundIn((run) => each(run, [plan!, { ...first!, input: { n: 9 } }]));
      expect(found).toEqual(["2 input: 'act' was done with another input than it was added with"]);
    });

    it('a step that is reported twice, and not alike', async () => {
      const found = await foundIn((run) => {
        run.step(plan!);
        run.step({ ...plan!, output: 3 });
        run.step(plan!);
      });
      expect(found).toEqual(["1 report: step 'plan' was reported a second time, and not as the first time"]);
    });

    it("what doesn't fit the definition, which a schema may change", async () => {
      const anyJson = (value: unknown): Json => (value ?? null) as Json;
      const step = { mayAdd: new Set<string>(), parseInput: anyJson, parseOutput: anyJson };
      const strict: ShadowDefinition = {
        ...AGENT,
        steps: new Map([
          ['plan', { ...step, mayAdd: new Set(['act']) }],
          ['act', step],
        ]),
        // A schema that knows one member drops the other.
        parseBelief: (value) => ({ total: (value as { total: number }).total }),
        parseOutput: () => {
          throw new InvalidError('output-invalid', 'agent v1, output: total: expected a string');
        },
      };
      const found = await foundIn((run) => {
        run.step(plan!);
        run.step({ ...first!, next: [{ step: 'plan' }] });
        run.done(outputOf(2));
      }, strict);
      expect(found).toEqual([
        "2 definition: task-not-declared: next[0] of agent.act: step 'act' may not add 'plan'. Declare it in flow: act: [..., 'plan'].",
        '2 frontier: has act, plan pending, the agent had act',
        '3 definition: output-invalid: agent v1, output: total: expected a string',
        '3 frontier: the agent ended with act, plan pending',
      ]);
      expect(await foundIn((run) => run.step(plan!), { ...strict, name: 'agent' })).toEqual(found);
    });

    it("members that the definition's schema leaves out", async () => {
      const found = await foundIn((run) => each(run, [plan!, first!]), {
        ...AGENT,
        parseBelief: (value) => ({ total: (value as { total: number }).total }),
      });
      expect(found).toEqual(['2 belief.seen: is not what the agent had']);
    });

    it('with the log, and not with memory', async () => {
      await foundIn((run) => reportAll(run, 2));
      const partition = world.ports.store.placements.get('a' as WorkflowId)!.partition;
      expect((await account()).differences).toEqual([]);
      falsify(partition, { total: 5, seen: [0, 1] });
      expect((await account()).differences).toMatchObject([{ workflow: 'a', sequence: 3, path: 'belief.total' }]);
    });

    /** Changes the log's own bytes: nothing may ever do that, and a comparison with memory would not see it. */
    function falsify(partition: Partition, belief: Json): void {
      const read = log.poll.bind(log);
      log.poll = (...given) =>
        read(...given).map((result) => ({
          ...result,
          records: result.records.map((record) => {
            const entry = decodeRecord(record.value);
            if (entry.kind !== 'event' || entry.envelope.type !== 'CheckpointCommitted') return record;
            if (entry.envelope.control.sequence !== 3 || result.partition !== partition) return record;
            const { delta: _, ...rest } = decodePayload('CheckpointCommitted', entry.payload);
            const changed = encodePayload('CheckpointCommitted', { ...rest, snapshot: belief });
            return { ...record, value: encodeRecord({ envelope: entry.envelope, payload: changed }, 1_048_576) };
          }),
        }));
    }
  });

  describe('promotes', () => {
    it('after the whole period, with enough runs that agree; and tells what is missing before', async () => {
      expect(await promote(10)).toMatchObject({ from: 0, to: 10, refusals: [] });
      const codes = async (to: PromoteOptions['to']) => (await promote(to)).refusals.map(({ code }) => code);
      expect(await codes(50)).toEqual(['too-few', 'too-early']);
      expect(await codes(100)).toEqual(['not-next', 'too-few', 'too-early']);
      await reportRuns(idsIn(10, SHADOW_WORKFLOWS_MIN - 1));
      expect(await codes(50)).toEqual(['too-few', 'too-early']);
      world.ports.clock.jump(SHADOW_OBSERVE_MS - 60_000);
      await reportRuns(idsIn(10, SHADOW_WORKFLOWS_MIN));
      expect(await codes(50)).toEqual(['too-early']);
      world.ports.clock.jump(60_000);
      expect(await promote(50)).toMatchObject({ from: 10, to: 50, refusals: [], account: { agreedCount: 10 } });
      // Runs that were observed at the previous share no longer count.
      expect(await account()).toMatchObject({ rollout: { share: 50, by: 'ops' }, agreedCount: 0 });
      expect(await codes(100)).toEqual(['too-few', 'too-early']);
    });

    it('not while a run differs, until the observation is begun anew', async () => {
      await promote(50);
      const ids = idsIn(50, SHADOW_WORKFLOWS_MIN + 1);
      await reportRuns(ids.slice(1));
      const run = world.client.shadow(AGENT, { id: ids[0]!, ...BEGINNING });
      for (const report of reportsOf(2)) run.step({ ...report, belief: { total: -1, seen: [] } });
      run.done(outputOf(2));
      await inTime(run.flushed());
      world.ports.clock.jump(SHADOW_OBSERVE_MS);
      expect((await promote(100)).refusals).toEqual([{ code: 'differences', message: '4 differences in 1 runs' }]);
      expect((await promote(50)).refusals).toEqual([]);
      await reportRuns(idsIn(50, SHADOW_WORKFLOWS_MIN, 1_000));
      expect((await promote(100)).refusals.map(({ code }) => code)).toEqual(['too-early']);
      world.ports.clock.jump(SHADOW_OBSERVE_MS);
      expect((await promote(100)).refusals).toEqual([]);
    });

    it('with the period and number that are asked for, which the log keeps; down at once', async () => {
      await promote(50);
      await reportRuns(idsIn(50, 2));
      world.ports.clock.jump(1_000);
      expect((await promote(100, { observeMs: 1_000, workflowsMin: 3 })).refusals.map(({ code }) => code)).toEqual([
        'too-few',
      ]);
      expect((await promote(100, { observeMs: 1_000, workflowsMin: 2, by: 'eve' })).refusals).toEqual([]);
      expect(await inTime(world.client.shadows.rollout('agent'))).toMatchObject({
        share: 100,
        by: 'eve',
        observeMs: 1_000,
        workflowsMin: 2,
      });
      expect((await promote(1)).refusals).toEqual([]);
      expect((await promote(0)).refusals).toEqual([]);
      const rows = await world.client.run('~shadow/agent').checkpoints();
      expect(rows.map((row) => row.lastAction)).toEqual(['50 % by ops', '100 % by eve', '1 % by ops', '0 % by ops']);
    });

    it('not for ever, where nothing writes rows', async () => {
      await world.coordinator.stop();
      await expect(promote(10)).rejects.toMatchObject({ code: 'rows-behind' });
    });

    it('once, when two do so at the same time', async () => {
      await promote(10);
      const both = await inTime(
        Promise.allSettled(
          [world.client, otherClient()].map((client) => client.shadows.promote('agent', { to: 1, by: 'x' })),
        ),
      );
      expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      expect(both.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'rollout-changed' } });
    });

    /** Who runs each id. */
    const routes = (ids: readonly string[]) => inTime(Promise.all(ids.map((id) => world.client.route(AGENT, { id }))));

    it('to Tidemark itself what was observed, by id: a larger share holds the smaller one, and all is back at once', async () => {
      const [low, high] = [
        idsIn(10, 3),
        idsIn(50, 40)
          .filter((id) => !idsIn(10, 20).includes(id))
          .slice(0, 3),
      ];
      const again = idsIn(50, 300).filter((id) => !low.includes(id) && !high.includes(id));
      const [lower, higher] = [
        idsIn(10, 30).slice(3, 6),
        again.filter((id) => !idsIn(10, 60).includes(id)).slice(0, 3),
      ];
      await promote(100);
      expect(await routes([...low, ...high])).toEqual(Array(6).fill('observed'));
      const codes = async (options: Partial<PromoteOptions>) =>
        (await promote(undefined, { mode: 'active', ...options })).refusals.map(({ code }) => code);
      expect(await codes({ to: 10 })).toEqual(['too-few', 'too-early']);
      await reportRuns(idsIn(100, SHADOW_WORKFLOWS_MIN, 1_000));
      world.ports.clock.jump(SHADOW_OBSERVE_MS);
      expect(await codes({ to: 10 })).toEqual([]);
      expect(await routes([...lower, ...higher])).toEqual([...Array(3).fill('tidemark'), ...Array(3).fill('observed')]);
      // Each further share waits for its own observation, of what is left.
      expect(await codes({ to: 50 })).toEqual(['too-few', 'too-early']);
      await reportRuns(idsIn(100, 5, 2_000));
      expect(await codes({ to: 50, observeMs: 0, workflowsMin: 1 })).toEqual([]);
      expect(await routes([...lower, ...idsIn(50, 3, 5_000)])).toEqual(Array(6).fill('tidemark'));
      expect(await promote(undefined, { mode: 'observe' })).toMatchObject({ refusals: [], to: 100 });
      // All that nobody asked about is; what was told to go to Tidemark goes there.
      expect(await routes([...lower, ...higher, ...idsIn(10, 3, 9_000)])).toEqual([
        ...Array(3).fill('tidemark'),
        ...Array(6).fill('observed'),
      ]);
      const rows = await world.client.run('~shadow/agent').checkpoints();
      expect(rows.map((row) => row.lastAction)).toEqual([
        '100 % by ops',
        '100 %, of which Tidemark runs 10 %, by ops',
        '100 %, of which Tidemark runs 50 %, by ops',
        '100 % by ops',
      ]);
    });

    /** Observes this share, and has Tidemark run that one, without the periods between. */
    async function activate(share: 10 | 50 | 100, active: 10 | 50 | 100): Promise<void> {
      await promote(share);
      const needed = { mode: 'active', observeMs: 0, workflowsMin: 1 } as const;
      for (const to of [10, 50, 100] as const) {
        if (to > active) return;
        // Only runs that are observed count: those above the share that Tidemark runs.
        await reportRuns(idsIn(share, 20, to * 1_000));
        expect((await promote(to, needed)).refusals).toEqual([]);
      }
    }

    it('to the agent for good what it was once told to run, whatever the shares become, and for every process', async () => {
      const ids = idsIn(10, 4);
      // The agent begins two of them unobserved, before any share was set, and two observed; no report arrives.
      const before = await routes(ids.slice(0, 2));
      await promote(100);
      expect([...before, ...(await routes(ids.slice(2)))]).toEqual(['agent', 'agent', 'observed', 'observed']);
      await activate(100, 10);
      // The control: an id of the share of which nobody asked before.
      expect(await routes([...ids, ...idsIn(10, 1, 9_000)])).toEqual([...Array(4).fill('observed'), 'tidemark']);
      await promote(undefined, { mode: 'observe', to: 0 });
      expect(await routes(ids)).toEqual(Array(4).fill('agent'));
      expect(await inTime(otherClient().route({ name: 'another' }, { id: ids[0]! }))).toBe('agent');
    });

    const started = (id: string) =>
      inTime(world.client.start(definitionOf({ name: 'agent', steps: { a: () => ({ done: 1 }) } }), null, { id }));

    /** Two processes ask about one id, the first by shares that `change` has changed before it answers. */
    async function aroundA(change: () => Promise<unknown>, id: string): Promise<readonly unknown[]> {
      const { store } = world.ports;
      const place = store.place.bind(store);
      let release = (): void => {};
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      store.place = async (...asked) => {
        store.place = place;
        await released;
        return place(...asked);
      };
      const stale = world.client.route(AGENT, { id });
      await world.ports.clock.runUntil(() => store.place === place, 1_000);
      await change();
      const fresh = await inTime(otherClient().route(AGENT, { id }));
      release();
      return [await inTime(stale), fresh, ...(await routes([id]))];
    }
    const lower = () => promote(undefined, { mode: 'observe' });

    it('alike for two processes that ask around a raise and around a lowering: the first claim holds', async () => {
      const [raised, lowered, later] = idsIn(10, 3) as [string, string, string];
      await promote(100);
      expect(await aroundA(() => activate(100, 10), raised)).toEqual(Array(3).fill('tidemark'));
      expect(await routes([later])).toEqual(['tidemark']);
      expect(await aroundA(lower, lowered)).toEqual(Array(3).fill('observed'));
      // What was told to start it may do so after the lowering, and what is left to the agent nobody starts.
      expect(await routes([raised, later])).toEqual(['tidemark', 'tidemark']);
      await expect(started(raised)).resolves.toMatchObject({ created: true });
      await expect(started(lowered)).rejects.toMatchObject({ code: 'workflow-claimed' });
      // The agent reports nothing of it either.
      const problems: unknown[] = [];
      const run = otherClient().shadow(AGENT, { id: later, ...BEGINNING, onProblem: (error) => problems.push(error) });
      reportAll(run, 1);
      await inTime(run.flushed());
      expect(problems[0]).toMatchObject({ code: 'workflow-claimed' });
    });

    it('and, as a control, otherwise where the store lets both claims be', async () => {
      const { store } = world.ports;
      const place = store.place.bind(store);
      store.place = (requests, rules) =>
        place(
          requests.map((each) => ({ ...each, unless: [] })),
          rules,
        );
      const [id] = idsIn(10, 1) as [string];
      await activate(100, 10);
      expect((await aroundA(lower, id)).slice(0, 2)).toEqual(['tidemark', 'observed']);
    });

    it('or starts it, when somebody starts it unasked at the same time: never both', async () => {
      await promote(100);
      const ids = idsIn(10, 6);
      const both = await inTime(
        Promise.all(
          ids.map(async (id, n) => {
            const [first, second] = [world.client, otherClient()];
            const begin = () =>
              first.start(definitionOf({ name: 'agent', steps: { a: () => ({ done: 1 }) } }), null, { id }).then(
                () => 'started',
                ({ code }) => code,
              );
            const ask = () => second.route(AGENT, { id }).catch(({ code }) => code);
            return n % 2 === 0
              ? Promise.all([begin(), ask()])
              : Promise.all([ask(), begin()]).then((all) => all.reverse());
          }),
        ),
      );
      for (const pair of both) {
        expect([
          ['workflow-claimed', 'observed'],
          ['started', 'tidemark'],
          ['started', 'rows-behind'],
        ]).toContainEqual(pair);
      }
    });

    it('what Tidemark runs is not observed, unless the agent began it', async () => {
      const [begun, fresh] = idsIn(10, 2) as [string, string];
      await promote(100);
      expect(await routes([begun])).toEqual(['observed']);
      await activate(100, 10);
      const other = otherClient();
      const runs = [begun, fresh].map((id) => other.shadow(AGENT, { id, ...BEGINNING }));
      for (const run of runs) reportAll(run, 1);
      for (const run of runs) await inTime(run.flushed());
      expect(runs.map(({ observed }) => observed)).toEqual([true, false]);
    });

    it('keeps what Tidemark runs when another share is observed, but for what is observed no more', async () => {
      await activate(50, 10);
      await reportRuns(idsIn(50, 20, 70_000));
      expect((await promote(100, { observeMs: 0, workflowsMin: 1 })).refusals).toEqual([]);
      const shares = async () => inTime(world.client.shadows.rollout('agent'));
      expect(await shares()).toMatchObject({ share: 100, active: 10 });
      await promote(50);
      expect(await shares()).toMatchObject({ share: 50, active: 10 });
      await promote(1);
      expect(await shares()).toMatchObject({ share: 1, active: 1 });
      await promote(undefined, { mode: 'observe' });
      expect(await shares()).toMatchObject({ share: 1, active: 0 });
    });

    it('no more to Tidemark than is observed, step by step, not without a share, and not without a run that agrees', async () => {
      await promote(10);
      const refused = async (to: PromoteOptions['to']) =>
        (await promote(to, { mode: 'active', observeMs: 0, workflowsMin: 1 })).refusals.map(({ message }) => message);
      const few = '0 runs ended and agree, 1 are needed (0 have not ended, 0 lost reports)';
      expect(await refused(10)).toEqual([few]);
      expect(await refused(1)).toEqual(['after 0 % comes 10 %, not 1 %', few]);
      expect(await refused(50)).toEqual(['after 0 % comes 10 %, not 50 %', '10 % are observed, fewer than 50 %', few]);
      await promote(0);
      await promote(100);
      expect(await refused(100)).toEqual(['after 0 % comes 10 %, not 100 %', few]);
      await expect(promote(undefined, { mode: 'active' })).rejects.toMatchObject({ code: 'shadow-share-invalid' });
      for (const bad of [
        { workflowsMin: 0 },
        { workflowsMin: Number.NaN },
        { observeMs: -1 },
        { observeMs: Number.NaN },
      ])
        await expect(promote(50, bad)).rejects.toMatchObject({ code: 'shadow-promotion-invalid' });
    });

    it('nothing that has begun elsewhere: what the agent began it ends, and so does Tidemark', async () => {
      const [observed, started] = idsIn(10, 2) as [string, string];
      await promote(10);
      await reportRuns([observed]);
      expect((await promote(10, { mode: 'active', observeMs: 0, workflowsMin: 1 })).refusals).toEqual([]);
      await inTime(
        world.client.start(definitionOf({ name: 'agent', steps: { a: () => ({ done: 1 }) } }), null, { id: started }),
      );
      await world.ports.clock.run(1_000);
      expect(await routes([observed, started])).toEqual(['observed', 'tidemark']);
      await promote(undefined, { mode: 'observe' });
      expect(await routes([observed, started])).toEqual(['observed', 'tidemark']);
    });

    it('for every process, also after rows and memory were lost', async () => {
      await activate(10, 10);
      const [begun, fresh] = idsIn(10, 2) as [string, string];
      await promote(undefined, { mode: 'observe' });
      expect(await routes([begun])).toEqual(['observed']);
      await reportRuns(idsIn(10, 1, 50_000));
      await promote(10, { mode: 'active', observeMs: 0, workflowsMin: 1 });
      await world.coordinator.stop();
      world.ports.store.drop();
      const later = new SimulatedWorld(log, PARTITIONS);
      world = later;
      await later.ports.store.addPartitions([]);
      await later.coordinator.start();
      await later.ports.clock.run(10_000);
      expect(await inTime(later.client.shadows.rollout('agent'))).toMatchObject({ share: 10, by: 'ops' });
      expect(await routes([begun, fresh])).toEqual(['observed', 'tidemark']);
    });
  });
});
