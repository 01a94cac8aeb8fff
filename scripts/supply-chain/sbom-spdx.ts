/**
 * Owns the list of what is shipped in SPDX 2.3, as JSON, with the same contents as that in CycloneDX. SPDX needs a time, which the caller
 * gives, so that one commit has one list. Pure.
 */
import { licenceOf } from './licence-rules.ts';
import type { Lock, LockedPackage } from './lockfile.ts';
import { hashOf, purlOf, uuidOf } from './sbom-cyclonedx.ts';
import type { Shipped } from './shipped.ts';

const ROOT = 'SPDXRef-shipped';
const UNKNOWN = 'NOASSERTION';

/** `created`: ISO, to the second, in UTC. */
export function spdxOf(lock: Lock, shipped: Shipped, version: string, created: string): object {
  const unique = new Map(shipped.packages.map((one) => [idOf(one), one]));
  const relationships = new Map<string, object>();
  const relate = (from: string, relationshipType: string, to: string): void => {
    const relationship = { spdxElementId: from, relationshipType, relatedSpdxElement: to };
    relationships.set(JSON.stringify(relationship), relationship);
  };
  relate('SPDXRef-DOCUMENT', 'DESCRIBES', ROOT);
  for (const place of shipped.parts) relate(ROOT, 'CONTAINS', idOf(lock.get(place)!));
  for (const one of shipped.packages)
    for (const need of one.needs) relate(idOf(one), 'DEPENDS_ON', idOf(lock.get(need)!));
  const body = {
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: 'SPDXRef-DOCUMENT',
    name: `${shipped.name}-${version}`,
    creationInfo: { created, creators: ['Tool: tidemark-scripts-sbom'] },
    packages: [
      {
        ...{ SPDXID: ROOT, name: shipped.name, versionInfo: version, comment: shipped.description },
        ...{ downloadLocation: UNKNOWN, filesAnalyzed: false, licenseConcluded: 'Apache-2.0' },
        ...{ licenseDeclared: 'Apache-2.0', copyrightText: UNKNOWN },
      },
      ...[...unique.values()].map((one) => packageOf(lock, one)),
    ],
    relationships: [...relationships.values()],
  };
  return { ...body, documentNamespace: `urn:uuid:${uuidOf(JSON.stringify(body))}` };
}

const idOf = ({ name, version }: LockedPackage): string =>
  `SPDXRef-${`${name}-${version}`.replaceAll(/[^A-Za-z0-9.-]+/g, '-').replace(/^-/, '')}-${uuidOf(`${name}@${version}`).slice(0, 8)}`;

function packageOf(lock: Lock, one: LockedPackage): object {
  const hash = one.integrity === undefined ? undefined : hashOf(one.integrity);
  return {
    SPDXID: idOf(one),
    name: one.name,
    versionInfo: one.version,
    downloadLocation: UNKNOWN,
    filesAnalyzed: false,
    licenseConcluded: UNKNOWN,
    licenseDeclared: licenceOf(lock, one) ?? UNKNOWN,
    copyrightText: UNKNOWN,
    ...(hash !== undefined && {
      checksums: [{ algorithm: hash.alg.replace('-', ''), checksumValue: hash.content }],
    }),
    externalRefs: [{ referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator: purlOf(one) }],
  };
}
