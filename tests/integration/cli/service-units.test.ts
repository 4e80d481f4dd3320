import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { blocksOf } from '../../support/doc-page.ts';
import { readRepository } from '../../support/repository-files.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** The linter of systemd; not every system has it. */
const analyzer = 'systemd-analyze';
const page = readRepository().find(({ path }) => path === 'docs/guides/overnight.md')?.text ?? '';

/** The settings of a unit file as `Section.Key=value`. */
function readUnit(text: string): readonly string[] {
  let section = '';
  return text.split('\n').flatMap((line) => {
    section = /^\[(\w+)\]$/.exec(line)?.[1] ?? section;
    return /^\w+=/.test(line) ? [`${section}.${line}`] : [];
  });
}

type PlistValue = string | boolean | number | readonly PlistValue[] | PlistDict;
interface PlistDict {
  readonly [key: string]: PlistValue;
}

/** Reads the property list of a page: strings, integers, booleans, arrays and dictionaries. */
function readPlist(text: string): PlistValue {
  const tokens = [...text.matchAll(/<(\/?)(\w+)(\/?)>(?:([^<]*)<\/\2>)?/g)].filter(
    ([, , name]) => name !== 'plist' && name !== 'xml',
  );
  let index = 0;
  const read = (): PlistValue => {
    const [, , name = '', , content = ''] = tokens[index] ?? [];
    index += 1;
    if (name === 'true' || name === 'false') return name === 'true';
    if (name === 'integer') return Number(content);
    if (name === 'string') return content;
    const isEnd = () => tokens[index]?.[1] === '/' && tokens[index]?.[2] === name;
    const values: PlistValue[] = [];
    const dict: Record<string, PlistValue> = {};
    while (!isEnd()) {
      if (index >= tokens.length) throw new Error(`expected </${name}>`);
      if (name === 'array') values.push(read());
      else {
        const [, , keyName, , key = ''] = tokens[index] ?? [];
        if (keyName !== 'key')
          throw new Error(`expected a key in <${name}>, received <${keyName}>`);
        index += 1;
        dict[key] = read();
      }
    }
    index += 1;
    return name === 'array' ? values : dict;
  };
  const value = read();
  if (index !== tokens.length) throw new Error('expected one value');
  return value;
}

describe('the unit of systemd in the docs', () => {
  const [unit = ''] = blocksOf(page, 'ini');

  it('restarts always, stops the command alone first, and reads keys from a file', () => {
    expect(readUnit(unit)).toEqual(
      expect.arrayContaining([
        'Unit.StartLimitIntervalSec=0',
        'Service.EnvironmentFile=-%h/.config/thrice/keys.env',
        'Service.ExecStart=%h/.local/bin/thrice work --all',
        'Service.Restart=always',
        'Service.KillMode=mixed',
        'Service.SuccessExitStatus=130',
        'Install.WantedBy=default.target',
      ]),
    );
  });

  it('has nothing that systemd-analyze finds fault with, where it is installed', async () => {
    const isInstalled = spawnSync(analyzer, ['--version']).status === 0;
    // The program and the folder exist on this machine; nothing else of the unit is changed.
    const local = unit.replace('%h/.local/bin/thrice', '/bin/true').replace('%h/benchmarks', '/');
    await using folder = await temporaryFolder({ 'thrice.service': local });

    const checked = spawnSync(
      analyzer,
      ['verify', '--user', '--man=no', folder.resolve('thrice.service')],
      { encoding: 'utf8', env: { ...process.env, XDG_RUNTIME_DIR: folder.path } },
    );

    const complaints = isInstalled
      ? checked.stderr.split('\n').filter((line) => line.includes('thrice.service'))
      : [];
    expect(complaints).toEqual([]);
  });
});

describe('the property list of launchd in the docs', () => {
  it('keeps the command running, and lets it finish the calls in flight', () => {
    const [plist = ''] = blocksOf(page, 'xml');

    expect(readPlist(plist)).toMatchObject({
      Label: 'thrice',
      ProgramArguments: ['/usr/bin/caffeinate', '-i', '/usr/local/bin/thrice', 'work', '--all'],
      RunAtLoad: true,
      KeepAlive: true,
      ExitTimeOut: 900,
    });
  });
});
