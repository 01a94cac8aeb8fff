export { SimulatedLog } from './simulated-log.ts';
export { type CrashPoint, type EffectCall, type TestWorld, type TestWorldOptions, testWorld } from './test-world.ts';
