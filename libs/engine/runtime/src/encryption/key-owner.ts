/**
 * Owns whose data key an id names. The id itself says it: its last digits follow from the others and the workflow. So a key that was
 * destroyed, of which its id alone is left, still explains its own workflow's content and nobody else's, with nothing kept for it.
 * The digest has no key: who may write to the store of keys can make an id for any workflow.
 */

import { createHash } from 'node:crypto';
import type { WorkflowId } from '@tidemark/core';

/** A UUID of version 8 (RFC 9562, section 5.8). */
const VERSION_AT = 14;
const VERSION = '8';
const ID = /^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;
/** 48 bits: the last group. A million destroyed keys and a million workflows make some pair that fits in one of 140 such installations. */
const DIGITS = 12;

/** `plain`: its workflow's history before it, which was written without encryption, is taken by a person's word. */
export type KeyUse = 'sealing' | 'plain';

const digitsOf = (start: string, workflow: WorkflowId, use: KeyUse): string =>
  createHash('sha256').update(`${start}\n${use}\n${workflow}`).digest('hex').slice(0, DIGITS);

/** `uuid`: all of it but its last group stays, which has to be random: two keys with one id would be one key. */
export function boundKeyId(uuid: string, workflow: WorkflowId, use: KeyUse): string {
  const start = `${uuid.slice(0, VERSION_AT)}${VERSION}${uuid.slice(VERSION_AT + 1, -DIGITS)}`;
  return start + digitsOf(start, workflow, use);
}

/** Undefined: the id doesn't say, being older; the store knows as long as the key lives. */
export const isKeyOf = (id: string, workflow: WorkflowId): boolean | undefined =>
  ID.test(id) ? isFor(id, workflow, 'sealing') || isFor(id, workflow, 'plain') : undefined;

/** Whether it is the workflow's key, and takes its plain history. */
export const takesPlain = (id: string, workflow: WorkflowId): boolean => isFor(id, workflow, 'plain');

const isFor = (id: string, workflow: WorkflowId, use: KeyUse): boolean =>
  ID.test(id) && digitsOf(id.slice(0, -DIGITS), workflow, use) === id.slice(-DIGITS);
