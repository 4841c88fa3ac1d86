import { expect, test } from 'vitest'
import { filesUnder, GENERATED, readSource } from '../support/structure/imports.ts'

/** Words that only their author understands, and what to write instead. */
const PRIVATE_WORDS: Readonly<Record<string, string>> = {
  carrier: 'drain thread',
  crowned: 'with a new champion',
  farewell: 'closing',
  keeper: 'cache',
  lane: 'path',
  mistrust: 'invalidate',
  people: 'users',
  piece: 'chunk, fragment or part',
  rival: 'other team',
  rung: 'step',
  sheet: 'score',
  shot: 'request',
  sparing: 'throttle',
  stretch: 'range',
  told: 'callback, event or answer',
  unfitness: 'ineligibility',
  unproven: 'anonymous',
}

/** It names what it forbids. */
const THIS = 'test/unit/vocabulary.test.ts'
const files = ['src', 'schemas', 'test', 'bench', 'clients', 'docs']
  .flatMap(filesUnder)
  .filter((file) => file !== THIS && !GENERATED.includes(file))

test('identifiers and files have the words of the glossary, not private ones', () => {
  expect(files.length).toBeGreaterThan(500)
  const found = files.flatMap((file) => {
    const names = [file.replace(/\.ts$/, ''), ...identifiersIn(readSource(file))]
    return names.flatMap((name) => privateWordsIn(name).map((word) => `${file}: ${name} (${word})`))
  })
  expect(found).toEqual([])
})

// Without it a check that sees nothing would pass.
test.each([
  ['const carriers = 1', ['carrier']],
  ['rivalTeams.map((x) => x.toldAtMs)', ['rival', 'told']],
  ['type UnprovenCaller = { readonly piece: string }', ['unproven', 'piece']],
  ['planes + panel + unfolded // the carrier', []],
])('%s is found to hold %j', (code, words) => {
  expect(identifiersIn(code).flatMap(privateWordsIn)).toEqual(words)
})

/** The private words in a name, which may be a path, camelCase or CONSTANT_CASE. */
function privateWordsIn(name: string): string[] {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
    .map((word) => word.replace(/s$/, ''))
  return words.filter((word) => Object.hasOwn(PRIVATE_WORDS, word))
}

/** Each identifier of a source, once, in order; comments and texts are left out. */
function identifiersIn(code: string): string[] {
  const bare = code
    .replace(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*/g, '')
    .replace(/'(?:[^'\\\n]|\\.)*'/g, '')
    .replace(/`(?:[^`\\]|\\.)*`/g, (text) => [...text.matchAll(/\$\{([^}]*)\}/g)].join(' '))
  return [...new Set(bare.match(/[A-Za-z_$][\w$]*/g))]
}
