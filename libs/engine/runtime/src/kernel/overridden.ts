/** Owns the layering of members over an object: a store, a context, a model. */

/** The object with these members in place of its own. Assigning to the result replaces further ones, and never changes the object. */
export function overridden<S extends object>(store: S, operations: Partial<S>): S;
export function overridden<S extends object, O extends object>(store: S, operations: O): Omit<S, keyof O> & O;
export function overridden(store: object, operations: object): object {
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
