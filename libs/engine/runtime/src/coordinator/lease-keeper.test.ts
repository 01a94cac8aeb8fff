/** Leases of dead workers end, those of living ones do not; an untrusted view ends none. */

import type { Epoch, HolderId, Partition, WorkflowId } from '@tidemark/core';
import { UnavailableError } from '@tidemark/core';
import type { LeaseRow } from '@tidemark/ports';
import { entriesOf, P0, TENANT } from '@tidemark/testkit/engine/simulated-definition';
import { type SimulatedPorts, simulatedPorts } from '@tidemark/testkit/engine/simulated-ports';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { beforeEach, describe, expect, it } from 'vitest';
import { POLL_REST } from '../kernel/backoff.ts';
import { LamportClock } from '../kernel/ports.ts';
import { Inbox } from '../lease/inbox.ts';
import { GHOST_GRACE_MS, LEASE_POLL_PERIOD_MS, LeaseKeeper } from './lease-keeper.ts';

describe('a lease keeper', () => {
  let log: SimulatedLog;
  let ports: SimulatedPorts;
  let keeper: LeaseKeeper;
  let leases: LeaseRow[];

  beforeEach(() => {
    log = new SimulatedLog(2);
    ports = simulatedPorts(log);
    keeper = new LeaseKeeper(ports, new Inbox(ports, new LamportClock()));
    leases = [lease('w', 'h1')];
    ports.store.leases = async () => leases;
  });

  const lease = (workflow: string, holder: string, epoch = 1, partition = 0): LeaseRow => ({
    workflow: workflow as WorkflowId,
    tenant: TENANT,
    definition: 'd',
    partition: partition as Partition,
    generation: 1 as never,
    epoch: epoch as Epoch,
    holder: holder as HolderId,
  });
  const beats = (holder: string, ...held: [string, number][]): void => {
    ports.liveness.holders.set(holder as HolderId, new Map(held as [WorkflowId, Epoch][]));
  };
  const revoked = async (partition = P0) =>
    (await entriesOf(log, partition)).map((entry) =>
      entry.kind === 'event' ? [entry.envelope.workflow, entry.envelope.control] : undefined,
    );

  it.each([true, false])(
    'revokes the lease of a holder that is dead, by its epoch and name; gone: %s',
    async (isGone) => {
      if (!isGone) ports.liveness.silent.add('h1' as HolderId);
      await keeper.check();
      expect(await revoked()).toEqual([['w', { epoch: 1, holder: 'h1', reason: 'holder-dead', isGone }]]);
    },
  );

  it('says how many others ended with it: by rows, and by what the holder listed last', async () => {
    const others = ['x', 'y'].map((name) => lease(name, 'h1', 1, 1));
    beats('h1', ['w', 1], ['x', 1], ['y', 1], ['claimed-a-moment-ago', 1]);
    leases = [lease('w', 'h1'), ...others, lease('z', 'h2', 1, 1)];
    beats('h2', ['z', 1]);
    await keeper.check();
    ports.liveness.holders.clear();
    await keeper.check();
    expect(await revoked()).toEqual([
      ['w', { epoch: 1, holder: 'h1', reason: 'holder-dead', isGone: true, beside: 3 }],
    ]);
    expect((await revoked(1 as Partition)).at(-1)).toEqual([
      'z',
      { epoch: 1, holder: 'h2', reason: 'holder-dead', isGone: true },
    ]);
    // A claim that comes to rows when the others have gone from them.
    leases = [lease('claimed-a-moment-ago', 'h1', 7, 1)];
    await keeper.check();
    expect((await revoked(1 as Partition)).at(-1)?.[1]).toMatchObject({ epoch: 7, beside: 3 });
  });

  it('leaves the lease of a holder that lives and lists it', async () => {
    beats('h1', ['w', 1]);
    await keeper.check();
    ports.clock.jump(10 * GHOST_GRACE_MS);
    await keeper.check();
    expect(await revoked()).toEqual([]);
  });

  it('revokes a lease that its living holder does not list, after the grace and not before', async () => {
    beats('h1', ['w', 2], ['x', 1]);
    await keeper.check();
    ports.clock.jump(GHOST_GRACE_MS);
    await keeper.check();
    expect(await revoked()).toEqual([]);
    ports.clock.jump(LEASE_POLL_PERIOD_MS);
    await keeper.check();
    expect(await revoked()).toEqual([['w', { epoch: 1, holder: 'h1', reason: 'lease-not-listed', isGone: false }]]);
  });

  it('begins the grace anew when the lease was listed meanwhile, or the view proved nothing', async () => {
    for (const interruption of [() => beats('h1', ['w', 1]), () => (ports.liveness.isTrusted = false)]) {
      beats('h1');
      await keeper.check();
      ports.clock.jump(GHOST_GRACE_MS);
      interruption();
      await keeper.check();
      beats('h1');
      ports.liveness.isTrusted = true;
      ports.clock.jump(GHOST_GRACE_MS);
      await keeper.check();
      expect(await revoked()).toEqual([]);
      beats('h1', ['w', 1]);
      await keeper.check();
    }
  });

  it('reads leases when someone has died or may have, and now and then', async () => {
    let readCount = 0;
    ports.store.leases = async () => {
      readCount++;
      return leases;
    };
    beats('h1', ['w', 1]);
    await keeper.check();
    await keeper.check();
    expect(readCount).toBe(1);
    readCount = 0;
    keeper.suspect();
    for (let check = 0; check < 3; check++) await keeper.check();
    expect(readCount).toBe(1);
    readCount = 0;
    ports.clock.jump(LEASE_POLL_PERIOD_MS);
    await keeper.check();
    expect(readCount).toBe(1);
    // A slow poll rests longer.
    ports.clock.jump(LEASE_POLL_PERIOD_MS);
    ports.store.leases = async () => {
      readCount++;
      ports.clock.jump(LEASE_POLL_PERIOD_MS);
      return leases;
    };
    await keeper.check();
    ports.clock.jump(POLL_REST * LEASE_POLL_PERIOD_MS - 1);
    await keeper.check();
    expect(readCount).toBe(2);
    ports.clock.jump(1);
    await keeper.check();
    expect(readCount).toBe(3);
    readCount = 1;
    beats('h2', ['x', 1]);
    await keeper.check();
    expect(readCount).toBe(1);
    ports.liveness.holders.delete('h1' as HolderId);
    await keeper.check();
    expect(readCount).toBe(2);
    expect(await revoked()).toHaveLength(1);
  });

  it('finds a claim that came to the rows after the look at its dead holder, without a period; of one that lives it reads nothing (control)', async () => {
    const holder = 'worker-1' as HolderId;
    for (const isAlive of [true, false]) {
      if (isAlive) beats('worker-1', ['w', 1]);
      else ports.liveness.holders.clear();
      leases = [];
      // These checks find nobody missing, and no poll is due.
      await keeper.check();
      await keeper.check();
      leases = [lease('w', 'worker-1')];
      expect(keeper.applied([{ holder: null }, { holder }])).toBe(!isAlive);
      await keeper.check();
      expect(await revoked()).toHaveLength(isAlive ? 0 : 1);
      expect(keeper.applied([{ holder: null }])).toBe(false);
    }
  });

  it('leaves one that lets go in the write in which it claims to the look that is due', async () => {
    await keeper.check();
    expect(keeper.applied([{ holder: 'shadow-1' as HolderId }])).toBe(false);
  });

  it('finds a claim that comes to the rows while it looks', async () => {
    leases = [];
    ports.store.leases = async () => {
      const seen = leases;
      if (leases.length === 0) expect(keeper.applied([{ holder: 'worker-1' as HolderId }])).toBe(true);
      leases = [lease('w', 'worker-1')];
      return seen;
    };
    await keeper.check();
    expect(await revoked()).toEqual([]);
    await keeper.check();
    expect(await revoked()).toHaveLength(1);
  });

  it('looks again when it could not', async () => {
    beats('h1', ['w', 1]);
    await keeper.check();
    const read = ports.store.leases;
    ports.store.leases = () => Promise.reject(new UnavailableError('store-unavailable', 'away'));
    ports.liveness.holders.clear();
    await expect(keeper.check()).rejects.toMatchObject({ code: 'store-unavailable' });
    ports.store.leases = read;
    await keeper.check();
    expect(await revoked()).toHaveLength(1);
  });

  it('revokes nobody in a view that proves nothing; the same view, trusted, does (control)', async () => {
    ports.liveness.isTrusted = false;
    await keeper.check();
    ports.clock.jump(10 * GHOST_GRACE_MS);
    await keeper.check();
    expect(await revoked()).toEqual([]);
    ports.liveness.isTrusted = true;
    await keeper.check();
    expect(await revoked()).toHaveLength(1);
  });

  it('does not take for dead a holder that began to beat and claimed while it looked', async () => {
    leases = [];
    // Right after the first of the two reads a new worker sends a heartbeat and claims, and its claim is projected.
    const arrive = (): void => {
      beats('h2', ['w', 1]);
      leases = [lease('w', 'h2')];
    };
    ports.store.leases = async () => {
      const seen = leases;
      arrive();
      return seen;
    };
    const view = ports.liveness.view.bind(ports.liveness);
    ports.liveness.view = async () => {
      const seen = await view();
      arrive();
      return seen;
    };
    await keeper.check();
    await keeper.check();
    expect(await revoked()).toEqual([]);
  });

  it('writes each revocation once while the rows lag, and again for another epoch', async () => {
    await keeper.check();
    await keeper.check();
    expect(await revoked()).toHaveLength(1);
    leases = [lease('w', 'h1', 2)];
    await keeper.check();
    expect((await revoked()).map((entry) => entry![1])).toMatchObject([{ epoch: 1 }, { epoch: 2 }]);
    // A lease that is gone from the rows is forgotten.
    leases = [];
    await keeper.check();
    leases = [lease('w', 'h1', 2)];
    ports.clock.jump(LEASE_POLL_PERIOD_MS);
    await keeper.check();
    expect(await revoked()).toHaveLength(3);
  });

  it('writes the same event as another coordinator', async () => {
    await keeper.check();
    await new LeaseKeeper(ports, new Inbox(ports, new LamportClock())).check();
    const ids = (await entriesOf(log)).map((entry) => (entry.kind === 'event' ? entry.envelope.id : undefined));
    expect(ids).toEqual(['revoke:w:1', 'revoke:w:1']);
  });

  it('revokes the others when one cannot be written, and that one at the next look', async () => {
    leases = [lease('w', 'h1'), lease('x', 'h1', 1, 1)];
    const append = log.append.bind(log);
    log.append = async (partition, records) => {
      if (partition === P0) throw new UnavailableError('log-unavailable', 'away');
      return append(partition, records);
    };
    await expect(keeper.check()).rejects.toMatchObject({ code: 'log-unavailable' });
    expect(await revoked(1 as Partition)).toHaveLength(1);
    log.append = append;
    await keeper.check();
    expect(await revoked()).toHaveLength(1);
    expect(await revoked(1 as Partition)).toHaveLength(1);
  });
});
