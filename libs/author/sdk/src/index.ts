/** Entry point of the SDK: what a user imports. */

export {
  ConfigError,
  ConflictError,
  CorruptError,
  type EffectKey,
  type EffectKind,
  FencedError,
  InvalidError,
  type Json,
  LimitError,
  type Priority,
  type TaskId,
  type TenantId,
  TidemarkError,
  tenantId,
  UnavailableError,
  type WorkflowId,
  workflowId,
} from '@tidemark/core';
export {
  type CallLimit,
  type ConfirmationPolicy,
  type EffectContext,
  EffectError,
  FatalError,
  NotDoneError,
  type PendingResult,
  type ProbeResult,
  type Progress,
  type RetryOptions,
  type RetryPolicy,
  type RunOptions,
  WorkflowCancelledError,
} from '@tidemark/runtime';
export { agent, hasToolCall, isStepCount } from './agent.ts';
export type {
  Agent,
  AgentSpec,
  AgentStep,
  StopCondition,
  ToolApproval,
  ToolApprovalStatus,
  ToolApprovals,
} from './agent-types.ts';
export type { ApprovalCause, CauseOf, ChildCause, Context, Recorded, StepActions } from './context.ts';
export type { BudgetOptions, ContextSpec, PhaseOptions } from './context-spec.ts';
export type { Limit } from './dispatch-spec.ts';
export { type Answer, defineEffect, done, type Effect, type EffectSpec, notDone, pending, unknown } from './effect.ts';
export { type FileSource, file } from './file.ts';
export {
  agentMessage,
  checkpointNote,
  constraint,
  said,
  taskGoal,
  toolCall,
  toolResult,
  userMessage,
} from './fragments.ts';
export { CallFailedError, CancelledError } from './function/call-failed.ts';
export type { FunctionContext } from './function/context.ts';
export { type DefinedFunction, defineFunction, type FunctionSpec } from './function/function.ts';
export type { Answered, Waiting } from './function/waits.ts';
export { type Gate, GateError, type GateEvidence, passGate, type Verdict } from './gate.ts';
export type { McpClient } from './mcp/listing.ts';
export { durableTools, MCP_KEY, type McpToolOptions, type McpToolsOptions } from './mcp/tools.ts';
export type { ModelCallOptions, ModelReply } from './model-call.ts';
export type { Problem } from './parse.ts';
export { pipeline, pipelineSteps } from './pipeline.ts';
export {
  checksumOf,
  type DoneRecord,
  doneKey,
  doneSchema,
  handoffKey,
  handoffSchema,
  handoffTargets,
  importedKey,
  inputDigestOf,
  inputKey,
  LAST_SUCCESS_KEY,
  type LastSuccess,
  lastSuccessSchema,
  type NamedHandoff,
  pipelineSubject,
  type StepRecord,
  spentSchema,
  stepRecordIn,
} from './pipeline-record.ts';
export type {
  KeyParts,
  Pipeline,
  PipelineBuilder,
  PipelineContext,
  PipelineOptions,
  PipelineStepSettings,
} from './pipeline-types.ts';
export type { DefinitionProblem, DefinitionWarning } from './problem.ts';
export type { Frozen, Given, Parsed, Schema, Schemas } from './schema.ts';
export { secret } from './secret.ts';
export type { Change, DoneStep, StepFunction, StepSettings } from './step.ts';
export { type AnyTask, type Task, type TaskOf, type TaskOptions, task } from './task.ts';
export { checkTogether } from './together.ts';
export { type Tool, type ToolOptions, type ToolOutcome, type Tools, tool, toolCallSchema } from './tool.ts';
export { anyOf, approval, at, type ChildOptions, child, signal, timer, type Wait } from './wait.ts';
export { defineWorkflow } from './workflow.ts';
export type {
  BeliefOf,
  InputOf,
  OutputOf,
  RunSpec,
  TaskUpcast,
  VersionUpcast,
  Workflow,
  WorkflowSpec,
} from './workflow-spec.ts';
