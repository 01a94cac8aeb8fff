/** The entry of a tenant or a user that says what they may spend: nobody writes it but who sets budgets. */
export const BUDGET_ENTRY = { kind: 'record', key: 'budget' } as const;

/** Subjects that begin so say how long history is kept: nobody writes them but who sets retention. */
export const RETENTION_SUBJECT = 'retention:';

/** Subjects that begin so say who may do what (API keys, tenants): nobody writes them but the library of access. */
export const ACCESS_SUBJECT = 'access:';

/** The subject that says which queues are held: nobody writes it but who pauses and resumes them. */
export const QUEUES_SUBJECT = 'queues:held';
