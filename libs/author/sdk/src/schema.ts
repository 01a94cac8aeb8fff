/**
 * Owns the types of schemas and of the values they stand for. Any zod 4 schema will do, `zod/mini` included. Values for Tidemark may be
 * readonly all the way down, since they are only stored; belief from Tidemark is readonly, since it is shared. Must not parse: that is
 * parse.ts.
 */

import type { Json } from '@tidemark/core';
import type { $ZodType, input, output, util } from 'zod/v4/core';

/** Any zod 4 schema. */
export type Schema = $ZodType;
export type Schemas = { readonly [name: string]: Schema };

type Leaf = string | number | boolean | bigint | symbol | null | undefined | ((...args: never[]) => unknown);

/** The type of `z.json()`. */
type ZodJson = util.JSONType;

/** The same value, readonly all the way down. JSON is kept by name, since its spelt-out type is endless. */
export type Frozen<T> = unknown extends T
  ? T
  : ZodJson extends T
    ? Json | Exclude<T, ZodJson>
    : T extends Leaf
      ? T
      : { readonly [K in keyof T]: Frozen<T[K]> };

/** A schema's input: members with a default may be left out. */
export type Given<S extends Schema> = Frozen<input<S>>;
/** A schema's output, after validation. */
export type Parsed<S extends Schema> = output<S>;

/** A schema's output, or any JSON where there is no schema. */
export type ParsedOr<S> = S extends Schema ? Parsed<S> : Json;

/** A member where there is one, else undefined. */
export type MemberOf<T, Key> = Key extends keyof T ? T[Key] : undefined;
