/** Durable timers fire once they are due, once for each coordinator that sees them, with one event. */

import type { Partition, WorkflowId } from '@tidemark/core';
import { UnavailableError } from '@tidemark/core';
import type { DueTimer } from '@tidemark/ports';
import { entriesOf, TENANT } from '@tidemark/testkit/engine/simulated-definition';
import { type SimulatedPorts, simulatedPorts } from '@tidemark/testkit/engine/simulated-ports';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { beforeEach, describe, expect, it } from 'vitest';
import { LamportClock } from '../kernel/ports.ts';
import { Inbox } from '../lease/inbox.ts';
import { TIMER_PAGE_COUNT } from './limits.ts';
import { TIMER_PATIENCE_MS, TIMER_REST_MS, TIMER_RETRY_MS, Timers } from './timers.ts';

describe('timers', () => {
  let log: SimulatedLog;
  let ports: SimulatedPorts;
  let timers: Timers;
  let rows: DueTimer[];
  let errors: unknown[];

  beforeEach(() => {
    log = new SimulatedLog(2);
    ports = simulatedPorts(log);
    errors = [];
    const inbox = new Inbox(ports, new LamportClock());
    timers = new Timers({ ports, inbox, onError: (error) => errors.push(error) });
    rows = [];
    ports.store.dueTimers = async (nowMs, limit, after) => {
      const due = rows.filter((row) => row.dueAtMs <= nowMs);
      const from = after === undefined ? 0 : due.indexOf(after) + 1;
      return due.slice(from, from + limit);
    };
  });

  const timer = (workflow: string, name: string, inMs = 0, partition = 0): DueTimer => ({
    workflow: workflow as WorkflowId,
    timer: name,
    partition: partition as Partition,
    dueAtMs: ports.clock.nowMs() + inMs,
    tenant: TENANT,
    generation: 4 as never,
  });
  const fired = async (partition = 0) =>
    (await entriesOf(log, partition as Partition)).map((entry) =>
      entry.kind === 'event'
        ? `${entry.envelope.workflow} ${entry.envelope.id} ${entry.envelope.generation}`
        : undefined,
    );

  it('fire when they are due, and not before', async () => {
    rows = [timer('w', 'retry:0.0:1', 100)];
    await timers.fire();
    expect(await fired()).toEqual([]);
    ports.clock.jump(100);
    await timers.fire();
    expect(await fired()).toEqual(['w timer:retry:0.0:1 4']);
  });

  it('fire once while the rows lag, and again when they have it still after long', async () => {
    rows = [timer('w', 't')];
    await timers.fire();
    await timers.fire();
    expect(await fired()).toHaveLength(1);
    ports.clock.jump(TIMER_REST_MS);
    await timers.fire();
    expect(await fired()).toHaveLength(2);
  });

  it('of the same name in two workflows are two', async () => {
    rows = [timer('w', 't'), timer('x', 't'), timer('w t', 'u'), timer('w', 't u')];
    await timers.fire();
    expect(await fired()).toHaveLength(4);
  });

  it('hint their partition', async () => {
    const heard: Partition[] = [];
    await ports.hints.subscribe('appended', (partitions) => heard.push(...partitions));
    rows = [timer('w', 't', 0, 1)];
    await timers.fire();
    await new Promise((resolve) => setImmediate(resolve));
    expect(heard).toEqual([1]);
  });

  it('fire the others when one cannot be written, and that one when its time has come again', async () => {
    rows = [timer('w', 't'), timer('x', 't', 0, 1)];
    const append = log.append.bind(log);
    log.append = async (partition, records) => {
      if (partition === 0) throw new UnavailableError('log-unavailable', 'away');
      return append(partition, records);
    };
    await timers.fire();
    expect(errors).toMatchObject([{ code: 'log-unavailable' }]);
    expect(await fired(1)).toHaveLength(1);
    log.append = append;
    ports.clock.jump(2 * TIMER_RETRY_MS);
    await timers.fire();
    expect(await fired()).toHaveLength(1);
    expect(await fired(1)).toHaveLength(1);
  });

  it('fire behind any number that are due and can’t be written, or never are', async () => {
    const stuck = Array.from({ length: 3 * TIMER_PAGE_COUNT }, (_, at) => timer('stuck', `t${at}`));
    rows = [...stuck, timer('x', 't', 0, 1)];
    const append = log.append.bind(log);
    log.append = async (partition, records) => {
      // Some are refused, and the others never answer.
      if (partition !== 0) return append(partition, records);
      if (errors.length < TIMER_PAGE_COUNT) throw new UnavailableError('log-unavailable', 'away');
      return new Promise(() => {});
    };
    for (let poll = 0; poll < 8 && (await fired(1)).length === 0; poll++) {
      const poll = timers.fire();
      await ports.clock.run(TIMER_PATIENCE_MS);
      await poll;
    }
    expect(await fired(1)).toHaveLength(1);
  });

  it('all fire when more are due than one page holds', async () => {
    rows = Array.from({ length: TIMER_PAGE_COUNT + 5 }, (_, at) => timer('w', `t${at}`));
    await timers.fire();
    rows = rows.slice(TIMER_PAGE_COUNT);
    await timers.fire();
    expect(new Set(await fired()).size).toBe(TIMER_PAGE_COUNT + 5);
  });
});
