import { describe, expect, it } from 'vitest';
import { type RepositoryFile, readRepository } from '../support/repository-files.ts';
import { codeOf, findImports, readSources } from '../support/source-imports.ts';

const files = readRepository();
const guide = files.find(({ path }) => path === 'CONTRIBUTING.md')?.text ?? '';
/** Paths in the guide, without patterns such as `<kind>.ts`. */
const paths = [...guide.matchAll(/`([\w./-]+\.(?:ts|js|md|toml))`/g)].map(([, path = '']) => path);

describe('the contributing guide', () => {
  it.each([...new Set(paths)])('names a file that exists: %s', (path) => {
    const isThere = files.some((file) => file.path === path || file.path.endsWith(`/${path}`));

    expect(isThere).toBe(true);
  });
});

const walks = [
  {
    heading: '### From `thrice run` to a row in the summary',
    starts: ['packages/cli/src/commands/run.ts'],
  },
  {
    heading: '### From a failed cell to `thrice dlq replay`',
    starts: ['functions/answer.ts', 'packages/cli/src/commands/dlq.ts'],
  },
];

describe.each(walks)('the walk $heading', ({ heading, starts }) => {
  const sources = readSources();
  const hops = readHops(heading);

  it('has at most 18 hops, each in a file of its own', () => {
    expect(hops.length).toBeGreaterThan(starts.length);
    expect(hops.length).toBeLessThanOrEqual(18);
    expect(hops).toEqual([...new Set(hops)]);
  });

  it('starts where a command or a message does', () => {
    expect(hops).toEqual(expect.arrayContaining(starts));
    expect(hops[0]).toBe(starts[0]);
  });

  it('reaches each file from an earlier one, directly or by its package or port', () => {
    const lost = hops.filter((hop, index) => {
      if (starts.includes(hop)) return false;
      const from = hops.slice(0, index);
      return !from.some((earlier) => isReached(hop, earlier, sources));
    });

    expect(lost).toEqual([]);
  });
});

describe('a hop', () => {
  const sources = [
    aFile('packages/core/src/ports/clock.ts', 'export interface Clock {}'),
    aFile('packages/core/src/cells/near.ts', ''),
    aFile('packages/core/src/cells/far.ts', ''),
    aFile(
      'packages/core/src/index.ts',
      "export { far } from './cells/far.ts';\nexport type { Digest } from './ports/digest.ts';",
    ),
    aFile('packages/core/src/ports/digest.ts', 'export interface Digest {}'),
    aFile('packages/cli/src/digest.ts', "import type { Digest } from '@thrice/core';"),
    aFile('packages/local/src/digest.ts', 'export const digest: Digest = sha256;'),
    aFile(
      'packages/core/src/cells/start.ts',
      "import { near } from './near.ts';\nimport type { Clock } from '../ports/clock.ts';",
    ),
    aFile('packages/cli/src/start.ts', "import { far } from '@thrice/core';"),
    aFile('packages/local/src/clock.ts', 'export class SystemClock implements Clock {}'),
    aFile('packages/local/src/ledger.ts', 'export class FileLedger implements Ledger {}'),
  ];

  it.each([
    ['that is imported', 'core/src/cells/start.ts', 'core/src/cells/near.ts', true],
    ['that is not imported', 'core/src/cells/start.ts', 'core/src/cells/far.ts', false],
    ['whose package exports it', 'cli/src/start.ts', 'core/src/cells/far.ts', true],
    ['whose package does not export it', 'cli/src/start.ts', 'core/src/cells/near.ts', false],
    ['behind a port', 'core/src/cells/start.ts', 'local/src/clock.ts', true],
    ['behind a port of its package', 'cli/src/digest.ts', 'local/src/digest.ts', true],
    ['behind another port', 'core/src/cells/start.ts', 'local/src/ledger.ts', false],
  ])('%s', (_, from, to, expected) => {
    expect(isReached(`packages/${to}`, `packages/${from}`, sources)).toBe(expected);
  });
});

/** Returns the files of a section's numbered list, relative to the repository. */
function readHops(heading: string): readonly string[] {
  const [, rest = ''] = guide.split(`\n${heading}\n`);
  const [section = ''] = rest.split(/^##/m);
  return [...section.matchAll(/^\d+\. `([^`]+)`/gm)].map(([, path = '']) =>
    /^(?:packages|functions)\//.test(path) ? path : `packages/core/src/${path}`,
  );
}

/**
 * Whether a file imports another one, imports a name from the index of a package that exports it from there,
 * or imports the port that the other one implements.
 */
function isReached(to: string, from: string, sources: readonly RepositoryFile[]): boolean {
  const source = sources.find(({ path }) => path === from);
  const target = sources.find(({ path }) => path === to);
  if (source === undefined || target === undefined) return false;
  const imported = findImports([source]).map((each) => each.to);
  return (
    imported.includes(to) ||
    importsByIndex(source, to, imported, sources) ||
    portFilesOf(target, sources).some(
      (port) => imported.includes(port) || importsByIndex(source, port, imported, sources),
    )
  );
}

/** Whether a name that an index exports from `to` occurs in the code of a file that imports the index. */
function importsByIndex(
  source: RepositoryFile,
  to: string,
  imported: readonly string[],
  sources: readonly RepositoryFile[],
): boolean {
  const index = sources.find(
    ({ path }) => path.endsWith('/src/index.ts') && to.startsWith(dirOf(path)),
  );
  if (index === undefined || !imported.includes(index.path)) return false;
  const exported = [...index.text.matchAll(/^export (?:type )?\{([^}]*)\} from '([^']+)'/gm)]
    .filter(([, , module = '']) => `${dirOf(index.path)}${module.slice(2)}` === to)
    .flatMap(([, names = '']) => names.split(','))
    .map((name) => name.trim().replace(/^type /, ''))
    .filter((name) => name !== '');
  return exported.some((name) => new RegExp(`\\b${name}\\b`).test(codeOf(source)));
}

/** Returns the files of the ports that a file implements, as a class or as a constant. */
function portFilesOf(
  target: RepositoryFile,
  sources: readonly RepositoryFile[],
): readonly string[] {
  const implemented = [
    ...target.text.matchAll(/ implements ([\w, ]+) \{|^export const \w+: (\w+) =/gm),
  ]
    .flatMap(([, types = '', type = '']) => [...types.split(', '), type])
    .filter((type) => type !== '');
  return sources
    .filter(({ path }) => path.startsWith('packages/core/src/ports/'))
    .filter(({ text }) => implemented.some((type) => text.includes(`export interface ${type} `)))
    .map(({ path }) => path);
}

function dirOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/') + 1);
}

function aFile(path: string, text: string): RepositoryFile {
  return { path, text };
}
