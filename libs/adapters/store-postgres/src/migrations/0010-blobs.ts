/** Owns what the tenth version adds: indexes of the rows whose texts are in blobs, since a blob stays as long as a row names it. */

export const name = '0010-blobs';

/** Columns that may name a blob in place of a text. See sql/blob-references.ts. */
const NAMING = {
  placements: ['opening'],
  workflows: ['result'],
  checkpoints: ['payload'],
  effects: ['payload', 'request'],
  events: ['payload'],
  texts: ['text'],
  scopes: ['change'],
  memories: ['value'],
} as const;

const indexes = Object.entries(NAMING).flatMap(([table, columns]) =>
  columns.map(
    (column) =>
      `create index ${table}_${column}_blob on ${table} (${column} collate "C") where left(${column}, 5) = 'blob:';`,
  ),
);

export const sql = `
-- A coordinator of an earlier version that still runs fails from now on: it would take the name of a blob for the text.
alter function tidemark_expect_9(bigint, bigint) rename to tidemark_expect_10;

${indexes.join('\n')}
`;
