/** As listKeys, where tenant and workflows are given. Index: data_keys_by_workflow. */
export const listKeysOfWorkflow = `
select id, tenant, workflow, user_id as user, provider, wrapped_by as "wrappedBy", wrapped from data_keys
where id > ?1 and tenant = ?2 and workflow in (select value from json_each(?3)) and (?4 is null or user_id = ?4)
order by id limit ?5
`;
