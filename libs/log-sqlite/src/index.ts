/** The door of log-sqlite: the checkpoint log in a folder of this machine. */

export { defaultLimits, type SqliteLogLimits } from './limits.ts';
export { openSqliteLog, type SqliteLogOptions } from './open-sqlite-log.ts';
