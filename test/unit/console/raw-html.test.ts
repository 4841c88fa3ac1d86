import { expect, test } from 'vitest'
import { filesUnder, readSource } from '../../support/structure/imports.ts'

/** Ways by which a text becomes markup or code. */
const RAW =
  /\.(inner|outer)HTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write|createContextualFragment|DOMParser|\beval\(|new Function\(|srcdoc|href=\$?\{?["'`]javascript:/

const files = filesUnder('src/console/app')

// A name of a model is shown to every member of the team: as markup it would act as them.
test('no code of the console writes raw HTML', () => {
  expect(files.length).toBeGreaterThan(50)
  expect(files.filter((file) => RAW.test(readSource(file)))).toEqual([])
})

test('the check finds raw HTML, and lets a template be', () => {
  expect(RAW.test('element.innerHTML = text')).toBe(true)
  expect(RAW.test('<p dangerouslySetInnerHTML=x />')).toBe(true)
  expect(RAW.test('<p>text</p>')).toBe(false)
})
