import { describe, expect, it } from 'vitest';
import { reportLine } from '../../../packages/cli/src/render/report-line.ts';
import { fakeTerminal } from '../../support/run-thrice.ts';

describe('a line of a report', () => {
  it.each([
    ['is wrapped between words on a terminal', true, 'paused: lane sim is\n  blocked\n'],
    ['is one line in a log', false, 'paused: lane sim is blocked\n'],
  ])('%s', (_, isInteractive, shown) => {
    const terminal = fakeTerminal({ isInteractive, columns: 20 });

    reportLine('paused: lane sim is blocked', terminal);

    expect(terminal.stderr).toBe(shown);
  });
});
