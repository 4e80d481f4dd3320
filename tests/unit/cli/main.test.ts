import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { runCommand, watchOutput } from '../../../packages/cli/src/main.ts';
import { fakeTerminal } from '../../support/run-thrice.ts';

function aFailure(code: string): Error {
  return Object.assign(new Error(`${code}: write`), { code });
}

/** Watches two streams and records the exit codes and what was written to stderr. */
function watchStreams() {
  const streams = { stdout: new PassThrough(), stderr: new PassThrough() };
  const exits: number[] = [];
  const output = watchOutput(streams, (code) => exits.push(code));
  const readStderr = () => (streams.stderr.read() as Buffer | null)?.toString() ?? '';
  return { ...streams, output, exits, readStderr };
}

describe('the output of a process', () => {
  it.each(['EPIPE', 'EIO'])('may lose its reader (%s)', (code) => {
    const { stdout, stderr, output, exits, readStderr } = watchStreams();

    stdout.emit('error', aFailure(code));
    stderr.emit('error', aFailure(code));

    expect(output.isFull).toBe(false);
    expect(exits).toEqual([]);
    expect(readStderr()).toBe('');
  });

  it('reports once that a result could not be written', () => {
    const { stdout, output, exits, readStderr } = watchStreams();

    stdout.emit('error', aFailure('ENOSPC'));
    stdout.emit('error', aFailure('ENOSPC'));

    expect(output.isFull).toBe(true);
    expect(exits).toEqual([69]);
    expect(readStderr()).toBe(
      'thrice: [store-unusable] stdout: cannot be written (ENOSPC: write)\n',
    );
  });

  it('may fail to write its log', () => {
    const { stderr, exits } = watchStreams();

    stderr.emit('error', aFailure('ENOSPC'));

    expect(exits).toEqual([]);
  });
});

describe('a command that finds a bug', () => {
  it('asks for a report and promises nothing about paid answers', async () => {
    const terminal = fakeTerminal();
    terminal.print = () => {
      throw new TypeError('no such field');
    };

    const exitCode = await runCommand(['schema'], terminal);

    const [message, request] = terminal.stderr.split('\n');
    expect(exitCode).toBe(70);
    expect(message).toBe('thrice: [invariant-violated] no such field');
    expect(request).toBe('This is a bug in Thrice, not in your benchmark. Please report it:');
  });
});

describe('a command that fails', () => {
  it('says so on a terminal without breaking a word', async () => {
    const terminal = fakeTerminal({ isInteractive: true, columns: 60 });

    const exitCode = await runCommand(['delete', 'nothing', '--dir', '/nowhere'], terminal);

    expect(exitCode).toBe(64);
    expect(terminal.stderr).toBe(
      [
        'thrice: [unknown-group] /nowhere: expected runs, found none;',
        '  name their folder with --dir, or write a benchmark to',
        '  start from with "thrice init"\n',
      ].join('\n'),
    );
  });
});
