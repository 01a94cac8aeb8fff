export { changedAppends, dyingAt } from './changed-appends.ts';
export { type CrashedEverywhere, crashEverywhere } from './crash-everywhere.ts';
export { SimulatedLog } from './simulated-log.ts';
export { type TestAnswer, type TestModel, type TestModelOptions, testModel } from './test-model.ts';
export { type CrashPoint, type EffectCall, type TestWorld, type TestWorldOptions, testWorld } from './test-world.ts';
