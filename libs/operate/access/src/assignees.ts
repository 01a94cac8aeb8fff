/**
 * Owns whom a task asks: the names of assignees to which a caller answers. Every entry point uses this. Names are compared exactly, and
 * each kind has a prefix of its own, so that a group's name can make nobody someone else.
 *
 * | assignee | who answers |
 * | --- | --- |
 * | `token:SUBJECT`, `key:ID` | the caller whose subject it is |
 * | `user:NAME` | a token whose subject, or whose claim for users, is NAME |
 * | `group:NAME` | a token whose claim of roles has NAME, as its issuer says it |
 * | `team:NAME` | a token whose claim of teams has NAME |
 * | `role:ROLE` | a caller with that role of ours |
 */

import { mayDo, type Principal } from '@tidemark/ports';
import { type ClaimMapping, type Claims, claimAt, textsIn } from './claims.ts';
import { SUBJECT_MAX_CHARS } from './limits.ts';

/** All names by which tasks may ask this caller, its subject first. */
export const assigneeNames = ({ subject, names = [], roles }: Principal): readonly string[] => [
  ...new Set([subject, ...names, ...roles.map((role) => `role:${role}`)]),
];

/** Whether the caller may answer a question to that assignee; null: anybody who may decide. An admin answers for all. */
export const isAssignee = (principal: Principal, assignee: string | null): boolean =>
  assignee === null || mayDo(principal, 'administer') || assigneeNames(principal).includes(assignee);

/** Names in a token of the person it stands for, besides its subject and our roles. */
export function claimedNames(
  claims: Claims,
  { userClaim = 'sub', rolesClaim, teamsClaim }: ClaimMapping,
): readonly string[] {
  const user = claimAt(claims, userClaim);
  const users = typeof user === 'string' ? [user] : [];
  const teams = teamsClaim === undefined ? [] : textsIn(claimAt(claims, teamsClaim));
  return [...named('user', users), ...named('group', textsIn(claimAt(claims, rolesClaim))), ...named('team', teams)];
}

const named = (kind: string, names: readonly string[]): readonly string[] =>
  names.filter((name) => name !== '' && name.length <= SUBJECT_MAX_CHARS).map((name) => `${kind}:${name}`);
