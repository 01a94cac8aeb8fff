/**
 * Owns what is kept of the agent's own statement about a step: canonical digests, in the execution log of the step's checkpoint. A
 * comparison later checks them against what the log rebuilds. Pure.
 */

import type { LogNote } from '@tidemark/codec';
import type { Json, Sha256 } from '@tidemark/core';
import type { Digest } from '@tidemark/ports';
import { digestOf } from '../kernel/index.ts';

/** Members of a belief that get digests of their own, so that a difference can name them. */
const SHADOW_MEMBERS_MAX = 64;
/** Hex digits of a member's digest. */
const SHADOW_MEMBER_DIGITS = 16;

/** `action` of the note with an observation. */
export const OBSERVED = 'shadow-observed';
/** Name of the signal that records a second, different report of the same step. */
export const REPORTED_OTHERWISE = 'shadow-reported-otherwise';

/** The digest of a value, and shorter ones of its members. */
export interface Fingerprint {
  readonly digest: Sha256;
  readonly members?: { readonly [name: string]: string };
}

/** The agent's statement; null: it made none. */
export interface Observation {
  readonly key: string;
  /** Digest of the whole report: another digest under the same key is a contradiction. */
  readonly report: Sha256;
  readonly belief: Fingerprint | null;
  /** Names of the agent's pending steps, sorted. */
  readonly pending: readonly string[] | null;
  readonly output: Sha256 | null;
  /** Code and message if the report doesn't fit the definition. */
  readonly misfit: { readonly code: string; readonly message: string } | null;
  /** Reports of the same run that were lost before this one. */
  readonly lostCount: number;
}

export function fingerprint(value: Json, digest: Digest): Fingerprint {
  const whole = digestOf(digest, value);
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return { digest: whole };
  const names = Object.keys(value);
  if (names.length > SHADOW_MEMBERS_MAX) return { digest: whole };
  const members = value as { readonly [name: string]: Json };
  const short = (name: string): string => digestOf(digest, members[name]!).slice(0, SHADOW_MEMBER_DIGITS);
  return { digest: whole, members: Object.fromEntries(names.map((name) => [name, short(name)])) };
}

/** Paths at which the values of two fingerprints differ; empty when they are the same. */
export function differingPaths(seen: Fingerprint, rebuilt: Fingerprint, root: string): readonly string[] {
  if (seen.digest === rebuilt.digest) return [];
  const [theirs, ours] = [seen.members, rebuilt.members];
  if (theirs === undefined || ours === undefined) return [root];
  const names = [...new Set([...Object.keys(theirs), ...Object.keys(ours)])].sort();
  const own = (of: object, name: string): boolean => Object.hasOwn(of, name);
  const differing = names.filter((name) => own(theirs, name) !== own(ours, name) || theirs[name] !== ours[name]);
  return differing.length === 0 ? [root] : differing.map((name) => `${root}.${name}`);
}

export const noteOf = (observation: Observation, atMs: number): LogNote => ({
  atMs,
  action: OBSERVED,
  detail: observation as unknown as Json,
});

/** The observation among a checkpoint's notes; undefined when it has none. */
export function observationIn(notes: readonly LogNote[] | undefined): Observation | undefined {
  const detail = notes?.find(({ action }) => action === OBSERVED)?.detail;
  return detail === undefined ? undefined : (detail as unknown as Observation);
}
