import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findLine, readJsonLines } from '../../../src/console/app/pages/upload/json-lines.ts'

const TEXT = `{
  "name": "Loans",
  "features": [
    { "name": "age",
      "bins": [
        { "range": "(0, 1]", "points": 1 },
        {
          "range": "(1, 2]",
          "points": "x"
        }
      ] }
  ],
  "scaling": {
    "pdo": 20
  }
}`

// A fault that points to the wrong line sends a modeler looking where nothing is wrong.
test.each([
  ['', 1],
  ['name', 2],
  ['features', 3],
  ['features[0]', 4],
  ['features[0].name', 4],
  ['features[0].bins', 5],
  ['features[0].bins[0].points', 6],
  ['features[0].bins[1]', 7],
  ['features[0].bins[1].points', 9],
  ['spec.scaling.pdo', 14],
  // What is missing has the line of what should hold it.
  ['scaling.base_odds', 13],
  ['features[0].bins[7].points', 5],
  ['target', 1],
])('the path %s is on line %d', (path, line) => {
  expect(findLine(readJsonLines(TEXT), path)).toBe(line)
})

test.each([
  ['{\n "a": 1,\n}', 3, 'a comma stands before }'],
  ['{\n "a": 1\n "b": 2}', 3, '" stands where a comma or } should be'],
  ['{\n\n a: 1}', 3, 'a stands where a name in double quotes should be'],
  ['[1,\n2', 2, 'the file ends where a comma or ] should be'],
  ['', 1, 'the file ends where a value should be'],
  ['{"a": NaN}', 1, 'N stands where a value should be'],
  ['{"a"\n:\n"b\n"}', 3, 'a text does not end, or holds a character that must be escaped'],
  ['{}\n{}', 2, 'there is more behind the end of the document'],
])('%j is faulty on line %d', (text, line, message) => {
  expect(readJsonLines(text).fault).toEqual({ line, message })
})

test('every JSON text is without fault, and every cut of it is not', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      const pretty = JSON.stringify(JSON.parse(text), null, 2)
      expect(readJsonLines(pretty).fault).toBeNull()
      const cut = pretty.slice(0, -1)
      let isJson = true
      try {
        JSON.parse(cut)
      } catch {
        isJson = false
      }
      expect(readJsonLines(cut).fault === null).toBe(isJson)
    }),
  )
})
