/** The door to how things are told, for other doors than HTTP: names of the JSON, and what rows say together. Loads no server. */

export { beliefOf, checkpointsOf, inputOf, isHistoryForgotten } from './shapes/belief.ts';
export { comparisonJson, totalsOf } from './shapes/comparison.ts';
export { cardOf, type DefinitionCard } from './shapes/definition.ts';
export { type Ending, endingOf } from './shapes/ending.ts';
export { type FleetView, fleetView } from './shapes/fleet.ts';
export { type PendingTask, pendingState, pendingTask, taskJson } from './shapes/frontier.ts';
export { checkpointJson, effectJson, eventJson } from './shapes/history.ts';
export { type PastView, pastJson, pastOf } from './shapes/past.ts';
export { type QuestionTold, questionIn } from './shapes/question.ts';
export { scheduleJson } from './shapes/schedule.ts';
export { type Activity, activityOf, forkJson, workflowJson } from './shapes/workflow.ts';
