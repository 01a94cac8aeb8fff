export type {
  Definition,
  EffectContext,
  EffectDefinition,
  ProbeResult,
  Progress,
  RetryPolicy,
  RunOptions,
  StepContext,
  StepDefinition,
  StepResult,
  TaskRequest,
} from './definition.ts';
