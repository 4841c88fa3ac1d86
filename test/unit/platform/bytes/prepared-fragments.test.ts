import { expect, test } from 'vitest'
import { Pieces } from '../../src/pieces.ts'

const TEXTS = ['', 'a', 'ab', 'abc', 'abcd', 'abcde', '"é€":-12.5', 'x'.repeat(1000)]
const bytesOf = (text: string) => Buffer.byteLength(text)

test('each piece is written as it is, from any byte on and behind any other', () => {
  const pieces = new Pieces(TEXTS)
  const memory = Buffer.alloc(16 * 1024)
  const view = new DataView(memory.buffer, memory.byteOffset, memory.length)
  for (let from = 0; from < 8; from++) {
    let at = from
    let expected = ''
    for (const first of TEXTS.keys()) {
      at = pieces.write(view, at, first)
      at = pieces.write(view, at, TEXTS.length - 1 - first)
      expected += `${TEXTS[first]}${TEXTS.at(-1 - first)}`
    }
    expect(memory.toString('utf8', from, at)).toBe(expected)
  }
})

test('a piece takes its own bytes, and writes no further than it tells', () => {
  const pieces = new Pieces(TEXTS)
  expect(TEXTS.map((_, index) => pieces.bytesOf(index))).toEqual(TEXTS.map(bytesOf))
  for (const index of TEXTS.keys()) {
    const memory = Buffer.alloc(pieces.roomBytesMax + 8, 0x7e)
    pieces.write(new DataView(memory.buffer, memory.byteOffset, memory.length), 0, index)
    expect(memory.toString('latin1', pieces.roomBytesMax)).toBe('~'.repeat(8))
    expect(memory.toString('utf8', 0, pieces.bytesOf(index))).toBe(TEXTS[index])
  }
})
