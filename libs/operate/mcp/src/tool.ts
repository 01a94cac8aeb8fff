/**
 * Owns what a tool is, and a call of one: its input is checked, its answer is data and a short text, and a failure has code, field and
 * remedy. Must not know any tool.
 */

import type { CallToolResult, Tool as ListedTool, ToolAnnotations } from '@modelcontextprotocol/sdk/types.js';
import type { Client } from '@tidemark/client';
import { portableSchema, publishedSchema } from '@tidemark/codec';
import type { z } from 'zod';
import { checkArguments } from './arguments.ts';
import { badInput, toolError } from './tool-error.ts';

/** What tools may use, of one client. */
export interface ToolContext {
  /** Of sessions and memory; undefined: the caller's own. */
  readonly tenant: string | undefined;
  /** The user of all calls; undefined: each names one. */
  readonly user: string | undefined;
  /** Author of entries, where a call doesn't say. */
  agent(): string | undefined;
  /** The folder of states; undefined: in no repository. */
  folder(): string | undefined;
  /** Digests of the checks of stages, which are commands, that a person approved: none other is set or runs. */
  readonly allowedChecks: ReadonlySet<string>;
  /**
   * Lends an API client: of a server, or of a folder for the time of the work. Where the folder holds nothing yet, `read` throws
   * `ConfigError` (`state-missing`), and `write` creates it. Throws refusals as errors of Tidemark's own.
   */
  withMemory<T>(how: 'read' | 'write', work: (client: Client) => Promise<T>): Promise<T>;
  /** Called for faults of which a client learns only that there was one. */
  onError(where: string, error: unknown): void;
}

/** As the API's answers are typed: read-only, and open to more fields. */
type Reported<T> = T extends readonly (infer Item)[]
  ? readonly Reported<Item>[]
  : T extends object
    ? { readonly [Key in keyof T as string extends Key ? never : Key]: Reported<T[Key]> }
    : T;

export interface ToolAnswer<Output extends z.ZodObject> {
  /** The compiler checks that the API's answers fit the tool's schema. */
  readonly data: Reported<z.input<Output>>;
  readonly text: string;
}

interface ToolSpec<Input extends z.ZodObject, Output extends z.ZodObject> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: Input;
  readonly output: Output;
  readonly hints: Required<Omit<ToolAnnotations, 'title'>>;
  run(given: z.output<Input>, context: ToolContext, signal: AbortSignal): Promise<ToolAnswer<Output>>;
}

export interface Tool {
  readonly listed: ListedTool;
  /** Never rejects. */
  call(given: unknown, context: ToolContext, signal: AbortSignal): Promise<CallToolResult>;
}

export const defineTool = <Input extends z.ZodObject, Output extends z.ZodObject>(
  spec: ToolSpec<Input, Output>,
): Tool => toolOf({ ...spec, output: publishedSchema(spec.output, { io: 'output' }) });

/** The tool whose answer has this JSON schema. */
export function toolOf<Input extends z.ZodObject>(
  spec: Omit<ToolSpec<Input, never>, 'output' | 'run'> & {
    readonly output: object;
    run(
      given: z.output<Input>,
      context: ToolContext,
      signal: AbortSignal,
    ): Promise<{ readonly data: object; readonly text: string }>;
  },
): Tool {
  const { name, title, description, input, output, hints, run } = spec;
  return {
    listed: {
      ...{ name, title, description },
      annotations: { title, ...hints },
      inputSchema: publishedSchema(input, { io: 'input' }) as ListedTool['inputSchema'],
      outputSchema: portableSchema(output) as ListedTool['outputSchema'],
    },
    async call(given, context, signal) {
      try {
        checkArguments(given);
        const parsed = input.safeParse(given ?? {});
        if (!parsed.success) return badInput(name, parsed.error);
        const { data, text } = await run(parsed.data, context, signal);
        return { structuredContent: data as Record<string, unknown>, content: [{ type: 'text', text }] };
      } catch (error) {
        return toolError(error, (fault) => context.onError(`tool ${name}`, fault));
      }
    },
  };
}

/** A tool that changes nothing but the state that it names. */
export const READS = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const;
/** Adds, and removes nothing. */
export const ADDS = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: false,
  openWorldHint: false,
} as const;
/** Repeating the call changes nothing more. */
export const ADDS_ONCE = { ...ADDS, idempotentHint: true } as const;
/** Removes something, or replaces it. */
export const REPLACES = { ...ADDS_ONCE, destructiveHint: true } as const;
/** Begins something of a person's own, a command or a workflow, which may do anything. */
export const RUNS = { ...ADDS, destructiveHint: true, openWorldHint: true } as const;
