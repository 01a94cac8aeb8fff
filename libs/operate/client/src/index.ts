/** Entry point of the library. */

export type { Effect } from './api/history.ts';
export type { Checkpoint, Event, Question, Task, Workflow } from './api/shapes.ts';
export type { WorkflowView } from './api/workflows.ts';
export { TidemarkApiError } from './api-error.ts';
export { Client, type ConnectOptions, connect, type StartOptions } from './client.ts';
export type { Answer, Endpoint, EventOf, FollowInput, Input, StreamEndpoint } from './endpoints.ts';
export type { FollowOptions } from './follow.ts';
export { Run } from './run.ts';
