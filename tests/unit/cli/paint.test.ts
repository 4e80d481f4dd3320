import { describe, expect, it } from 'vitest';
import { paint } from '../../../packages/cli/src/render/paint.ts';

/** Paints with tags in place of escape sequences. */
function tagged(text: string): string {
  return paint(text, (format, part) => `<${String(format)}>${part}</>`);
}

describe('the labels of printed lines', () => {
  it.each([
    ['thrice: [invalid-spec] a.toml: bad', '<red>thrice:</> <bold>[invalid-spec]</> a.toml: bad'],
    ['blocked: lane lab: [auth-failed] 401', '<yellow>blocked:</> lane lab: [auth-failed] 401'],
    ['[interrupted] stopped', '<yellow>[interrupted]</> stopped'],
    ['next: thrice resume demo', 'next: <bold>thrice resume demo</>'],
    ['  thrice resume demo', '  <bold>thrice resume demo</>'],
    ['  17 x model-timeout: late', '  <bold>17 x model-timeout</>: late'],
    ['a ██░░ 2/4', 'a <green>██</><dim>░░</> 2/4'],
    ['4/4 cells, 3 failed', '4/4 cells, <red>3 failed</>'],
    ['4/4 cells, 0 failed', '4/4 cells, 0 failed'],
    ['config  score', '<bold>config  score</>'],
    ['an answer: resume', 'an answer: resume'],
  ])('%s', (text, painted) => {
    expect(tagged(text)).toBe(painted);
  });

  it('are painted line by line, and the text stays the same', () => {
    const text = 'paused: one\ntwo\nnext: thrice resume demo';

    expect(tagged(text)).toBe('<yellow>paused:</> one\ntwo\nnext: <bold>thrice resume demo</>');
    expect(paint(text, (_, part) => part)).toBe(text);
  });
});
