/** Owns `tidemark fleet`: one look at what all workflows are at. The live view of the same is `tidemark watch`. */

import { isoTime, tenantId } from '@tidemark/core';
import { EXIT } from '@tidemark/host';
import { fleetLines, numbersOf } from '../live/fleet-frame.ts';
import type { Session } from '../session.ts';
import { atDesk } from '../state/at-desk.ts';
import type { FleetTold } from '../state/control-desk.ts';
import { queueJson } from './queues.ts';

export interface FleetOptions {
  readonly tenant?: string | undefined;
  readonly state?: string | undefined;
}

export async function fleet(session: Session, { tenant, state }: FleetOptions): Promise<number> {
  const { terminal } = session;
  const of = tenant === undefined ? null : tenantId(tenant);
  const told = await atDesk(session, { state, how: 'look' }, (desk) => desk.control.fleet(of));
  terminal.document(fleetJson(told));
  terminal.lines(
    fleetLines(told, { width: terminal.width ?? 100, paint: terminal.paint, perSecond: null, known: new Set() }),
  );
  return EXIT.ok;
}

export const fleetJson = (told: FleetTold) => {
  const { live, ready, running, waiting, stuck, recovering } = numbersOf(told);
  return {
    workflows: told.statuses.map(({ status, count }) => ({ status, count })),
    ...{ live_count: live, ready_count: ready, running_count: running, waiting_count: waiting },
    ...{ stuck_count: stuck, recovering_count: recovering, rows_ready: told.isReady },
    lag: { events: told.lagCount, partitions: told.laggingPartitionCount },
    workers: told.workers.map(({ holder, isAlive, heldCount }) => ({ holder, alive: isAlive, held_count: heldCount })),
    queues: told.queues.map(queueJson),
    spent: told.spentHours.map(({ hourMs, tokens, costMicros }) => ({
      hour: isoTime(hourMs),
      tokens,
      cost_micros: costMicros,
    })),
  };
};
