/**
 * Keys after an id, by id; tenant, workflows and user narrow it unless they are null. In: the id, tenant, workflows as an array
 * of JSON, user, greatest number. Goes through the primary key, whatever is asked for.
 */
export const listKeys = `
select id, tenant, workflow, user_id as user, provider, wrapped_by as "wrappedBy", wrapped from data_keys
where id > ?1 and (?2 is null or tenant = ?2) and (?3 is null or workflow in (select value from json_each(?3))) and (?4 is null or user_id = ?4)
order by id limit ?5
`;
