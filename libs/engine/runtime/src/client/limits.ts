/** Owns every limit of the room: name, unit, default. Options that change one say so where they are read. */

/** Characters of a session's and of a user's name: with what stands before it, it is the subject of memories. */
export const SESSION_NAME_MAX_CHARS = 240;
/** Workflows of a session that are listed, the newest. */
export const SESSIONS_LIST_MAX_COUNT = 100;
/** Paused workflows of a tenant that look again when a budget is set, the newest. */
export const PAUSED_RESUMED_MAX_COUNT = 10_000;
/** Children in one page, at most. */
export const CHILDREN_PAGE_COUNT = 1_000;
/** Of one tenant; and of all tenants together, so that some are always left for those who hold for everybody. */
export const QUEUES_HELD_OF_TENANT_MAX_COUNT = 100;
export const QUEUES_HELD_OF_TENANTS_MAX_COUNT = 900;
export const QUEUES_LISTED_MAX_COUNT = 10_000;
/** Open workflows of a user that are named when they keep it from being forgotten; the others are counted. */
export const FORGET_OPEN_REPORTED_MAX = 20;
/** Workflows of a user that are read at once. */
export const FORGET_WORKFLOWS_PAGE_COUNT = 500;
/** Memories that one page of forgetting a user reads and writes. */
export const FORGET_PAGE_COUNT = 50;
/** Forks of one workflow that are looked at before it is forgotten. */
export const FORKS_READ_MAX_COUNT = 10_000;
/** Characters of a schedule's id: the slot's time follows it in those of its runs. */
export const SCHEDULE_ID_MAX_CHARS = 170;
/** Workflows that are counted in one go before a bulk job begins, and those of them that are named. */
export const BULK_COUNT_PAGE_COUNT = 5_000;
export const BULK_COUNT_SHOWN_COUNT = 5;
