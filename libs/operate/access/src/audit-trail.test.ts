/** Entries that wait to be written: none is lost while the log is unreachable, requests stop before long without it, streams end. */

import { FencedError, InvalidError, LimitError, type TenantId, UnavailableError } from '@tidemark/core';
import type { AuditEntry } from '@tidemark/ports';
import { sha256Digest, systemPrng } from '@tidemark/runtime';
import { SimulatedClock } from '@tidemark/testkit/engine/simulated-ports';
import { beforeEach, describe, expect, it } from 'vitest';
import { AUDIT_BATCH_MAX_COUNT, AUDIT_GATHER_MS } from './audit-lane.ts';
import type { AuditRecord } from './audit-record.ts';
import { WrittenTrail } from './audit-trail.ts';
import {
  AUDIT_BEHIND_MAX_MS,
  AUDIT_RETRY_MS,
  AUDIT_STREAM_IDLE_MS,
  AUDIT_STREAM_MAX_MS,
  AUDIT_STREAM_MAX_WRITES,
  AUDIT_WAITING_MAX_COUNT,
} from './limits.ts';

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
};

const ACME = 'acme' as TenantId;
const GLOBEX = 'globex' as TenantId;

class StreamInMemory {
  readonly records: AuditRecord[] = [];
  sequence = 0;
  isClosed = false;
  readonly #world: Streams;

  constructor(world: Streams) {
    this.#world = world;
  }

  async write([{ output }]: readonly [{ readonly output: unknown }]): Promise<void> {
    if (this.#world.isAway) throw new UnavailableError('log-unavailable', 'gone');
    this.#world.attemptCount++;
    if ((output as AuditRecord[]).some(({ target }) => this.#world.poison.has(target ?? '')))
      throw new LimitError('value-too-large', 'too large');
    if (this.#world.isDoubtful) {
      this.#world.isDoubtful = false;
      this.records.push(...(output as AuditRecord[]));
      throw new UnavailableError('log-doubt', 'it may be there');
    }
    this.sequence++;
    this.records.push(...(output as AuditRecord[]));
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }
}

class Streams {
  isAway = false;
  isDoubtful = false;
  attemptCount = 0;
  /** Targets whose entries no stream takes. */
  readonly poison = new Set<string>();
  /** Whose streams can't begin, and why. */
  readonly refused = new Map<string, Error>();
  stuckTenant: string | undefined;
  freed = (): void => {};
  readonly opened: { readonly tenant: string; readonly workflow: string; readonly stream: StreamInMemory }[] = [];
  abandoned: { workflow: string; tenant: string; openedAtMs: number }[] = [];

  async open({ tenant, workflow }: { tenant: string; workflow: string }) {
    if (this.isAway) throw new UnavailableError('store-unavailable', 'gone');
    const refusal = this.refused.get(tenant);
    if (refusal !== undefined) throw refusal;
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
  let clock: SimulatedClock;
  let world: Streams;
  let trail: WrittenTrail;
  let errors: unknown[];
  beforeEach(() => {
    clock = new SimulatedClock();
    world = new Streams();
    errors = [];
    trail = new WrittenTrail({
      streams: world as never,
      store: {
        workflow: async (id: string) => (id === 'w-acme' ? { tenant: 'acme' } : undefined),
        placed: async (id: string) => (id === 'w-new' ? { tenant: 'globex' } : undefined),
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
    expect(world.opened.map(({ tenant, stream }) => [tenant, stream.sequence, stream.records.length])).toEqual([
      ['acme', 1, 30],
      ['globex', 1, 1],
    ]);
    expect(new Set(world.records.map(({ id }) => id)).size).toBe(31);
  });

  it('has in the log what an answer waits for, at once, and all who ask at once in one write', async () => {
    const reported: number[] = [];
    const ask = async (count: number) => {
      await trail.write(entry({ target: `w${count}` }));
      expect(world.records.map(({ target }) => target)).toContain(`w${count}`);
      reported.push(count);
    };
    await ask(0);
    const asked = Array.from({ length: 1_000 }, (_, count) => ask(count + 1));
    await turns();
    // Writes don't follow each other closely, but where there are as many as one takes.
    expect(reported).toHaveLength(1 + AUDIT_BATCH_MAX_COUNT * 2);
    await Promise.all(asked);
    const [last, recorded] = [ask(1_001), () => world.records.filter(({ target }) => target === 'quiet')];
    trail.record(entry({ target: 'quiet' }));
    await turns();
    expect(reported).toHaveLength(1_001);
    clock.jump(AUDIT_GATHER_MS);
    await last;
    // What nobody waits for goes with it.
    expect(recorded()).toHaveLength(1);
    expect(world.opened.map(({ stream }) => stream.sequence)).toEqual([4]);
    expect(world.records.map(({ target }) => target)).toEqual([...reported.map((count) => `w${count}`), 'quiet']);
  });

  it('refuses what an answer waits for while the log takes nothing, and writes it later', async () => {
    world.isAway = true;
    const asked = trail.write(entry());
    await turns();
    clock.jump(AUDIT_BEHIND_MAX_MS);
    await expect(asked).rejects.toMatchObject({ code: 'audit-behind' });
    expect(world.records).toEqual([]);
    world.isAway = false;
    await turns();
    clock.jump(AUDIT_RETRY_MS);
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
    trail.record(entry({ tenant: null, target: 'w-acme', isWorkflow: true }));
    trail.record(entry({ tenant: null, target: 'w-new', isWorkflow: true }));
    trail.record(entry({ tenant: null, target: 'other', isWorkflow: true }));
    // Something else of the same name is not that tenant's.
    trail.record(entry({ tenant: null, target: 'w-acme', action: 'pauseQueue' }));
    await trail.flushed();
    const found = world.opened.map(({ tenant, stream }) => [tenant, stream.records.map(({ target }) => target)]);
    expect(Object.fromEntries(found)).toEqual({
      acme: ['w-acme'],
      globex: ['w-new'],
      '~tidemark': ['w-acme', 'other'],
    });
  });

  it('loses nothing while the log is away, and lets nothing go on for long without it (A1)', async () => {
    world.isAway = true;
    trail.record(entry());
    void trail.flushed();
    await turns();
    expect(errors.length).toBeGreaterThan(0);
    clock.jump(AUDIT_BEHIND_MAX_MS);
    trail.admit(ACME);
    trail.record(entry());
    clock.jump(1);
    expect(() => trail.admit(ACME)).toThrowError(expect.objectContaining({ code: 'audit-behind' }));
    world.isAway = false;
    clock.jump(AUDIT_RETRY_MS);
    await trail.flushed();
    expect(world.records).toHaveLength(2);
    trail.admit(ACME);
  });

  it('holds no more than its limit of one tenant, and has room for others', () => {
    for (let count = 0; count < AUDIT_WAITING_MAX_COUNT / 2; count++) trail.record(entry());
    expect(() => trail.admit(ACME)).toThrowError(expect.objectContaining({ code: 'audit-behind' }));
    trail.admit(GLOBEX);
    trail.admit(null);
  });

  it('refuses the tenant alone whose entries the log does not take', async () => {
    world.stuckTenant = 'globex';
    trail.record(entry({ tenant: GLOBEX }));
    clock.jump(AUDIT_BEHIND_MAX_MS + 1);
    trail.admit(ACME);
    trail.admit(null);
    expect(() => trail.admit(GLOBEX)).toThrowError(expect.objectContaining({ code: 'audit-behind' }));
    void trail.flushed();
    await turns();
    world.freed();
    await trail.flushed();
    trail.admit(GLOBEX);
  });

  it('refuses by itself what can never be written, and writes what came with it (A3)', async () => {
    world.poison.add('w137').add('w400');
    const asked = Array.from({ length: AUDIT_BATCH_MAX_COUNT }, (_, count) =>
      trail.write(entry({ target: `w${count}` })).then(
        () => 'written',
        (error: { code: string }) => error.code,
      ),
    );
    let isOver = false;
    const answered = Promise.all(asked).finally(() => {
      isOver = true;
    });
    while (!isOver) {
      await turns();
      clock.jump(AUDIT_GATHER_MS);
    }
    const fates = await answered;
    const refused = fates.flatMap((fate, count) => (fate === 'written' ? [] : [[`w${count}`, fate]]));
    expect(refused).toEqual([
      ['w137', 'audit-unwritable'],
      ['w400', 'audit-unwritable'],
    ]);
    expect(new Set(world.records.map(({ id }) => id)).size).toBe(AUDIT_BATCH_MAX_COUNT - 2);
    expect(errors).toMatchObject(refused.map(([, code]) => ({ code })));
    expect(world.attemptCount).toBeLessThan(60);
    // Each stream but the last has ended: none is left to be found abandoned.
    const ended = new Set(world.opened.filter(({ stream }) => stream.isClosed).map(({ workflow }) => workflow));
    expect(world.opened.filter(({ workflow }) => !ended.has(workflow))).toHaveLength(1);
    trail.admit(ACME);
  });

  it('tells of a recorded entry that can never be written, and goes on (A3)', async () => {
    world.poison.add('bad');
    trail.record(entry({ target: 'bad' }));
    await trail.flushed();
    trail.record(entry({ target: 'good' }));
    await trail.flushed();
    expect(errors).toMatchObject([{ code: 'audit-unwritable', cause: { code: 'value-too-large' } }]);
    expect(world.records.map(({ target }) => target)).toEqual(['good']);
    clock.jump(AUDIT_BEHIND_MAX_MS + 1);
    trail.admit(ACME);
  });

  it('writes what comes just as a write ends', async () => {
    await trail.write(entry({ target: 'before' }));
    trail.record(entry({ target: 'just then' }));
    await trail.flushed();
    expect(world.records.map(({ target }) => target)).toEqual(['before', 'just then']);
  });

  it('goes on trying while a server is away, whatever it holds, and refuses nothing by itself (control)', async () => {
    world.isAway = true;
    world.poison.add('bad');
    trail.record(entry({ target: 'bad' }));
    void trail.flushed();
    await turns();
    clock.jump(AUDIT_RETRY_MS);
    await turns();
    clock.jump(AUDIT_BEHIND_MAX_MS + 1);
    expect(() => trail.admit(ACME)).toThrowError(expect.objectContaining({ code: 'audit-behind' }));
    expect(errors.map((error) => (error as { code: string }).code)).not.toContain('audit-unwritable');
  });

  it('writes to another stream what its own one no longer takes from this process', async () => {
    await trail.write(entry({ target: 'before' }));
    world.opened[0]!.stream.write = async () => {
      throw new FencedError('lease-lost', 'another wrote');
    };
    trail.record(entry({ target: 'after' }));
    void trail.flushed();
    await turns();
    clock.jump(AUDIT_RETRY_MS);
    await trail.flushed();
    expect(world.records.map(({ target }) => target)).toEqual(['before', 'after']);
    expect(errors).toMatchObject([{ code: 'lease-lost' }]);
  });

  it('answers at once who waits while no stream can begin, and keeps what was done', async () => {
    world.refused.set('acme', new InvalidError('tenant-gone', 'there is none'));
    trail.record(entry({ target: 'done' }));
    await expect(trail.write(entry({ target: 'asked' }))).rejects.toMatchObject({
      code: 'audit-unwritable',
      cause: { code: 'tenant-gone' },
    });
    await trail.write(entry({ tenant: GLOBEX }));
    world.refused.clear();
    await turns();
    clock.jump(AUDIT_RETRY_MS);
    await trail.flushed();
    expect(world.records.map(({ target }) => target)).toEqual(['w', 'done']);
  });

  it('writes again what may be there, under the same ids (A2)', async () => {
    world.isDoubtful = true;
    trail.record(entry());
    void trail.flushed();
    await turns();
    clock.jump(AUDIT_RETRY_MS);
    await trail.flushed();
    expect(world.opened).toHaveLength(2);
    expect(world.records).toHaveLength(2);
    expect(new Set(world.records.map(({ id }) => id)).size).toBe(1);
  });

  it('ends a stream that is full, old or idle, and one that a dead process left', async () => {
    trail.record(entry());
    await trail.flushed();
    world.opened[0]!.stream.sequence = AUDIT_STREAM_MAX_WRITES;
    trail.record(entry());
    await trail.flushed();
    expect(world.opened.map(({ stream }) => stream.isClosed)).toEqual([true]);
    trail.record(entry());
    await trail.flushed();
    expect(world.opened.map(({ stream }) => stream.isClosed)).toEqual([true, false]);
    clock.jump(AUDIT_STREAM_IDLE_MS);
    const long = clock.nowMs() - 2 * AUDIT_STREAM_MAX_MS;
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
    expect(() => trail.admit(ACME)).toThrowError(expect.objectContaining({ code: 'audit-behind' }));
  });

  it('keeps strangers’ texts short and sound', async () => {
    trail.record(entry({ target: `${'x'.repeat(10_000)}`, action: 'a\u0000b\ud800' }));
    await trail.flushed();
    expect(world.records[0]!.target).toHaveLength(256);
    expect(world.records[0]!.action).toBe('ab\ufffd');
  });
});
