/** Owns the fields that several tools share, whose memory a call is about, and reads of what may be missing. */

import { TidemarkApiError } from '@tidemark/client';
import { InvalidError } from '@tidemark/core';
import { z } from 'zod';
import { NAME_MAX_CHARS } from './limits.ts';
import type { ToolContext } from './tool.ts';

const NAME_WORDS = 'give at least one visible character, and no control characters';

/** Names: something visible, and no control characters. */
export const nameField = z
  .string()
  .min(1)
  .max(NAME_MAX_CHARS)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is refused.
  .regex(/^[^\x00-\x1f\x7f-\x9f]*$/, NAME_WORDS)
  .refine((name) => name.trim() !== '', NAME_WORDS);

export const userField = nameField
  .optional()
  .describe('Whose memory; may be left out where the server was started for one user');

export const aboutField = nameField
  .regex(/^(?:domain:.|tenant$)/su, "say 'domain:NAME' or 'tenant', or name a user instead")
  .optional()
  .describe('Instead of a user: `domain:NAME`, a field of knowledge, or `tenant`, what holds for everybody');

export const sessionField = nameField.describe('Id of the session');

/** The server's own user where it has one: nobody else's memory is then reachable. Throws `InvalidError` (`user-missing`, `user-fixed`). */
export function userOf(context: ToolContext, given: string | undefined): string {
  const { user } = context;
  if (user === undefined) {
    if (given !== undefined) return given;
    throw new InvalidError('user-missing', 'user: say whose memory is meant.', { field: 'user' });
  }
  if (given === undefined || given === user) return user;
  throw new InvalidError('user-fixed', 'user: this server serves one user; leave the field out.', { field: 'user' });
}

export interface About {
  readonly user?: string | undefined;
  readonly about?: string | undefined;
}

/** The subject of a call, as the API names it. Throws as `userOf`, and `InvalidError` (`about-twice`). */
export function aboutOf(context: ToolContext, { user, about }: About): string {
  if (about === undefined) return `user:${userOf(context, user)}`;
  if (user === undefined) return about;
  throw new InvalidError('about-twice', 'about: say whose memory is meant once: `user` or `about`.', {
    field: 'about',
  });
}

/** The same for a change: a server for one user changes nothing that other users see. */
export function aboutToChange(context: ToolContext, about: About): string {
  const of = aboutOf(context, about);
  if (about.about === undefined || context.user === undefined) return of;
  throw new InvalidError('user-fixed', 'about: this server serves one user; it changes what is known of them alone.', {
    field: 'about',
  });
}

/** Source of an entry, where the call doesn't say. */
export const sourceOf = (context: ToolContext, given: string | undefined): string =>
  given ?? context.agent() ?? 'assistant';

/** Null: the API knows no such thing, and says so with this code. */
export const orNull = <T>(unknown: string, asked: Promise<T>): Promise<T | null> =>
  asked.catch((error: unknown) => {
    if (error instanceof TidemarkApiError && error.code === unknown) return null;
    throw error;
  });
