/** Owns `tidemark fleet`: one view of all workflows together. `tidemark watch` shows the same live. */

import { EXIT } from '@tidemark/host/exit-codes';
import { fleetLines, readFleet } from '../live/fleet-frame.ts';
import { atPlace, type PlaceOptions } from '../place/place.ts';
import type { Session } from '../session.ts';

export interface FleetOptions extends PlaceOptions {
  readonly tenant?: string | undefined;
}

export async function fleet(session: Session, options: FleetOptions): Promise<number> {
  const { terminal } = session;
  const fleet = await atPlace(session, { ...options, how: 'read' }, ({ client }) => readFleet(client, options.tenant));
  terminal.answer({ ...fleet.fleet, queues: fleet.queues });
  terminal.lines(fleetLines(fleet, { width: terminal.width ?? 100, paint: terminal.paint, known: new Set() }));
  return EXIT.ok;
}
