/**
 * Makes the tables and figures of the documents from the newest results: `npm run bench -- tables`.
 * A figure stands between the marks of its name, and nothing else of a document changes.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PAGES, ROOT } from '../test/support/structure/documents.ts'
import { figuresIn, findNewest, renderFigures } from './lib/document-tables.ts'
import { storedResults } from './lib/results.ts'

const results = findNewest(storedResults())
for (const page of PAGES) {
  const path = join(ROOT, page)
  const text = readFileSync(path, 'utf8')
  const rendered = renderFigures(text, results, page.includes('/') ? '../' : '')
  const count = figuresIn(text).length
  if (count > 0)
    console.log(`${page}: ${count} figures, ${rendered === text ? 'as they were' : 'changed'}`)
  if (rendered !== text) writeFileSync(path, rendered)
}
