/** The entry of a tenant or a user that says what they may spend: nobody writes it but who sets budgets. */
export const BUDGET_ENTRY = { kind: 'record', key: 'budget' } as const;
