/** Owns the limits of shadow mode that several files share: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/** Shares of observed workflows, in percent, in the order of a roll-out; 0: none. */
export const SHADOW_SHARES = [0, 1, 10, 50, 100] as const;
/** Observation before each promotion, in milliseconds: 24 hours. */
export const SHADOW_OBSERVE_MS = 86_400_000;
/** Workflows that must have agreed from beginning to end, at the current share, before a promotion. */
export const SHADOW_WORKFLOWS_MIN = 10;
