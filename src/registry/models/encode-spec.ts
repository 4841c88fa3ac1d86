import { createHash } from 'node:crypto'
import type { Steps } from '../../platform/steps.ts'

interface EncodedSpec {
  /** The text in UTF-8. */
  readonly parts: readonly Buffer[]
  readonly sha256: string
}

const CHARS_A_STEP = 64 * 1024
const isHighSurrogate = (unit: number) => unit >= 0xd800 && unit <= 0xdbff

/** Encodes and hashes the text of a card in steps: at once 13 MB hold up scores for 40 ms. */
export function* encodeSpec(text: string): Steps<EncodedSpec> {
  const hash = createHash('sha256')
  const parts: Buffer[] = []
  for (let at = 0; at < text.length; ) {
    let end = at + CHARS_A_STEP
    if (isHighSurrogate(text.charCodeAt(end - 1))) end++
    const part = Buffer.from(text.slice(at, end))
    at = end
    hash.update(part)
    parts.push(part)
    yield
  }
  return { parts, sha256: hash.digest('hex') }
}
