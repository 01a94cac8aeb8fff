/** Owns what the seventeenth version adds: owners say which migrations their release knows, so that no contraction is applied under an older one. */

export const name = '0017-owners-know';

export const sql = `
-- The newest migration that the owner's release knows; null: a release from before this one.
alter table owners add column knows text collate "C";
`;
