/**
 * Owns what the twentieth version removes: content of records, which now is in the log alone, while rows of history name the places of
 * records. Older rows hold texts in those columns, so the migration deletes all that a fold made, and the first coordinator that starts
 * rebuilds it from the log. Placements stay. Vectors go with the memories whose ids they have: nothing would find them any more, and no
 * forgetting either.
 */

export const name = '0020-content-in-log';

export const sql = `
drop index checkpoints_payload_blob, effects_payload_blob, effects_request_blob, events_payload_blob;

truncate workflows, tasks, checkpoints, effects, events, timers, rejected, memories, memory_embeddings, fragments, texts, scopes, spends, spend_hours, sessions;
update partitions set rebuild_to = greatest(rebuild_to, next), next = 0, generation = 0;
update meta set ready = false, incarnation = gen_random_uuid();
`;
