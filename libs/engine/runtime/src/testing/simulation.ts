/**
 * Owns the door through which the testkit's simulation sees what is no part of the runtime's API: the store in memory that the
 * runtime's own tests use, the rows that follow from a log, and the writing of inbox events. Must not be used outside tests.
 */

export { Inbox, type InboxTarget } from '../lease/inbox.ts';
export { ProjectionBuilder } from '../projection/projection.ts';
export { SimulatedStore } from './simulated-store.ts';
