/**
 * Stores one key, or its newer wrapping; nothing when its id was destroyed. In: id, tenant, workflow, user, provider, wrapped_by,
 * wrapped. Indexes: the primary keys of data_keys and destroyed_keys.
 */
export const putKey = `
insert into data_keys (id, tenant, workflow, user_id, provider, wrapped_by, wrapped)
select ?1, ?2, ?3, ?4, ?5, ?6, ?7 where not exists (select 1 from destroyed_keys where id = ?1)
on conflict (id) do update set
  provider = excluded.provider, wrapped_by = excluded.wrapped_by, wrapped = excluded.wrapped
`;
