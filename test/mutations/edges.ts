/** Owns the mutations of the edges: records, sealing, access, API, segments. */

import type { Mutation } from './mutations.ts';

export const EDGE_MUTATIONS: Readonly<Record<string, Mutation>> = {
  'seal-without-header': {
    file: 'libs/codec/src/sealing.ts',
    edits: [
      [
        '...seal(record.subarray(end + 1), key, header, PACKED_MIN_BYTES)]',
        '...seal(record.subarray(end + 1), key, Buffer.alloc(0), PACKED_MIN_BYTES)]',
      ],
      ['open(record.subarray(end + 1), key, header)]', 'open(record.subarray(end + 1), key, Buffer.alloc(0))]'],
    ],
    caughtBy: 'libs/codec/src/sealing.test.ts',
    breaks: 'a sealed record opens under its own header alone',
  },
  'text-opens-anywhere': {
    file: 'libs/codec/src/sealing.ts',
    edits: [
      [
        'seal(Buffer.from(text), key, Buffer.from(place), PACKED_TEXT_MIN_BYTES)',
        'seal(Buffer.from(text), key, Buffer.alloc(0), PACKED_TEXT_MIN_BYTES)',
      ],
      [
        'return open(sealed, key, Buffer.from(place)).toString();',
        'return open(sealed, key, Buffer.alloc(0)).toString();',
      ],
    ],
    caughtBy: 'libs/codec/src/sealing.test.ts',
    breaks: 'a sealed text opens at its own place alone',
  },
  'secret-is-not-masked': {
    file: 'libs/codec/src/secret-fields.ts',
    edits: [['mapSecrets(value, () => SECRET_MASK)', 'mapSecrets(value, (text) => text)']],
    caughtBy: 'libs/codec/src/secret-fields.test.ts',
    breaks: 'a secret field is masked for those who may not read it',
  },
  'unknown-packing-is-plain': {
    file: 'libs/codec/src/packing.ts',
    edits: [
      [
        '  if (packing === 0) return bytes;',
        '  if (packing === 0 || !Object.hasOwn(dictionaries, packing)) return bytes;',
      ],
    ],
    caughtBy: 'libs/codec/src/packing.test.ts',
    breaks: 'bytes of an unknown packing are never taken as they are',
  },
  'nul-in-a-payload': {
    file: 'libs/codec/src/record.ts',
    edits: [["if (payload.includes(0)) return malformed('the payload holds a NUL byte');", '']],
    caughtBy: 'libs/codec/src/record.test.ts',
    breaks: 'whether a record is malformed depends on its bytes alone',
  },
  'revoked-key-lets-in': {
    file: 'libs/access/src/key-authenticator.ts',
    edits: [["if (key.revoked !== null) throw credentialsInvalid('the key was revoked');", '']],
    caughtBy: 'libs/access/src/key-authenticator.test.ts',
    breaks: 'a revoked key lets nobody in',
  },
  'wrong-secret-lets-in': {
    file: 'libs/access/src/key-authenticator.ts',
    edits: [['if (key === undefined || !isSame) throw', 'if (key === undefined) throw']],
    caughtBy: 'libs/access/src/key-authenticator.test.ts',
    breaks: 'a key lets in whoever has its secret',
  },
  'expired-key-lets-in': {
    file: 'libs/access/src/key-authenticator.ts',
    edits: [['key.expiresMs <= nowMs', 'key.expiresMs <= 0']],
    caughtBy: 'libs/access/src/key-authenticator.test.ts',
    breaks: 'an expired key lets nobody in',
  },
  'any-page-may-speak': {
    file: 'libs/access/src/http-guard.ts',
    edits: [['if (origin === undefined || URL', "if (origin !== '' || URL"]],
    caughtBy: 'libs/access/src/http-guard.test.ts',
    breaks: 'pages of other origins are refused',
  },
  'any-token-type': {
    file: 'libs/access/src/oidc-authenticator.ts',
    edits: [
      [
        "if (!TYPES.includes(protectedHeader.typ?.toLowerCase())) throw credentialsInvalid('a token of another type');",
        '',
      ],
    ],
    caughtBy: 'libs/access/src/oidc-authenticator.test.ts',
    breaks: 'a token of another type is no access token',
  },
  'rights-are-not-asked': {
    file: 'libs/api/src/admission.ts',
    edits: [
      [
        '    if (!mayDo(request.principal, right)) {\n',
        '    if (!mayDo(request.principal, right) && right === undefined) {\n',
      ],
    ],
    caughtBy: 'test/api/routes.test.ts',
    breaks: 'a route needs its right (I9)',
  },
  'content-for-everybody': {
    file: 'libs/api/src/sight.ts',
    edits: [['if (isMarked(field, CONTENT) && !sight.content) return [];', '']],
    caughtBy: 'libs/api/src/sight.test.ts',
    breaks: 'content is shown to those who may read it',
  },
  'chain-leaves-out-the-past': {
    file: 'libs/segments/src/chain.ts',
    edits: [["link.write(checkChain(before), 0, 'hex');", 'checkChain(before);']],
    caughtBy: 'libs/segments/src/chain.test.ts',
    breaks: 'a segment is chained to the one before it',
  },
};
