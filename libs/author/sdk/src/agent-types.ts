/**
 * Owns the types of agents: the tool loop as the AI SDK's `ToolLoopAgent` has it, in the same words, and the workflow that comes of it.
 * Must not run anything: agent.ts does.
 */

import { z } from 'zod';
import type { BudgetOptions, ContextSpec } from './context-spec.ts';
import type { ModelCallOptions } from './model-call.ts';
import type { Frozen, Parsed, Schema } from './schema.ts';
import { type Tools, toolCallSchema } from './tool.ts';
import type { Workflow, WorkflowSpec } from './workflow-spec.ts';

/** An agent's input by default. */
export const promptSchema = z.object({ prompt: z.string().min(1) });
/** Its output by default: the last answer. Of a loop that `stopWhen` ended, the last calls that were made. */
export const answerSchema = z.object({
  text: z.string(),
  toolCalls: z.array(toolCallSchema),
  finishReason: z.string(),
});

const agentStepSchema = answerSchema.extend({
  usage: z.object({ inputTokens: z.number(), outputTokens: z.number() }),
});
/** One call of the model. `toolCalls`: those that were made, and answered without an error; not all that the model asked for. */
export type AgentStep = z.infer<typeof agentStepSchema>;

/** The output of a task `think`: all that the model asked for, and how many tasks `act` make it. */
export const thoughtSchema = agentStepSchema.extend({ actCount: z.int() });
export type Thought = z.infer<typeof thoughtSchema>;
/** The output of a task `act`. */
export const actSchema = z.object({ id: z.string(), isMade: z.boolean() });
export type Act = z.infer<typeof actSchema>;

/**
 * Whether the loop ends, asked once the calls of the last of `steps` have their results. Any one of several is enough. It is asked again at
 * another attempt, so it must answer by what it is given alone.
 */
export type StopCondition = ((given: { readonly steps: readonly AgentStep[] }) => boolean) & {
  /** So many steps end it without an answer: the run fails. */
  readonly stepCount?: number;
};

/** `user-approval`: a person is asked before the call. `denied`: it is not made, and the model is told why. Else it is made. */
export type ToolApprovalStatus = 'not-applicable' | 'approved' | 'denied' | 'user-approval';

/** What becomes of a call of the tool: the AI SDK's words, and whom to ask for how long. */
export type ToolApproval =
  | undefined
  | ToolApprovalStatus
  | { readonly type: 'not-applicable' | 'approved' }
  | { readonly type: 'denied'; readonly reason?: string | undefined }
  | {
      readonly type: 'user-approval';
      /** The question, in one line: `Call refund?` by default. The input is shown with it, and may be changed in the answer. */
      readonly reason?: string | undefined;
      /** Who is to answer; anybody who may decide by default. */
      readonly assignee?: string | undefined;
      /** `2d`, or milliseconds: without an answer by then the call is not made, and the model is told. By default it waits. */
      readonly within?: string | number | undefined;
    };

/** By name of the tool: the same for each call, or by its input. */
export type ToolApprovals<T extends Tools> = {
  readonly [K in keyof T]?:
    | ToolApproval
    | ((input: Frozen<Parsed<T[K]['input']>>) => ToolApproval | Promise<ToolApproval>);
};

/** Taken by the workflow as they are. */
export const PASSED_ON = [
  ...['domains', 'effects', 'limits', 'onFailure', 'onSecret', 'parallel', 'placement', 'priority', 'recall'],
  ...['recovery', 'repeatsMax', 'retry', 'stepBudget', 'timeout', 'upcast'],
] as const;

type AnyTasks = Record<never, never>;

/** What a user writes. */
export interface AgentSpec<T extends Tools, Input extends Schema, Output extends Schema>
  extends Pick<
    WorkflowSpec<Input, Schema, Output, AnyTasks, AnyTasks, readonly never[], AnyTasks>,
    (typeof PASSED_ON)[number]
  > {
  readonly name: string;
  /** Default 1; raise it when runs under way could not continue with the new code. */
  readonly version?: number | undefined;
  readonly model: NonNullable<ContextSpec['models']>[string];
  /** The system message. A function must give the same for the same input. */
  readonly instructions?: string | ((input: Frozen<Parsed<NoInfer<Input>>>) => string) | undefined;
  readonly tools?: T | undefined;
  /** `isStepCount(20)` by default. Without a step count among them, the loop ends by the others and by its budget alone. */
  readonly stopWhen?: StopCondition | readonly StopCondition[] | undefined;
  /** Which calls a person must approve first. The other calls of the same answer don't wait for it. */
  readonly toolApproval?: ToolApprovals<NoInfer<T>> | undefined;
  /** What one run may spend; it pauses for a higher budget. */
  readonly budget?: BudgetOptions | undefined;
  /** `{ prompt }` by default. */
  readonly input?: Input | undefined;
  /** Schema of an object: the run's output is that, given by the model as a call of a tool `answer`. By default it is `{ text, … }`. */
  readonly output?: Output | undefined;
  /** Settings of each call of the model: `temperature`, `maxOutputTokens`, `providerOptions` … */
  readonly settings?: ModelCallOptions['settings'];
  /** Streams each answer to watchers of the run. */
  readonly stream?: boolean | undefined;
  /** How the conversation is fitted into the prompt; by default half of the model's context length where that is known, else 32,000 tokens. */
  readonly bundle?: Partial<NonNullable<ContextSpec['bundles']>[string]> | undefined;
}

/** Where the input has no `prompt`, how the user's message follows from it. */
export type PromptOf<Input extends Schema> =
  Parsed<Input> extends { readonly prompt: string }
    ? { readonly prompt?: ((input: Frozen<Parsed<Input>>) => string) | undefined }
    : { readonly prompt: (input: Frozen<Parsed<Input>>) => string };

export const agentBeliefSchema = z.object({});

/** An agent as a worker and a client take it: a workflow with the steps `think` and `act`. */
export type Agent<Input extends Schema = typeof promptSchema, Output extends Schema = typeof answerSchema> = Workflow<
  Input,
  typeof agentBeliefSchema,
  Output
>;
