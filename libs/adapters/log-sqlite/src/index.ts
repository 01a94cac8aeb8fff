/** Entry point of log-sqlite: the checkpoint log in a folder of this machine, and the wrapped keys beside it. */

export { defaultLimits, type SqliteLogLimits } from './limits.ts';
export { openSqliteKeys, type SqliteKeysOptions } from './open-sqlite-keys.ts';
export { openSqliteLog, type SqliteLogOptions } from './open-sqlite-log.ts';
export { KEYS_FILE } from './sqlite-keys.ts';
