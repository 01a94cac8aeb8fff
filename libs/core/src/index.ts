export * from './errors.ts';
export * from './event.ts';
export * from './frontier.ts';
export * from './ids.ts';
export * from './lamport.ts';
export * from './state.ts';
export * from './task-list.ts';
