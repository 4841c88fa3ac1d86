import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { SCENARIO_NAMES, scenarioFile, writeScenarioHelp } from '../../../bench/lib/scenarios.ts'
import { ROOT, readText } from '../../support/structure/documents.ts'

test('every scenario that is named has a file, and every file is named', () => {
  const files = readdirSync(join(ROOT, 'bench/scenarios')).map((file) => file.replace('.ts', ''))
  expect([...SCENARIO_NAMES].toSorted()).toEqual(files.toSorted())
})

/** Names of the options that a call of `parseArgs` takes. */
function optionsIn(source: string): string[] {
  const [, options = ''] = /\boptions: \{\n([\s\S]*?)\n *\},\n/.exec(source) ?? []
  return [...options.matchAll(/^ *'?([a-z-]+)'?: /gm)].map(([, name = '']) => name)
}

// An option that the help does not name is found by whoever reads the code.
test.each(SCENARIO_NAMES)('the help of %s says what it measures and names each option', (name) => {
  const help = writeScenarioHelp(name)
  expect(help).toMatch(/^\w.*\n/)
  const own =
    name === 'load'
      ? readText('bench/lib/load-options.ts')
      : readFileSync(scenarioFile(name), 'utf8')
  const shared = help.includes('--rounds N') ? readText('bench/lib/options.ts') : ''
  const options = [...optionsIn(own), ...optionsIn(shared)]
  expect(options.filter((option) => !help.includes(`--${option}`))).toEqual([])
  const isAsked = own.includes('parseArgs({') || shared !== ''
  expect(options.length > 0).toBe(isAsked)
})
