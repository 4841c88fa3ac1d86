import { basename, dirname } from 'node:path'
import { describe, expect, test } from 'vitest'
import { FIGURES, figuresIn, findNewest, renderFigures } from '../../bench/lib/document-tables.ts'
import { storedResults } from '../../bench/lib/results.ts'
import { PAGES, readText } from '../support/structure/documents.ts'

const stored = storedResults()
const newest = findNewest(stored)
const rendered = (page: string, text = readText(page)) =>
  renderFigures(text, newest, page.includes('/') ? '../' : '')

describe('a stored result', () => {
  test('is one of at least five scenarios', () => {
    expect(newest.size).toBeGreaterThanOrEqual(5)
  })

  // A figure is worth nothing to whoever can't measure it again.
  test.each(stored)('$file says how, where and beside what it was measured', ({ file, result }) => {
    expect(basename(dirname(file))).toBe(result.scenario)
    expect(basename(file)).toBe(`${result.at.slice(0, 10)}-${result.commit}.json`)
    expect(result.command).toContain(`npm run bench -- ${result.scenario}`)
    expect(result).toMatchObject({
      node: expect.stringMatching(/^v\d+\./),
      processor: expect.stringMatching(/./),
      besides: expect.stringMatching(/./),
      cores: expect.any(Number),
      loadAtStart: expect.any(Number),
    })
    expect(Object.keys(result.payload).length).toBeGreaterThan(0)
    const rounds = result.series.flatMap(({ measured }) => measured.map((one) => one.rounds.length))
    expect(Math.min(...rounds)).toBeGreaterThan(0)
  })
})

describe('figures in the documents', () => {
  test('all stand in a document', () => {
    const named = new Set(PAGES.flatMap((page) => figuresIn(readText(page))))
    expect([...named].toSorted()).toEqual(Object.keys(FIGURES).toSorted())
  })

  // Mend it with `npm run bench -- tables`.
  test.each(PAGES)('%s has those that the stored rounds give', (page) => {
    expect(readText(page)).toBe(rendered(page))
  })

  test('a figure that was changed by hand is found', () => {
    const page = 'docs/performance.md'
    const changed = readText(page).replace(/(bench:engine -->[\s\S]*?\| )\d+\.\d+( \|)/, '$10.01$2')
    expect(changed).not.toBe(readText(page))
    expect(rendered(page, changed)).toBe(readText(page))
  })

  test('a figure without a result names the run that it needs', () => {
    const text = '<!-- bench:engine -->\n<!-- /bench -->'
    expect(() => renderFigures(text, new Map(), '')).toThrow('npm run bench -- engine')
  })
})
