/** Owns the shape of the API's description: the part of OpenAPI 3.1 that ours uses. */

import type { Edges } from './edges.ts';

export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  /** By path, then by lower-case method. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
  readonly components: {
    readonly schemas: ApiSchemas;
    readonly securitySchemes: Readonly<Record<string, Readonly<Record<string, string>>>>;
  };
}

export interface ApiOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  /** The chapter of the reference. */
  readonly tags: readonly [string];
  readonly 'x-right': string;
  /** What some or all of it needs besides: a right, or to be of all tenants; and what it says to a caller without it. */
  readonly 'x-needs'?: readonly { readonly of: string; readonly why: string }[];
  /** Codes of problems of its own. */
  readonly 'x-problems'?: readonly string[];
  readonly parameters: readonly ApiParameter[];
  readonly requestBody?: {
    readonly required: true;
    readonly content: { readonly 'application/json': { readonly schema: ApiSchema } };
  };
  /** By status, `4XX` for all of a kind. */
  readonly responses: Readonly<Record<string, ApiResponse>>;
  /** How it reads where it is only passed on. */
  readonly 'x-edges'?: Edges;
  /** For a stream: what each event holds, by the event's name. */
  readonly 'x-events'?: ApiSchemas;
}

export interface ApiParameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: ApiSchema;
}

export interface ApiResponse {
  readonly description: string;
  /** By media type. */
  readonly content?: Readonly<Record<string, { readonly schema: ApiSchema }>>;
}

export type ApiSchemas = Readonly<Record<string, ApiSchema>>;

/** A JSON schema (draft 2020-12), as zod writes it, with keywords that nothing reads. */
export interface ApiSchema {
  /** `#/components/schemas/NAME`. */
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly ApiSchema[];
  readonly oneOf?: readonly ApiSchema[];
  readonly items?: ApiSchema;
  readonly properties?: ApiSchemas;
  readonly required?: readonly string[];
  readonly additionalProperties?: ApiSchema | boolean;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly description?: string;
  /** Given only to callers who may see content. */
  readonly 'x-content'?: true;
}
