/**
 * Owns what a tool is, and a call of one: what it is given is checked, what it answers is data and a short text, and what goes
 * wrong is told with code, field and remedy. Must not know any tool.
 */

import type { CallToolResult, Tool as ListedTool, ToolAnnotations } from '@modelcontextprotocol/sdk/types.js';
import type { Client } from '@tidemark/client';
import { z } from 'zod';
import { checkArguments } from './arguments.ts';
import { badInput, toolError } from './tool-error.ts';

/** What tools have around them, of one client. */
export interface ToolContext {
  /** Undefined: the caller's own. */
  readonly tenant: string | undefined;
  /** The user that all calls are about; undefined: each names one. */
  readonly user: string | undefined;
  /** Who writes, where a call doesn't say. */
  agent(): string | undefined;
  /** The folder of states; undefined: in no repository. */
  folder(): string | undefined;
  /** Whether checks of stages, which are commands, may be set and run. */
  readonly checks: boolean;
  /**
   * Gives what asks the API: of a server, or of a folder for the time of the work. Where nothing is kept in that yet, `look` throws
   * `ConfigError` (`state-missing`), and `write` makes it.
   */
  withMemory<T>(how: 'read' | 'write', work: (client: Client) => Promise<T>): Promise<T>;
  /** Told of faults that a client learns no more of than that there was one. */
  onError(where: string, error: unknown): void;
}

/** As the API's answers are typed: nothing in it is changed, and there may be more. */
type Reported<T> = T extends readonly (infer Item)[]
  ? readonly Reported<Item>[]
  : T extends object
    ? { readonly [Key in keyof T as string extends Key ? never : Key]: Reported<T[Key]> }
    : T;

export interface ToolAnswer<Output extends z.ZodObject> {
  /** What the API answered must fit what clients were promised: the compiler holds the one against the other. */
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

export function defineTool<Input extends z.ZodObject, Output extends z.ZodObject>(spec: ToolSpec<Input, Output>): Tool {
  const { name, title, description, input, output, hints, run } = spec;
  return {
    listed: {
      ...{ name, title, description },
      annotations: { title, ...hints },
      inputSchema: jsonSchema(input, 'input'),
      outputSchema: jsonSchema(output, 'output'),
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

/** Clients' validators know draft 7, and some stumble over the name of another one. */
function jsonSchema(schema: z.ZodObject, io: 'input' | 'output'): ListedTool['inputSchema'] {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { target: 'draft-7', io });
  return rest as ListedTool['inputSchema'];
}

/** Tools reach nothing but the state that they name. */
export const READS = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const;
/** Adds, and takes nothing away. */
export const ADDS = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: false,
  openWorldHint: false,
} as const;
/** The same call again changes nothing more. */
export const ADDS_ONCE = { ...ADDS, idempotentHint: true } as const;
/** Takes something away, or puts something in its place. */
export const REPLACES = { ...ADDS_ONCE, destructiveHint: true } as const;
