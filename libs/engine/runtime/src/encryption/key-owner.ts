/**
 * Owns the binding of a data key's id to its workflow: the id's last digits derive from the others and the workflow. So a destroyed key, of
 * which only the id is left, still accounts for its own workflow's content and no other's, and nothing must be kept for it. The digest has
 * no key: an attacker who can write to the key store can make an id for any workflow.
 */

import { createHash } from 'node:crypto';
import type { WorkflowId } from '@tidemark/core';

/** A UUID of version 8 (RFC 9562, section 5.8). */
const VERSION_AT = 14;
const VERSION = '8';
const ID = /^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;
/**
 * 48 bits: the last group. With a million destroyed keys and a million workflows, one in 140 such installations has a pair that fits by
 * chance.
 */
const DIGITS = 12;

/** `plain`: a person has accepted the workflow's history from before the key, which is not encrypted. */
export type KeyUse = 'sealing' | 'plain';

const digitsOf = (start: string, workflow: WorkflowId, use: KeyUse): string =>
  createHash('sha256').update(`${start}\n${use}\n${workflow}`).digest('hex').slice(0, DIGITS);

/** Keeps all of the UUID but its last group; the rest must be random, because two keys with one id would be one key. */
export function boundKeyId(uuid: string, workflow: WorkflowId, use: KeyUse): string {
  const start = `${uuid.slice(0, VERSION_AT)}${VERSION}${uuid.slice(VERSION_AT + 1, -DIGITS)}`;
  return start + digitsOf(start, workflow, use);
}

export const isKeyOf = (id: string, workflow: WorkflowId): boolean =>
  isFor(id, workflow, 'sealing') || isFor(id, workflow, 'plain');

/** Whether it is the workflow's key and accepts its plain history. */
export const takesPlain = (id: string, workflow: WorkflowId): boolean => isFor(id, workflow, 'plain');

const isFor = (id: string, workflow: WorkflowId, use: KeyUse): boolean =>
  ID.test(id) && digitsOf(id.slice(0, -DIGITS), workflow, use) === id.slice(-DIGITS);
