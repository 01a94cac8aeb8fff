/** What the settings of a cluster risk, each said only where it does. */

import { expect, it } from 'vitest';
import { ARCHIVE_ADVISED_LOG_BYTES, checkArchive, checkEncryption, checkRegions } from './cluster.ts';

const tiers = (archiveUrl: string) => ({
  tiers: { archiveUrl, coldUrl: '', hotMs: 1, retention: { warmMs: 1, keepMs: null } },
});

it('encryption that is off', () => {
  expect(checkEncryption({ keysUrl: '' })).toMatchObject([
    { check: 'Encryption', level: 'warn', remedy: expect.stringContaining('TIDEMARK_KEYS_URL') },
  ]);
  expect(checkEncryption({ keysUrl: 'file:///keys.json' })).toEqual([]);
});

it('brokers in several regions, by their racks', () => {
  const racks = ['eu-west-1a', 'eu-west-1b', 'us-east1-b', 'US-East-1c', null];
  expect(checkRegions(racks)).toMatchObject([
    {
      check: 'Regions',
      level: 'warn',
      message: expect.stringMatching(/3 regions \(eu-west-1, us-east-1, us-east1\).*100 to 300 ms/),
      remedy: expect.stringContaining('asynchronous'),
    },
  ]);
  expect(checkRegions(['eu-west-1a', 'eu-west-1b', null, ''])).toEqual([]);
  expect(checkRegions(['rack1', 'rack2', 'a', 'b'])).toEqual([]);
});

it('a log that grows without an archive', () => {
  expect(checkArchive(tiers(''), ARCHIVE_ADVISED_LOG_BYTES)).toMatchObject([
    { check: 'Archive', level: 'warn', remedy: expect.stringContaining('TIDEMARK_ARCHIVE_URL') },
  ]);
  expect(checkArchive(tiers(''), ARCHIVE_ADVISED_LOG_BYTES - 1)).toEqual([]);
  expect(checkArchive(tiers('s3://bucket/prefix'), ARCHIVE_ADVISED_LOG_BYTES)).toEqual([]);
});
