/** What a file of contexts must hold, and how it is told what does not fit without telling what is in it. */

import { expect, it } from 'vitest';
import { oddIn } from './contexts-file.ts';

const OIDC = { kind: 'oidc', issuer: 'i', client_id: 'c', refresh_token: null, access_token: 'a', expires_at: 'e' };
const context = (credential: object) => ({ url: 'http://a', credential });
const file = (contexts: object, more: object = {}) => ({ version: 1, current: null, contexts, ...more });

it.each([
  ['none at all', file({})],
  [
    'each kind of credential',
    file({ a: context({ kind: 'none' }), b: context({ kind: 'key', key: 'k' }), c: context(OIDC) }),
  ],
  ['a current one', file({ a: context({ kind: 'none' }) }, { current: 'a' })],
])('takes %s', (_, value) => expect(oddIn(value)).toBeUndefined());

const { access_token: _, ...cut } = OIDC;
it.each([
  ['a list', [], 'it'],
  ['nothing', null, 'it'],
  ['a newer version', file({}, { version: 2 }), 'it'],
  ['a member that nobody knows', file({}, { more: 1 }), 'it'],
  ['a current one without a name', file({}, { current: '' }), 'it'],
  ['contexts that are a list', file([]), 'it'],
  ['a name that nobody could give', file({ '\u001b[2J': context({ kind: 'none' }) }), 'the name of a context'],
  ['a context with more', file({ a: { ...context({ kind: 'none' }), more: 1 } }), 'contexts.a'],
  ['a context without an address', file({ a: { credential: { kind: 'none' } } }), 'contexts.a'],
  ['a kind that nobody knows', file({ a: context({ kind: 'keys', key: 'k' }) }), 'contexts.a'],
  ['a kind of every object', file({ a: context({ kind: 'constructor' }) }), 'contexts.a'],
  ['a key that is no text', file({ a: context({ kind: 'key', key: 1 }) }), 'contexts.a'],
  ['a credential that is cut', file({ a: context(cut) }), 'contexts.a'],
  ['the second of two', file({ a: context({ kind: 'none' }), b: 1 }), 'contexts.b'],
])('refuses %s', (_what, value, odd) => expect(oddIn(value)).toBe(odd));
