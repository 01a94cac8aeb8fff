/** Owns laying operations over a store. */

import type { ProjectionStore } from '@tidemark/ports';

/** The store, but for these operations, and for those that are assigned to what is returned. */
export function overridden(store: ProjectionStore, operations: Partial<ProjectionStore>): ProjectionStore {
  const members = new Map<PropertyKey, unknown>(Object.entries(operations));
  return new Proxy(store, {
    get(target, name) {
      if (members.has(name)) return members.get(name);
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      const bound: unknown = member.bind(target);
      members.set(name, bound);
      return bound;
    },
    set(_, name, member) {
      members.set(name, member);
      return true;
    },
  });
}
