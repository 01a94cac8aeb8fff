import { describe, expect, it } from 'vitest';
import { calledIn } from './session.ts';

describe('the folder that a command is run in', () => {
  const npm = { INIT_CWD: '/repo/mine', npm_lifecycle_event: 'tidemark', npm_package_json: '/repo/package.json' };

  it('is where npm was called, when npm runs the command', () => {
    expect(calledIn(npm, '/repo')).toBe('/repo/mine');
  });

  it('is its own, when a process within a script runs it', () => {
    expect(calledIn({ ...npm, npm_lifecycle_event: 'test' }, '/repo')).toBe('/repo');
    expect(calledIn(npm, '/tmp/x')).toBe('/tmp/x');
    expect(calledIn({}, '/tmp/x')).toBe('/tmp/x');
  });
});
