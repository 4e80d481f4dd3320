import { benchmarkSpecSchema } from '@thrice/core';
import { parse } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import {
  type CompletedCommand,
  describeCommand,
} from '../../packages/cli/src/completion/describe-commands.ts';
import { createProgram } from '../../packages/cli/src/program.ts';
import { blocksOf, isShown, readPage } from '../support/doc-page.ts';
import { docPages } from '../support/doc-pages.ts';
import { readRepository } from '../support/repository-files.ts';
import { fakeTerminal } from '../support/run-thrice.ts';

const files = readRepository();
const paths = new Set(files.map(({ path }) => path));
const pages = files.filter(
  ({ path }) => docPages.includes(path) || /^(?:CONTRIBUTING|docs\/.+)\.md$/.test(path),
);
const texts = new Map(pages.map(({ path, text }) => [path, text]));
const thrice = describeCommand(createProgram(fakeTerminal(), () => undefined));

describe.each(docPages)('%s', (path) => {
  const page = texts.get(path) ?? '';

  it('has specs that are valid, also in part', () => {
    const whole = { questions: 'questions.jsonl', configs: [{ name: 'a', model: 'sim/a' }] };

    const refused = blocksOf(page, 'toml').flatMap((block) => {
      const { error } = benchmarkSpecSchema.safeParse({ ...whole, ...parse(block) });
      return error === undefined ? [] : [{ block, problem: error.message }];
    });

    expect(refused).toEqual([]);
  });
});

describe.each(pages.map(({ path }) => path))('%s', (path) => {
  const page = texts.get(path) ?? '';

  it('links to files and headings that exist', () => {
    const broken = linksOf(page).filter((link) => !isThere(link, path));

    expect(broken).toEqual([]);
  });

  it('names commands and options that exist', () => {
    const unknown = commandsOf(page).filter((command) => !isKnown(command));

    expect(unknown).toEqual([]);
  });
});

describe('a page', () => {
  it('has commands, outputs and files in its order', () => {
    const page = [
      '```toml a.toml',
      'x = 1',
      '```',
      '<!-- run: touch b -->',
      '```sh exit=2',
      'cd a && thrice run \\',
      '  a.toml  # runs it',
      '```',
      '```',
      'done',
      '```',
      '<!-- not run: needs a key -->',
      '```sh',
      'thrice ls',
      '```',
      '```console exit=1',
      '$ one',
      'out',
      '$ two',
      '```',
    ].join('\n');

    expect(readPage(page)).toEqual([
      { kind: 'file', line: 1, path: 'a.toml', text: 'x = 1\n' },
      { kind: 'command', line: 4, command: 'touch b', exitCode: 0 },
      { kind: 'command', line: 5, command: 'cd a', exitCode: 0 },
      { kind: 'command', line: 9, command: 'thrice run a.toml', exitCode: 2, output: 'done' },
      { kind: 'not-run', line: 13, reason: 'needs a key', commands: ['thrice ls'] },
      { kind: 'command', line: 16, command: 'one', exitCode: 0, output: 'out' },
      { kind: 'command', line: 16, command: 'two', exitCode: 1 },
    ]);
  });

  it.each([
    { shown: 'b\nc', isThere: true },
    { shown: 'a\nc', isThere: false },
    { shown: 'a\n...\nc', isThere: true },
    { shown: 'c\n...\na', isThere: false },
    { shown: '...\nc', isThere: true },
    { shown: '', isThere: true },
  ])('shows of an output: $shown', ({ shown, isThere: expected }) => {
    expect(isShown(shown, 'a\nb\nc')).toBe(expected);
  });
});

/** Targets of the links in a page that lead into this repository. */
function linksOf(page: string): readonly string[] {
  return [...page.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target));
}

function isThere(link: string, from: string): boolean {
  const [file = '', heading] = link.split('#');
  const path = file === '' ? from : new URL(file, `file:///${from}`).pathname.slice(1);
  const isFile = paths.has(path) || [...paths].some((other) => other.startsWith(`${path}/`));
  if (heading === undefined || !isFile) return isFile;
  return headingsOf(texts.get(path) ?? '').includes(heading);
}

/** The headings of a page as GitHub names them in links. */
function headingsOf(page: string): readonly string[] {
  return [...page.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  );
}

/** Commands of Thrice in a page, in blocks and in sentences. */
function commandsOf(page: string): readonly string[] {
  return [...page.matchAll(/(?:^|`|\$ |npx )thrice ([a-z][^`\n|&>#]*)/gm)].map(([, words = '']) =>
    words.trim(),
  );
}

/** Whether there is such a command, and all options of it are its own. */
function isKnown(words: string): boolean {
  const named = words.split(/[\s[\]]+/).filter((word) => word !== '');
  let command: CompletedCommand = thrice;
  for (const name of named) {
    const inner = command.commands.find(({ path }) => path.at(-1) === name);
    if (inner === undefined) break;
    command = inner;
  }
  const options = named.filter((word) => word.startsWith('--')).map((word) => word.split('=')[0]);
  const own = command.options.flatMap(({ flags }) => flags);
  return command !== thrice && options.every((option) => own.includes(option ?? ''));
}
