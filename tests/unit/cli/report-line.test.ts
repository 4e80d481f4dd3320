import { describe, expect, it } from 'vitest';
import { askLine, reportLine } from '../../../packages/cli/src/render/report-line.ts';
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

describe('a question', () => {
  it.each([
    ['leaves room for the answer on a terminal', true, 'delete demo and\n  its files?\n  [y/N] '],
    ['is one line in a log', false, 'delete demo and its files? [y/N] '],
  ])('%s', async (_, isInteractive, shown) => {
    const asked: string[] = [];
    const ask = async (question: string) => void asked.push(question);
    const terminal = fakeTerminal({ isInteractive, columns: 21, ask });

    await askLine('delete demo and its files? [y/N]', terminal);

    expect(asked).toEqual([shown]);
  });
});
