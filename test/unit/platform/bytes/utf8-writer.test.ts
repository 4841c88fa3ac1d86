import { expect, test } from 'vitest'
import { PreparedFragments } from '../../../../src/platform/bytes/prepared-fragments.ts'
import { Utf8Writer } from '../../../../src/platform/bytes/utf8-writer.ts'

const LONG = 'a text that is longer than what is written byte by byte, and ends'

test.each([1, 7, 64, 4096])(
  'what is written stands in its order, from %d bytes of memory on',
  (bytes) => {
    const text = new Utf8Writer(Buffer.allocUnsafe(bytes))
    const fragments = PreparedFragments.of(['one,', 'zwei € ,', LONG])
    let expected = ''
    for (let round = 0; round < 100; round++) {
      text.writeString(`${round};`)
      text.writeString('ä€😀')
      text.writeString(LONG)
      text.writeFragments(fragments, Int32Array.of(2, 0, 1))
      text.writeFragment(fragments, 0)
      expected += `${round};ä€😀${LONG}${LONG}one,zwei € ,one,`
    }
    text.replace(0, '!')
    expect(text.written.toString()).toBe(`!${expected.slice(1)}`)
    expect(text.length).toBe(text.written.length)
    expect(text.memory.length).toBeGreaterThanOrEqual(text.length)
  },
)
