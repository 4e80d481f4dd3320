import { describe, expect, it } from 'vitest';
import { LiveBlock } from '../../../packages/cli/src/render/live-block.ts';
import { fakeTerminal } from '../../support/run-thrice.ts';

const clear = '\u001b[0J';
const rest = '\u001b[K';
const up = (lineCount: number) => `\u001b[${lineCount}A`;

describe('a live block on a terminal', () => {
  it('is redrawn in place', () => {
    const terminal = fakeTerminal({ isInteractive: true });
    const block = new LiveBlock(terminal);

    block.show('one\ntwo');
    block.show('three');
    block.show('four');

    expect(terminal.stderr).toBe(
      `\rone${rest}\ntwo${rest}\n${clear}\r${up(2)}three${rest}\n${clear}\r${up(1)}four${rest}\n${clear}`,
    );
  });

  it('cuts lines that would wrap', () => {
    const terminal = fakeTerminal({ isInteractive: true, columns: 10 });

    new LiveBlock(terminal).show('0123456789abc');

    expect(terminal.stderr).toBe(`\r012345678${rest}\n${clear}`);
  });

  it('wraps lines between words', () => {
    const terminal = fakeTerminal({ isInteractive: true, columns: 10 });

    new LiveBlock(terminal).show('one two three');

    expect(terminal.stderr).toBe(`\rone two${rest}\n  three${rest}\n${clear}`);
  });

  it('omits lines in the middle that would scroll, and prints how many', () => {
    const terminal = fakeTerminal({ isInteractive: true, rows: 5 });

    new LiveBlock(terminal).show('1\n2\n3\n4\n5\n6');

    expect(terminal.stderr).toBe(`\r1${rest}\n2${rest}\n(3 more lines)${rest}\n6${rest}\n${clear}`);
  });

  it('is redrawn from its top after the window became narrower', () => {
    const own = { isInteractive: true, columns: 40 };
    const terminal = fakeTerminal(own);
    const size = { columns: 40 };
    const resizable = Object.defineProperty(terminal, 'columns', { get: () => size.columns });
    const block = new LiveBlock(resizable);

    block.show('a-line-of-twenty-five-cha\nshort');
    size.columns = 10;
    block.show('new');

    expect(terminal.stderr.endsWith(`\r${up(4)}${clear}new${rest}\n${clear}`)).toBe(true);
  });

  it('keeps a note above itself', () => {
    const terminal = fakeTerminal({ isInteractive: true });
    const block = new LiveBlock(terminal);

    block.show('one');
    block.note('to stay');
    block.show('two');

    expect(terminal.stderr).toBe(
      `\rone${rest}\n${clear}\r${up(1)}${clear}to stay\n\rtwo${rest}\n${clear}`,
    );
  });

  it('makes room for what replaces it', () => {
    const terminal = fakeTerminal({ isInteractive: true });
    const block = new LiveBlock(terminal);

    block.show('one\ntwo');
    block.erase();

    expect(terminal.stderr).toBe(`\rone${rest}\ntwo${rest}\n${clear}\r${up(2)}${clear}`);
  });

  it('never hides the cursor, which a killed process could not show again', () => {
    const terminal = fakeTerminal({ isInteractive: true });
    const block = new LiveBlock(terminal);

    block.show('one');
    block.note('two');
    block.erase();

    expect(terminal.stderr).not.toContain('\u001b[?25');
  });
});

describe('a live block in a log', () => {
  it('prints plain lines, uncut', () => {
    const terminal = fakeTerminal({ columns: 5 });
    const block = new LiveBlock(terminal);

    block.show('0123456789');
    block.note('a note');
    block.show('again');
    block.end();

    expect(terminal.stderr).toBe('0123456789\na note\nagain\n');
  });
});
