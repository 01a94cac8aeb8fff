/** One key. In: id. Index: the primary key. */
export const readKey = `
select id, tenant, workflow, user_id as user, provider, wrapped_by as "wrappedBy", wrapped from data_keys where id = ?
`;
