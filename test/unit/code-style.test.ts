import { expect, test } from 'vitest'
import { filesUnder, GENERATED, readSource } from '../support/structure/imports.ts'

/** It names what it forbids. */
const THIS = 'test/unit/code-style.test.ts'
const files = ['src', 'schemas', 'test', 'bench', 'clients', 'docs']
  .flatMap(filesUnder)
  .filter((file) => file !== THIS && !GENERATED.includes(file))

const SPREAD_LITERAL = /\.\.\.\s*\{/

// A spread object literal only packs several fields into a line, where blame shows one change for
// all of them.
test('an object literal names each field, without spreading another literal', () => {
  expect(files.length).toBeGreaterThan(500)
  expect(files.filter((file) => SPREAD_LITERAL.test(readSource(file)))).toEqual([])
})

test('the check finds a spread literal, and lets a condition be', () => {
  expect(SPREAD_LITERAL.test('f({ ...{ a, b }, c })')).toBe(true)
  expect(SPREAD_LITERAL.test('f({ ...(a && { b }), ...c })')).toBe(false)
})
