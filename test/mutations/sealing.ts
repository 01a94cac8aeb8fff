/** Owns the mutations of codec and sealing: packed records, sealed records, and their keys. */

import type { Mutations } from './mutation.ts';

const SEALING_TEST = 'libs/model/codec/src/sealing.test.ts';
const SEALING = 'libs/model/codec/src/sealing.ts';
const DATA_KEYS_TEST = 'libs/engine/runtime/src/encryption/data-keys.test.ts';
const DATA_KEYS = 'libs/engine/runtime/src/encryption/data-keys.ts';

const FORGETTING_TEST = 'libs/engine/runtime/src/client/forgetting.test.ts';
const FORGETTING = 'libs/engine/runtime/src/client/forgetting.ts';

export const SEALING_MUTATIONS: Mutations = {
  'echoes-searched-without-end': {
    file: 'libs/model/secrets/src/echo-mask.ts',
    edits: [['workChars -= form.length;', 'workChars -= 0;']],
    caughtBy: 'libs/model/secrets/src/echo-mask.test.ts',
    breaks: 'No answer stalls the worker that masks it.',
  },
  'words-of-the-forgotten-stay': {
    file: FORGETTING,
    edits: [
      [
        'const entries = await entriesOf(options, tenant, found);',
        'const entries = await entriesOf(options, tenant, { ...found, writers: [] });',
      ],
    ],
    caughtBy: FORGETTING_TEST,
    breaks: 'What a forgotten run wrote into memory is found by no word of it.',
  },
  'forgotten-before-it-is-scrubbed': {
    file: FORGETTING,
    edits: [['  const leftIn = await store.scrub();\n', '  const leftIn: readonly UnscrubbedTable[] = [];\n']],
    caughtBy: FORGETTING_TEST,
    breaks:
      'A certificate says that all is destroyed once the files of the rows were scrubbed, or where they were not.',
  },
  'packed-beyond-its-limit': {
    file: 'libs/model/codec/src/packing.ts',
    edits: [
      ['unpacked !== undefined && unpacked.length <= UNPACKED_MAX_BYTES', 'unpacked !== undefined'],
      ['maxOutputLength: UNPACKED_MAX_BYTES }', '}'],
    ],
    caughtBy: 'libs/model/codec/src/packing.test.ts',
    breaks: 'A small record cannot fill the memory of its reader.',
  },
  'empty-names-are-read': {
    file: 'libs/model/codec/src/plain-header.ts',
    edits: [
      [
        "typeof value === 'string' && value.length > 0 && value.length <= NAME_MAX_CHARS;",
        "typeof value === 'string' && value.length <= NAME_MAX_CHARS;",
      ],
    ],
    caughtBy: 'libs/model/codec/src/plain-header.test.ts',
    test: 'with members changed, taken away or added is never taken for another',
    breaks: 'The quick reader accepts what the schema accepts.',
  },
  'unknown-fields-are-dropped': {
    file: 'libs/model/codec/src/plain-header.ts',
    edits: [[' || !holdsAll(control, header.control as Parsed)', '']],
    caughtBy: 'libs/model/codec/src/plain-header.test.ts',
    test: 'that the short way doesn’t know goes the long way, and loses nothing',
    failsWith: 'toSatisfy',
    breaks: 'The quick reader leaves what it does not know to the schema.',
  },
  'sealed-text-is-not-bound': {
    file: SEALING,
    edits: [
      ['  cipher.setAAD(bound).setAAD(FORMS[form]);\n', '  cipher.setAAD(FORMS[form]);\n'],
      ['  decipher.setAAD(bound).setAAD(sealed.subarray(0, 1));\n', '  decipher.setAAD(sealed.subarray(0, 1));\n'],
    ],
    caughtBy: SEALING_TEST,
    breaks: 'What is sealed opens at its own place only.',
  },
  'unknown-form-is-plain': {
    file: SEALING,
    edits: [['  if (form === PLAIN) return bytes;\n', '  if (form === PLAIN || (form ?? 0) > SNAPPY) return bytes;\n']],
    caughtBy: SEALING_TEST,
    breaks: 'What a later release packed in its own way is not taken for what it says.',
  },
  'snappy-claims-any-length': {
    file: SEALING,
    edits: [['  if (bytes[0]! > 0x7f && bytes[1]! > 0x7f)', '  if (bytes.length < 0)']],
    caughtBy: SEALING_TEST,
    breaks: 'A small record cannot fill the memory of its reader.',
  },
  'nonce-is-repeated': {
    file: SEALING,
    edits: [['  noncesTaken += NONCE_BYTES;\n', '']],
    caughtBy: SEALING_TEST,
    breaks: 'No nonce is used twice with a key.',
  },
  'sealed-text-with-garbage': {
    file: SEALING,
    edits: [["    if (text.slice(TEXT_HEAD_BYTES) !== sealed.toString('base64'))\n", '    if (sealed.length === 0)\n']],
    caughtBy: SEALING_TEST,
    breaks: 'A sealed text that was changed does not open.',
  },
  'secret-is-not-bound': {
    file: 'libs/model/codec/src/secret-fields.ts',
    edits: [
      [
        'authTagLength: TAG_BYTES }).setAAD(Buffer.from(bound));\n  const body',
        'authTagLength: TAG_BYTES });\n  const body',
      ],
      ['decipher.setAAD(Buffer.from(boundTo(workflow, place))).setAuthTag', 'decipher.setAuthTag'],
    ],
    caughtBy: 'libs/model/codec/src/secret-fields.test.ts',
    breaks: 'A secret field opens in its own workflow only.',
  },
  'secret-opens-anywhere': {
    file: 'libs/engine/runtime/src/encryption/secret-vault.ts',
    edits: [['        if (place !== secretPlace(purpose, path)) return text;\n', '']],
    caughtBy: 'libs/engine/runtime/src/encryption/secret-vault.test.ts',
    breaks: 'A secret field opens at its own place only.',
  },
  'callers-give-sealed-texts': {
    file: 'libs/engine/runtime/src/definition/caller-content.ts',
    edits: [
      ["    if (typeof each === 'string' && sealedSecret(each) !== undefined) throw sealed(field, place);\n", ''],
    ],
    caughtBy: 'libs/engine/runtime/src/definition/caller-content.test.ts',
    breaks: 'No caller gives the text of a sealed secret field.',
  },
  'errors-quote-secrets': {
    file: 'libs/engine/runtime/src/encryption/secret-calls.ts',
    edits: [['    throw mask.error(error);\n', '    throw error;\n']],
    caughtBy: 'libs/engine/runtime/src/encryption/secret-calls.test.ts',
    breaks: 'The error of a call names no secret that it was given.',
  },
  'answers-quote-secrets': {
    file: 'libs/engine/runtime/src/encryption/secret-calls.ts',
    edits: [['        return mask.value(parseResponse(answer), isSealed);\n', '        return answer;\n']],
    caughtBy: 'libs/engine/runtime/src/encryption/secret-calls.test.ts',
    breaks: 'A secret that was sent stands in no field of the answer that is not secret itself.',
  },
  'answers-quote-credentials': {
    file: 'libs/author/effects/src/http-effect.ts',
    edits: [
      [
        'echo.text(await readWhole(this.#operation, response, this.#maxBytes, signal));',
        'await readWhole(this.#operation, response, this.#maxBytes, signal);',
      ],
    ],
    caughtBy: 'libs/author/effects/src/http-effect.test.ts',
    breaks: 'Credentials that were sent are masked in what is made of an answer.',
  },
  'names-unsearched': {
    file: 'libs/engine/runtime/src/kernel/secret-guard.ts',
    edits: [["const found = this.#found('name', field, value);", 'const found: readonly FoundSecret[] = [];']],
    caughtBy: 'libs/testkit/src/secret-doors.test.ts',
    test: 'each name that a caller chooses',
    breaks: 'No name or key of a caller that looks like a secret is stored where a policy forbids it.',
  },
  'jobs-unguarded': {
    file: 'libs/engine/runtime/src/encryption/guarded-definition.ts',
    edits: [["return { ...definition, parseInput: parsing('input', definition.parseInput) };", 'return definition;']],
    caughtBy: 'libs/testkit/src/secret-doors.test.ts',
    test: 'each content of a caller',
    breaks: 'What a job says to workflows passes the policy on secrets.',
  },
  'signals-of-jobs-unguarded': {
    file: 'libs/engine/runtime/src/client/bulk.ts',
    edits: [['guardOf(BULK_DEFINITION, [{}, ...meant], ports)', 'guardOf(BULK_DEFINITION, [], ports)']],
    caughtBy: 'libs/testkit/src/secret-doors.test.ts',
    test: 'the signal of a job, as the strictest definition that it may find says',
    breaks: 'The signal of a job is held to the strictest definition that it may find.',
  },
  'reasons-of-access-unguarded': {
    file: 'libs/operate/access/src/access-records.ts',
    edits: [
      [
        "guard.content('decision', 'why', checkName('why', why, 1_000))",
        "guard.content('decision', 'why', '').as(() => checkName('why', why, 1_000))",
      ],
    ],
    caughtBy: 'libs/testkit/src/secret-doors.test.ts',
    test: 'each content of a caller',
    breaks: 'Why a key is revoked or a tenant suspended passes the policy on secrets.',
  },
  'found-secrets-are-stored': {
    file: 'libs/engine/runtime/src/kernel/secret-guard.ts',
    edits: [
      ["    if (found.length === 0 || this.#onSecret === 'report') return { value };\n", '    return { value };\n'],
    ],
    caughtBy: 'libs/engine/runtime/src/kernel/secret-guard.test.ts',
    test: 'is masked, the same each time, and once',
    breaks: 'What looks like a secret is masked or refused before it is stored, where the policy says so.',
  },
  'reports-hold-up-steps': {
    file: 'libs/engine/runtime/src/worker/worker.ts',
    edits: [['const viewed = guard === undefined ? withSealedFields : withSecrets;', 'const viewed = withSecrets;']],
    caughtBy: 'libs/testkit/src/secret-policy.test.ts',
    test: 'in closure',
    breaks: 'No step waits for a search whose finds are only reported.',
  },
  'reports-without-bound': {
    file: 'libs/engine/runtime/src/worker/secret-sample.ts',
    edits: [['if (this.#isFull || payload', 'if (payload']],
    caughtBy: 'libs/engine/runtime/src/worker/secret-sample.test.ts',
    breaks: 'A worker searches a sample of what it commits, and says how much it left out.',
  },
  'calls-are-given-the-mask': {
    file: 'libs/engine/runtime/src/effects/journaled-call.ts',
    edits: [['this.#parts.callEffect(effect, effect.asked ?? request, {', 'this.#parts.callEffect(effect, request, {']],
    caughtBy: 'libs/testkit/src/secret-policy.test.ts',
    test: 'whoever makes it: {"after":"call"}',
    breaks: 'A call whose request is recorded masked is given what was asked.',
  },
  'answers-are-recorded-as-they-came': {
    file: 'libs/engine/runtime/src/effects/effect-recovery.ts',
    edits: [
      ['  return effect.recorded === undefined ? response : effect.recorded(response);\n', '  return response;\n'],
    ],
    caughtBy: 'libs/testkit/src/secret-policy.test.ts',
    test: 'where the worker died before it could fail the step',
    breaks: 'An answer with a secret is recorded masked, and never as it came.',
  },
  'refused-answers-are-passed-on': {
    file: 'libs/engine/runtime/src/encryption/guarded-definition.ts',
    edits: [['    if (this.#problem !== undefined) throw this.#problem;\n    return value;\n', '    return value;\n']],
    caughtBy: 'libs/testkit/src/secret-policy.test.ts',
    test: 'asked for again \\(response\\)',
    breaks: 'A step whose effect answered with a secret fails, where the policy refuses it.',
  },
  'search-without-a-bound': {
    file: 'libs/model/secrets/src/find-secrets.ts',
    edits: [['    if (this.#leftChars < 0) this.#end();\n', '']],
    caughtBy: 'libs/model/secrets/src/find-secrets.test.ts',
    breaks: 'A search for secrets has a bound, and says where it stopped.',
  },
  'nonce-ignores-the-value': {
    file: 'libs/model/codec/src/secret-fields.ts',
    edits: [['.update(bound).update(plain).digest();', '.update(bound).digest();']],
    caughtBy: 'libs/model/codec/src/secret-fields.test.ts',
    breaks: 'Two secrets of one key have two nonces.',
  },
  'destroyed-key-opens': {
    file: DATA_KEYS,
    edits: [['      for (const id of some) this.#forget(id);\n', '']],
    caughtBy: DATA_KEYS_TEST,
    breaks: 'A destroyed key opens nothing more, at once.',
  },
  'destroyed-key-comes-back': {
    file: DATA_KEYS,
    edits: [
      [
        '        if (isWanted()) this.#hold(id, loaded, sinceMs);',
        '        isWanted();\n        this.#hold(id, loaded, sinceMs);',
      ],
    ],
    caughtBy: DATA_KEYS_TEST,
    breaks: 'A key that is destroyed while it loads is not held.',
  },
  'lost-key-is-destroyed': {
    file: DATA_KEYS,
    edits: [
      [
        '    if (answer === undefined) throw keyMissing(id, workflow, this.#options.store.place);\n    return answer;',
        '    return answer ?? null;',
      ],
    ],
    caughtBy: DATA_KEYS_TEST,
    breaks: 'A key that was lost is not taken for a destroyed one.',
  },
  'failed-rewrap-is-silent': {
    file: DATA_KEYS,
    edits: [['    if (failure !== undefined) throw failure;\n', '']],
    caughtBy: DATA_KEYS_TEST,
    breaks: 'A rewrap that failed says so.',
  },
  'any-key-explains': {
    file: 'libs/engine/runtime/src/encryption/workflow-keys.ts',
    edits: [['    if (!isOwn) throw foreignKey(id, workflow!);\n', '']],
    caughtBy: 'libs/engine/runtime/src/encryption/sealed-log.test.ts',
    breaks: 'A key opens and explains the content of its own workflow alone.',
  },
  'any-use-is-unwrapped': {
    file: DATA_KEYS,
    edits: [['isForSecrets(stored) !== this.isForSecrets || ', '']],
    caughtBy: 'libs/engine/runtime/src/projection/unreadable-records.test.ts',
    breaks: 'A record that names a key for secret fields stops its own workflow alone.',
  },
  'plain-rows-are-taken': {
    file: 'libs/engine/runtime/src/encryption/sealed-store.ts',
    edits: [['      await this.#refusePlain(plain);\n', '']],
    caughtBy: 'libs/engine/runtime/src/encryption/sealed-store.test.ts',
    breaks: 'Plain text of a workflow that has a key is refused in rows.',
  },
  'row-brings-any-record': {
    file: 'libs/engine/runtime/src/projection/logged-store.ts',
    edits: [['if (entry === undefined || !fits(entry.envelope)) throw', 'if (entry === undefined) throw']],
    caughtBy: 'libs/engine/runtime/src/projection/logged-store.test.ts',
    breaks: 'A row that was changed brings no other workflow’s record.',
  },
  'null-needs-no-seal': {
    file: 'libs/model/codec/src/record.ts',
    edits: [['isNull(payload) && envelope.type in WITHOUT_PAYLOAD ? entry', 'isNull(payload) ? entry']],
    caughtBy: 'libs/engine/runtime/src/projection/unreadable-records.test.ts',
    breaks: 'What has something to say is refused unsealed, null too.',
  },
  'effects-answer-for-others': {
    file: 'libs/engine/runtime/src/projection/row-places.ts',
    edits: [
      [
        'if (workflow !== of || LEAVING.get(status)?.includes(type) !== true) return false;',
        'if (workflow !== of) return false;',
      ],
    ],
    caughtBy: 'libs/engine/runtime/src/projection/logged-store.test.ts',
    breaks: 'What an effect was asked is not taken for what it answered.',
  },
  'live-history-cools': {
    file: 'libs/engine/runtime/src/archive/retention.ts',
    edits: [
      [
        '    if (!(await ports.store.isPast(segment, beforeMs))) return;\n    const { warm, cold }',
        '    const { warm, cold }',
      ],
    ],
    caughtBy: 'libs/engine/runtime/src/archive/retention.test.ts',
    test: 'a workflow of it is live, which reads there what it goes on from',
    breaks: 'What a live workflow goes on from stays warm.',
  },
  'plain-workflows-begin': {
    file: 'libs/engine/runtime/src/encryption/sealed-log.ts',
    edits: [['          if (this.#refusesPlain) plain.push(record);\n', '']],
    caughtBy: 'libs/engine/runtime/src/encryption/sealed-log.test.ts',
    breaks: 'No workflow begins unencrypted where all are to be encrypted.',
  },
  'lost-key-stops-all': {
    file: 'libs/engine/runtime/src/encryption/workflow-keys.ts',
    edits: [['  if (error instanceof CorruptError && NEVER.has(error.code)) return error;\n', '']],
    caughtBy: 'libs/engine/runtime/src/projection/unreadable-records.test.ts',
    breaks: 'A record under an unknown key stops its own workflow alone.',
  },
  'forged-seal-stops-all': {
    file: 'libs/engine/runtime/src/encryption/sealed-log.ts',
    edits: [["? { ...record, problem: 'key-missing' }", '? record']],
    caughtBy: 'libs/engine/runtime/src/projection/unreadable-records.test.ts',
    breaks: 'Where no key ever was, a record that says it is sealed stops its own workflow alone.',
  },
  'prepared-appends-overtake': {
    file: 'libs/engine/runtime/src/views/encoded-log.ts',
    edits: [['Promise.allSettled([before, preparing])', 'Promise.allSettled([preparing])']],
    caughtBy: 'libs/engine/runtime/src/views/blob-log.test.ts',
    breaks: 'Appends of one partition keep their order while keys and blobs are waited for (L3).',
  },
  'plain-text-is-written': {
    file: 'libs/engine/runtime/src/encryption/sealed-log.ts',
    edits: [
      [
        '      if (value === undefined) return undefined;\n      sealed.push({ ...record, value });',
        '      sealed.push(value === undefined ? record : { ...record, value });',
      ],
    ],
    caughtBy: 'libs/engine/runtime/src/encryption/sealed-log.test.ts',
    breaks: 'No payload is stored as plain text.',
  },
};
