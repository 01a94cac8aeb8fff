/** What waits to be written down: nothing is lost while the log is away, nothing goes on without it for long, streams end. */

import { type TenantId, UnavailableError } from '@tidemark/core';
import type { AuditEntry } from '@tidemark/ports';
import { sha256Digest, systemPrng } from '@tidemark/runtime';
import { beforeEach, describe, expect, it } from 'vitest';
import { MovedClock } from './access-fixture.ts';
import type { AuditRecord } from './audit-record.ts';
import { WrittenTrail } from './audit-trail.ts';
import {
  AUDIT_BATCH_MAX_COUNT,
  AUDIT_BEHIND_MAX_MS,
  AUDIT_GATHER_MS,
  AUDIT_STREAM_IDLE_MS,
  AUDIT_STREAM_MAX_MS,
  AUDIT_STREAM_MAX_WRITES,
  AUDIT_WAITING_MAX_COUNT,
} from './limits.ts';

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
};

class StreamInMemory {
  readonly records: AuditRecord[] = [];
  writeCount = 0;
  isClosed = false;
  readonly #world: Streams;

  constructor(world: Streams) {
    this.#world = world;
  }

  async write(output: unknown): Promise<void> {
    if (this.#world.isAway) throw new UnavailableError('log-unavailable', 'gone');
    if (this.#world.isDoubtful) {
      this.#world.isDoubtful = false;
      this.records.push(...(output as AuditRecord[]));
      throw new UnavailableError('log-doubt', 'it may be there');
    }
    this.writeCount++;
    this.records.push(...(output as AuditRecord[]));
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }
}

class Streams {
  isAway = false;
  isDoubtful = false;
  stuckTenant: string | undefined;
  freed = (): void => {};
  readonly opened: { readonly tenant: string; readonly workflow: string; readonly stream: StreamInMemory }[] = [];
  abandoned: { workflow: string; tenant: string; openedAtMs: number }[] = [];

  async open({ tenant, workflow }: { tenant: string; workflow: string }) {
    if (this.isAway) throw new UnavailableError('store-unavailable', 'gone');
    if (tenant === this.stuckTenant) {
      await new Promise<void>((resolve) => {
        this.freed = resolve;
      });
    }
    const stream = new StreamInMemory(this);
    this.opened.push({ tenant, workflow, stream });
    return stream;
  }

  get records(): readonly AuditRecord[] {
    return this.opened.flatMap(({ stream }) => stream.records);
  }
}

describe('an audit trail', () => {
  let clock: MovedClock;
  let world: Streams;
  let trail: WrittenTrail;
  let errors: unknown[];
  beforeEach(() => {
    clock = new MovedClock();
    world = new Streams();
    errors = [];
    trail = new WrittenTrail({
      streams: world as never,
      store: {
        workflow: async (id: string) => (id === 'w-acme' ? { tenant: 'acme' } : undefined),
        workflows: async () => world.abandoned,
      } as never,
      clock,
      prng: systemPrng,
      digest: sha256Digest,
      onError: (_where, error) => errors.push(error),
    });
  });

  const entry = (more: Partial<AuditEntry> = {}): AuditEntry => ({
    principal: { subject: 'key:a', tenant: 'acme' as TenantId, roles: ['operator'], kind: 'key' },
    tenant: 'acme' as TenantId,
    action: 'getBelief',
    right: 'content',
    target: 'w',
    outcome: 'done',
    ...more,
  });

  it('writes what came together in one go, each tenant’s into its own', async () => {
    for (let count = 0; count < 30; count++) trail.record(entry({ target: `w${count}` }));
    trail.record(entry({ tenant: 'globex' as TenantId }));
    expect(world.records).toEqual([]);
    await trail.flushed();
    expect(world.opened.map(({ tenant, stream }) => [tenant, stream.writeCount, stream.records.length])).toEqual([
      ['acme', 1, 30],
      ['globex', 1, 1],
    ]);
    expect(new Set(world.records.map(({ id }) => id)).size).toBe(31);
  });

  it('has in the log what an answer waits for, at once, and all who ask at once in one write', async () => {
    const told: number[] = [];
    const ask = async (count: number) => {
      await trail.write(entry({ target: `w${count}` }));
      expect(world.records.map(({ target }) => target)).toContain(`w${count}`);
      told.push(count);
    };
    await ask(0);
    const asked = Array.from({ length: 1_000 }, (_, count) => ask(count + 1));
    await turns();
    // Writes don't follow each other closely, but where there are as many as one takes.
    expect(told).toHaveLength(1 + AUDIT_BATCH_MAX_COUNT * 2);
    await Promise.all(asked);
    const [last, recorded] = [ask(1_001), () => world.records.filter(({ target }) => target === 'quiet')];
    trail.record(entry({ target: 'quiet' }));
    await turns();
    expect(told).toHaveLength(1_001);
    clock.ms += AUDIT_GATHER_MS;
    clock.wakeAll(AUDIT_GATHER_MS);
    await last;
    // What nobody waits for goes with it.
    expect(recorded()).toHaveLength(1);
    expect(world.opened.map(({ stream }) => stream.writeCount)).toEqual([4]);
    expect(world.records.map(({ target }) => target)).toEqual([...told.map((count) => `w${count}`), 'quiet']);
  });

  it('refuses what an answer waits for while the log takes nothing, and writes it later', async () => {
    world.isAway = true;
    const asked = trail.write(entry());
    await turns();
    clock.wakeAll();
    await expect(asked).rejects.toMatchObject({ code: 'audit-behind' });
    expect(world.records).toEqual([]);
    world.isAway = false;
    await turns();
    clock.wakeAll();
    await trail.flushed();
    expect(world.records).toHaveLength(1);
  });

  it('has nobody wait for another tenant’s stream', async () => {
    world.stuckTenant = 'globex';
    const stuck = trail.write(entry({ tenant: 'globex' as TenantId }));
    await trail.write(entry());
    expect(world.records).toHaveLength(1);
    world.freed();
    await stuck;
    expect(world.records).toHaveLength(2);
  });

  it('puts what somebody of no tenant did to the tenant whose workflow it was', async () => {
    trail.record(entry({ tenant: null, target: 'w-acme' }));
    trail.record(entry({ tenant: null, target: 'other' }));
    await trail.flushed();
    expect(world.opened.map(({ tenant }) => tenant)).toEqual(['acme', '~tidemark']);
  });

  it('loses nothing while the log is away, and lets nothing go on for long without it (A1)', async () => {
    world.isAway = true;
    trail.record(entry());
    void trail.flushed();
    await turns();
    expect(errors.length).toBeGreaterThan(0);
    clock.ms += AUDIT_BEHIND_MAX_MS;
    trail.admit();
    trail.record(entry());
    clock.ms += 1;
    expect(() => trail.admit()).toThrowError(expect.objectContaining({ code: 'audit-behind' }));
    world.isAway = false;
    clock.wakeAll();
    await trail.flushed();
    expect(world.records).toHaveLength(2);
    trail.admit();
  });

  it('holds no more than its limit', () => {
    for (let count = 0; count < AUDIT_WAITING_MAX_COUNT; count++) trail.record(entry());
    expect(() => trail.admit()).toThrowError(expect.objectContaining({ code: 'audit-behind' }));
  });

  it('writes again what may be there, under the same ids (A2)', async () => {
    world.isDoubtful = true;
    trail.record(entry());
    void trail.flushed();
    await turns();
    clock.wakeAll();
    await trail.flushed();
    expect(world.opened).toHaveLength(2);
    expect(world.records).toHaveLength(2);
    expect(new Set(world.records.map(({ id }) => id)).size).toBe(1);
  });

  it('ends a stream that is full, old or idle, and one that a dead process left', async () => {
    trail.record(entry());
    await trail.flushed();
    world.opened[0]!.stream.writeCount = AUDIT_STREAM_MAX_WRITES;
    trail.record(entry());
    await trail.flushed();
    expect(world.opened.map(({ stream }) => stream.isClosed)).toEqual([true]);
    trail.record(entry());
    await trail.flushed();
    expect(world.opened.map(({ stream }) => stream.isClosed)).toEqual([true, false]);
    clock.ms += AUDIT_STREAM_IDLE_MS;
    const long = clock.ms - 2 * AUDIT_STREAM_MAX_MS;
    world.abandoned = [
      { workflow: 'left', tenant: 'acme', openedAtMs: long - 1 },
      { workflow: 'young', tenant: 'acme', openedAtMs: long },
    ];
    trail.start();
    await turns();
    expect(world.opened.map(({ workflow, stream }) => [workflow.slice(0, 6), stream.isClosed])).toEqual([
      ['~audit', true],
      ['~audit', true],
      ['left', true],
    ]);
    await trail.close();
  });

  it('that is closed has written all, ended its streams, and takes no more', async () => {
    trail.record(entry());
    await trail.close();
    expect(world.records).toHaveLength(1);
    expect(world.opened[0]!.stream.isClosed).toBe(true);
    expect(() => trail.admit()).toThrowError(expect.objectContaining({ code: 'audit-behind' }));
  });

  it('keeps strangers’ texts short and sound', async () => {
    trail.record(entry({ target: `${'x'.repeat(10_000)}`, action: 'a\u0000b\ud800' }));
    await trail.flushed();
    expect(world.records[0]!.target).toHaveLength(256);
    expect(world.records[0]!.action).toBe('ab\ufffd');
  });
});
