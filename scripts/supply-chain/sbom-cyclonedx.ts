/**
 * Owns the list of what is shipped in CycloneDX 1.6, as JSON. It depends on package-lock.json and the manifests alone: no time, no name of
 * a machine or registry, and its serial number derives from its content. Pure.
 */
import { createHash } from 'node:crypto';
import { licenceOf } from './licence-rules.ts';
import type { Lock, LockedPackage } from './lockfile.ts';
import type { Shipped } from './shipped.ts';

export const purlOf = ({ name, version }: LockedPackage): string =>
  `pkg:npm/${name.replace(/^@/, '%40')}@${encodeURIComponent(version)}`;

export function cycloneDxOf(lock: Lock, { name, description, packages, parts }: Shipped, version: string): object {
  const components = new Map(packages.map((one) => [purlOf(one), componentOf(lock, one)]));
  const subject = `${name}@${version}`;
  const dependencies = [
    { ref: subject, dependsOn: refsOf(lock, parts) },
    ...[...components.keys()].map((ref) => ({
      ref,
      // One version may lie in several places, with other dependencies there.
      dependsOn: [
        ...new Set(packages.filter((one) => purlOf(one) === ref).flatMap((one) => refsOf(lock, one.needs))),
      ].sort(),
    })),
  ];
  const body = {
    metadata: {
      lifecycles: [{ phase: 'build' }],
      component: {
        ...{ type: 'application', 'bom-ref': subject, name, version, description },
        licenses: [{ license: { id: 'Apache-2.0' } }],
      },
    },
    components: [...components.values()],
    dependencies,
  };
  const serialNumber = `urn:uuid:${uuidOf(JSON.stringify(body))}`;
  return { bomFormat: 'CycloneDX', specVersion: '1.6', serialNumber, version: 1, ...body };
}

const refsOf = (lock: Lock, places: readonly string[]): string[] =>
  places.map((place) => purlOf(lock.get(place)!)).sort();

function componentOf(lock: Lock, one: LockedPackage): object {
  const licence = licenceOf(lock, one);
  const [scope, name] = one.name.startsWith('@') ? one.name.split('/') : [undefined, one.name];
  return {
    type: 'library',
    'bom-ref': purlOf(one),
    ...(scope !== undefined && { group: scope }),
    ...{ name, version: one.version, scope: one.isPlatformBuild ? 'optional' : 'required' },
    ...(one.integrity !== undefined && { hashes: [hashOf(one.integrity)] }),
    ...(licence !== undefined && { licenses: [licenceEntry(licence)] }),
    purl: purlOf(one),
  };
}

const licenceEntry = (licence: string): object =>
  /\s/.test(licence) ? { expression: licence } : { license: { id: licence } };

const ALGORITHMS: Readonly<Record<string, string>> = { sha1: 'SHA-1', sha256: 'SHA-256', sha512: 'SHA-512' };

/** Digest of the package's archive, against which npm checks a download. */
export function hashOf(integrity: string): { readonly alg: string; readonly content: string } {
  const [, algorithm = '', digest = ''] = /^(\w+)-(\S+)/.exec(integrity) ?? [];
  return { alg: ALGORITHMS[algorithm]!, content: Buffer.from(digest, 'base64').toString('hex') };
}

/** A UUID (version 8) that derives from this text. */
export function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
