/** What the settings of a cluster risk, each said only where it does. */

import { expect, it } from 'vitest';
import { ARCHIVE_ADVISED_LOG_BYTES } from '../limits.ts';
import { checkArchive, checkEncryption } from './cluster.ts';

const tiers = (archiveUrl: string) => ({
  tiers: { archiveUrl, coldUrl: '', hotMs: 1, retention: { warmMs: 1, keepMs: null } },
});

it('encryption that is off', () => {
  expect(checkEncryption({ keysUrl: '' })).toMatchObject([
    { check: 'Encryption', level: 'warn', remedy: expect.stringContaining('TIDEMARK_KEYS_URL') },
  ]);
  expect(checkEncryption({ keysUrl: 'file:///keys.json' })).toEqual([]);
});

it('a log that grows without an archive', () => {
  expect(checkArchive(tiers(''), ARCHIVE_ADVISED_LOG_BYTES)).toMatchObject([
    { check: 'Archive', level: 'warn', remedy: expect.stringContaining('TIDEMARK_ARCHIVE_URL') },
  ]);
  expect(checkArchive(tiers(''), ARCHIVE_ADVISED_LOG_BYTES - 1)).toEqual([]);
  expect(checkArchive(tiers('s3://bucket/prefix'), ARCHIVE_ADVISED_LOG_BYTES)).toEqual([]);
});
