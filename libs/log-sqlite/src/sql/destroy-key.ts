/** Removes one key for good, in a transaction with the others. In each: id; the last has none. Indexes: the primary keys. */
export const rememberDestroyed = 'insert into destroyed_keys (id) values (?) on conflict (id) do nothing';
export const removeKey = 'delete from data_keys where id = ?';
export const noteScrub = 'insert into scrubs (id) values (1) on conflict (id) do nothing';
