/** Owns what people are asked being found without reading the tasks that ask nobody, the oldest first. */

export const name = '0013-approvals';

/**
 * Of tasks that wait for a person's answer and for no other task, by the state that core serialises: quotes within its texts are escaped, so
 * none of them looks like a member.
 */
export const ASKING = `position('"kind":"approval"' in state) > 0 and position('"after":[],"barrierCount":0,' in state) > 0`;
/** When it was asked, in milliseconds. */
export const ASKED_AT = `substring(state from '"askedAtMs":([0-9]{1,16})')::bigint`;

export const sql = `
create index tasks_asking on tasks ((${ASKED_AT}), workflow, rank) where ${ASKING};
`;
