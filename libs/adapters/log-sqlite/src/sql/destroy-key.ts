/** Removes one key for good, in a transaction with the others; and asks whether that was done. In each: id; `noteScrub` has none. Indexes: the primary keys. */
export const rememberDestroyed = 'insert into destroyed_keys (id) values (?) on conflict (id) do nothing';
export const removeKey = 'delete from data_keys where id = ?';
export const noteScrub = 'insert into scrubs (id) values (1) on conflict (id) do nothing';
export const readDestroyed = 'select 1 from destroyed_keys where id = ?';
