import { describe, expect, it } from 'vitest';
import { LiveBlock } from '../../../packages/cli/src/render/live-block.ts';
import { fakeTerminal } from '../../support/run-thrice.ts';

const hide = '\u001b[?25l';
const clear = '\u001b[0J';
const up = (lineCount: number) => `\u001b[${lineCount}A`;

describe('a live block on a terminal', () => {
  it('is drawn over itself', () => {
    const terminal = fakeTerminal({ isInteractive: true });
    const block = new LiveBlock(terminal);

    block.show('one\ntwo');
    block.show('three');
    block.show('four');

    expect(terminal.stderr).toBe(
      `${hide}\r${clear}one\ntwo\n${hide}\r${up(2)}${clear}three\n${hide}\r${up(1)}${clear}four\n`,
    );
  });

  it('cuts lines that would wrap', () => {
    const terminal = fakeTerminal({ isInteractive: true, columns: 10 });

    new LiveBlock(terminal).show('0123456789abc');

    expect(terminal.stderr).toBe(`${hide}\r${clear}012345678\n`);
  });

  it('leaves out lines in the middle that would scroll, and says how many', () => {
    const terminal = fakeTerminal({ isInteractive: true, rows: 5 });

    new LiveBlock(terminal).show('1\n2\n3\n4\n5\n6');

    expect(terminal.stderr).toBe(`${hide}\r${clear}1\n2\n(3 more lines)\n6\n`);
  });

  it('finds its top again after the window was made narrower', () => {
    const own = { isInteractive: true, columns: 40 };
    const terminal = fakeTerminal(own);
    const size = { columns: 40 };
    const resizable = Object.defineProperty(terminal, 'columns', { get: () => size.columns });
    const block = new LiveBlock(resizable);

    block.show('a line of twenty-five cha\nshort');
    size.columns = 10;
    block.show('new');

    expect(terminal.stderr.endsWith(`${hide}\r${up(4)}${clear}new\n`)).toBe(true);
  });

  it('keeps a note above itself', () => {
    const terminal = fakeTerminal({ isInteractive: true });
    const block = new LiveBlock(terminal);

    block.show('one');
    block.note('to stay');
    block.show('two');

    expect(terminal.stderr).toBe(
      `${hide}\r${clear}one\n\r${up(1)}${clear}to stay\n${hide}\r${clear}two\n`,
    );
  });

  it('gives the cursor back at its end', () => {
    const terminal = fakeTerminal({ isInteractive: true });
    const block = new LiveBlock(terminal);

    block.show('one');
    block.end();

    expect(terminal.stderr).toBe(`${hide}\r${clear}one\n\u001b[?25h`);
  });
});

describe('a live block in a log', () => {
  it('writes plain lines only, whole', () => {
    const terminal = fakeTerminal({ columns: 5 });
    const block = new LiveBlock(terminal);

    block.show('0123456789');
    block.note('a note');
    block.show('again');
    block.end();

    expect(terminal.stderr).toBe('0123456789\na note\nagain\n');
  });
});
