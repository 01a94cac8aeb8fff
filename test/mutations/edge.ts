/** Owns the mutations of the edge: authentication, the API, and state in a repository. */

import type { Mutations } from './mutation.ts';

const KEY_AUTHENTICATOR_TEST = 'libs/operate/access/src/key-authenticator.test.ts';
const KEY_AUTHENTICATOR = 'libs/operate/access/src/key-authenticator.ts';
const OIDC_AUTHENTICATOR_TEST = 'libs/operate/access/src/oidc-authenticator.test.ts';
const OIDC_AUTHENTICATOR = 'libs/operate/access/src/oidc-authenticator.ts';
const SHADOW_ACCOUNT_TEST = 'libs/engine/runtime/src/shadow/shadow-account.test.ts';
const AROUND_A_CHANGE = 'alike for two processes that ask around a raise and around a lowering: the first claim holds';
const STEP_BY_STEP =
  'no more to Tidemark than is observed, step by step, not without a share, and not without a run that agrees';

export const EDGE_MUTATIONS: Mutations = {
  'scrape-renames-counters': {
    file: 'libs/adapters/telemetry/src/prometheus.ts',
    edits: [
      [
        'return snapshotOf(await Promise.all(measured));',
        'return snapshotOf((await registry.getMetricsAsJSON()) as never);',
      ],
    ],
    caughtBy: 'libs/adapters/telemetry/src/prometheus.test.ts',
    test: 'a snapshot after a scrape is what it was before',
    failsWith: 'Cannot destructure',
    breaks: 'A scrape of the metrics endpoint changes nothing for the export of metrics.',
  },
  'spans-never-halved': {
    file: 'libs/operate/traces/src/span-requests.ts',
    edits: [['      return { count: 0 };', '      return { count: batch.length, refusal: error };']],
    caughtBy: 'libs/operate/traces/src/collector.test.ts',
    test: 'are halved where it takes less: http/protobuf',
    breaks: 'A collector that takes small messages alone gets every span.',
  },
  'values-uncounted': {
    file: 'libs/model/core/src/json-bounds.ts',
    edits: [['if (++this.#values > this.#bounds.valuesMaxCount)', 'if (this.#values > this.#bounds.valuesMaxCount)']],
    caughtBy: 'libs/model/core/src/json-bounds.test.ts',
    breaks: 'A text of millions of empty objects is refused before it is parsed.',
  },
  'keys-in-one-piece-only': {
    file: 'libs/model/core/src/json-bounds.ts',
    edits: [['this.#isKey = this.#keyDue;', 'this.#isKey = this.#keyDue && this.#seen === 0;']],
    caughtBy: 'libs/model/core/src/json-bounds.test.ts',
    breaks: 'Bounds hold however a text comes in pieces.',
  },
  'numbers-rounded': {
    file: 'libs/model/core/src/json-bounds.ts',
    edits: [['digits === digitsOf(String(value))', "digits !== ''"]],
    caughtBy: 'libs/model/core/src/json-bounds.test.ts',
    breaks: 'No number is rounded in silence.',
  },
  'returned-values-uncounted': {
    file: 'libs/model/codec/src/canonical.ts',
    edits: [['if (++this.#count > RETURNED_BOUNDS.valuesMaxCount)', 'if (++this.#count < 0)']],
    caughtBy: 'libs/model/codec/src/canonical.test.ts',
    breaks: 'What user code returns can be read back.',
  },
  'headers-of-any-depth': {
    file: 'libs/model/codec/src/record.ts',
    edits: [['if (text.length > HEADER_UNCOUNTED_CHARS) checkJson', 'if (text.length < 0) checkJson']],
    caughtBy: 'libs/model/codec/src/record.test.ts',
    breaks: 'Decoding a record never throws, and never takes more than its bound.',
  },
  'star-reaches-all-tenants': {
    file: 'libs/operate/access/src/claims.ts',
    edits: [
      [
        'return said === allTenants ? null : callersTenant(said);',
        "return said === allTenants || said === '*' ? null : callersTenant(said);",
      ],
    ],
    caughtBy: OIDC_AUTHENTICATOR_TEST,
    breaks: 'Only the named claim reaches all tenants.',
  },
  'pages-of-any-origin': {
    file: 'libs/operate/access/src/http-guard.ts',
    edits: [
      [
        "  return new AccessError('origin-refused', 'Pages of this origin are not served here (Origin).');",
        '  return undefined;',
      ],
    ],
    caughtBy: 'libs/operate/access/src/http-guard.test.ts',
    breaks: 'Pages of other sites cannot have anything done.',
  },
  'any-host-is-served': {
    file: 'libs/operate/access/src/http-guard.ts',
    edits: [['hosts !== undefined && !holds(hosts, nameOf(host))', "hosts !== undefined && host === ''"]],
    caughtBy: 'libs/operate/access/src/http-guard.test.ts',
    breaks: 'A name that was rebound to this machine is not served.',
  },
  'any-secret-of-a-key': {
    file: KEY_AUTHENTICATOR,
    edits: [['if (key === undefined || !isSame) throw', 'if (key === undefined) throw']],
    caughtBy: KEY_AUTHENTICATOR_TEST,
    breaks: 'A key is let in with its secret only.',
  },
  'revoked-key-is-let-in': {
    file: KEY_AUTHENTICATOR,
    edits: [["    if (key.revoked !== null) throw credentialsInvalid('the key was revoked');\n", '']],
    caughtBy: KEY_AUTHENTICATOR_TEST,
    breaks: 'A revoked key is refused.',
  },
  'expired-key-is-let-in': {
    file: KEY_AUTHENTICATOR,
    edits: [['key.expiresMs !== null && key.expiresMs <= nowMs', 'key.expiresMs !== null && key.expiresMs < nowMs']],
    caughtBy: KEY_AUTHENTICATOR_TEST,
    breaks: 'A key ends at its time, and not after it.',
  },
  'closed-tenant-is-let-in': {
    file: KEY_AUTHENTICATOR,
    edits: [['    await this.#options.tenants.check(key.tenant);\n', '']],
    caughtBy: KEY_AUTHENTICATOR_TEST,
    breaks: 'Nobody of a suspended tenant is let in.',
  },
  'lost-rows-refuse-keys': {
    file: KEY_AUTHENTICATOR,
    edits: [['if (await records.areKnown()) return records.key(id);', 'return records.key(id);']],
    caughtBy: KEY_AUTHENTICATOR_TEST,
    failsWith: 'These credentials are not accepted',
    breaks: 'While rows are rebuilt a key is unknown and not refused.',
  },
  'token-for-another-audience': {
    file: OIDC_AUTHENTICATOR,
    edits: [['      issuer,\n      audience,\n', '      issuer,\n']],
    caughtBy: OIDC_AUTHENTICATOR_TEST,
    breaks: 'A token for another service is refused.',
  },
  'token-without-end': {
    file: OIDC_AUTHENTICATOR,
    edits: [["requiredClaims: ['exp', 'sub']", "requiredClaims: ['sub']"]],
    caughtBy: OIDC_AUTHENTICATOR_TEST,
    breaks: 'A token that never ends is refused.',
  },
  'token-of-another-type': {
    file: OIDC_AUTHENTICATOR,
    edits: [
      [
        "    if (!TYPES.includes(protectedHeader.typ?.toLowerCase())) throw credentialsInvalid('a token of another type');\n",
        '',
      ],
    ],
    caughtBy: OIDC_AUTHENTICATOR_TEST,
    breaks: 'An id token is no access token.',
  },
  'floods-are-not-limited': {
    file: 'libs/operate/api/src/admission.ts',
    edits: [['if (isOver(asked)) throw tooMany(asked);\n      if (!mayDo', 'if (!mayDo']],
    caughtBy: 'test/api/hostile.test.ts',
    test: 'for its caller alone',
    breaks: 'One caller has a bounded number of requests.',
  },
  'rights-are-not-asked': {
    file: 'libs/operate/api/src/admission.ts',
    edits: [
      ['if (!mayDo(request.principal, right)) {', 'if (!mayDo(request.principal, right) && right === undefined) {'],
    ],
    caughtBy: 'test/api/access-matrix.test.ts',
    test: 'asked by viewer@acme',
    breaks: 'A route is served to callers who have its right.',
  },
  'bodies-are-read-for-nobody': {
    file: 'libs/operate/api/src/server.ts',
    edits: [['if (routeOptions.config.takesBody !== true) {', 'if (routeOptions.config.takesBody === null) {']],
    caughtBy: 'test/api/bodies.test.ts',
    test: 'a request to read is refused, and its connection closed',
    breaks: 'A body that no route takes is not read.',
  },
  'bodies-of-work-are-forgotten': {
    file: 'libs/operate/api/src/server.ts',
    edits: [['const letGo = incoming?.hold();', 'const letGo = undefined;']],
    caughtBy: 'test/api/bodies.test.ts',
    test: 'stay as long as what they began, also after their caller has left',
    breaks: 'What a request holds is counted until its work is over.',
  },
  'large-bodies-count-once': {
    file: 'libs/operate/api/src/admission.ts',
    edits: [['left >= RATE_BODY_BYTES;', 'left >= 2 ** 32;']],
    caughtBy: 'test/api/bodies.test.ts',
    test: 'large bodies count as many requests, of their caller alone',
    breaks: 'The work that bodies make is bounded by caller.',
  },
  'pieces-of-a-byte-are-taken': {
    file: 'libs/operate/access/src/json-body.ts',
    edits: [['length < this.#piecesCount * BODY_PIECE_MIN_BYTES', 'length < this.#piecesCount']],
    caughtBy: 'libs/operate/access/src/json-body.test.ts',
    test: 'in pieces of a byte it is refused',
    breaks: 'Pieces of a body cost the server no more than so much each.',
  },
  'bodies-take-any-room': {
    file: 'libs/operate/access/src/json-body.ts',
    edits: [['if (!this.#room.hasFor(whose)) {', 'if (bytes < 0) {']],
    caughtBy: 'libs/operate/access/src/json-body.test.ts',
    test: 'is of one address, until it is known who asks',
    breaks: 'Bodies in hand are bounded in all, by tenant and by address.',
  },
  'reads-take-any-room': {
    file: 'libs/operate/access/src/reads.ts',
    edits: [['if (!this.#hasRoomFor(more)) {', 'if (more < 0) {']],
    caughtBy: 'libs/operate/access/src/reads.test.ts',
    test: 'many at once never have more than there is, and all are answered',
    breaks: 'Reads in hand are bounded in all, and by tenant.',
  },
  'reads-pass-older-ones': {
    file: 'libs/operate/access/src/reads.ts',
    edits: [
      ['return older.whose === whose || this.hasFor(older.whose);', "return older.whose === whose && whose === '';"],
    ],
    caughtBy: 'libs/operate/access/src/reads.test.ts',
    test: 'those that come later let an older one have its room',
    breaks: 'A large read finds room beside many small ones.',
  },
  'actions-have-their-share-alone': {
    file: 'libs/operate/access/src/reads.ts',
    edits: [['if (this.#isAction && this.#room.fitsAlone', 'if (more < 0 && this.#room.fitsAlone']],
    caughtBy: 'libs/operate/access/src/reads.test.ts',
    test: 'an action takes what it needs where hardly anything else is in hand, and never more than there is',
    failsWith: 'The memory for content that is read is in use',
    breaks: 'An action that reads much is done where there is room for it.',
  },
  'folded-counts-for-ever': {
    file: 'libs/model/codec/src/reading.ts',
    edits: [['  reading?.passed();\n', '']],
    caughtBy: 'libs/operate/access/src/reads.test.ts',
    test: 'an answer has a bound, in values too, and what is folded counts as much as is in memory of it',
    failsWith: 'What is to be read takes more than',
    breaks: 'A state as large as Tidemark accepts can be read.',
  },
  'followers-keep-their-history': {
    file: 'libs/operate/api/src/events/feeds.ts',
    edits: [['unread = this.#room.take(whose, sink.unreadBytes);', 'this.#room.take(whose, sink.unreadBytes)();']],
    caughtBy: 'libs/operate/api/src/events/feeds.test.ts',
    test: 'a history that nobody reads is in memory a piece at a time, counted, and is sent whole once it is read',
    breaks: 'What followers have not read is counted.',
  },
  'reads-wait-with-what-they-have': {
    file: 'libs/operate/access/src/reads.ts',
    edits: [['for (const giveBack of this.#held.splice(0)) giveBack();', 'void this.#held;']],
    caughtBy: 'libs/operate/access/src/reads.test.ts',
    test: 'many at once never have more than there is, and all are answered',
    breaks: 'A read that waits holds nothing, so that no two wait for each other.',
  },
  'answers-of-any-size': {
    file: 'libs/operate/access/src/reads.ts',
    edits: [['if (kept > READ_MAX_BYTES) throw', 'if (kept < 0) throw']],
    caughtBy: 'libs/operate/access/src/reads.test.ts',
    test: 'an answer has a bound, in values too, and what is folded counts as much as is in memory of it',
    breaks: 'Answers are bounded in values, not in bytes alone.',
  },
  'viewers-have-content-parsed': {
    file: 'libs/operate/api/src/operation.ts',
    edits: [['backend: backend.forCaller(readsContent)', 'backend: backend.forCaller(true)']],
    caughtBy: 'test/api/reads.test.ts',
    test: '/v1/workflows/w/notes parses none',
    breaks: 'No content is parsed for a caller who may not see it.',
  },
  'batches-of-any-size': {
    file: 'libs/adapters/log-kafka/src/batch-body.ts',
    edits: [['zstdDecompressSync(body, bound)', 'zstdDecompressSync(body)']],
    caughtBy: 'libs/adapters/log-kafka/src/record-batch.test.ts',
    test: 'a bomb of zstd is not unpacked: its records come out empty',
    breaks: 'A few bytes of a batch take no more memory than a batch of ours.',
  },
  'unpacked-batches-uncounted': {
    file: 'libs/adapters/log-kafka/src/record-batch.ts',
    edits: [
      [
        'sink.leftBytes = Math.min(sink.leftBytes, leftBytes);',
        'sink.leftBytes = Math.max(sink.leftBytes, leftBytes);',
      ],
    ],
    caughtBy: 'libs/adapters/log-kafka/src/record-batch.test.ts',
    test: 'what a batch unpacks to counts, whatever its values are, and no more of it is kept than they are',
    breaks: 'What one read unpacks is bounded, whatever part of it are values.',
  },
  'small-values-keep-their-batch': {
    file: 'libs/adapters/log-kafka/src/record-batch.ts',
    edits: [['isUnpacked && length * VIEWED_SHARE < body.length ?', 'isUnpacked && length < 0 ?']],
    caughtBy: 'libs/adapters/log-kafka/src/record-batch.test.ts',
    test: 'what a batch unpacks to counts, whatever its values are, and no more of it is kept than they are',
    breaks: 'A value of a byte does not keep sixteen megabytes in memory.',
  },
  'opened-records-uncounted': {
    file: 'libs/engine/runtime/src/encryption/sealed-log.ts',
    edits: [['leftBytes -= whole.value.length;', 'leftBytes -= 1;']],
    caughtBy: 'libs/engine/runtime/src/encryption/sealed-log.test.ts',
    test: 'what a few sealed bytes unpack to counts, and no record is missed',
    breaks: 'What one read opens is bounded, however well it was packed.',
  },
  'two-hosts-are-heard': {
    file: 'libs/operate/access/src/http-guard.ts',
    edits: [["const SINGLE = ['host', ", 'const SINGLE = [']],
    caughtBy: 'test/api/bodies.test.ts',
    test: 'with two hosts is refused',
    breaks: 'A proxy before the server understands each request as the server does.',
  },
  'coordinator-moves-to-another-port': {
    file: 'services/coordinator/src/serve.ts',
    edits: [
      ['      port: api.port ?? DEFAULT_PORT,\n', '      port: api.port ?? DEFAULT_PORT,\n      orAnyPort: true,\n'],
    ],
    caughtBy: 'services/coordinator/src/serve.test.ts',
    breaks: 'Callers show their keys to nobody who took the port of the coordinator.',
  },
  'mcp-runs-any-check': {
    file: 'libs/operate/mcp/src/repo-state-tools.ts',
    edits: [['if (allowedChecks.has(digest)) return;', "if (allowedChecks.has(digest) || digest !== '') return;"]],
    caughtBy: 'libs/operate/mcp/src/checks.test.ts',
    breaks: "An assistant's server runs no command that a person has not approved.",
  },
  'check-is-not-shown-first': {
    file: 'libs/author/repo-state/src/repo-state.ts',
    edits: [['onCheck?.(id, command, this.#root);', '']],
    caughtBy: 'libs/operate/mcp/src/checks.test.ts',
    breaks: 'A command that lies in a state is refused before it runs.',
  },
  'check-is-approved-everywhere': {
    file: 'libs/author/repo-state/src/check.ts',
    edits: [['.update(path.resolve(folder))', '']],
    caughtBy: 'libs/operate/mcp/src/checks.test.ts',
    breaks: 'What was approved in one folder does not run in another.',
  },
  'reserved-checkpoint-is-not-listed': {
    file: 'libs/operate/api/src/shapes/checkpoints.ts',
    edits: [['if (state.reserved === null || staged.has', 'if (state.reserved !== null || staged.has']],
    caughtBy: 'libs/operate/api/src/backend.test.ts',
    breaks: 'A checkpoint whose effect awaits its confirmation is listed as reserved.',
  },
  'turns-are-not-kept': {
    file: 'libs/operate/cli/src/place/turn.ts',
    edits: [
      ['isWaiting(earlier, Number(TURN.exec(other)?.[1]))) return true;', 'isWaiting(earlier, 0)) return false;'],
    ],
    caughtBy: 'libs/operate/cli/src/place/turn.test.ts',
    breaks: 'A command that waits for a folder is not overtaken by later ones.',
  },
  'arguments-of-any-depth': {
    file: 'libs/operate/mcp/src/tool.ts',
    edits: [['        checkArguments(given);\n', '']],
    caughtBy: 'libs/operate/mcp/src/arguments.test.ts',
    breaks: 'What a client of MCP sends is bounded before a schema goes into it.',
  },
  'answers-without-safe-headers': {
    file: 'libs/operate/api/src/server.ts',
    edits: [['  addSafeHeaders(app);\n', '']],
    caughtBy: 'test/api/safe-headers.test.ts',
    breaks: 'Every answer reports browsers to load, run and frame nothing.',
  },
  'content-for-everybody': {
    file: 'libs/operate/api/src/redaction.ts',
    edits: [["content: mayDo(principal, 'content'),\n  words", 'content: true,\n  words']],
    caughtBy: 'libs/operate/api/src/redaction.test.ts',
    breaks: 'Content is shown to callers who may see it.',
  },
  'follower-outlives-rights': {
    file: 'libs/operate/api/src/standing.ts',
    edits: [['        if (!isSame(now, principal)) sink.fail(changed(), undefined);\n', '']],
    caughtBy: 'libs/operate/api/src/standing.test.ts',
    breaks: 'A follower that loses a right is cut off.',
  },
  'secret-in-the-state': {
    file: 'libs/author/repo-state/src/state-file.ts',
    edits: [['  if (found.length > 0) {\n', '  if (found.length > 1_000) {\n']],
    caughtBy: 'libs/author/repo-state/src/bad-input.test.ts',
    test: 'are left as they are by a change that is refused',
    breaks: 'No secret is written into the repository.',
  },
  'newer-state-is-read': {
    file: 'libs/author/repo-state/src/state-file.ts',
    edits: [["typeof format === 'number' && format > FORMAT", "typeof format === 'number' && format > FORMAT + 1"]],
    caughtBy: 'libs/author/repo-state/src/bad-input.test.ts',
    test: 'the file of a newer Tidemark is left as it is',
    breaks: 'A state that a newer release wrote is left as it is.',
  },
  'losers-are-thrown-away': {
    file: 'libs/author/repo-state/src/store.ts',
    edits: [
      [
        '    const conflicts = await this.#keepLosers(place, judged, atMs);\n',
        '    const conflicts: readonly ResolvedConflict[] = [];\n',
      ],
    ],
    caughtBy: 'libs/author/repo-state/src/faults.test.ts',
    breaks: 'A state that lost a conflict is kept.',
  },
  'state-of-another-folder': {
    file: 'libs/author/repo-state/src/store.ts',
    edits: [['return state.fallback_for === root;', 'return true;']],
    caughtBy: 'libs/author/repo-state/src/faults.test.ts',
    breaks: 'Two folders that cannot be written do not take over the state of each other.',
  },
  'waiting-stages-finish-another-state': {
    file: 'libs/author/repo-state/src/waiting.ts',
    edits: [['if (!continues(base, now, place === read.place)) {', 'if (checkpoints.length === 0) {']],
    caughtBy: 'libs/author/repo-state/src/repo-state.test.ts',
    breaks: 'A checkpoint that waits finishes no stage of the next state.',
  },
  'waiting-stages-beat-newer-ones': {
    file: 'libs/author/repo-state/src/waiting.ts',
    edits: [
      [
        'if (isDeepStrictEqual(stageIn(base, id), stageIn(now, id))) return true;',
        'if (stageIn(now, id)) return true;',
      ],
    ],
    caughtBy: 'libs/author/repo-state/src/repo-state.test.ts',
    breaks: 'What another program said of a stage since, or what was applied, counts over what waits.',
  },
  'state-goes-back-in-time': {
    file: 'libs/author/repo-state/src/store.ts',
    edits: [['parseTime(before.updated_at) + 1', 'Date.parse(before.updated_at)']],
    caughtBy: 'libs/author/repo-state/src/repo-state.test.ts',
    breaks: 'Each write of a state is newer than the one before, whatever the clock says.',
  },
  'state-of-a-repository': {
    file: 'libs/operate/host/src/git-index.ts',
    edits: [['return names.includes(first!);', 'return names.length === 0 && names.includes(first!);']],
    caughtBy: 'libs/operate/host/src/state-folder.test.ts',
    breaks: 'A state folder that a git repository brought is not opened.',
  },
  'failures-in-part-unrecorded': {
    file: 'libs/operate/cli/src/place/admin-place.ts',
    edits: [['    await writeChanged(codeOf(error));\n', '']],
    caughtBy: 'libs/operate/cli/src/place/admin-place.test.ts',
    breaks: 'What an administrator changed is in the audit also where it failed half-way.',
  },
  'state-without-an-index': {
    file: 'libs/operate/host/src/git-index.ts',
    edits: [['isShared || mayBringWithoutIndex(path.dirname(file)) ? undefined : false', 'false']],
    caughtBy: 'libs/operate/host/src/state-folder.test.ts',
    breaks: 'A state folder below a repository that has objects and no index is not opened.',
  },
  'look-alikes-of-state': {
    file: 'libs/operate/host/src/git-index.ts',
    edits: [
      ['  if (/^[\\0-\\x7f]*$/.test(name)) return name.toLowerCase();\n', '  if (name) return name.toLowerCase();\n'],
    ],
    caughtBy: 'libs/operate/host/src/state-folder.test.ts',
    breaks: 'A tracked name that a file system takes for one of the state counts.',
  },
  'deep-state-unjudged': {
    file: 'libs/operate/host/src/state-folder.ts',
    edits: [['      if (entry.isDirectory()) waiting.push(name);\n', '']],
    caughtBy: 'libs/operate/host/src/state-folder.test.ts',
    breaks: 'A file of the rows in which others may write is found however deep it lies.',
  },
  'state-that-others-write': {
    file: 'libs/operate/host/src/state-folder.ts',
    edits: [[' || isOpenToOthers(place, own)', '']],
    caughtBy: 'libs/operate/host/src/state-folder.test.ts',
    breaks: 'A state folder in which others may write is not opened.',
  },
  'credential-in-clear': {
    file: 'libs/model/ports/src/in-clear.ts',
    edits: [["protocol === 'http:' && !isLoopback(hostname)", "protocol === 'ftp:' && !isLoopback(hostname)"]],
    caughtBy: 'libs/operate/host/src/credentials-in-addresses.test.ts',
    breaks: 'A secret goes over TLS, or to this machine.',
  },
  'active-beyond-observed': {
    file: 'libs/engine/runtime/src/shadow/shadow-account.ts',
    edits: [["if (mode === 'active' && to > observed)", "if (mode === 'active' && to > 100)"]],
    caughtBy: SHADOW_ACCOUNT_TEST,
    test: STEP_BY_STEP,
    breaks: 'Tidemark runs no larger share of an agent’s workflows than was observed.',
  },
  'active-without-observation': {
    file: 'libs/engine/runtime/src/shadow/shadow-account.ts',
    edits: [["to > from && (mode === 'active' || from > 0)", 'to > from && from > 0']],
    caughtBy: SHADOW_ACCOUNT_TEST,
    test: 'to Tidemark itself what was observed, by id: a larger share holds the smaller one, and all is back at once',
    breaks: 'Tidemark runs an agent’s workflows only after their observation.',
  },
  'active-outlasts-observe': {
    file: 'libs/engine/runtime/src/shadow/shadow-account.ts',
    edits: [['options.to === undefined ? 0 :', 'options.to === undefined ? active :']],
    caughtBy: SHADOW_ACCOUNT_TEST,
    test: 'to Tidemark itself what was observed, by id: a larger share holds the smaller one, and all is back at once',
    breaks: 'Going back to observing gives all further workflows to their agent at once.',
  },
  'route-forgets-what-began': {
    file: 'libs/engine/runtime/src/shadow/shadows.ts',
    edits: [
      ['if (stream !== undefined) return streamFromJson', 'if (stream === null) return streamFromJson'],
      ['unless: [against, workflow]', 'unless: [against]'],
    ],
    caughtBy: SHADOW_ACCOUNT_TEST,
    test: 'nothing that has begun elsewhere: what the agent began it ends, and so does Tidemark',
    breaks: 'A workflow ends where it began: a changed share never has it run by two.',
  },
  'route-forgets-its-answer': {
    file: 'libs/engine/runtime/src/shadow/shadows.ts',
    edits: [['(await this.#claim(name, workflow, wanted))', 'wanted']],
    caughtBy: SHADOW_ACCOUNT_TEST,
    test: 'to the agent for good what it was once told to run, whatever the shares become, and for every process',
    breaks: 'What an agent was told to run stays with it after every raise of the share that Tidemark runs.',
  },
  'route-claims-side-by-side': {
    file: 'libs/engine/runtime/src/shadow/shadows.ts',
    edits: [['unless: [against, workflow]', 'unless: [workflow]']],
    caughtBy: SHADOW_ACCOUNT_TEST,
    test: AROUND_A_CHANGE,
    breaks: 'Two processes that ask around a change of the shares get one answer.',
  },
  'start-beside-a-claim': {
    file: 'libs/engine/runtime/src/inbox/starter.ts',
    edits: [["control.shadow ? 'tidemark' : 'agent'", "control.shadow ? 'tidemark' : 'tidemark'"]],
    caughtBy: SHADOW_ACCOUNT_TEST,
    test: AROUND_A_CHANGE,
    breaks: 'What is left to an agent is not started here.',
  },
  'exclusion-forgets-the-call': {
    file: 'libs/adapters/store-postgres/src/place-workflows.ts',
    edits: [['    there.add(workflow);\n', '']],
    caughtBy: 'libs/adapters/store-postgres/src/pglite-store.test.ts',
    test: 'of workflows that exclude each other the first is placed, in one call, in concurrent ones, and for good',
    breaks: 'Of workflows that exclude each other one is placed, also when one call asks for both.',
  },
  'active-observed-too': {
    file: 'libs/engine/runtime/src/shadow/shadows.ts',
    edits: [['if (!isInShare(workflow, active, digest)) return true;', 'if (workflow) return true;']],
    caughtBy: SHADOW_ACCOUNT_TEST,
    test: 'what Tidemark runs is not observed, unless the agent began it',
    breaks: 'An observation never takes the id of a workflow that Tidemark is to run.',
  },
  'active-share-jumps': {
    file: 'libs/engine/runtime/src/shadow/shadow-account.ts',
    edits: [['if (to !== next) refuse', "if (mode === 'observe' && to !== next) refuse"]],
    caughtBy: SHADOW_ACCOUNT_TEST,
    test: STEP_BY_STEP,
    breaks: 'Tidemark runs 10, then 50, then all of an agent’s workflows.',
  },
  'promoted-uncompared': {
    file: 'libs/engine/runtime/src/shadow/shadow-account.ts',
    edits: [['|| !(workflowsMin >= 1)', '|| !(workflowsMin >= 0)']],
    caughtBy: SHADOW_ACCOUNT_TEST,
    test: STEP_BY_STEP,
    breaks: 'No share is raised without a run that was compared and agrees.',
  },
  'share-ends-takeover': {
    file: 'libs/engine/runtime/src/shadow/shadow-account.ts',
    edits: [['options.to === undefined ? 0 : (Math.min(active, to)', '0 as ShadowShare; void (Math.min(active, to)']],
    caughtBy: SHADOW_ACCOUNT_TEST,
    test: 'keeps what Tidemark runs when another share is observed, but for what is observed no more',
    breaks: 'Observing more ends nothing that Tidemark runs.',
  },
};
