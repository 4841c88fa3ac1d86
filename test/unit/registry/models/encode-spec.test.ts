import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { encodeSpec } from '../../../../src/registry/models/responses.ts'

test.each(['', 'x', 'ä🦄'.repeat(70_000), `x${'🦄'.repeat(100_000)}`])(
  'a text is encoded and hashed in steps, case %#',
  (text) => {
    const steps = encodeSpec(text)
    let count = 0
    let step = steps.next()
    for (; step.done !== true; step = steps.next()) count++
    expect(count).toBe(Math.ceil(text.length / 65_536))
    const { parts, sha256 } = step.value
    expect(Buffer.concat(parts).equals(Buffer.from(text))).toBe(true)
    expect(sha256).toBe(createHash('sha256').update(text).digest('hex'))
  },
)
