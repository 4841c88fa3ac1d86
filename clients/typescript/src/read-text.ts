/** An answer is longer than the client holds in memory. */
export class LongAnswerError extends Error {}

/**
 * Reads an answer, decompressed, up to a bound.
 *
 * @throws LongAnswerError; whatever breaks the connection
 */
export async function readText({ body }: Response, bytesMax: number): Promise<string> {
  if (body === null) return ''
  const reader = body.getReader()
  const decoder = new TextDecoder()
  const parts: string[] = []
  let bytes = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return parts.join('') + decoder.decode()
    bytes += value.length
    if (bytes > bytesMax) {
      await reader.cancel()
      throw new LongAnswerError(`is longer than ${bytesMax} bytes`)
    }
    parts.push(decoder.decode(value, { stream: true }))
  }
}

const HIDDEN = '[the token]'

/** The text without a secret that the other side has sent back. */
export function hide(text: string, secret: string | undefined): string {
  return secret ? text.replaceAll(secret, HIDDEN) : text
}

/** Whether an error, or one of its causes, quotes a secret: Node quotes answers it can't read. */
export function quotes(error: unknown, secret: string | undefined): boolean {
  if (!secret) return false
  for (let one = error; one instanceof Error; one = one.cause) {
    const { data } = one as { data?: unknown }
    if (`${one.message} ${String(data)}`.includes(secret)) return true
  }
  return false
}
