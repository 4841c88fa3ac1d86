import { expect, test } from 'vitest'
import { printable, sentence, table } from '../../../src/cli/print.ts'

test('columns are as wide as their widest cell, and an absent one is a dash', () => {
  const rows = [
    ['team_1', 'Loans', null],
    ['team_22', 'Crédit 🦄', 'x'],
  ]
  expect(table(['ID', 'NAME', 'LAST'], rows)).toBe(
    ['ID       NAME      LAST', 'team_1   Loans     -', 'team_22  Crédit 🦄  x'].join('\n'),
  )
})

// A name that a customer chose must not clear the operator's screen, or forge a row of a table.
test.each([
  ['\u001b[2J', '\\u{1b}[2J'],
  ['two\nlines\r', 'two\\u{a}lines\\u{d}'],
  ['\u009b31m', '\\u{9b}31m'],
  ['\u202egnp.exe', '\\u{202e}gnp.exe'],
  ['\ud800', '\\u{d800}'],
  ['é 🦄 世界 "quoted"', 'é 🦄 世界 "quoted"'],
])('%j is printed as %j', (text, printed) => {
  expect(printable(text)).toBe(printed)
  expect(table(['NAME'], [[text]])).toBe(`NAME\n${printed}`)
})

test.each([
  ['there is no team', 'There is no team.'],
  ['Stop it.', 'Stop it.'],
  ['really?', 'Really?'],
])('%j as a sentence is %j', (text, expected) => {
  expect(sentence(text)).toBe(expected)
})
