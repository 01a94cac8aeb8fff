import type { Mutation } from './mutations.ts';
export const CORE_MUTATIONS: Readonly<Record<string, Mutation>> = {};
