import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { watchOutput } from '../../../packages/cli/src/main.ts';

function aFailure(code: string): Error {
  return Object.assign(new Error(`${code}: write`), { code });
}

/** Two streams that are watched, and what came of it. */
function watchStreams() {
  const streams = { stdout: new PassThrough(), stderr: new PassThrough() };
  const exits: number[] = [];
  const output = watchOutput(streams, (code) => exits.push(code));
  const said = () => (streams.stderr.read() as Buffer | null)?.toString() ?? '';
  return { ...streams, output, exits, said };
}

describe('the output of a process', () => {
  it.each(['EPIPE', 'EIO'])('goes on without a reader (%s)', (code) => {
    const { stdout, stderr, output, exits, said } = watchStreams();

    stdout.emit('error', aFailure(code));
    stderr.emit('error', aFailure(code));

    expect(output.isFull).toBe(false);
    expect(exits).toEqual([]);
    expect(said()).toBe('');
  });

  it('says once that a result could not be written', () => {
    const { stdout, output, exits, said } = watchStreams();

    stdout.emit('error', aFailure('ENOSPC'));
    stdout.emit('error', aFailure('ENOSPC'));

    expect(output.isFull).toBe(true);
    expect(exits).toEqual([69]);
    expect(said()).toBe('thrice: stdout: cannot be written (ENOSPC: write)\n');
  });

  it('goes on when its log cannot be written', () => {
    const { stderr, exits } = watchStreams();

    stderr.emit('error', aFailure('ENOSPC'));

    expect(exits).toEqual([]);
  });
});
