/**
 * Owns judging licences of dependencies by the allowed ones (licences.json): shipped packages by one list, development tools by that and
 * another. An unknown licence is refused, and so is an exception that nothing needs any more. Pure.
 */
import parse, { type Info } from 'spdx-expression-parse';
import type { Lock, LockedPackage } from './lockfile.ts';

export interface LicencePolicy {
  /** SPDX ids; with an exception as `ID WITH EXCEPTION`. */
  readonly shipped: readonly string[];
  /** Also allowed for what is not shipped. */
  readonly toDevelop: readonly string[];
  /** By name of the package: its actual licence, and why that is allowed. */
  readonly exceptions: Readonly<Record<string, { readonly licence: string; readonly reason: string }>>;
}

/** One line for each package that may not be used as it is, and each exception without use. `shipped`: by place. */
export function licenceFaults(lock: Lock, shipped: ReadonlySet<string>, policy: LicencePolicy): readonly string[] {
  const used = new Set<string>();
  const packages = [...lock.values()].filter(({ place }) => place !== '');
  const faults = packages.flatMap((one) => {
    const isShipped = shipped.has(one.place);
    const allowed = isShipped ? policy.shipped : [...policy.shipped, ...policy.toDevelop];
    const named = Object.hasOwn(policy.exceptions, one.name);
    const said = licenceOf(lock, one);
    if (said !== undefined && isAllowed(said, allowed)) return [];
    if (named) used.add(one.name);
    const exception = named ? policy.exceptions[one.name] : undefined;
    // It holds for this licence alone: a package that changes its licence is reviewed again.
    if (exception !== undefined && (said === undefined || said === exception.licence)) return [];
    const what = said === undefined ? 'names no licence' : `is under ${said}, which is not allowed`;
    return [`${one.name} ${one.version} (${isShipped ? 'shipped' : 'to develop'}) ${what}`];
  });
  const stale = Object.keys(policy.exceptions).filter((name) => !used.has(name));
  return [...faults, ...stale.map((name) => `${name} is an exception that nothing needs: take it out`)].sort();
}

/** Its own licence; a build for another platform, which isn't installed here, has that of the package that it is a build of. */
export function licenceOf(lock: Lock, one: LockedPackage): string | undefined {
  if (one.licence !== undefined || !one.isPlatformBuild) return one.licence;
  const [scope] = one.name.split('/');
  for (const parent of lock.values()) {
    const isSame = parent.version === one.version && `@${parent.name.replace(/^@/, '').split('/')[0]}` === scope;
    if (isSame && parent.needs.includes(one.place)) return parent.licence;
  }
  return undefined;
}

/** One of several alternatives must be allowed, and each of a conjunction. Anything but an SPDX expression is refused. */
export function isAllowed(expression: string, allowed: readonly string[]): boolean {
  try {
    return holds(parse(expression), new Set(allowed));
  } catch {
    return false;
  }
}

function holds(info: Info, allowed: ReadonlySet<string>): boolean {
  if ('conjunction' in info) {
    const sides = [info.left, info.right] as const;
    const fits = (side: Info): boolean => holds(side, allowed);
    return info.conjunction === 'or' ? sides.some(fits) : sides.every(fits);
  }
  const id = `${info.license}${info.plus === true ? '+' : ''}`;
  return allowed.has(info.exception === undefined ? id : `${id} WITH ${info.exception}`);
}
