import { expect, test } from 'vitest'
import { PreparedFragments } from '../../../../src/platform/bytes/prepared-fragments.ts'

const TEXTS = ['', 'a', 'ab', 'abc', 'abcd', 'abcde', '"é€":-12.5', 'x'.repeat(1000)]
const toBytes = (text: string) => Buffer.byteLength(text)

test('each fragment is written as it is, at any offset and after any other fragment', () => {
  const fragments = PreparedFragments.of(TEXTS)
  const memory = Buffer.alloc(16 * 1024)
  const view = new DataView(memory.buffer, memory.byteOffset, memory.length)
  for (let from = 0; from < 8; from++) {
    let at = from
    let expected = ''
    for (const first of TEXTS.keys()) {
      at = fragments.write(view, at, first)
      at = fragments.write(view, at, TEXTS.length - 1 - first)
      expected += `${TEXTS[first]}${TEXTS.at(-1 - first)}`
    }
    expect(memory.toString('utf8', from, at)).toBe(expected)
  }
})

test('a fragment takes its own bytes, and writes within the room that it asks for', () => {
  const fragments = PreparedFragments.of(TEXTS)
  expect(TEXTS.map((_, index) => fragments.countBytes(index))).toEqual(TEXTS.map(toBytes))
  for (const index of TEXTS.keys()) {
    const memory = Buffer.alloc(fragments.roomBytesMax + 8, 0x7e)
    fragments.write(new DataView(memory.buffer, memory.byteOffset, memory.length), 0, index)
    expect(memory.toString('latin1', fragments.roomBytesMax)).toBe('~'.repeat(8))
    expect(memory.toString('utf8', 0, fragments.countBytes(index))).toBe(TEXTS[index])
  }
})
