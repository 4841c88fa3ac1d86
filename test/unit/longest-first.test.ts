import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { LONGEST } from '../support/longest-first.ts'

test('the files that begin first are there, each once', () => {
  const isMissing = (path: string) => {
    return !existsSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)))
  }
  expect(LONGEST.filter(isMissing)).toEqual([])
  expect(new Set(LONGEST).size).toBe(LONGEST.length)
})
