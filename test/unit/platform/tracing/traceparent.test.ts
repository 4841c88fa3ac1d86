import { expect, test } from 'vitest'
import {
  isSampled,
  readCallerSpanId,
  readTraceId,
  readTraceparent,
} from '../../../../src/platform/tracing/traceparent.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const VALID = `00-${TRACE}-${SPAN}-01`

test('a header in the form of the standard gives its ids and whether it is sampled', () => {
  expect(readTraceparent(VALID)).toBe(VALID)
  expect(readTraceId(VALID)).toBe(TRACE)
  expect(readCallerSpanId(VALID)).toBe(SPAN)
})

test.each([
  ['00', false],
  ['01', true],
  ['02', false],
  ['03', true],
  ['fe', false],
  ['ff', true],
])('the last bit of the flags %s says that it is sampled: %s', (flags, expected) => {
  const header = `00-${TRACE}-${SPAN}-${flags}`
  expect(readTraceparent(header)).toBe(header)
  expect(isSampled(header)).toBe(expected)
})

test('a later version is read, as far as it has the same form', () => {
  const header = `cc-${TRACE}-${SPAN}-01`
  expect(readTraceparent(header)).toBe(header)
  expect(readTraceparent(`${header}-more`)).toBeNull()
})

// A caller's broken header must not end up as an id in a log that others search.
test.each([
  ['no header', undefined],
  ['nothing', ''],
  ['two headers', `${VALID}, ${VALID}`],
  ['a list', [VALID]],
  ['the version that is not one', `ff-${TRACE}-${SPAN}-01`],
  ['capitals', VALID.toUpperCase()],
  ['one capital', `00-${TRACE.replace('b', 'B')}-${SPAN}-01`],
  ['a trace of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
  ['a span of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
  ['a short trace', `00-${TRACE.slice(1)}-${SPAN}-01`],
  ['a long trace', `00-${TRACE}a-${SPAN}-01`],
  ['no flags', `00-${TRACE}-${SPAN}`],
  ['short flags', `00-${TRACE}-${SPAN}-1`],
  ['a character that is not hexadecimal', `00-${TRACE.replace('4', 'g')}-${SPAN}-01`],
  ['other separators', VALID.replaceAll('-', '_')],
  ['more at its end', `${VALID}-00`],
  ['a line break', `${VALID}\n`],
  ['a space', ` ${VALID}`],
])('%s counts as none', (_, header) => {
  expect(readTraceparent(header)).toBeNull()
})
