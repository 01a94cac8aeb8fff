/** Owns which names are the system's own: no user's definition has one, and no list shows one. Pure. */

export const SYSTEM_PREFIX = 'tidemark.';

export const isSystemDefinition = (definition: string): boolean => definition.startsWith(SYSTEM_PREFIX);
