import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseJson } from '../../../src/platform/json.ts'

/** Writes JSON with some characters of every string, names included, as `\u` escapes. */
function writeEscaped(value: unknown, isEscaped: (code: number) => boolean): string {
  if (typeof value === 'string') {
    const parts = Array.from({ length: value.length }, (_, index) => {
      const code = value.charCodeAt(index)
      const mustBe = code < 0x20 || code === 0x22 || code === 0x5c
      const hex = code.toString(16).padStart(4, '0')
      return mustBe || isEscaped(code) ? `\\u${hex}` : value[index]
    })
    return `"${parts.join('')}"`
  }
  if (Array.isArray(value))
    return `[${value.map((one) => writeEscaped(one, isEscaped)).join(' , ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const properties = Object.entries(value).map(
    ([name, one]) => `${writeEscaped(name, isEscaped)} : ${writeEscaped(one, isEscaped)}`,
  )
  return `{\n${properties.join(',\t')} }`
}

const similarName = fc.oneof(
  fc.constantFrom(
    'gr\\u0',
    'größe',
    'alter',
    'a\\',
    'a"',
    '\\u0061',
    'a',
    'constructor',
    'toString',
  ),
  fc.string({ unit: 'binary', maxLength: 6 }),
)
const value = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer(), fc.boolean()),
    fc.oneof(fc.constant(null), fc.string({ unit: 'binary' })),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(
      similarName.filter((name) => name !== '__proto__'),
      tie('value'),
      { maxKeys: 5 },
    ),
  ),
})).value

// V8 takes an escaped name for an earlier one of the process: another applicant's, another team's.
test('a value is read as it was written, whatever is escaped and whatever was read before', () => {
  fc.assert(
    fc.property(value, fc.integer({ min: 1, max: 5 }), (written, every) => {
      const text = writeEscaped(written, (code) => code % every === 0)
      // Compared by its own text: -0 is 0 in JSON, and the order of names counts.
      expect(JSON.stringify(parseJson(text))).toBe(JSON.stringify(written))
    }),
    { numRuns: 20_000 },
  )
})

test("an earlier request can't rename a feature of a later one", () => {
  parseJson('{"alter":1,"gr\\\\u0":0}')
  expect(parseJson('{"alter": 40, "gr\\u00f6\\u00dfe": 180}')).toEqual({ alter: 40, größe: 180 })
})

test('texts that are no JSON are refused, and only those', () => {
  const tokens =
    '{|}|[|]|,|:|"|"a"|"a\\n"|"\\x"|"\\u12"|1|-|01|1.|1e5|.5|true|nul|null| |\n|\\|\u00a0|x'
  const noise = fc.array(fc.constantFrom(...tokens.split('|')), { maxLength: 8 })
  fc.assert(
    fc.property(noise, (parts) => {
      const text = `${parts.join('')} ["\\n"`
      for (const candidate of [text, `${text}]`, `[${text}]]`, parts.join('')]) {
        expect(
          isRead(() => parseJson(candidate)),
          candidate,
        ).toBe(isRead(() => JSON.parse(candidate)))
      }
    }),
    { numRuns: 20_000 },
  )
})

test.each([
  ['{"__proto__": 1}', /__proto__/],
  ['{"a": 1, "b": [{"c": 2, "__proto__" \r\n\t : {}}]}', /__proto__/],
  ['{"a": {"__pr\\u006fto__": 1}}', /__proto__/],
  ['', /is empty/],
  [' \n', /is empty/],
  ['{"secret": 12', /^the body is not valid JSON \(at line 1, column 14\)$/],
  ['{"secret": 1,\n  secret: 2}', /^the body is not valid JSON \(at line 2, column 3\)$/],
  ['{"secret": NaN}', /^the body has NaN, .* \(at line 1, column 12\): send null/],
  ['[-Infinity]', /^the body has -Infinity, .* \(at line 1, column 2\): send null/],
  [`{"secret": 12${' '.repeat(1024 * 1024)}`, /^the body is not valid JSON$/],
  ['{"secret": "\\n" 12}', /^the body is not valid JSON \(at line 1, column 17\)$/],
  [`"\\n"`.padStart(9_000, '['), /nested deeper/],
])('%j is refused without being quoted', (text, message) => {
  expect(() => parseJson(text)).toThrow(expect.objectContaining({ code: 'invalid_request' }))
  expect(() => parseJson(text)).toThrow(message)
  expect(() => parseJson(text)).not.toThrow(/secret/)
})

test('a byte order mark is skipped, and the last of equal names counts', () => {
  expect(parseJson('\ufeff{"a":1,"a":"\\n"}')).toEqual({ a: '\n' })
})

function isRead(read: () => unknown): boolean {
  try {
    read()
    return true
  } catch {
    return false
  }
}
