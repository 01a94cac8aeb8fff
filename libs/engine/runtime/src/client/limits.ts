/** Owns every limit of the room: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/** Longest name of a session or user, in characters: with its prefix, it is the subject of memories. */
export const SESSION_NAME_MAX_CHARS = 240;
/** Workflows of a session that are listed, newest first. */
export const SESSIONS_LIST_MAX_COUNT = 100;
/** Parked workflows of a tenant that check their budget again when one is set, newest first. */
export const PAUSED_RESUMED_MAX_COUNT = 10_000;
/** Most children in one page. */
export const CHILDREN_PAGE_COUNT = 1_000;
/**
 * Paused queues of one tenant, and of all tenants together, so that operators who pause for all tenants always have room; and queues that
 * are listed.
 */
export const QUEUES_HELD_OF_TENANT_MAX_COUNT = 100;
export const QUEUES_HELD_OF_TENANTS_MAX_COUNT = 900;
export const QUEUES_LISTED_MAX_COUNT = 10_000;
/** Open workflows that the error names when they keep a user from being forgotten; further ones are counted. */
export const FORGET_OPEN_REPORTED_MAX = 20;
/** Workflows of a user that one page reads. */
export const FORGET_WORKFLOWS_PAGE_COUNT = 500;
/** Memories that one page of a forgetting reads and writes. */
export const FORGET_PAGE_COUNT = 50;
/** Forks of one workflow that are checked before it is forgotten. */
export const FORKS_READ_MAX_COUNT = 10_000;
/** Longest id of a schedule, in characters: ids of its runs add the slot's time. */
export const SCHEDULE_ID_MAX_CHARS = 170;
/** Workflows in one page of a bulk job's preview, and ids that it shows. */
export const BULK_COUNT_PAGE_COUNT = 5_000;
export const BULK_COUNT_SHOWN_COUNT = 5;
