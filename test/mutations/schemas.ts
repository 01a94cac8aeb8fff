/** Owns the mutations of what is published as a schema, of tools of other servers, and of embeddings. */

import type { Mutations } from './mutation.ts';

const PORTABLE_TEST = 'libs/model/codec/src/portable-schema.test.ts';
const MCP_TOOLS = 'libs/author/sdk/src/mcp/tools.ts';
const MCP_TOOLS_TEST = 'libs/testkit/src/mcp-tools.test.ts';

const REGISTERED = 'libs/author/sdk/src/registered';
const REGISTERED_TEST = 'libs/testkit/src/registered.test.ts';
const BEGIN = 'libs/engine/runtime/src/definition/begin-step.ts';

export const SCHEMA_MUTATIONS: Mutations = {
  'patterns-of-one-engine': {
    file: 'libs/model/codec/src/portable-pattern.ts',
    edits: [['if (/[A-Za-z0-9]/.test(char)) throw new Unportable();', '']],
    caughtBy: PORTABLE_TEST,
    breaks: 'A published pattern means the same in every engine.',
  },
  'patterns-without-flags': {
    file: 'libs/model/codec/src/published-schema.ts',
    edits: [["if (!patterns.some((one) => /[imsv]/.test(one?.flags ?? ''))) return;", 'if (checks !== null) return;']],
    caughtBy: PORTABLE_TEST,
    breaks: 'What fits a schema fits the one that is published of it.',
  },
  'mcp-calls-without-key': {
    file: MCP_TOOLS,
    edits: [['_meta: { [MCP_KEY]: key }', '_meta: {}']],
    caughtBy: MCP_TOOLS_TEST,
    test: 'records the call under the name that the server knows, and what it answers',
    breaks: 'A server of MCP may know a call that is repeated by its key.',
  },
  'mcp-results-refused': {
    file: MCP_TOOLS,
    edits: [['!isRepeatable && OF_RESULT.test(told) && !OF_INPUT.test(told)', 'false']],
    caughtBy: MCP_TOOLS_TEST,
    test: 'that its own server refuses to send: the call took place',
    breaks: 'An irreversible call whose result is lost is not told to the model as one that was refused.',
  },
  'mcp-names-merged': {
    file: 'libs/author/sdk/src/mcp/listing.ts',
    edits: [['sha256Digest.sha256(own)', 'sha256Digest.sha256(fit)']],
    caughtBy: MCP_TOOLS_TEST,
    test: 'can give no name, description or schema that does anything',
    failsWith: 'would both be',
    breaks: 'Tools whose names become alike when they are made fit stay two.',
  },
  'embeddings-of-another-count': {
    file: 'libs/author/ai/src/embedding-middleware.ts',
    edits: [['if (length !== wanted) throw', 'if (length > wanted) throw']],
    caughtBy: 'libs/author/ai/src/embedding-middleware.test.ts',
    test: 'a request that has changed asks a person where the count is another',
    breaks: 'Vectors are given for the values that they were made of.',
  },
  'embeddings-in-one-call': {
    file: 'libs/author/ai/src/limits.ts',
    edits: [['EMBEDDINGS_PER_CALL_MAX_COUNT = 40', 'EMBEDDINGS_PER_CALL_MAX_COUNT = 2_048']],
    caughtBy: 'libs/author/ai/src/embedding-middleware.test.ts',
    test: 'many values are several calls, each of which fits an event',
    breaks: 'The vectors of a call fit an event.',
  },
  'begins-unchecked': {
    file: BEGIN,
    edits: [['definition.begin(parsedOrFail(definition, input), { day })', 'definition.begin(input, { day })']],
    caughtBy: REGISTERED_TEST,
    test: 'fails, in the words of its own check, where only its code can tell',
    breaks: 'What only code can tell of an input ends the run that was opened by a registration.',
  },
  'unknown-fields-of-the-registered': {
    file: `${REGISTERED}/json-schema.ts`,
    edits: [
      [
        "return 'properties' in inner && inner.type === 'object' ? { additionalProperties: false, ...inner } : inner;",
        'return inner;',
      ],
    ],
    caughtBy: REGISTERED_TEST,
    test: 'is refused by the schemas where it is started, as where the code is',
    breaks: 'A misspelt field is refused, wherever the code is.',
  },
  'belief-before-it-began': {
    file: 'libs/engine/runtime/src/history/content.ts',
    edits: [
      [
        'hasBegun(state) ? upcastBelief(definition, from, this.belief) : this.belief',
        'upcastBelief(definition, from, this.belief)',
      ],
    ],
    caughtBy: REGISTERED_TEST,
    test: 'of an older version begins by the code of the newer one',
    breaks: 'What has not begun has no belief to convert.',
  },
  'trimmed-by-nobody': {
    file: `${REGISTERED}/card.ts`,
    edits: [
      [
        "const overwrites = checks.some(({ _zod }) => _zod.def.check === 'overwrite');",
        'const overwrites = checks.length < 0;',
      ],
    ],
    caughtBy: REGISTERED_TEST,
    test: 'needs its code where the start depends on it, and says why',
    breaks: 'An input is stored as its schema makes it, or not taken.',
  },
  'first-word-counts': {
    file: 'libs/engine/runtime/src/client/registrations.ts',
    edits: [['before !== undefined && canonicalJson(before) === text', 'before !== undefined']],
    caughtBy: REGISTERED_TEST,
    test: 'are written where they differ, and the newest word on a version counts',
    breaks: 'A worker whose definition has changed says so.',
  },
  'loaded-version-wins': {
    file: 'services/coordinator/src/registered-definitions.ts',
    edits: [['b.version - a.version', 'a.version - b.version']],
    caughtBy: 'test/api/registered.test.ts',
    test: 'is started in the newest version that a worker has, whatever the coordinator has loaded',
    breaks: 'A new version is rolled out with its workers alone.',
  },
  'rolled-back-version-starts': {
    file: 'libs/operate/api/src/backend.ts',
    edits: [['versions.find(({ version }) => served?.has(version)) ?? newest', 'newest']],
    caughtBy: 'test/api/registered.test.ts',
    test: 'is started in the version that a worker runs, where a newer one was rolled back, and else in the newest',
    breaks: 'After a rollback, what is started finds a worker.',
  },
};
