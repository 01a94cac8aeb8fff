/**
 * Owns what the twentieth version takes away: what records say is in the log alone, and rows of history have their records' places. Rows that
 * were written before have texts there, so all that a fold made goes, and the first coordinator that starts makes it anew from the log.
 * Placements stay. Vectors go with the memories whose ids they have: nothing would find them any more, and no forgetting either.
 */

export const name = '0020-content-in-log';

export const sql = `
drop index checkpoints_payload_blob, effects_payload_blob, effects_request_blob, events_payload_blob;

truncate workflows, tasks, checkpoints, effects, events, timers, rejected, memories, memory_embeddings, fragments, texts, scopes, spends, spend_hours, sessions;
update partitions set rebuild_to = greatest(rebuild_to, next), next = 0, generation = 0;
update meta set ready = false, incarnation = gen_random_uuid();
`;
