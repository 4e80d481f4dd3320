// npm run -s capacity-model [-- OPTIONS]    prints the tables of docs/cloud.md, or one run
import { readFileSync, writeFileSync } from 'node:fs';
import { capacityCommand } from './capacity-command.ts';

process.exitCode = capacityCommand(process.argv.slice(2), {
  print: (text) => process.stdout.write(`${text}\n`),
  report: (text) => process.stderr.write(`${text}\n`),
  readFile: (path) => readFileSync(path, 'utf8'),
  writeFile: (path, text) => writeFileSync(path, text),
});
