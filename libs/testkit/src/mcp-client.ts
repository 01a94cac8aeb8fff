/** Owns the Model Context Protocol's own client in tests: calls of tools as tests read them, over any transport. */

import { PassThrough, type Readable, type Writable } from 'node:stream';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';

export interface McpReported {
  readonly isError: boolean;
  readonly text: string;
  readonly data: Record<string, unknown>;
  /** Of an error: code, field, message, remedy. */
  readonly error: Record<string, unknown> | undefined;
}

export class McpTestClient {
  readonly client: Client;

  constructor(name: string) {
    this.client = new Client({ name, version: '1.0.0' });
  }

  async call(name: string, given: Record<string, unknown> = {}): Promise<McpReported> {
    const result = await this.client.callTool({ name, arguments: given });
    const [content] = result.content as readonly { readonly text: string }[];
    return {
      isError: result.isError === true,
      text: content?.text ?? '',
      data: (result.structuredContent ?? {}) as Record<string, unknown>,
      error: result._meta?.['tidemark/error'] as Record<string, unknown> | undefined,
    };
  }
}

/** A server's streams in place of standard input and output, and a client at the other end of them. */
export interface McpPipes {
  readonly input: Readable;
  readonly output: Writable;
  /** A client that has listed the tools, so that it checks their answers. */
  connect(name: string): Promise<McpTestClient>;
  /** The client leaves, which ends the server's input. */
  close(): void;
}

export function mcpPipes(): McpPipes {
  const [input, output] = [new PassThrough(), new PassThrough()];
  return {
    input,
    output,
    async connect(name) {
      const client = new McpTestClient(name);
      // Lines of messages on two streams, in both directions.
      await client.client.connect(new StdioServerTransport(output, input));
      await client.client.listTools();
      return client;
    },
    close: () => void input.end(),
  };
}
