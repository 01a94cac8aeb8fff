/** The entry point of the room: what other rooms of the engine may use. */
export type { TraceSink } from './folded-event.ts';
export type { Reads } from './logged-store.ts';
export { OmittedHistory } from './omitted-history.ts';
export { addPartitions, wholePartitions } from './partition-rows.ts';
export { ProjectionBuilder } from './projection.ts';
export { Projector } from './projector.ts';
export { fillCheckpoint, fillEffect, fillEvent, fillSnapshot } from './row-places.ts';
export { beginsAtOnce, isRunnable, isWokenByWriter, jobOf, streamRow } from './stream-rows.ts';
