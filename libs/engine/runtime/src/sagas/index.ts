/** The entry point of the room: what other rooms of the engine may use. */
export { Children } from './children.ts';
export { Compensations } from './compensations.ts';
export { Continuations, nextRequest, openingOfReset } from './continuations.ts';
export { COMPENSATION_PERIOD_MS } from './limits.ts';
export { withUndos } from './undo-definition.ts';
export { leftUndone } from './undo-left.ts';
