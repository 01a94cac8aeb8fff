/** Owns the mutations of what is published as a schema, of tools of other servers, and of embeddings. */

import type { Mutations } from './mutation.ts';

const PORTABLE_TEST = 'libs/model/codec/src/portable-schema.test.ts';
const MCP_TOOLS = 'libs/author/sdk/src/mcp/tools.ts';
const MCP_TOOLS_TEST = 'libs/testkit/src/mcp-tools.test.ts';

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
};
