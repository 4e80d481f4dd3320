import { readFileSync } from 'node:fs';
import { gradeAnswer } from '/tmp/f-choice2/packages/core/src/index.ts';
import { aQuestion, aRecordedAnswer } from '/tmp/f-choice2/tests/support/builders.ts';
import { inProcessPatterns } from '/tmp/f-choice2/tests/support/in-process-patterns.ts';
const lines = readFileSync(process.argv[2], 'utf8').trim().split('\n').map((l) => JSON.parse(l));
const tally: any = {};
function val(s: any) { if (s===null||s===undefined) return null; let p = s.endsWith('%'); let t=s.replace('%',''); const [a,b]=t.split('/'); return (b?Number(a)/Number(b):Number(a))+(p?'%':''); }
for (const [i, c] of lines.entries()) {
  const q = c.kind === 'choice'
    ? aQuestion({ target: ['A'], choices: typeof c.choices === 'number' ? Array.from({ length: c.choices }, (_, k) => `the text of choice ${k + 1}`) : c.choices })
    : aQuestion({ target: [c.target ?? '0'] });
  const rec = aRecordedAnswer({ output: c.text, finishReason: c.finishReason ?? 'stop' });
  let read: any, g: any;
  const t0 = performance.now();
  try { g = await gradeAnswer({ kind: c.kind } as any, q as any, rec as any, { patterns: inProcessPatterns } as any); read = g.outcome === 'scored' ? g.answer : null; } catch (e) { read = 'THROW ' + e; }
  const ms = performance.now() - t0;
  const ok = c.kind === 'choice' ? read === c.expected : val(read) === val(c.expected);
  const t = (tally[c.kind] ??= { n: 0, right: 0 }); t.n++; if (ok) t.right++;
  if (!ok || process.argv[3]==='all' || ms > 200) console.log(`#${i+1} ${c.kind} ${ok?'ok':'MISS'} expected=${c.expected} read=${read} outcome=${g?.outcome} ${ms>200?ms.toFixed(0)+'ms':''} :: ${c.why??''} :: ${c.source??''}\n    ${JSON.stringify(c.text.length>260?c.text.slice(0,60)+' … '+c.text.slice(-190):c.text)}`);
}
console.log(JSON.stringify(tally));
